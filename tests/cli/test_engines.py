"""`paretoken engines`: both examples of its help, and what they print."""

import json

from click.testing import CliRunner

from paretoken.cli.main import cli


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["engines", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_table() -> None:
    lines = run().splitlines()
    assert any(line.startswith("null ") and "ready" in line for line in lines)
    marked = next(i for i, line in enumerate(lines) if line.startswith("Untested"))
    assert any(line.startswith("vllm ") for line in lines[marked:])
    assert not any(line.startswith("vllm ") for line in lines[:marked])


def test_the_document() -> None:
    document = json.loads(run("--json"))
    assert document["schema"] == 1
    assert [row["name"] for row in document["engines"]] == ["llamacpp", "null", "scripted"]
    assert all(row["tested"] for row in document["engines"])
    assert not any(row["tested"] for row in document["untested"])
    null = document["engines"][1]
    assert null["missing"] is None and null["version"]["wheel"]


def test_help_ends_with_two_examples() -> None:
    assert "paretoken engines\n\n  paretoken engines --json" in run("--help")
