"""The classifier two-sample test: can a neural network tell two samples apart?"""

from typing import Any

import numpy as np

from pliant._checks import check_seed
from pliant.problem.samples import centred_pair

_FOLDS = 5
_UNITS_PER_DIMENSION = 10
_MAX_EPOCHS = 1000


def c2st(x: Any, y: Any, *, seed: int = 0) -> float:
    """The accuracy of a classifier on held-out points.

    As in the benchmark of Lueckmann et al. (2021): columns are z-scored by ``x``, the network has
    two hidden layers of ``10 d`` units and is trained with Adam for up to 1000 epochs, and the
    accuracy is the mean over five folds. Thousands of points take minutes.

    Args:
        x: ``(n, d)``; the reference, if there is one.
        y: ``(n, d)``; equally many points, so that guessing has the accuracy 0.5.
        seed: The seed of the folds and networks.

    Returns:
        About 0.5 for samples of the same distribution, up to 1 for samples that do not overlap.

    Raises:
        ImportError: If scikit-learn is not installed.
    """
    try:
        from sklearn.model_selection import KFold, cross_val_score
        from sklearn.neural_network import MLPClassifier
        from threadpoolctl import threadpool_limits
    except ImportError as error:
        raise ImportError("C2ST needs scikit-learn: pip install 'pliant[bench]'.") from error
    seed = check_seed("seed", seed)
    x, y = centred_pair(x, y, at_least=_FOLDS)
    if len(x) != len(y):
        raise ValueError(f"y: expected {len(x)} points, as many as x has, got {len(y)}.")
    spread = x.std(axis=0)
    points = (np.concatenate([x, y]) - x.mean(axis=0)) / np.where(spread > 0, spread, 1)
    units = _UNITS_PER_DIMENSION * x.shape[1]
    network = MLPClassifier((units, units), solver="adam", max_iter=_MAX_EPOCHS, random_state=seed)
    folds = KFold(_FOLDS, shuffle=True, random_state=seed)
    labels = np.repeat([0, 1], len(x))
    with threadpool_limits(1):  # threads only slow down products this small
        scores = cross_val_score(network, points, labels, cv=folds, scoring="accuracy")
    return float(scores.mean())
