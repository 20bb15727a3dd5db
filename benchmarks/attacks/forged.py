"""Forged files: their checksums are right, and their content is what a forger would like to run.

A module that a file names, a pickle in an array or a class of the main program would create the
canary.
"""

import hashlib
import io
import json
import os
import pickle
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pliant
from attacks.campaign import DIFFERENCE, TRACEBACK, Arena, Attack, expect, refused
from attacks.models import posterior, problem
from pliant._files import checksum, read_arrays, read_json, write_arrays

GROUP, BOMBS = "3 forged files", "14 absurd files"
Change = Callable[[Any], None]


def put(*names: Any, value: Any) -> Change:
    """A change of one place in nested data."""

    def change(data: Any) -> None:
        for name in names[:-1]:
            data = data[name]
        data[names[-1]] = value

    return change


def drop(*names: Any) -> Change:
    """The removal of one place in nested data."""

    def change(data: Any) -> None:
        for name in names[:-1]:
            data = data[name]
        del data[names[-1]]

    return change


def forge(path: Path, change: Change) -> None:
    """Change the JSON of a file, or the tree of a file of arrays, and sign it again."""
    if path.suffix == ".json":
        data = read_json(path)
        change(data)
        digest = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
        path.write_text(json.dumps({"checksum": digest, **data}))
    else:
        arrays = read_arrays(path)
        tree = json.loads(str(arrays["tree"]))
        change(tree)
        write_arrays(path, {**arrays, "tree": np.array(json.dumps(tree))})


class Spy:
    """Creates the canary when it is unpickled, or built by the main program."""

    def __init__(self, *_: Any, **__: Any):
        Path(os.environ["CANARY"]).touch()

    def __reduce__(self) -> Any:
        return (os.system, (f"touch {os.environ['CANARY']}",))


def plant(folder: Path) -> None:
    """Make what forged files name: a module on the path, and a class of the main program."""
    (folder / "forged_module.py").write_text(
        "import os, pathlib\n"
        "pathlib.Path(os.environ['CANARY']).touch()\n"
        "def Method(*args, **options):\n    pathlib.Path(os.environ['CANARY']).touch()\n"
    )
    sys.path.append(str(folder))
    sys.modules["__main__"].PLI = Spy  # pyright: ignore


TOUCH = "import os; open(os.environ['CANARY'], 'w')"
MMD = {"class": "MMD"}
NAN = {"float": "nan"}
DEEP: list = []
for _ in range(400):
    DEEP = [DEEP]
# Values for any place where a file holds something else: what an eager reader would execute.
EXECUTABLE = {
    "a module": {"class": "forged_module.Method"},
    "a module with a colon": {"class": "forged_module:Method"},
    "the main program": {"class": "__main__.PLI"},
    "a name of the main program": {"class": "PLI", "__module__": "__main__"},
    "os.system": {"class": "os.system", "command": "touch $CANARY"},
    "subprocess": {"class": "subprocess.Popen", "args": ["sh", "-c", "touch $CANARY"]},
    "builtins.exec": {"class": "builtins.exec", "source": TOUCH},
    "eval": {"function": "eval", "args": [TOUCH]},
    "a function": {"function": "silu"},
    "a function of a module": {"function": "forged_module.Method"},
    "a partial": {"class": "Partial", "func": {"function": "forged_module.Method"}, "args": []},
    "functools.partial": {"class": "functools.partial", "func": {"function": "os.system"}},
    "a reduction": {"py/reduce": [{"py/function": "os.system"}, {"py/tuple": ["touch $CANARY"]}]},
    "a pickle": {"pickle": pickle.dumps(TOUCH).hex()},
    "nested": {"list": [{"dict": {"a": {"class": "forged_module.Method"}}}]},
    "a lambda": {"lambda": TOUCH},
    "a template": "{0.__class__.__init__.__globals__}",
    "deep": DEEP,
}
PLACES = {
    "result.json method": ("result.json", ("method",)),
    "result.json family": ("result.json", ("method", "family")),
    "result.json check": ("result.json", ("check",)),
    "posterior.npz density": ("posterior.npz", ("value", "dict", "posterior", "density")),
    "posterior.npz space": ("posterior.npz", ("value", "dict", "posterior", "space")),
    "posterior.npz mean": ("posterior.npz", ("value", "dict", "posterior", "density", "mean")),
    "history.json row": ("history.json", ("rounds", 0, "ess")),
}
RESUMED = {
    "run.json method": ("run.json", ("method",)),
    "run.json discrepancy": ("run.json", ("method", "discrepancy")),
    "round state": ("rounds/002.npz", ("value", "dict", "state")),
    "round density": ("rounds/002.npz", ("value", "dict", "state", "density")),
    "round stop": ("rounds/002.npz", ("value", "dict", "stop")),
}
WRONG = {  # right names, wrong types
    ("result.json", "a list for an integer"): put("method", "rounds", value=[2]),
    ("result.json", "a float for an integer"): put("method", "n_particles", value=16.0),
    ("result.json", "a boolean for an integer"): put("method", "n_draws", value=True),
    ("result.json", "a string for an integer"): put("method", "rounds", value="2"),
    ("result.json", "not a number"): put("method", "noise_limit", value=NAN),
    ("result.json", "another class"): put("method", "discrepancy", value=MMD),
    ("result.json", "an extra option"): put("method", "extra", value=1),
    ("result.json", "an extra field"): put("surprise", value=1),
    ("result.json", "a missing option"): drop("method", "reuse"),
    ("result.json", "a missing field"): drop("seed"),
    ("result.json", "a negative seed"): put("seed", value=-1),
    ("result.json", "a huge seed"): put("seed", value=10**400),
    ("result.json", "failures of numbers"): put("failures", value=[1]),
    ("result.json", "another format"): put("format", value=10**6),
    ("result.json", "no status"): put("status", value="splendid"),
    ("history.json", "rows of lists"): put("rounds", 0, value=[1]),
    ("history.json", "no rows"): put("rounds", value=3),
    ("history.json", "a huge number"): put("rounds", 0, "ess", value=10**400),
    ("posterior.npz", "names of numbers"): put(
        "value", "dict", "posterior", "space", "names", value=[1]
    ),
    ("posterior.npz", "another array"): put(
        *("value", "dict", "posterior", "density", "mean"), value={"numpy": "tree"}
    ),
}


def _load(file: str, change: Change):
    def act(arena: Arena) -> None:
        run = arena.copy("finished")
        forge(run / file, change)
        before = set(sys.modules)
        refused(lambda: pliant.load(run), run / file)
        expect("forged_module" not in set(sys.modules) - before, DIFFERENCE, "a module is imported")

    return act


def _resume(file: str, change: Change):
    """A forged plan is refused; a forged round is named, and made again."""

    def act(arena: Arena) -> None:
        run = arena.copy("killed")
        forge(run / file, change)
        if file == "run.json":
            refused(lambda: pliant.resume(run, problem(), progress=False), run / file)
        else:
            recovers(arena, run, run / file)

    return act


def recovers(arena: Arena, run: Path, damaged: Path) -> None:
    """Resume a run: a warning names the damaged file, and the posterior is the whole run's."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        pliant.resume(run, problem(), progress=False)
    texts = [str(warning.message) for warning in caught]
    expect(any(str(damaged) in text for text in texts), DIFFERENCE, f"not named: {texts}")
    expect(all("\n" not in text for text in texts), TRACEBACK, f"not one line: {texts}")
    same = posterior(run) == posterior(arena.runs / "finished")
    expect(same, DIFFERENCE, f"{damaged.name}: another posterior")


# ---- files that are no files of Pliant, or that ask for more memory than there is ----


def _members(path: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.comment = checksum({}).encode()


def _header(shape: str, descr: str = "'<f8'", data: bytes = bytes(8)) -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def _pickled(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


HEADERS = {
    "more than all memory": _header("(9999999999999,)"),
    "an overflow": _header(f"({2**62}, 4)"),
    "a negative length": _header("(-1,)"),
    "a number that is no integer": _header("(1.0,)"),
    "code for a shape": _header("__import__('os').system('touch $CANARY')"),
    "code for a type": _header("(1,)", "__import__('os').system('touch $CANARY')"),
    "objects": _header("(1,)", "'|O'", pickle.dumps([Spy.__name__])),
    "a type without bytes": _header("(99999999999,)", "'|S0'", b""),
    "a record type": _header("(1,)", "[('a', '<f8')]"),
    "nested brackets": _header("(" * 3000 + ")" * 3000),
    "nothing": b"",
    "a long header": b"\x93NUMPY\x02\x00" + (2**31).to_bytes(4, "little") + bytes(100),
}


def _bomb(write: Callable[[Path], None], file: str):
    def act(arena: Arena) -> None:
        run = arena.copy("killed" if file.startswith("rounds") else "finished")
        write(run / file)
        if file.startswith("rounds"):
            recovers(arena, run, run / file)
        else:
            refused(lambda: pliant.load(run), run / file)

    return act


def _compressed(path: Path) -> None:
    _members(path, {"tree.npy": _header("(12500000,)", data=bytes(10**8))}, zipfile.ZIP_DEFLATED)


def _overlapping(path: Path) -> None:
    """Many names for the bytes of one member, each as long as the file."""
    _members(path, {f"{i}.npy": _header("(1,)") for i in range(200)})
    data = path.read_bytes()
    offset = data.index(b"PK\x01\x02")
    place, directory = offset, bytearray(data)
    while directory[place : place + 4] == b"PK\x01\x02":
        directory[place + 42 : place + 46] = bytes(4)
        names = sum(
            int.from_bytes(directory[place + a : place + a + 2], "little") for a in (28, 30, 32)
        )
        place += 46 + names
    path.write_bytes(directory)


def _text(text: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_bytes(text)

    return write


NPZ = {
    **{name: (lambda path, m=m: _members(path, {"tree.npy": m})) for name, m in HEADERS.items()},
    "a pickle in an array": lambda path: _members(
        path, {"tree.npy": _pickled(np.array([Spy.__new__(Spy)], object))}
    ),
    "a zip bomb": _compressed,
    "overlapping members": _overlapping,
    "a pickle": lambda path: path.write_bytes(pickle.dumps(Spy.__new__(Spy))),
    "a member elsewhere": lambda path: _members(path, {"../../escaped.npy": _header("(1,)")}),
    "no zip": _text(b"PK\x03\x04" + bytes(50)),
}
JSON = {
    "a pickle": lambda path: path.write_bytes(pickle.dumps(Spy.__new__(Spy))),
    "brackets without end": _text(b"[" * 200_000),
    "objects without end": _text(b'{"a": ' * 200_000),
    "a number of 100,000 digits": _text(b'{"seed": ' + b"9" * 100_000 + b"}"),
    "a name twice": _text(b'{"checksum": "", "checksum": ""}'),
    "not a number": _text(b'{"seed": NaN}'),
    "no text": _text(bytes(range(256))),
    "a list": _text(b"[]"),
    "null": _text(b"null"),
    "nothing": _text(b""),
}

ATTACKS = [
    *(
        Attack(GROUP, f"{what} as {place}", _load(file, put(*names, value=value)))
        for place, (file, names) in PLACES.items()
        for what, value in EXECUTABLE.items()
    ),
    *(
        Attack(GROUP, f"{what} as {place}", _resume(file, put(*names, value=value)), slow=True)
        for place, (file, names) in RESUMED.items()
        for what, value in EXECUTABLE.items()
    ),
    *(
        Attack(GROUP, f"{file}: {what}", _load(file, change))
        for (file, what), change in WRONG.items()
    ),
    *(Attack(BOMBS, f"posterior.npz: {n}", _bomb(w, "posterior.npz")) for n, w in NPZ.items()),
    *(
        Attack(BOMBS, f"a round: {n}", _bomb(w, "rounds/002.npz"), slow=True)
        for n, w in NPZ.items()
    ),
    *(Attack(BOMBS, f"result.json: {n}", _bomb(w, "result.json")) for n, w in JSON.items()),
    *(Attack(BOMBS, f"history.json: {n}", _bomb(w, "history.json")) for n, w in JSON.items()),
]
