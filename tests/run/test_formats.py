"""Runs of every format that was ever released stay readable, or are refused by their version."""

import shutil

import numpy as np
import pytest
from attacks.forged import forge, put

import format_runs
import pliant
from pliant.run import folder as layout
from shell import pliant_command

FOLDERS = sorted(format_runs.FIXTURES.glob("format*"))
READABLE = {8}  # of these formats; ``check_format`` refuses all others


@pytest.fixture(params=FOLDERS, ids=lambda path: path.name)
def runs(request, tmp_path):
    version = int(request.param.name.removeprefix("format"))
    runs = shutil.copytree(request.param, tmp_path / "runs")
    if version not in READABLE:
        for read in (pliant.load, resume):
            with pytest.raises(ValueError, match=rf"its format is {version}, .* before 0\.1\.0"):
                read(runs / "finished")
        pytest.skip(f"format {version} is read by the versions that wrote it")
    return runs


def test_the_present_format_has_its_runs():
    assert layout.FORMAT in READABLE, "say in READABLE which formats this version reads"
    assert (format_runs.FIXTURES / f"format{layout.FORMAT}").is_dir(), "run tests/format_runs.py"
    files = [path for path in format_runs.FIXTURES.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 60_000 * len(FOLDERS)


def test_the_version_stands_in_every_file(runs):
    """Another version is named, whichever file it stands in."""
    for name in ("result.json", "history.json", "posterior.npz", "run.json"):
        run = shutil.copytree(runs / "finished", runs / name)
        forge(run / name, put("format", value=layout.FORMAT + 1))
        read = pliant.load if name != "run.json" else resume
        with pytest.raises(ValueError, match=rf"{name}: its format is {layout.FORMAT + 1}"):
            read(run)


def resume(run):
    return pliant.resume(run, format_runs.problem(), progress=False)


def test_an_old_run_is_opened_and_shown(runs):
    for name, rounds in (("finished", 2), ("interrupted", 1)):
        result = pliant.load(runs / name)
        assert result.status == name
        assert len(result.history) == rounds
        assert np.isfinite(result.posterior.sample(10)["mu"]).all()
        shown = pliant_command("show", runs / name)
        assert shown.exit_code == 0, shown.output
        assert name in shown.output
        assert "mu" in shown.output


def test_an_old_run_is_resumed(runs):
    """The resumed run is the finished one, up to rounding that depends on the machine."""
    whole = pliant.load(runs / "finished")
    for name in ("interrupted", "finished"):
        result = resume(runs / name)
        assert result.status == "finished"
        assert len(result.history) == 2
        np.testing.assert_allclose(
            result.posterior.sample(50)["mu"], whole.posterior.sample(50)["mu"], rtol=1e-3
        )
