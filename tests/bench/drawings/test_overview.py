import copy
from typing import Any, cast

import jax.numpy as jnp
import numpy as np
import pytest

from pliant.bench.drawings.overview import (
    Example,
    draw_overview,
    examples,
    pseudo_likelihoods,
)
from pliant.bench.results import MissingRunsError
from pliant.discrepancies.mmd import MMD
from pliant.methods.pli import PLI
from pliant.tasks import get

SOURCES = ["truth", "round 6, final", "round 4", "round 3", "prior"]


@pytest.fixture(scope="module")
def figure(results):
    return draw_overview(results)


@pytest.fixture(scope="module")
def parts(figure):
    """Axes of the sets, of the bars, and of the posteriors."""
    above, below = figure.subfigs
    sets, bars = above.subfigs
    return sets.axes, bars.axes[0], below.axes


def distances(sets):
    return [float(axes.get_title().split("D = ")[1]) for axes in sets[1:]]


def test_sets_are_drawn_with_their_distances_over_the_observed_one(parts):
    sets, _, _ = parts
    observed = np.asarray(get("gaussian_location").observed(20, seed=0))[:, :2]
    assert sets[0].get_title() == "observed, N = 20"
    for axes in sets:
        np.testing.assert_allclose(np.transpose(axes.lines[0].get_data()), observed)
        assert axes.get_xlim() == sets[0].get_xlim()
    for number, (axes, source) in enumerate(zip(sets[1:], SOURCES, strict=True), 1):
        assert axes.get_title().startswith(f"({number}) {source}\n")
        assert len(axes.lines[1].get_xdata()) == 20  # as many draws as observations


def test_examples_have_the_distance_of_their_own_set_and_the_median_of_their_stage():
    task = get("gaussian_location")
    problem, method = task.problem(n_obs=20, seed=0), PLI(discrepancy=MMD())
    truth = np.asarray(task.truth["theta"])
    shifts = np.linspace(0.0, 2.0, 5)[:, None]
    found = examples(method, problem, task, {"shifted": {"theta": truth + shifts}})
    assert [example.source for example in found] == ["truth", "shifted"]
    np.testing.assert_allclose(found[1].theta, truth + 1.0, rtol=1e-6)  # the middle one
    discrepancy: Any = method.discrepancy
    prepared = discrepancy.prepare(problem.observed)
    for example in found:
        assert example.simulated.shape == (20, 10)
        x, ok = jnp.asarray(example.simulated)[None], jnp.ones((1, 20), bool)
        expected = float(discrepancy.measure(prepared, x, ok)[0][0])
        assert example.distance == pytest.approx(expected, rel=1e-4, abs=1e-4)
        np.testing.assert_allclose(
            example.simulated.mean(axis=0), example.theta, atol=0.4
        )  # five standard errors of draws with the variance 0.1


def test_bars_are_normalised_pseudo_likelihoods_by_bandwidth(results, parts):
    sets, bars, _ = parts
    (run,) = [run for run in results.runs if run.experiment == "overview"]
    history = results.history(run)
    labels = [label.get_text() for label in bars.get_xticklabels()]
    assert [label.split("\n")[0] for label in labels] == ["round 1", "round 4", "round 6"]
    heights = np.array([[bar.get_height() for bar in group] for group in bars.containers])
    assert heights.shape == (5, 3)
    np.testing.assert_allclose(heights.sum(axis=0), 1.0)
    for column, index in enumerate((1, 4, 6)):
        beta = history["bandwidth"][index - 1]
        assert f"{beta:.2g}" in labels[column]
        expected = np.exp(-np.array(distances(sets)) / (2 * beta))
        # the titles have two digits, which matter more for a smaller bandwidth
        error = 0.01 * max(distances(sets)) / (2 * beta)
        np.testing.assert_allclose(heights[:, column], expected / expected.sum(), atol=error)


def test_pseudo_likelihoods_follow_the_kernel():
    nothing: Any = np.zeros(0)
    found = [Example(str(d), nothing, nothing, d) for d in (-0.1, 0.0, 0.4)]
    (weights,) = pseudo_likelihoods(PLI(), found, {3: 0.1}).values()
    np.testing.assert_allclose(weights, np.exp([0.5, 0.0, -2.0]) / np.exp([0.5, 0, -2]).sum())


def test_posteriors_go_from_the_prior_to_the_exact_one(parts):
    stages = parts[2]
    titles = [axes.get_title() for axes in stages]
    assert titles == ["prior", "round 1", "round 3", "round 4", "round 6, final", "exact"]
    truth = np.asarray(get("gaussian_location").truth["theta"])[:2]
    for axes in stages:
        marks = [np.ravel(line.get_data()) for line in axes.lines if len(line.get_xdata()) == 1]
        np.testing.assert_allclose(marks[0], truth, rtol=1e-6)
        assert axes.get_xlabel() == r"$\theta_{1}$"
        assert axes.get_xlim() == stages[0].get_xlim()
    assert stages[0].get_ylabel() == r"$\theta_{2}$"
    assert len(stages[0].collections) == 0  # draws of the prior, no regions
    assert all(len(axes.collections) == 1 for axes in stages[1:])


def test_equal_seeds_give_equal_figures(results, parts):
    again = draw_overview(results).subfigs[0].subfigs[0].axes
    assert [axes.get_title() for axes in again] == [axes.get_title() for axes in parts[0]]


def test_it_needs_a_run_of_pli_with_snapshots(results):
    some = copy.copy(results)
    some.runs = [run for run in results.runs if run.experiment != "overview"]
    with pytest.raises(MissingRunsError, match='"overview": PLI with a distance of sets'):
        draw_overview(some)


def test_the_made_up_run_has_a_distance_of_sets(results):
    (run,) = [run for run in results.runs if run.experiment == "overview"]
    assert isinstance(cast(PLI, run.built_method).discrepancy, MMD)
