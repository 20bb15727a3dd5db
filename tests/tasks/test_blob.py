import jax
import jax.numpy as jnp
import numpy as np

from pliant.tasks.blob import BlobTask, image

TASK = BlobTask()


def test_an_image_is_a_spot_at_its_place():
    spot = image(jnp.array(0.25), jnp.array(-0.35), jnp.array(0.3), xp=jnp)
    row, column = np.unravel_index(np.argmax(spot), (28, 28))
    pixels = np.linspace(-1, 1, 28)
    assert abs(pixels[column] - 0.25) < 0.04
    assert abs(pixels[row] + 0.35) < 0.04
    wanted = np.exp(-((pixels[3] - 0.25) ** 2 + (pixels[20] + 0.35) ** 2) / (2 * 0.3**2))
    assert abs(float(spot[20, 3]) - wanted) < 1e-6


def test_noise_is_that_of_each_pixel():
    keys = jax.random.split(jax.random.key(0), 2000)
    x = np.asarray(jax.jit(jax.vmap(lambda key: TASK.simulator(key, TASK.truth)))(keys))
    spot = image(*(np.asarray(TASK.truth[name]) for name in ("x", "y", "size")), xp=np)
    assert np.max(np.abs(x.mean(axis=0) - spot)) < 5 * 0.5 / 2000**0.5
    assert np.all(np.abs(x.std(axis=0) - 0.5) < 0.05)


def test_the_reference_agrees_with_a_grid():
    observed = np.asarray(TASK.observed(5, seed=1), float)
    axes = [np.linspace(0.1, 0.4, 41), np.linspace(-0.5, -0.2, 41), np.linspace(0.2, 0.4, 41)]
    x, y, size = (axis.ravel() for axis in np.meshgrid(*axes, indexing="ij"))
    log_p = np.concatenate(
        [
            -5 * np.sum((image(*part, xp=np) - observed.mean(axis=0)) ** 2, axis=(1, 2)) / 0.5
            for part in np.array_split(np.stack([x, y, size]), 40, axis=1)
        ]
    )
    log_p -= (np.log(size) + 1.4) ** 2 / (2 * 0.3**2) + np.log(size)
    w = np.exp(log_p - log_p.max())
    w /= w.sum()
    found = TASK.posterior_samples(observed, seed=0, n=10_000)
    for name, values in (("x", x), ("y", y), ("size", size)):
        mean = w @ values
        deviation = (w @ (values - mean) ** 2) ** 0.5
        assert abs(found[name].mean() - mean) < 0.05 * deviation, name
        assert abs(found[name].std() / deviation - 1) < 0.05, name
