"""Run folders that name a problem file: only a file that this user's own run recorded is executed.

Every file here would create the canary.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attacks.campaign import COMMAND, LOST, Arena, Attack, command, expect, refused_command
from attacks.forged import forge, put
from attacks.models import FILE, TINY
from pliant._files import read_json
from pliant.cli.trust import digest

GROUP = "4 problem files that a folder names"
EVIL = "import os, pathlib\npathlib.Path(os.environ['CANARY']).touch()\nproblem = None\n"


def _foreign(arena: Arena) -> dict[str, Any]:
    """A file of the folder's author, with its right digest."""
    path = arena.folder / "evil.py"
    path.write_text(EVIL)
    return {"path": str(path), "sha256": digest(path.read_bytes())}


def _recorded(arena: Arena) -> dict[str, Any]:
    """What the run that is attacked recorded of its own file."""
    return read_json(arena.runs / "command" / "config.json")["file"]


def _signed(arena: Arena) -> str:
    """The signature of the run that is attacked, which is for another file."""
    return _recorded(arena)["signature"]


FILES: dict[str, Callable[[Arena], Any]] = {
    "another file": _foreign,
    "another file and an empty signature": lambda arena: {**_foreign(arena), "signature": ""},
    "another file and a made-up signature": lambda arena: {
        **_foreign(arena),
        "signature": "0" * 64,
    },
    "another file and a stolen signature": lambda arena: {
        **_foreign(arena),
        "signature": _signed(arena),
    },
    "a stolen digest and signature": lambda arena: {
        **_recorded(arena),
        "path": _foreign(arena)["path"],
    },
    "a signature of another type": lambda arena: {**_foreign(arena), "signature": ["0" * 64]},
    "a path of another type": lambda arena: {**_foreign(arena), "path": [1]},
    "no path": lambda arena: {"sha256": "0" * 64},
    "no digest": lambda arena: {"path": _foreign(arena)["path"]},
    "a string": lambda arena: _foreign(arena)["path"],
    "null": lambda arena: None,
    "a list": lambda arena: [_foreign(arena)],
    "a device": lambda arena: {"path": "/dev/zero", "sha256": "0" * 64, "signature": "0" * 64},
    "a path with a null byte": lambda arena: {**_foreign(arena), "path": "a\0b.py"},
    "a link to the file": lambda arena: _linked(arena),
    "modules of another type": lambda arena: {**_recorded(arena), "modules": ["evil.py"]},
    "modules that the run did not import": lambda arena: {
        **_recorded(arena),
        "modules": {"evil.py": _foreign(arena)["sha256"]},
    },
}
TARGETS = {
    "a task that is none": "no_such_task",
    "a module": "os",
    "a number": 3,
    "null": None,
    "a list": ["evil.py:problem"],
    "code": "__import__('os').system('touch $CANARY')",
    "another name in the file": "model.py:broken",
    "only a colon": ".py:",
}


def _linked(arena: Arena) -> dict[str, Any]:
    """The recorded path is a link that now points elsewhere."""
    evil = _foreign(arena)
    link = arena.folder / "model.py"
    link.symlink_to(evil["path"])
    return {**evil, "path": str(link), "signature": _signed(arena)}


def _attack(verb: str, change: Callable[[Arena], Callable[[Any], None]]):
    def act(arena: Arena) -> None:
        folder = arena.copy("command")
        forge(folder / "config.json", change(arena))
        refused_command(verb, folder)
        expect(not arena.canary.exists(), COMMAND, "the file was executed")

    return act


def _changed(verb: str):
    """The file of the run is edited after the run."""

    def act(arena: Arena) -> None:
        folder = arena.copy("command")
        path = arena.runs / "model.py"
        text = path.read_text()
        path.write_text(text + EVIL.replace("problem = None\n", ""))
        try:
            refused_command(verb, folder, naming=path)
        finally:
            path.write_text(text)

    return act


def _neighbour(verb: str, *, forged: bool):
    """A module that the file imports is edited after the run, and its digest is forged or not."""

    def act(arena: Arena) -> None:
        run = arena.folder / "run"
        helper, model = (arena.folder / f"{name}_{arena.number}.py" for name in ("helper", "model"))
        helper.touch()
        model.write_text(f"import {helper.stem}\n{FILE}")
        outcome = command("run", f"{model}:problem", *TINY, "--out", run)
        expect(outcome.exit_code == 0, LOST, outcome.output)
        helper.write_text(EVIL)
        del sys.modules[helper.stem]  # as in a new process
        if forged:
            new = digest(helper.read_bytes())
            forge(run / "config.json", put("file", "modules", helper.name, value=new))
        refused_command(verb, run, naming=model if forged else helper)

    return act


def _other_key(verb: str):
    """The folder of another user: the signature is by another key."""

    def act(arena: Arena) -> None:
        folder = arena.copy("command")
        cache = os.environ["PLIANT_CACHE"]
        os.environ["PLIANT_CACHE"] = str(arena.folder / "cache")
        try:
            refused_command(verb, folder, naming=arena.runs / "model.py")
        finally:
            os.environ["PLIANT_CACHE"] = cache

    return act


def _named(verb: str, name: str, text: str):
    """``--problem`` with something that is no problem file; it is the user's own word."""

    def act(arena: Arena) -> None:
        path = Path(arena.folder / "mine.py")
        path.write_text(text)
        refused_command(verb, arena.copy("command"), "--problem", f"{path}:{name}")

    return act


BAD = {
    "a syntax error": "problem = (",
    "an error": "problem = 1 / 0",
    "an exit": "import sys; sys.exit(0)",
    "no problem": "problem = 3",
    "no such name": "",
    "bytes": "\x00\x01",
}
ATTACKS = [
    attack
    for verb in ("resume", "eval")
    for attack in (
        *(
            Attack(
                GROUP,
                f"{verb}, {name}",
                _attack(verb, lambda arena, make=make: put("file", value=make(arena))),
            )
            for name, make in FILES.items()
        ),
        *(
            Attack(
                GROUP,
                f"{verb}, target: {name}",
                _attack(verb, lambda arena, value=value: put("target", value=value)),
            )
            for name, value in TARGETS.items()
        ),
        Attack(GROUP, f"{verb}, an edited file", _changed(verb)),
        Attack(GROUP, f"{verb}, an edited module", _neighbour(verb, forged=False)),
        Attack(GROUP, f"{verb}, a forged module", _neighbour(verb, forged=True)),
        Attack(GROUP, f"{verb}, the folder of another user", _other_key(verb)),
        *(
            Attack(GROUP, f"{verb}, --problem: {name}", _named(verb, "problem", text))
            for name, text in BAD.items()
        ),
    )
]
