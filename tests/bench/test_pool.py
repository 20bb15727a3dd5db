import pytest

from pliant.bench.pool import AbstractPool


class Idle(AbstractPool):
    """Workers that do nothing, and note when they end."""

    closed = False

    @property
    def size(self):
        return 1

    def start(self, waiting):
        return None

    def wait(self, seconds):
        return []

    def close(self):
        self.closed = True


def test_the_workers_end_with_the_block(tmp_path):
    pool = Idle(tmp_path)
    with pool as entered:
        assert entered is pool
        assert not pool.closed
    assert pool.closed


def test_the_workers_end_if_the_block_is_interrupted(tmp_path):
    pool = Idle(tmp_path)
    with pytest.raises(KeyboardInterrupt), pool:
        raise KeyboardInterrupt
    assert pool.closed
