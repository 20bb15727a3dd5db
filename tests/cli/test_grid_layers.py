"""Which of several tables of options wins, and where messages say that it stands."""

import pytest

import pliant
from pliant.cli.grid_layers import Layer, Origin, merged, short, short_value, without_shorthands
from pliant.cli.grid_values import GridError, Place

FILE = Place("grid.toml")


METRIC = pliant.PLI(discrepancy=pliant.MMD())


def layers_of(*tables):
    return [Layer(FILE / f"table {i}", table) for i, table in enumerate(tables)]


def merge(*tables, own=None):
    return merged(layers_of(*tables), METRIC if own is None else own)


def test_shorthands_become_tables():
    (layer,) = layers_of({"epsilon": 0.5, "partition": 7, "rounds": 3})
    table = {"schedule": {"epsilon": 0.5}, "partition": {"n_sets": 7}, "rounds": 3}
    assert without_shorthands(layer) == table
    (layer,) = layers_of({"epsilon": 0.5, "schedule": "trust-region", "partition": 0})
    schedule = {"name": "trust-region", "epsilon": 0.5}
    assert without_shorthands(layer) == {"schedule": schedule, "partition": "none"}
    (twice,) = layers_of({"epsilon": 0.5, "schedule": {"epsilon": 0.5}})
    with pytest.raises(GridError, match=r"table 0\.epsilon: schedule\.epsilon is given too"):
        without_shorthands(twice)


def test_the_last_value_wins():
    assert merge({"rounds": 1, "reuse": 1}, {"rounds": 2}) == {"rounds": 2, "reuse": 1}
    assert merge({"projection": "m"}, {"projection": "m"}) == {"projection": "m"}
    assert merge({"projection": "m"}, {"projection": "i"}) == {"projection": "i"}
    assert merge({"beta": "calibrated"}, {"beta": 0.1}) == {"beta": 0.1}
    assert merge({"epsilon": 1.0}, {"schedule": {"epsilon": 2.0}}) == {"schedule": {"epsilon": 2.0}}
    assert merge({"schedule": {"epsilon": 2.0}}, {"epsilon": 1.0}) == {"schedule": {"epsilon": 1.0}}


def test_tables_merge_key_by_key():
    training = {"family": {"layers": 3, "training": {"steps": 5}}}
    change = {"family": {"training": {"rate": 0.1}}}
    family = {"layers": 3, "training": {"steps": 5, "rate": 0.1}}
    assert merge(training, change) == {"family": family}


@pytest.mark.parametrize(
    ("old", "new", "both"),
    [
        ("mmd", {"scale": [1.0]}, {"name": "mmd", "scale": [1.0]}),
        ({"name": "energy", "scale": [1.0]}, "energy", {"name": "energy", "scale": [1.0]}),
        ({"name": "energy", "scale": [1.0]}, "mmd", "mmd"),
        ({"name": "energy", "scale": [1.0]}, {"name": "mmd"}, {"name": "mmd"}),
        ({"most_partners": 3}, "wasserstein", "wasserstein"),
        # its own is MMD, so this names the same kind
        (
            {"most_partners": 3},
            {"name": "mmd", "scale": [1.0]},
            {"most_partners": 3, "name": "mmd", "scale": [1.0]},
        ),
        ({"most_partners": 3}, "none", "none"),
        ("none", {"most_partners": 3}, {"most_partners": 3}),
    ],
)
def test_another_name_starts_anew(old, new, both):
    assert merge({"discrepancy": old}, {"discrepancy": new}) == {"discrepancy": both}


def test_own_parts_inside_parts_are_known():
    own = pliant.PLI(discrepancy=pliant.RatioKL(embedding=pliant.DeepSet()))
    tables = [{"discrepancy": {"embedding": table}} for table in ({"width": 3}, "deep-set")]
    both = {"embedding": {"width": 3, "name": "deep-set"}}
    assert merge(*tables, own=own) == {"discrepancy": both}
    assert merge(*tables) == {"discrepancy": {"embedding": "deep-set"}}


def test_options_are_written_in_one_way():
    assert short({"schedule": {"epsilon": 0.5}, "partition": "none"}) == {
        "epsilon": 0.5,
        "partition": 0,
    }
    assert short({"schedule": {"name": "fixed"}, "partition": {"n_sets": 7}}) == {
        "schedule": "fixed",
        "partition": 7,
    }
    whole = {"schedule": {"name": "trust-region", "epsilon": 0.5}, "tolerance": "none"}
    assert short(whole) == whole
    inside = {"name": "ratio-kl", "embedding": {"name": "deep-set"}}
    assert short_value("discrepancy", inside) == {"name": "ratio-kl", "embedding": "deep-set"}


def test_the_origin_is_the_last_table_with_the_key():
    origin = Origin(
        layers_of(
            {"family": {"layers": 3, "training": {"steps": 5}}, "epsilon": 1.0},
            {"family": {"training": {"rate": 0.1}}, "partition": 7},
        )
    )
    family = origin / "family"
    assert str(family / "layers") == "grid.toml: table 0.family.layers"
    assert str(family / "training" / "rate") == "grid.toml: table 1.family.training.rate"
    assert str(family / "bins") == "grid.toml: table 1.family.bins"  # in neither
    assert str(origin / "schedule" / "epsilon") == "grid.toml: table 0.epsilon"
    assert str(origin / "partition" / "n_sets") == "grid.toml: table 1.partition"
    assert str(origin / "beta") == "grid.toml: table 0.beta"
    assert str(origin) == "grid.toml: table 0"
