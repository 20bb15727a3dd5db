"""Attack runs in every way we know: ``python benchmarks/faults.py [--short] [--seed N]``.

Writes ``benchmarks/results/faults.md``: one row for each class of attacks, with what they found. A
result that is lost, a difference without a word, a traceback, a command that a file ran, and a
process or temporary file that stays are faults. The exit code is 1 if there is any. The short
version takes less than a minute and writes nothing, unless ``--page`` names a file.
"""

import argparse
import os
import platform
import random
import sys
import tempfile
import time
from pathlib import Path

PAGE = Path(__file__).parent / "results" / "faults.md"
PARTS = ("folders", "forged", "trust", "command", "simulators", "problems", "kills", "flips")


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--short", action="store_true", help="a part of the attacks")
    parser.add_argument("--seed", type=int, default=0, help="random attacks follow from it")
    parser.add_argument("--page", type=Path, help="where to write the table")
    parser.add_argument("--only", choices=PARTS, action="append", help="some of the tables")
    options = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="campaign-") as folder:
        campaign = perform(Path(folder).resolve(), options)
    page = text(campaign, time.monotonic() - start, options)
    partial = options.short or options.only
    target = options.page or (None if partial else PAGE)
    if target is not None:
        target.write_text(page)
    print(page)
    return int(bool(campaign.faults))


def perform(root: Path, options: argparse.Namespace):
    """All attacks, in a folder of their own."""
    scratch = root / "scratch"
    scratch.mkdir()
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(root / "compiled"))
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["PLIANT_CACHE"] = str(root / "cache")
    os.environ["CANARY"] = str(root / "canary")
    os.environ["TMPDIR"] = tempfile.tempdir = str(scratch)
    os.chdir(root)

    import importlib

    from attacks.campaign import Arena, Campaign
    from attacks.children import Children
    from attacks.forged import plant
    from attacks.models import write_runs

    plant(root)
    children = Children(root, dict(os.environ))
    campaign = Campaign(Arena(root, children, options.seed, options.short))
    try:
        write_runs(campaign.arena.runs)
        for part in options.only or PARTS:
            attacks = importlib.import_module(f"attacks.{part}").ATTACKS
            for attack in some(attacks, options.seed) if options.short else attacks:
                campaign.perform(attack)
            print(f"{part}: {campaign.attacks.total():,} attacks", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        campaign.faults.append("the campaign was interrupted")
    finally:
        children.close()
    return campaign


def some(attacks: list, seed: int) -> list:
    """A part of a table for the short version: a sixth of each class's fast attacks, or two."""
    rng, classes = random.Random(seed), {}
    for attack in attacks:
        if not attack.slow:
            classes.setdefault(attack.group, []).append(attack)
    numbers = {group: max(2, len(fast) // 6) for group, fast in classes.items()}
    return [
        attack
        for group, fast in classes.items()
        for attack in rng.sample(fast, min(len(fast), numbers[group]))
    ]


def text(campaign, seconds: float, options: argparse.Namespace) -> str:
    """The page: the table, how it was made, and every fault that was found."""
    arguments = "".join(
        [" --short" * options.short, f" --seed {options.seed}" * (options.seed > 0)]
    )
    machine = f"Python {platform.python_version()}, {platform.system()}, {os.cpu_count()} cores"
    faults = "\n".join(f"* {' '.join(fault.split())[:600]}" for fault in campaign.faults)
    return (
        "# The fault campaign\n\n"
        f"`python benchmarks/faults.py{arguments}`, {seconds / 60:.0f} minutes, {machine}. "
        "[docs/guarantees.md](../../docs/guarantees.md) says what the classes are.\n\n"
        f"{campaign.table()}\n\n"
        + (f"Faults:\n\n{faults}\n" if faults else "No fault was found.\n")
    )


if __name__ == "__main__":
    sys.exit(main())
