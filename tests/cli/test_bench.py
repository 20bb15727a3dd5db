from pliant.cli.bench import closing_line


def test_the_last_line_leaves_out_states_without_runs():
    assert closing_line(3, 0, 0) == "3 runs finished."
    assert closing_line(1, 2, 4) == "1 run finished, 2 failed, 4 to do."
