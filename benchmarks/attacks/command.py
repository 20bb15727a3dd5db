"""The command line: options that make no sense, paths that are no folders, disks that are full."""

import warnings
from pathlib import Path
from typing import Any

import pliant
from attacks.campaign import (
    DIFFERENCE,
    LOST,
    TRACEBACK,
    Arena,
    Attack,
    command,
    expect,
    refused_command,
)
from attacks.forged import forge, put
from attacks.models import TINY, posterior, problem

OPTIONS, DISKS, SHOWN = "malformed options", "9 files and disks that fail", "3 forged files, shown"
NUMBERS = ("", "x", "nan", "-1", "1e999", "0x", "--", "٣x", "1;touch $CANARY", "$(touch $CANARY)")
COUNTS = ("--n-particles", "--rounds", "--n-draws", "--n-obs", "--seed", "--max-simulations")
CHOICES = ("--method", "--family", "--discrepancy", "--beta", "--epsilon", "--max-seconds")
WORDS = [
    *(("run", "gaussian_location", name, value) for name in COUNTS for value in NUMBERS),
    *(("run", "gaussian_location", name, value) for name in CHOICES for value in NUMBERS),
    *(("run", target) for target in ("", "no_such_task", "a.py", "a.py:", ":b", "../x.py:y", "\0")),
    *(("eval", ".", "--n-samples", value) for value in NUMBERS),
    *(
        ("resume", ".", name, value)
        for name in ("--max-simulations", "--problem")
        for value in ("x", "")
    ),
    *((verb, "--no-such-option") for verb in ("run", "resume", "show", "eval", "tasks", "bench")),
    *((verb,) for verb in ("run", "resume", "show", "eval", "nonsense")),
    *(
        ("bench", verb, *more)
        for verb in ("run", "status", "collect", "figures")
        for more in ((), ("x",))
    ),
    ("bench", "run", "smoke", "--workers", "0"),
    ("bench", "run", "smoke", "--workers", "1", "--dask", "local"),
]
METHODS = ("pli-accurate", "rejection-abc", "smc-abc", "pmc-abc", "mh-abc", "apt")
HUGE = [
    *((name, str(10**n)) for name in ("--n-draws", "--n-particles") for n in (12, 18)),
    *(("--method", method, "--n-particles", str(10**18)) for method in METHODS),
    ("--method", "rejection-abc", "--rounds", str(10**12)),
]
VERBS = (
    *(("show",), ("eval",), ("resume",), ("bench", "status"), ("bench", "collect")),
    *(("bench", "figures"), ("bench", "run", "smoke", "--out"), ("run", "slcp", *TINY, "--out")),
)
PATHS = ("a_file", "a_file/below", "n" * 300, "a_link", "a\nb")
ODD: tuple[Any, ...] = (None, 3, -1.5, "x", [], [[1]], {}, {"a": {"b": 1}}, True, "\x1b[2J\x07")
SHOW = {
    "result.json": ("status", "message", "check", "seed", "method", "failures", "format"),
    "config.json": ("target", "n_obs", "changed", "truth"),
    "history.json": ("rounds", "format"),
}


def _mistake(words: tuple[str, ...]):
    def act(arena: Arena) -> None:
        out = ("--out", arena.folder / "run") if words[0] == "run" else ()
        refused_command(*words, *out)
        expect(not (arena.folder / "run").exists(), DIFFERENCE, "a folder is made")

    return act


def _path(verb: tuple[str, ...], path: str):
    def act(arena: Arena) -> None:
        (arena.folder / "a_file").write_text("mine")
        (arena.folder / "a_link").symlink_to("a_link")
        refused_command(*verb, arena.folder / path)
        expect((arena.folder / "a_file").read_text() == "mine", LOST, "a file is changed")

    return act


def _show(file: str, field: str, value: Any):
    """``pliant show`` of a forged file: printed, or refused in one line; no control characters."""

    def act(arena: Arena) -> None:
        run = arena.copy("command")
        forge(run / file, put(field, value=value))
        outcome = command("show", run)
        fine = outcome.exception is None or isinstance(outcome.exception, SystemExit)
        expect(fine, TRACEBACK, repr(outcome.exception))
        expect(not set("\x1b\x07") & set(outcome.output), DIFFERENCE, "controls the terminal")
        if outcome.exit_code:
            expect(outcome.stderr.count("\n") == 1, TRACEBACK, outcome.stderr)

    return act


# ---- limits of the operating system, in processes of their own ----


def _full_disk(size: int):
    """No file can be larger than ``size``: what was saved stays, and resuming gives the same."""

    def act(arena: Arena) -> None:
        run = arena.folder / "run"
        limits = {"FSIZE": size}
        code, text = arena.children.call(
            "models:begin", kind="quick", folder=str(run), limits=limits
        )
        stored = "could not be written" in text or "StorageError" in text
        expect(code in (0, 3) or stored, TRACEBACK, text[-500:])
        _resumes(arena, run)

    return act


def _resumes(arena: Arena, run: Path) -> None:
    """Whatever is there can be resumed or begun again, and gives the posterior of a whole run."""
    with warnings.catch_warnings(action="ignore"):
        if (run / "run.json").exists():
            pliant.resume(run, problem(), progress=False)
        else:
            from attacks.models import infer

            infer(problem(), run)
    same = posterior(run) == posterior(arena.runs / "finished")
    expect(same, DIFFERENCE, "another posterior after a full disk")


def _limited_command(limits: dict[str, int], *words: str):
    """The command under limits: it ends with a code and one line, never with a traceback."""

    def act(arena: Arena) -> None:
        target = f"{arena.runs / 'model.py'}:problem"
        given = [word.format(target=target, folder=arena.folder / "run") for word in words]
        if words[0] != "run":
            arena.copy("command").rename(arena.folder / "run")
        code, text = arena.children.call("models:run_command", words=given, limits=limits)
        expect("Traceback" not in text, TRACEBACK, text[-700:])
        told = code in (1, 2) and ("pliant: " in text or "storage_failed" in text)
        expect(told, DIFFERENCE, f"exit code {code}: {text}")

    return act


RUN = ("run", "{target}", *TINY, "--out", "{folder}")
ATTACKS = [
    *(Attack(OPTIONS, " ".join(words), _mistake(words)) for words in WORDS),
    *(
        Attack(DISKS, f"{' '.join(verb[:2])} {path[:9]!r}", _path(verb, path))
        for verb in VERBS
        for path in PATHS
        if path != "a\nb" or "--out" not in verb  # a new folder may have any name
    ),
    *(
        Attack(SHOWN, f"{file} {field}: {value!r}", _show(file, field, value))
        for file, fields in SHOW.items()
        for field in fields
        for value in ODD
    ),
    *(
        Attack(DISKS, f"files of at most {size} bytes", _full_disk(size), slow=True)
        for size in (0, 100, 900, 1100, 2700, 3200, 3700, 6000, 7400)
    ),
    *(
        Attack(
            DISKS,
            f"run, files of at most {n} bytes",
            _limited_command({"FSIZE": n}, *RUN),
            slow=True,
        )
        for n in (0, 1000, 3000, 6000, 30000)
    ),
    *(
        Attack(
            OPTIONS,
            " ".join(words),
            _limited_command({"AS": 2**33}, "run", "slcp", *words, "--out", "{folder}"),
            slow=True,
        )
        for words in HUGE
    ),
]
