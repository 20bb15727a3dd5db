import re

import pliant
from shell import pliant_command


def test_tasks_are_listed_with_dimensions():
    outcome = pliant_command("tasks")
    assert outcome.exit_code == 0
    rows = {line.split()[0]: line for line in outcome.stdout.splitlines()[1:]}
    assert set(rows) == set(pliant.tasks.names())
    assert re.match(r"gaussian_location +10 +10 +exact ", rows["gaussian_location"])
    assert re.match(r"furuta +5 +100 x 6 +- ", rows["furuta"])
    assert re.match(r"lotka_volterra +4 +20 +exact ", rows["lotka_volterra"])
