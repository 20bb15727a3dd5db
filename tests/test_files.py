import copy
import errno
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant import _files as files
from pliant._files import (
    InUseError,
    lock,
    read_arrays,
    read_json,
    remove_unfinished,
    replacing,
    write_arrays,
    write_json,
)
from shell import python


def test_json_survives(tmp_path):
    data = {"a": [1, 2.5, None, True, "é"], "b": {"c": []}}
    write_json(tmp_path / "data.json", data)
    assert read_json(tmp_path / "data.json") == data


def test_numbers_that_json_lacks_become_null(tmp_path):
    row = {"kl": np.nan, "eta": np.inf, "x": np.array([1.0, np.nan]), "n": np.int64(3), 4: (1, 2)}
    write_json(tmp_path / "data.json", row)
    data = json.loads((tmp_path / "data.json").read_text(), parse_constant=pytest.fail)
    assert len(data.pop("checksum")) == 64
    assert data == {"kl": None, "eta": None, "x": [1.0, None], "n": 3, "4": [1, 2]}


def test_arrays_survive_to_the_last_bit(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {"a": rng.normal(size=(3, 2)).astype(np.float32), "b": np.arange(4), "c": np.zeros(0)}
    write_arrays(tmp_path / "data.npz", arrays)
    read = read_arrays(tmp_path / "data.npz")
    assert list(read) == list(arrays)
    for name, array in arrays.items():
        assert read[name].dtype == array.dtype
        np.testing.assert_array_equal(read[name], array)


NAMES = [
    "x",
    "x.npy",
    "file",
    "allow_pickle",
    "name",
    "seed",
    "a/b",
    "../x",
    "/x",
    "β 1",
    "n" * 200,
]


def test_arrays_can_have_any_name(tmp_path):
    arrays = {name: np.array(float(i)) for i, name in enumerate(NAMES)}
    write_arrays(tmp_path / "data.npz", arrays)
    assert read_arrays(tmp_path / "data.npz") == arrays


def test_a_write_that_fails_changes_nothing(tmp_path):
    path = tmp_path / "data.json"
    write_json(path, {"good": 1})
    with pytest.raises(TypeError):
        write_json(path, {"bad": object()})
    assert read_json(path) == {"good": 1}

    write_arrays(tmp_path / "data.npz", {"x": np.ones(2)})

    class Breaks:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("disk")

    with pytest.raises(RuntimeError, match="disk"):
        write_arrays(tmp_path / "data.npz", {"x": Breaks()})
    np.testing.assert_array_equal(read_arrays(tmp_path / "data.npz")["x"], np.ones(2))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.json", "data.npz"]


def test_a_write_that_breaks_off_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "data.npz"
    write_arrays(path, {"x": np.ones(2)})

    def half(file, array, **options):
        file.write(b"half")
        raise OSError("no space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", half)
    with pytest.raises(OSError, match="no space left"):
        write_arrays(path, {"x": np.zeros(2)})
    assert [p.name for p in tmp_path.iterdir()] == ["data.npz"]
    np.testing.assert_array_equal(read_arrays(path)["x"], np.ones(2))


def test_a_changed_number_does_not_match_the_checksum(tmp_path):
    write_json(tmp_path / "data.json", {"a": [1, 2]})
    text = (tmp_path / "data.json").read_text()
    (tmp_path / "data.json").write_text(text.replace("2\n", "3\n"))
    with pytest.raises(ValueError, match=r"data\.json: damaged, or edited by hand"):
        read_json(tmp_path / "data.json")
    (tmp_path / "data.json").write_text(json.dumps({"a": [1, 2]}))
    with pytest.raises(ValueError, match=r"data\.json: it has no checksum"):
        read_json(tmp_path / "data.json")
    (tmp_path / "data.json").write_text(json.dumps(json.loads(text)))  # other white space
    assert read_json(tmp_path / "data.json") == {"a": [1, 2]}


@pytest.mark.parametrize(
    "other", [{"x": np.ones(3)}, {"x": np.ones(2, np.float32)}, {"y": np.ones(2)}, {}]
)
def test_other_arrays_do_not_match_the_checksum(tmp_path, other):
    write_arrays(tmp_path / "data.npz", {"x": np.ones(2)})
    with zipfile.ZipFile(tmp_path / "data.npz") as archive:
        comment = archive.comment
    np.savez(tmp_path / "data.npz", **other)
    with pytest.raises(ValueError, match=r"data\.npz: it has no checksum"):
        read_arrays(tmp_path / "data.npz")
    with zipfile.ZipFile(tmp_path / "data.npz", "a") as archive:
        archive.comment = comment
    with pytest.raises(ValueError, match=r"data\.npz: damaged, or edited by hand"):
        read_arrays(tmp_path / "data.npz")


def test_arrays_are_a_plain_file_of_numpy(tmp_path):
    arrays = {"file": np.arange(3), "checksum": np.ones(2)}
    write_arrays(tmp_path / "data.npz", arrays)
    with np.load(tmp_path / "data.npz", allow_pickle=False) as file:
        assert file.files == ["file", "checksum"]
        np.testing.assert_array_equal(file["file"], np.arange(3))
    with pytest.raises(ValueError, match="Object arrays"):
        write_arrays(tmp_path / "data.npz", {"x": np.array([None])})


def test_what_a_killed_process_left_is_removed(tmp_path):
    with replacing(tmp_path / "a.txt"):
        (unfinished,) = tmp_path.iterdir()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    (tmp_path / "a.txt").rename(unfinished)
    (tmp_path / ".mine").write_bytes(b"")
    remove_unfinished(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [".mine"]


def test_the_next_write_removes_what_a_dead_process_left_of_that_file(tmp_path):
    code = (
        "import os, sys; from pathlib import Path; from pliant._files import replacing\n"
        "with replacing(Path(sys.argv[1])) as file:\n"
        "    file.write(b'half'); file.flush(); os.kill(os.getpid(), 9)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "history.png")]
    source = str(Path(pliant.__file__).parents[1])
    subprocess.run(command, env={**os.environ, "PYTHONPATH": source}, check=False)
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".history.png.unfinished-")
    start, dead = left.name[:-8], left.name[-8:]
    other_machine = f"{start[:-8]}{'0' * 8}{dead}"
    others = {
        ".history.png.PID",
        f"{start}{os.getppid():08x}",  # alive
        other_machine,
        left.name.replace("history", "pairs"),
        left.name.replace("unfinished-", "unfinished-mine-"),
        left.name.removeprefix("."),
    }
    for name in others:
        (tmp_path / name).write_bytes(b"")
    with replacing(tmp_path / "history.png") as file:
        file.write(b"whole")
    assert {path.name for path in tmp_path.iterdir()} == {"history.png", *others}
    assert (tmp_path / "history.png").read_bytes() == b"whole"


def test_an_error_without_a_reason_is_named(tmp_path):
    with (
        pytest.raises(files.StorageError, match=r"a could not be written: OSError\.$"),
        files.storing(tmp_path / "a"),
    ):
        raise OSError


def test_a_lock_that_cannot_be_written_names_its_file(tmp_path):
    (tmp_path / "full").symlink_to("/dev/full")
    with pytest.raises(files.StorageError, match="full could not be written: "):
        files.lock(tmp_path / "full", tmp_path)


@pytest.mark.parametrize("read", [read_json, read_arrays])
def test_a_missing_file_is_named(tmp_path, read):
    with pytest.raises(FileNotFoundError, match="absent"):
        read(tmp_path / "absent")


@pytest.mark.parametrize("content", [b"", b"{", b"{'a': 1}", b"\xff\xfe\x00", b"PK\x03\x04"])
def test_a_file_that_is_not_json_is_named(tmp_path, content):
    (tmp_path / "data.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"data\.json: not a JSON file, or damaged"):
        read_json(tmp_path / "data.json")


def saved(array):
    """The bytes of a ``.npz`` file with one array."""
    import io

    buffer = io.BytesIO()
    np.savez(buffer, x=array)
    return buffer.getvalue()


def single(array):
    import io

    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


class Mischief:
    """What would run code when it is unpickled."""

    def __reduce__(self):
        return pytest.fail, ("it was unpickled",)


FOREIGN = {
    "empty": b"",
    "text": b"hello, world",
    "cut": saved(np.ones(100))[:200],
    "end-missing": saved(np.ones(100))[:-10],
    "bit-flipped": saved(np.ones(100)).replace(np.ones(1).tobytes(), np.zeros(1).tobytes(), 1),
    "single-array": single(np.ones(3)),
    "object-array": saved(np.array([Mischief()], dtype=object)),
    "pickle": b"\x80\x04]\x94.",
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_file_that_is_not_arrays_is_named(tmp_path, kind):
    (tmp_path / "data.npz").write_bytes(FOREIGN[kind])
    with pytest.raises(ValueError, match=r"data\.npz: not a file of arrays, or damaged"):
        read_arrays(tmp_path / "data.npz")


def test_a_lock_that_its_owner_removes_is_made_anew(tmp_path, monkeypatch):
    import fcntl

    path, take, calls = tmp_path / "rounds" / ".lock", fcntl.flock, []

    def removed_before(file, how):
        calls.append(1)
        if len(calls) == 1:
            path.unlink()
            path.parent.rmdir()
        take(file, how)

    monkeypatch.setattr(fcntl, "flock", removed_before)
    with lock(path, tmp_path):
        assert (len(calls), path.is_file()) == (2, True)
        with pytest.raises(InUseError, match="in use by process"):
            lock(path, tmp_path)


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_locks_is_used_with_a_warning(tmp_path, monkeypatch, code):
    def fail(file, how):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("fcntl.flock", fail)
    message = rf"its file system has no locks \({os.strerror(code)}\)\. Take care that no other"
    with pytest.warns(UserWarning, match=message), lock(tmp_path / "lock", tmp_path) as file:
        assert not file.closed
    assert f"process {os.getpid()}" in (tmp_path / "lock").read_text()


def test_another_failure_of_a_lock_is_not_called_use(tmp_path, monkeypatch):
    def fail(file, how):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr("fcntl.flock", fail)
    with pytest.raises(OSError, match="Input/output error") as caught:
        lock(tmp_path / "lock", tmp_path)
    assert not isinstance(caught.value, InUseError)


# --- Memory -------------------------------------------------------------------------------------


def npy(array):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array)
    return buffer.getvalue()


def archive_of(path, members, compression=zipfile.ZIP_STORED):
    """A file of members, with a checksum that nobody comes to compare."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.comment = b"0" * 64


def header(text):
    line = text.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(line).to_bytes(2, "little") + line


def described(descr="'<f8'", order="False", shape="(1,)"):
    return header(f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}}}")


HUGE = {
    "shape": described(shape="(1000000000000,)") + bytes(8),
    "product": described(shape="(4294967296, 4294967296)") + bytes(8),
    "negative": described(shape="(-1, -8)") + bytes(64),
    "text": described(descr="'<U1000000000'") + bytes(8),
    "no-size": described(descr="'<U0'", shape="(1000000000000,)"),
    "empty-and-huge": described(shape="(0, 10000000000000000000000)"),
    "subarray": described(descr="'(1000000000,)f8'") + bytes(8),
    "records": described(descr="[('a', '<f8')]") + bytes(8),
    "objects": described(descr="'|O'") + bytes(8),
    "void": described(descr="'|V8'") + bytes(8),
    "bools": described(shape="(True,)") + bytes(8),
    "expression": described(shape="(2**40,)") + bytes(8),
    "call": header("__import__('os').getcwd()"),
    "order": described(order="1") + bytes(8),
    "more": described() + bytes(16),
    "less": described() + bytes(4),
    "version": npy(np.zeros(1)).replace(b"NUMPY\x01", b"NUMPY\x02", 1),
    "long-header": b"\x93NUMPY\x01\x00\xff\xff" + b" " * 65535,
}


@pytest.mark.parametrize("name", HUGE)
def test_a_header_that_does_not_fit_its_file_is_refused(name, tmp_path):
    archive_of(tmp_path / "data.npz", {"x.npy": HUGE[name]})
    with pytest.raises(ValueError, match=r"data\.npz: not a file of arrays, or damaged"):
        read_arrays(tmp_path / "data.npz")


def test_the_headers_above_are_read_if_nothing_is_wrong(tmp_path):
    archive_of(tmp_path / "data.npz", {"x.npy": described() + bytes(8)})
    with pytest.raises(ValueError, match="its checksum does not match"):
        read_arrays(tmp_path / "data.npz")


def test_members_that_would_not_be_arrays_are_refused(tmp_path):
    good = npy(np.zeros(3))
    archive_of(tmp_path / "data.npz", {"x.txt": good})
    with pytest.raises(ValueError, match="one member for each array"):
        read_arrays(tmp_path / "data.npz")
    with zipfile.ZipFile(tmp_path / "data.npz", "w") as archive:
        archive.writestr("x.npy", good)
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("x.npy", good)
    with pytest.raises(ValueError, match="one member for each array"):
        read_arrays(tmp_path / "data.npz")


def test_members_that_overlap_are_refused(tmp_path):
    """Many entries of the directory that share the bytes of one."""
    path = tmp_path / "data.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", npy(np.zeros(10_000)))
        for number in range(50):
            twin = copy.copy(archive.filelist[0])
            twin.filename = f"{number}.npy"
            archive.filelist.append(twin)
    with pytest.raises(ValueError, match=r"larger than its|overlap|differ"):
        read_arrays(path)


def test_a_file_of_json_that_could_fill_the_memory_is_refused(tmp_path):
    path = tmp_path / "data.json"
    with path.open("wb") as file:
        file.write(b'{"x": [')
        file.truncate(2**40)  # a sparse file
    with pytest.raises(ValueError, match=r"data\.json: .*expected at most 64 MiB of JSON"):
        read_json(path)
    with pytest.raises(ValueError, match="expected at most 64 MiB of JSON"):
        files.parse_json("[" + "[],[]," * 2**24)


BOMB = """
import resource
from pathlib import Path
from pliant._files import read_arrays
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    read_arrays(Path({path!r}))
except ValueError as error:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, error)
"""


def test_a_small_file_takes_little_memory(tmp_path):
    """500 MB of zeros in 0.5 MB; reading it takes less than 20 MB."""
    path = tmp_path / "data.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("x.npy", "w", force_zip64=True) as member:
            member.write(described(shape="(62500000,)"))
            for _ in range(500):
                member.write(bytes(1_000_000))
        archive.comment = b"0" * 64
    assert path.stat().st_size < 600_000
    kilobytes, message = python(BOMB.format(path=str(path))).stdout.split(" ", 1)
    assert "data.npz: not a file of arrays, or damaged (x.npy: expected a member without" in message
    unit = 1024 if sys.platform == "darwin" else 1
    assert int(kilobytes) / unit < 20_000
