"""What tests of every floor may ask for."""

import pytest

from paretoken.core.candidate import Model


@pytest.fixture(scope="session")
def smollm2() -> Model:
    """The embedded model, for tests marked `engine`; fetched into the user's cache when it is not there yet."""
    from paretoken.models.find import resolve

    return resolve("smollm2-135m")
