import jax
import jax.numpy as jnp
import numpy as np

from learned_networks import shaken as shaken_network
from pliant.densities.categories import ConditionalCategories

ONE_HOT = jnp.eye(3)[:, jnp.array([0, 2, 1, 1])]
CONDITION = jax.random.normal(jax.random.key(1), (2, 4))


def head(shaken=True):
    found = ConditionalCategories(jax.random.key(0), categories=3, condition_dim=2, width=8)
    if not shaken:
        return found
    return shaken_network(found)


def test_all_categories_start_with_one_probability():
    values = head(shaken=False).log_prob(ONE_HOT, CONDITION)
    np.testing.assert_allclose(values, -np.log(3), rtol=1e-6)


def test_probabilities_add_up_to_one():
    each = [
        head().log_prob(jnp.repeat(jnp.eye(3)[:, k : k + 1], 4, 1), CONDITION) for k in range(3)
    ]
    np.testing.assert_allclose(np.exp(np.stack(each)).sum(axis=0), 1.0, rtol=1e-5)


def test_one_condition_for_all_is_that_condition_for_each():
    one = head().log_prob(ONE_HOT, CONDITION[:, :1])
    each = head().log_prob(ONE_HOT, jnp.repeat(CONDITION[:, :1], 4, axis=1))
    np.testing.assert_allclose(one, each, rtol=1e-6)


def test_the_same_probabilities_for_conditions_on_another_scale():
    matrix, offset = jnp.array([[2.0, 0.0], [0.5, 1.0]]), jnp.array([0.3, -1.0])
    moved = head().with_condition(matrix, offset)
    wanted = head().log_prob(ONE_HOT, matrix @ CONDITION + offset[:, None])
    np.testing.assert_allclose(moved.log_prob(ONE_HOT, CONDITION), wanted, rtol=1e-4)
