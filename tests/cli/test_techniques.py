import json

from click.testing import CliRunner

from paretoken.cli.techniques import techniques


def test_the_map_names_level_change_proof_needs_risk_and_engines() -> None:
    result = CliRunner().invoke(techniques, ["--json"], catch_exceptions=False)
    rows = {row["name"]: row for row in json.loads(result.stdout)["techniques"]}
    assert rows["quantize"]["level"] == "model"
    assert rows["quantize"]["may_change"] == "which tokens come"
    assert "behaviour gate" in rows["quantize"]["proof"]
    assert rows["batching"]["level"] == "service"
    assert rows["batching"]["may_change"] == "only when they come"
    assert "intactness" in rows["batching"]["proof"]
    assert all(row["needs"] and row["risk"] and "llamacpp" in row["engines"] for row in rows.values())


def test_the_text_form_has_all_of_it() -> None:
    shown = CliRunner().invoke(techniques, [], catch_exceptions=False).stdout
    for word in (
        "quantize  (model level)",
        "batching  (service level)",
        "may change",
        "proof",
        "needs",
        "risk",
        "engines",
    ):
        assert word in shown
    assert max(len(line) for line in shown.splitlines()) <= 120
