"""Whatever happens ends in one sentence and an exit status, never in a traceback."""

import subprocess
import sys
from pathlib import Path

import pytest

from paretoken.cli import main as program
from paretoken.cli.sentence import for_terminal
from paretoken.cli.talk import ConsoleTalk
from paretoken.errors import EngineError


def shell(script: str, *, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = f'p() {{ "{sys.executable}" -m paretoken "$@"; }}; {script}'
    return subprocess.run(["bash", "-c", command], cwd=cwd, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("script", "status", "said"),
    [
        ("p techniques >/dev/full", 1, "send stdout elsewhere"),
        ("p --help >/dev/full", 1, "send stdout elsewhere"),
        ("p techniques --json >&-", 1, "stdout is closed"),
        ("set -o pipefail; { sleep 0.1; p techniques; } | true", 0, ""),
        ("set -o pipefail; { sleep 0.1; p --help; } | true", 0, ""),
        (f"p optimize --budget {'9' * 400}h", 2, "is not a duration"),
        (f"p optimize --slo 'p95 ttft < {'9' * 400}s'", 2, "is not a duration"),
        ("p optimize --budget ٣m", 2, "is not a duration"),
        ("p replay $'\\xff'", 2, "is not UTF-8"),
        ("p $'a\\eb'", 2, r"a\x1bb"),
        ("p --home $(printf 'n%.0s' {1..300}) report", 1, "File name too long"),
        ("p techniques 2>&-", 0, ""),
    ],
)
def test_one_sentence(tmp_path: Path, script: str, status: int, said: str) -> None:
    done = shell(script, cwd=tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (status, False), done.stderr
    assert said in done.stderr
    assert bool(said) == bool(done.stderr)
    assert "\x1b" not in done.stderr


def test_an_interrupt_while_importing(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "class Interrupts:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'click': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupts())\n"
        "from paretoken.cli.main import main\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")


def test_a_ctrl_c_that_an_import_wraps_is_a_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    error = RuntimeError("Error calling __set_name__")
    error.__cause__ = KeyboardInterrupt()
    assert ends(monkeypatch, error) == 130


def test_sigterm_is_a_ctrl_c_with_its_own_status() -> None:
    code = (
        "import os\n"
        "from paretoken.cli import main as program\n"
        "program.cli.main = lambda **_: os.kill(os.getpid(), 15)\n"
        "program.main([])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (143, "paretoken: interrupted\n")


def ends(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> int:
    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(program.cli, "main", fail)
    with pytest.raises(SystemExit) as ended:
        program.main([])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_a_broken_pipe_that_is_not_stdout_is_no_success(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert ends(monkeypatch, BrokenPipeError(32, "Broken pipe")) == 1
    assert "a connection to another process broke" in capfd.readouterr().err


def test_what_the_system_refuses(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert ends(monkeypatch, PermissionError(13, "Permission denied", "x" * 9000)) == 1
    said = capsys.readouterr().err
    assert "Permission denied" in said and len(said) < 400


def test_the_last_line_of_defence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert ends(monkeypatch, EngineError("a\x1b[31m\nb; its last log lines:\n  one\n  tw\x07o")) == 1
    assert capsys.readouterr().err == "paretoken: a\\x1b[31m\\nb; its last log lines:\n  one\n  tw\\x07o\n"
    assert len(for_terminal("x" * 50_000)) == 2_000


def test_talk_moves_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    ConsoleTalk().line("model \x1b[2Jm\nnext")
    assert capsys.readouterr().err == "model \\x1b[2Jm\nnext\n"
