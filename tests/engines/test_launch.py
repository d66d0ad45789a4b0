"""An address that cannot be listened on is refused before an engine dies of it."""

import socket

import pytest

from paretoken.engines.base import Listen
from paretoken.engines.llamacpp import LlamaCpp, LlamaCppSettings
from paretoken.engines.null import Null, NullSettings
from paretoken.errors import EngineError, UsageError


def test_a_taken_port_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(EngineError, match=rf"^port {port} of 127.0.0.1 is taken .*--port 0: any free one\)$"):
            Null().launch(None, NullSettings(), listen=Listen(port=port))


def test_an_address_of_another_machine() -> None:
    with pytest.raises(EngineError, match=r"192\.0\.2\.1 is not an address of this machine"):
        Null().launch(None, NullSettings(), listen=Listen("192.0.2.1", 8080, "k"))


def test_no_key_names_the_option() -> None:
    with pytest.raises(UsageError, match="--api-key-env"):
        Listen("0.0.0.0")


def test_the_engines_own_command_says_where_and_not_the_key() -> None:
    words = LlamaCpp().launch_command(LlamaCppSettings(), "m.gguf", Listen("0.0.0.0", 9123, "secret-1"))
    line = " ".join(words)
    assert "--host 0.0.0.0 --port 9123 --api-key-file FILE-WITH-THE-KEY" in line
    assert "secret-1" not in line
