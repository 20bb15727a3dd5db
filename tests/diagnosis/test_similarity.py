import numpy as np

from known_posteriors import clean, known
from pliant.diagnosis.similarity import similarities


def test_what_is_far_from_simulated_draws_has_a_large_loss():
    x = clean()
    x[4] = 9.0
    own, observed = similarities(known(x, None).evidence())
    assert observed.shape == (1, len(x))
    assert np.argmax(observed) == 4
    known_ones = own[np.isfinite(own)]
    assert observed[0, 4] > known_ones.max()
    others = np.delete(observed[0], 4)
    assert np.median(others) < np.quantile(known_ones, 0.9)


def test_half_of_the_draws_make_the_density(evidence):
    own, _ = similarities(evidence)
    assert np.all(np.isnan(own[:100]))
    assert np.all(np.isfinite(own[100:]))
