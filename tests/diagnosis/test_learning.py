import numpy as np
import pytest

from known_posteriors import ROW, known
from pliant.diagnosis.learning import check_learning
from pliant.run.history import History


def found(likelihood=True, **row):
    options = {} if likelihood else {"likelihood": None}
    case = known(history=History([{**ROW, **row}]), **options)
    (finding,) = check_learning(case.result, case.evidence())
    return finding


@pytest.mark.parametrize(
    ("error", "level"), [(0.1, "ok"), (0.7, "doubtful"), (3.0, "unsound"), (np.nan, "skipped")]
)
def test_the_disagreement_of_networks(error, level):
    finding = found(log_likelihood_se=error)
    assert (finding.check, finding.level) == ("networks", level)


@pytest.mark.parametrize(("share", "level"), [(0.3, "ok"), (0.95, "note"), (None, "skipped")])
def test_the_noise_of_distances(share, level):
    finding = found(likelihood=False, noise_share=share)
    assert (finding.check, finding.level) == ("noise", level)
    assert ("n_draws" in finding.remedy) == (level == "note")
