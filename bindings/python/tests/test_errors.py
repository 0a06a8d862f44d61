"""What is raised, and what it says. An error charges nothing."""

import importlib.metadata
import pickle
from typing import Any

import pytest

import librl
from librl import Limiter, Status
from librl._native import lib

RULES = "default = token-bucket,5,1000d"


def test_wrong_rules_name_their_place() -> None:
    with pytest.raises(librl.Error) as caught:
        Limiter("# rules\ndefault = token-bucket,5\n")
    error = caught.value
    assert (error.status, error.line, error.column) == (Status.CONFIG, 2, 25)
    assert str(error).startswith("line 2, column 25: the window is missing")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.status, again.line) == (str(error), error.status, 2)


def test_rules_must_have_a_default() -> None:
    for rules in (None, "", "user.a = deny"):
        with pytest.raises(librl.Error, match="default") as caught:
            Limiter(rules)
        assert (caught.value.status, caught.value.line) == (Status.CONFIG, 0)


def test_a_missing_file_is_an_error_of_io() -> None:
    with pytest.raises(librl.Error, match="no/such/file") as caught:
        Limiter(path="no/such/file")
    assert caught.value.status == Status.IO


def test_names_and_costs_have_a_range() -> None:
    limiter = Limiter(RULES)
    for user, cost in (("a" * 65_536, 1), ("alice", 0), ("alice", -1)):
        for call in (limiter.check, limiter.allow, limiter.peek, limiter.charge, limiter.refund):
            with pytest.raises(librl.Error, match="65,535 bytes") as caught:
                call(user, "", cost)
            assert caught.value.status == Status.ARGUMENT
        with pytest.raises(librl.Error):
            limiter.wait(user, "", cost)
    assert limiter.check("a" * 65_535) and limiter.check("alice").remaining == 4
    with pytest.raises(OverflowError):
        limiter.check("alice", cost=2**63)


def test_what_is_no_name_is_a_type_error() -> None:
    limiter = Limiter(RULES)
    wrong: Any
    for wrong in (None, 7, 1.5, ["a"], {"a": 1}):
        for call in (limiter.check, limiter.allow, limiter.peek, limiter.explain):
            with pytest.raises(TypeError):
                call(wrong)
        with pytest.raises(TypeError):
            limiter.check_many([(wrong, "")])


def test_a_closed_limiter_says_so_and_closes_twice() -> None:
    with Limiter(RULES) as limiter:
        assert not limiter.closed
    limiter.close()
    assert limiter.closed
    for call in (
        lambda: limiter.check("a"),
        lambda: limiter.allow("a"),
        lambda: limiter.wait("a"),
        lambda: limiter.refund("a"),
        lambda: limiter.reset("a"),
        lambda: limiter.explain("a"),
        lambda: limiter.check_many([("a", "")]),
        lambda: limiter.reload(RULES),
        limiter.stats,
        limiter.prometheus,
    ):
        with pytest.raises(librl.Error, match="the limiter is closed"):
            call()


def test_a_zone_that_is_not_there_cannot_be_removed() -> None:
    with pytest.raises(librl.Error) as caught:
        librl.remove_zone("/librl-python-no-such-zone")
    assert caught.value.status == Status.IO


def test_statuses_are_those_of_the_header() -> None:
    for status in Status:
        assert getattr(lib, f"RL_ERR_{status.name}") == status


def test_the_package_has_the_version_of_its_library() -> None:
    assert librl.__version__ == importlib.metadata.version("librl")


def test_a_request_is_two_names_and_a_cost() -> None:
    limiter = Limiter(RULES)
    wrong: Any
    for wrong in ([("a",)], [("a",), ("a", "b")], [("a", "b", 1, 2)], ["abcd"], [1], None):
        with pytest.raises((TypeError, ValueError)):
            limiter.check_many(wrong)
    assert limiter.stats().keys == 0
