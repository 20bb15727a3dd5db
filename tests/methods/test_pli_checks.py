"""Options of PLI that do not go together."""

import pytest

import pliant

pytestmark = pytest.mark.wrong_types


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rounds": 0}, "rounds: expected"),
        ({"n_particles": 3}, "n_particles: expected"),
        ({"n_draws": 0}, "n_draws: expected"),
        ({"discrepancy": "mmd"}, "discrepancy: expected"),
        ({"family": pliant.MMD()}, "family: expected"),
        ({"schedule": 1.0}, "schedule: expected"),
        ({"kernel": None}, "kernel: expected"),
        ({"projection": "x"}, 'projection: expected "m" or "i"'),
        ({"noise_limit": 0.0}, "noise_limit: expected"),
        ({"beta": -1.0}, "beta: expected"),
        ({"beta": "auto"}, 'beta: expected a positive number or "calibrated"'),
        ({"beta": "calibrated"}, "beta:.*a learned likelihood cannot"),
        (
            {"beta": "calibrated", "discrepancy": pliant.Wasserstein()},
            "beta:.*Wasserstein cannot",
        ),
        (
            {
                "beta": "calibrated",
                "discrepancy": pliant.MMD(),
                "partition": pliant.PartitionFunction(),
            },
            "partition: it needs a fixed bandwidth",
        ),
        ({"reuse": 1}, "reuse: it needs a discrepancy that is measured"),
    ],
)
def test_the_option_that_is_wrong_is_named(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        pliant.PLI(**options)


def test_what_goes_together_is_accepted():
    method = pliant.PLI(beta="calibrated", discrepancy=pliant.Energy(), reuse=2)
    assert (method.beta, method.reuse) == ("calibrated", 2)
