import pytest


@pytest.fixture(autouse=True, scope="session")
def _cache(tmp_path_factory):
    """References are computed by this code, and nothing is left in the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLIANT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
