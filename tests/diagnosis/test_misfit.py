"""Sets that the posterior could have produced pass; others do not."""

import jax
import numpy as np
import pytest

from known_posteriors import EXACT, clean, known
from pliant.diagnosis.misfit import (
    check_misfit,
    embedding_distances,
    embedding_distances_to_all,
)


def finding_of(observed, likelihood=EXACT):
    (finding,) = check_misfit(known(observed, likelihood).evidence())
    return finding


def test_sound_data_pass(evidence):
    (finding,) = check_misfit(evidence)
    assert finding.level == "ok"
    assert finding.number > finding.limit


@pytest.mark.parametrize("likelihood", [EXACT, None], ids=["learned", "measured"])
def test_data_that_vary_too_much_are_found(likelihood):
    x = clean()
    finding = finding_of(x.mean(axis=0) + 2.0 * (x - x.mean(axis=0)), likelihood)
    assert finding.level == "doubtful"
    assert finding.number < 0.01
    assert ("loss is" in finding.text) == (likelihood is not None)


def test_data_that_vary_too_little_are_found():
    x = clean()
    assert finding_of(x.mean(axis=0) + 0.2 * (x - x.mean(axis=0))).level == "doubtful"


def test_distances_are_squared_mmds(evidence):
    """A set is near to those of its own kind, and far from one that is moved."""
    sets = evidence.sets
    own, others = embedding_distances_to_all(evidence.problem, sets)
    assert others.shape == (200,)
    assert own < 3 * others.max()
    moved = sets._replace(x=np.asarray(sets.x) + 3.0)
    near = np.median(embedding_distances(evidence.problem, sets))
    far = np.median(embedding_distances(evidence.problem, moved))
    assert far > 10 * near


def test_failed_draws_do_not_count(evidence):
    sets = jax.tree.map(np.array, evidence.sets)
    whole = embedding_distances(evidence.problem, sets)
    sets.x[0, 0], sets.ok[0, 0] = 1e6, False
    np.testing.assert_allclose(
        embedding_distances(evidence.problem, sets)[1:], whole[1:], rtol=0.05
    )
    assert embedding_distances(evidence.problem, sets)[0] < 5 * whole.max()
