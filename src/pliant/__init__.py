"""Pliant: posteriors of simulators from many observations at once.

The public names stand in ``__init__.pyi``. Each is loaded when it is first used, which keeps
``import pliant`` and ``pliant --help`` fast.

The rooms, in the order of the data: ``densities``, ``simulators``, ``problem``,
``discrepancies``, ``weighting``, ``methods``, ``run``, ``tasks``, ``metrics``, ``plots``,
``diagnosis``, ``reporting``, ``bench`` and ``cli``. A module imports only from its own room and
from those before it. Modules whose names begin with an underscore serve all of them.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
