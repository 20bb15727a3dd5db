"""``pliant run --report`` and ``pliant watch``, followed in a real browser."""

import os
import re
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

import pliant
from browsing import LIMIT, cells, head
from pliant._files import read_json
from report_runs import method, problems
from shell import TINY

pytestmark = pytest.mark.training

# after the first round, it waits for a file named go
WAITING_MODEL = """
import time
from pathlib import Path
import numpyro.distributions as dist
import pliant

first, go = Path("run/rounds/001.npz"), Path("go")

def draw(rng, theta):
    end = time.monotonic() + 60
    while first.exists() and not go.exists() and time.monotonic() < end:
        time.sleep(0.05)
    return theta["mu"] + rng.normal(size=2)

problem = pliant.Problem({"mu": dist.Normal(0, 1)}, pliant.PythonSimulator(draw), [[0.5, 0.6]] * 5)
"""


@contextmanager
def started(*args):
    """The command in a process of its own, and the address that it prints."""
    source = str(Path(pliant.__file__).parents[1])
    process = subprocess.Popen(
        [sys.executable, "-c", "from pliant.cli import main; main()", *map(str, args)],
        env={**os.environ, "PYTHONPATH": source},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        lines = iter(process.stdout.readline, "")
        address = next(
            found[0] for line in lines if (found := re.search(r"http://127\.0\.0\.1:\d+/", line))
        )
        yield process, address
    finally:
        process.terminate()
        process.communicate()


def rounds(page, n):
    page.wait_for_function(
        "n => document.querySelectorAll('#history-table tbody tr').length === n", arg=n
    )


def test_a_run_with_a_report_is_followed_to_its_end(visit, tmp_path):
    (tmp_path / "waiting_model.py").write_text(WAITING_MODEL)
    options = [*TINY, "--n-particles", "20", "--n-draws", "10", "--seed", "3"]
    asked, seen = [], []
    command = "run", "waiting_model.py:problem", *options, "--out", "run", "--report"
    with started(*command) as (process, address):
        page = visit(address, asked)
        rounds(page, 1)
        assert page.inner_text("#live") == "Running: 1 round of 2 done."
        assert len(cells(page, "posterior-table")) == 1
        (tmp_path / "go").touch()
        rounds(page, 2)
        head(page, "The server has ended")
        page.context.close()
        rest, _ = process.communicate(timeout=LIMIT / 1000)
    assert process.returncode == 0, rest
    assert rest.endswith(": run/report.html\n")
    assert all(url.startswith(address) for url in asked)
    report = (tmp_path / "run" / "report.html").as_uri()
    page = visit(report, seen)
    assert seen == [report]
    found = read_json(tmp_path / "run" / "diagnosis.json")
    assert page.inner_text("#verdict-badge") == found["verdict"]
    assert len(cells(page, "history-table")) == 2


def test_a_run_from_python_is_shown_when_it_has_ended(visit, tmp_path):
    """The page has no problem, and so no posterior before the end."""
    folder, go, begun = tmp_path / "run", threading.Semaphore(0), threading.Event()

    def wait(row, posterior):
        begun.set()
        go.acquire(timeout=LIMIT / 1000)

    options = {"seed": 3, "folder": folder, "progress": False, "callback": wait}
    arguments = problems()["conditions"], method()
    thread = threading.Thread(target=pliant.infer, args=arguments, kwargs=options)
    thread.start()
    assert begun.wait(LIMIT / 1000)
    with started("watch", folder) as (process, address):
        page = visit(address)
        rounds(page, 1)
        assert cells(page, "posterior-table") == []
        go.release(3)
        head(page, "The run has ended")
        thread.join()
        assert "finished" in page.inner_text("#verdict")
        page.click("#history summary")
        assert [row[0] for row in cells(page, "history-table")] == ["1", "2", "3"]
        draws = pliant.load(folder).posterior.sample(10_000, seed=3)["slope"]
        assert cells(page, "posterior-table")[0][:2] == ["slope", f"{draws.mean():.4g}"]
        assert page.locator("figure[data-chart=pairs] svg").count() == 1
        page.reload()
        assert len(cells(page, "posterior-table")) == 1
        page.context.close()
        assert process.poll() is None  # until Ctrl-C
