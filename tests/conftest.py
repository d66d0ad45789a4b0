"""What tests of every floor may ask for."""

import signal

import pytest

from paretoken.core.candidate import Model


@pytest.fixture(scope="session")
def smollm2() -> Model:
    """The embedded model, for tests marked `engine`; fetched into the user's cache when it is not there yet."""
    from paretoken.models.find import resolve

    return resolve("smollm2-135m")


def pytest_configure() -> None:
    """A shell starts background jobs with SIGINT ignored, and children inherit that: tests of Ctrl-C would then test
    nothing but the shell."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
