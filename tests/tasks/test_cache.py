import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pliant._files import cache_folder, write_arrays
from pliant.tasks import cache, get
from pliant.tasks.cache import as_json, cached
from pliant.tasks.gaussian_location import GaussianLocationTask

KEY = {"task": "toy", "version": 1, "n_obs": 2, "seed": 0, "n": 3}
DATA = np.arange(4.0)


class Counter:
    def __init__(self, value=1.0):
        self.calls, self.value = 0, value

    def __call__(self):
        self.calls += 1
        return {"a": np.full((3, 2), self.value), "b": np.arange(3.0)}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "new" / "cache"))
    return tmp_path / "new" / "cache"


def test_computed_once(folder):
    compute = Counter()
    first, second = cached(KEY, DATA, compute), cached(KEY, DATA, compute)
    assert compute.calls == 1
    assert set(first) == set(second) == {"a", "b"}
    np.testing.assert_array_equal(first["a"], second["a"])
    (file,) = folder.iterdir()  # no temporary file is left
    assert file.name.startswith("toy-")


@pytest.mark.parametrize("change", [{"task": "other"}, {"version": 2}, {"seed": 1}, {"n_obs": 3}])
def test_every_part_of_the_key_counts(folder, change):
    compute = Counter()
    cached(KEY, DATA, compute)
    cached({**KEY, **change}, DATA, compute)
    cached(KEY, DATA + 1e-9, compute)
    assert compute.calls == 3


def test_damaged_files_are_computed_again(folder):
    compute = Counter()
    cached(KEY, DATA, compute)
    (file,) = folder.iterdir()
    good = file.read_bytes()
    middle = len(good) // 3
    flipped = good[:middle] + bytes([good[middle] ^ 0xFF]) + good[middle + 1 :]
    for count, bad in enumerate([b"", b"not a zip file", good[: len(good) // 2], flipped], start=2):
        file.write_bytes(bad)
        samples = cached(KEY, DATA, compute)
        assert compute.calls == count
        np.testing.assert_array_equal(samples["b"], np.arange(3.0))
        assert file.read_bytes() == good


def test_files_of_something_else_are_computed_again(folder):
    compute = Counter()
    cached(KEY, DATA, compute)
    (file,) = folder.iterdir()
    with np.load(file) as content:
        arrays = {name: content[name] for name in content.files}
    wrong = [
        {**arrays, cache._KEY: np.array("{}")},
        {name: a for name, a in arrays.items() if name != cache._KEY},
        {**arrays, "b": np.arange(4.0)},
        {**arrays, "b": np.full(3, np.nan)},
        {cache._KEY: arrays[cache._KEY]},
    ]
    for count, bad in enumerate(wrong, start=2):
        write_arrays(file, bad)
        cached(KEY, DATA, compute)
        assert compute.calls == count


def test_pickles_are_never_loaded(folder):
    compute = Counter()
    cached(KEY, DATA, compute)
    (file,) = folder.iterdir()
    with np.load(file) as content:
        arrays = {name: content[name] for name in content.files}
    np.savez(file, **{**arrays, "b": np.array([1, None, 2], dtype=object)})
    cached(KEY, DATA, compute)
    assert compute.calls == 2


def test_a_failed_computation_leaves_nothing(folder):
    def fail():
        raise RuntimeError("no samples")

    with pytest.raises(RuntimeError, match="no samples"):
        cached(KEY, DATA, fail)
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_to_is_a_warning(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="PLIANT_CACHE"):
        samples = cached(KEY, DATA, Counter())
    assert samples["a"].shape == (3, 2)


def test_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("PLIANT_CACHE", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "pliant"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder().parts[-2:] == (".cache", "pliant")


def test_references_are_stored_with_all_they_depend_on(folder):
    task = get("gaussian_location")
    task.reference(1, 0, n=5)
    assert len(list(folder.iterdir())) == 1
    task.reference(1, 0, n=5)
    assert len(list(folder.iterdir())) == 1
    for other in ((2, 0, 5), (1, 1, 5), (1, 0, 6)):
        task.reference(*other)
    assert len(list(folder.iterdir())) == 4


def test_references_of_other_options_are_other_files(folder):
    """Truncation changes neither observations nor anything else in the key."""
    whole, cut = get("sir"), get("sir", truncated=True)
    np.testing.assert_array_equal(whole.observed(1), cut.observed(1))
    whole.reference(1, n=5)
    cut.reference(1, n=5)
    get("sir", times=20).reference(1, n=5)
    assert len(list(folder.iterdir())) == 3


def test_array_options_of_ones_own_task_enter_the_key(folder):
    class Shifted(GaussianLocationTask):
        shift: jax.Array

        def posterior_samples(self, observed, *, seed=0, n=10_000):
            samples = super().posterior_samples(observed, seed=seed, n=n)
            return {"theta": samples["theta"] + np.asarray(self.shift)}

    one, two = (Shifted(jnp.full(10, value)).reference(1, n=5)["theta"] for value in (1.0, 2.0))
    np.testing.assert_allclose(two - one, 1.0, rtol=1e-5)


def test_options_as_json():
    values = [None, True, 2, 0.5, "a", (1, 2), (1, 3), [1, 2], np.arange(3), np.arange(3.0), max]
    texts = [json.dumps(as_json(value)) for value in values]
    assert len(set(texts)) == len(values)
    assert as_json(jnp.arange(3.0)) == as_json(jnp.arange(3.0))
