import re

import pytest

from shell import assert_one_line_error, pliant_command


@pytest.mark.parametrize("command", ["run", "status", "collect", "figures"])
def test_help_shows_usage_and_an_example(command):
    outcome = pliant_command("bench", command, "--help")
    assert outcome.exit_code == 0
    assert f"Usage: pliant bench {command}" in outcome.stdout
    assert re.search(rf"Examples?:\s+pliant bench {command} ", outcome.stdout)


def test_without_a_command_the_help_is_shown():
    assert pliant_command("bench").stdout == pliant_command("bench", "--help").stdout


def test_a_cluster_has_its_own_workers(tmp_path):
    outcome = pliant_command("bench", "run", "smoke", "--workers", 2, "--dask", "local")
    assert_one_line_error(outcome, "--workers: cannot be combined with --dask")
    assert_one_line_error(pliant_command("bench", "run", "smoke", "--workers", 0), "--workers")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["status", "collect", "figures"])
def test_a_folder_without_a_grid_is_one_line(command):
    outcome = pliant_command("bench", command, "nowhere")
    assert_one_line_error(outcome, "nowhere holds no grid", "pliant bench run")
