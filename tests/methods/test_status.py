import json
import pickle

import pytest

from pliant import Status


@pytest.mark.parametrize("status", Status)
def test_a_status_is_its_name_in_lower_case_with_a_message_and_a_remedy(status):
    assert status == status.value == str(status) == status.name.lower()
    assert Status(status.value) is status
    assert json.loads(json.dumps(status)) == status.value
    assert pickle.loads(pickle.dumps(status)) is status
    assert status.message.endswith(".")
    assert status.remedy.endswith(".")


def test_errors_are_told_from_ends_that_were_asked_for():
    errors = {"failed", "diverged", "storage_failed"}
    assert {status for status in Status if status.is_error} == errors


def test_successes_and_ends_that_the_user_wanted():
    successes = {"finished", "converged", "reached_tolerance"}
    assert {status for status in Status if status.is_success} == successes
    wanted = {"interrupted", "stopped_by_callback"}
    assert {status for status in Status if status.is_wanted} == wanted
    assert not any(Status(value).is_error for value in successes | wanted)


def test_an_unknown_status_is_refused():
    with pytest.raises(ValueError, match="wonderful"):
        Status("wonderful")
