"""Every number of a report is recomputed here from the files of its run, by NumPy alone."""

import dataclasses
import json

import jax
import numpy as np
import pytest

import pliant
from pliant._files import read_arrays, read_json
from pliant.problem.samples import as_table
from pliant.problem.space import constrain_all
from pliant.reporting.content import content_of, known_row
from pliant.reporting.marginals import DrawTable
from report_runs import EVIL

pytestmark = pytest.mark.training


@pytest.fixture(scope="module")
def content(run):
    return json.loads(json.dumps(content_of(run.subject), allow_nan=False))


@pytest.fixture(scope="module")
def table(run):
    return as_table(read_arrays(run.folder / "samples.npz"), run.problem.prior.space.names)


def prior_table(problem):
    z = problem.prior.sample(jax.random.key(0), 10_000)
    return as_table(constrain_all(problem.prior.space, z), problem.prior.space.names)[1]


def test_the_posterior_table_is_that_of_the_saved_samples(run, content, table):
    names, values = table
    rows = content["posterior"]["rows"]
    assert [row["name"] for row in rows] == names
    levels = {"q025": 0.025, "q05": 0.05, "q50": 0.5, "q95": 0.95, "q975": 0.975}
    both = values, prior_table(run.problem)
    widths = [np.subtract(*np.quantile(x, [0.75, 0.25], axis=0)) for x in both]
    for i, row in enumerate(rows):
        column = values[:, i]
        assert row["mean"] == pytest.approx(column.mean(), rel=1e-9)
        assert row["sd"] == pytest.approx(column.std(), rel=1e-9)
        assert row["mcse"] == pytest.approx(column.std() / 100, rel=1e-9)  # of 10,000 draws
        for key, level in levels.items():
            assert row[key] == pytest.approx(np.quantile(column, level), rel=1e-9)
        assert row["contraction"] == pytest.approx(1 - (widths[0][i] / widths[1][i]) ** 2, rel=1e-9)
    if run.subject.known.truth is not None:
        truth = [float(x) for v in run.subject.known.truth.values() for x in np.ravel(v)]
        assert [row["truth"] for row in rows] == truth


def test_figures_show_draws_of_the_saved_samples(content, table):
    names, values = table
    posterior = content["posterior"]
    assert posterior["names"] == names
    for column, shown in zip(values.T, posterior["draws"]["posterior"], strict=True):
        assert len(shown) == 1000
        np.testing.assert_allclose(shown, column[::10], rtol=1e-4)  # five digits
    for i, marginal in enumerate(posterior["marginals"]):
        bins = marginal["kinds"]["posterior"]
        low, high = np.quantile(values[:, i], [0.002, 0.998])
        counts, edges = np.histogram(values[:, i], bins=40, range=(low, high))
        np.testing.assert_allclose(bins["edges"], edges, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(bins["heights"], counts / counts.max(), rtol=1e-4)


def test_the_run_is_that_of_the_files(run, content):
    result, history = read_json(run.folder / "result.json"), read_json(run.folder / "history.json")
    last = history["rounds"][-1]
    assert content["run"]["status"] == result["status"]
    assert content["run"]["message"] == result["message"]
    assert content["run"]["seed"] == result["seed"]
    assert content["run"]["rounds"] == len(history["rounds"])
    assert content["run"]["simulations"] == last["simulations"]
    assert content["run"]["seconds"] == last["seconds"]
    assert dict(content["problem"])["simulations"] == f"{last['simulations']:,}"


def test_the_panels_show_the_rows_of_the_history(run, content):
    rounds = read_json(run.folder / "history.json")["rounds"]
    panels = {panel["name"]: panel for panel in content["history"]["panels"]}
    assert {"bandwidth", "kl", "ess"} <= set(panels)
    for panel in panels.values():
        assert panel["rounds"] == [row["round"] for row in rounds]
        for line in panel["lines"]:
            assert line["values"] == [row.get(line["column"]) for row in rounds]
    target = np.median([row["bandwidth"] / (1 + row["eta"]) for row in rounds])
    assert panels["bandwidth"]["limit"] == pytest.approx(target, rel=1e-9)


def test_the_checks_are_those_of_the_diagnosis(run, content):
    found, checks = read_json(run.folder / "diagnosis.json"), content["checks"]
    assert checks["verdict"] == found["verdict"]
    keys = ("check", "level", "text", "remedy", "number", "limit")
    assert checks["findings"] == [{key: f[key] for key in keys} for f in found["findings"]]


def test_modes_have_the_shares_of_the_draws(runs):
    """Both modes have the share 0.5, by symmetry. A run of 200 particles finds it within 0.2."""
    run = runs["multimodal"]
    posterior = content_of(run.subject)["posterior"]
    values = read_arrays(run.folder / "samples.npz")["mu"][::10]
    positive = values[:, 0] > 0
    labels, modes = np.array(posterior["labels"]), posterior["modes"]
    assert [mode["share"] for mode in modes] == [np.mean(labels == i) for i in range(2)]
    assert len({*positive[labels == 0]}) == len({*positive[labels == 1]}) == 1
    assert np.mean(labels < 0) < 0.01  # between the modes
    assert np.mean(positive) == pytest.approx(0.5, abs=0.2)
    centre = np.median(values[labels == 0], axis=0)
    assert list(modes[0]["centre"].values()) == pytest.approx(centre.tolist())


def test_one_mode_is_none(runs):
    assert content_of(runs["conditions"].subject)["posterior"]["modes"] == []


def test_the_status_is_that_of_the_run(run, content):
    expected = {"multimodal": "converged", "conditions": "finished"}.get(run.kind, run.kind)
    assert content["run"]["status"] == expected
    assert read_json(run.folder / "result.json")["status"] == expected


def test_failures_and_conditions_are_told(runs):
    """The first draw of each of 100 parameters, in the third round."""
    failed = dict(content_of(runs["failed"].subject)["problem"])
    (failure,) = read_json(runs["failed"].folder / "result.json")["failures"]
    assert (failure["kind"], failure["draws"]) == ("exception", 100)
    place = f"100 exception (first at mu={failure['parameters']['mu']:.3g}: "
    assert failed["failed draws"].startswith(place + "RuntimeError: <i>NaN</i>: the licence")
    assert dict(content_of(runs["conditions"].subject)["problem"])["conditions"]


def test_a_truth_of_other_parameters_is_not_shown():
    draws = DrawTable(["a", "b"], np.zeros((2, 2)))
    assert known_row({"a": 1.0}, draws, ("a", "b")) is None
    assert known_row({"a": 1.0, "b": np.nan}, draws, ("a", "b")) is None
    assert known_row(None, draws, ("a", "b")) is None
    np.testing.assert_array_equal(known_row({"b": 2.0, "a": 1.0}, draws, ("a", "b")), [1.0, 2.0])


def test_names_are_those_of_the_user(runs):
    assert content_of(runs["cut_short"].subject)["posterior"]["names"] == ["mu", EVIL]


def test_a_run_without_a_posterior_has_its_prior_and_says_so(runs):
    problem = runs["conditions"].problem
    subject = runs["conditions"].subject
    prior = pliant.Posterior(problem.prior.space, problem.prior)
    content = content_of(dataclasses.replace(subject, posterior=prior))
    assert content["posterior"]["is_prior"]
    assert set(content["posterior"]["draws"]) == {"posterior"}
