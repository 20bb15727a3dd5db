"""``benchmarks/faults.py``: its short version finds no fault, and neither did its committed run."""

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from attacks import campaign as attacks

import pliant

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "benchmarks" / "results" / "faults.md"
COMPILED = ROOT / ".pytest_cache" / "compiled"


def table(page):
    """The numbers of each row of a page, by the class of attacks."""
    rows = re.findall(r"^\| ([^|]+) \|((?: [\d,]+ \|)+)$", page, re.MULTILINE)
    return {
        name: [int(n.replace(",", "")) for n in numbers.strip("| ").split(" | ")]
        for name, numbers in rows
    }


def test_the_committed_campaign_is_large_and_found_no_fault():
    rows = table(PAGE.read_text())
    numbers = {name: row[0] for name, row in rows.items()}
    flips = sum(number for name, number in numbers.items() if "flipped bytes" in name)
    kills = numbers["12, 16 SIGKILL"]
    assert flips >= 20_000
    assert kills >= 50
    assert numbers["all"] - flips - kills >= 300
    assert not any(any(row[1:]) for row in rows.values())


def test_a_campaign_counts_what_it_finds(tmp_path):
    (tmp_path / "scratch").mkdir()
    mine = SimpleNamespace(owns=lambda process: True)
    campaign = attacks.Campaign(attacks.Arena(tmp_path, mine, seed=0, short=True))
    acts = {
        "results lost": lambda _: attacks.expect(False, attacks.LOST, "a draw"),
        "silent differences": lambda _: attacks.refused(lambda: "accepted"),
        "tracebacks": lambda _: 1 / 0,
        "commands run": lambda arena: arena.canary.touch(),
        "orphans": lambda arena: (arena.scratch / "pliant-left").mkdir(),
    }
    for kind, act in acts.items():
        campaign.perform(attacks.Attack(f"bad: {kind}", "an attack", act))
    campaign.perform(attacks.Attack("good", "three attacks", lambda _: 3))
    rows = table(campaign.table())
    for place, kind in enumerate(acts):
        assert rows[f"bad: {kind}"] == [1, *(int(place == other) for other in range(5))]
    assert rows["good"] == [3, 0, 0, 0, 0, 0]
    assert rows["all"] == [8, 1, 1, 1, 1, 1]
    assert len(campaign.faults) == 5


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (None, None),
        (ValueError("file.json is damaged"), None),
        (ValueError("some file is damaged"), "silent differences"),
        (ValueError("file.json:\n is damaged"), "tracebacks"),
        (KeyError("file.json"), "tracebacks"),
    ],
)
def test_a_refusal_is_one_line_that_names_the_file(error, kind):
    def read():
        if error is not None:
            raise error
        raise FileNotFoundError(2, "No such file", "file.json")

    found = None
    try:
        attacks.refused(read, "file.json")
    except attacks.Fault as fault:
        found = fault.kind
    except KeyError:  # what ``perform`` counts as a traceback
        found = "tracebacks"
    assert found == kind


def test_a_short_campaign_finds_no_fault(tmp_path, monkeypatch):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(COMPILED))
    monkeypatch.setenv("PYTHONPATH", str(Path(pliant.__file__).parents[1]))
    page = tmp_path / "faults.md"
    words = [ROOT / "benchmarks" / "faults.py", "--short", "--page", page]
    done = subprocess.run(
        [sys.executable, *map(str, words)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = table(page.read_text())
    assert len(rows) >= 10
    assert rows["all"][0] >= 300
    assert not any(rows["all"][1:])
