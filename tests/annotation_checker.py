"""Checks the package's annotations while tests run, in addition to jaxtyping's shapes."""

import typer
from beartype import BeartypeConf, FrozenDict, beartype

check = beartype(
    conf=BeartypeConf(
        is_pep484_tower=True,  # an int may stand for a float
        # typer asks for this annotation, and passes an instance of its base class
        hint_overrides=FrozenDict({typer.Context: object}),
    )
)
