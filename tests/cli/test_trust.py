"""A signature is this user's, for one file and one name."""

import os
import stat
from pathlib import Path

import pytest

from pliant.cli.trust import digest, is_own, neighbours, signature

FILE = ("/models/mine.py", digest(b"problem = 3"), "problem", {"helper.py": digest(b"x = 1")})


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_only_what_was_signed_is_own():
    signed = signature(*FILE)
    assert len(signed) == 64
    assert is_own(*FILE, signed)
    for place, other in enumerate(("/models/other.py", digest(b""), "make", {})):
        assert not is_own(*FILE[:place], other, *FILE[place + 1 :], signed)
    assert not is_own(*FILE, "")
    assert not is_own(*FILE, "é" * 64)


def test_installed_modules_are_no_neighbours():
    assert not {name for name in neighbours(Path("/problem.py")) if "/numpy/" in name}
    assert not {
        name for name in neighbours(Path("/problem.py")) if name.endswith("/json/decoder.py")
    }
    here = neighbours(Path(__file__).with_name("problem.py"))
    assert here[Path(__file__).name] == digest(Path(__file__).read_bytes())


def test_the_key_is_private_and_another_key_signs_otherwise(cache):
    signed = signature(*FILE)
    (key,) = cache.iterdir()
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert key.stat().st_size == 32
    key.unlink()
    assert not is_own(*FILE, signed)


@pytest.mark.parametrize("spoil", ["readable by others", "short", "of another user", "no folder"])
def test_without_a_good_key_nothing_is_own(cache, spoil, monkeypatch):
    signed = signature(*FILE)
    (key,) = cache.iterdir()
    if spoil == "readable by others":
        key.chmod(0o640)
    elif spoil == "short":
        key.write_bytes(b"short")
    elif spoil == "of another user":
        user = os.getuid()
        key.rename(cache / f"key-{user + 1}")
        monkeypatch.setattr("os.getuid", lambda: user + 1)
    else:
        monkeypatch.setenv("PLIANT_CACHE", str(key / "below a file"))
    assert signature(*FILE) == ""
    assert not is_own(*FILE, signed)
    assert not is_own(*FILE, "")
