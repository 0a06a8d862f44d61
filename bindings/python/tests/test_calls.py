"""Every call, against the real library. Windows are so long that nothing refills."""

import math
import pickle
from pathlib import Path

import pytest

import librl
from librl import Limiter

RULES = "default = token-bucket,5,1000d\nuser.root = unlimited\nuser.nobody = deny\n"
DAY = 86400.0


def test_a_check_tells_what_is_left_and_when_to_come_back() -> None:
    limiter = Limiter("default = fixed-window,2,1000d,name=daily", clock=librl.ManualClock())
    first, second, third = (limiter.check("alice", "/orders") for _ in range(3))
    assert (first.allowed, bool(first), first.remaining, first.retry_after) == (True, True, 1, 0)
    assert second and second.remaining == 0
    assert not third and third.allowed is False
    assert (third.limit, third.remaining, third.name) == (2, 0, "daily")
    assert third.retry_after == third.reset_after == third.window == 1000 * DAY
    assert (third.limit_count, third.limit_index, third.denied_by) == (1, 0, (0,))
    assert not (third.shadow or third.untracked or third.unlimited)
    assert "allowed=False" in repr(third) and "daily" in repr(third)


def test_what_never_passes_says_so() -> None:
    limiter = Limiter(RULES)
    assert limiter.check("nobody").retry_after == math.inf
    assert limiter.check("alice", cost=6).retry_after == math.inf


def test_unlimited_has_no_number() -> None:
    decision = Limiter(RULES).check("root", cost=2**63 - 1)
    assert decision and decision.unlimited and decision.remaining == 2**64 - 1
    assert Limiter.headers(decision) == {}


def test_shadow_counts_and_lets_pass() -> None:
    limiter = Limiter("default = token-bucket,1,1000d,shadow")
    assert not limiter.check("alice").shadow
    second = limiter.check("alice")
    assert second and second.shadow and second.denied_by == (0,)


def test_on_full_decides_where_there_is_no_room() -> None:
    limiter = Limiter("default = token-bucket,1,1000d\nmemory = 32k\non-full = deny")
    answers = [limiter.check(str(n)) for n in range(10_000)]
    assert not answers[-1] and answers[-1].untracked


def test_allow_says_no_more_than_yes_or_no() -> None:
    limiter = Limiter(RULES)
    assert [limiter.allow("alice", "/a", 2) for _ in range(3)] == [True, True, False]
    assert limiter.allow("alice") is True


def test_a_peek_takes_nothing() -> None:
    limiter = Limiter(RULES)
    assert [limiter.peek("alice").remaining for _ in range(3)] == [4, 4, 4]
    assert limiter.stats().allowed == 0


def test_a_charge_goes_over_and_a_refund_and_a_reset_give_back() -> None:
    limiter = Limiter(RULES)
    assert not limiter.charge("alice", cost=7)
    assert not limiter.allow("alice")
    limiter.refund("alice", cost=3)
    assert limiter.check("alice").remaining == 0
    limiter.reset("alice")
    assert limiter.check("alice").remaining == 4


def test_many_are_checked_each_by_itself() -> None:
    answers = Limiter(RULES).check_many([("a", "x", 3), ("a", "x", 3), (b"a", b"x"), ("b", "")])
    assert [bool(answer) for answer in answers] == [True, False, True, True]
    assert [answer.remaining for answer in answers] == [2, 2, 1, 4]
    assert Limiter(RULES).check_many([]) == []


def test_all_are_charged_or_none() -> None:
    limiter = Limiter(RULES)
    assert not all(limiter.check_all([("address", "", 1), ("account", "", 6)]))
    assert [bool(a) for a in limiter.check_all([("address", ""), ("account", "", 5)])] == [True] * 2
    assert limiter.peek("address").remaining == 3
    with pytest.raises(librl.Error):
        limiter.check_all([("a", "")] * 9)


def test_a_wrong_request_among_many_leaves_all_uncharged() -> None:
    limiter = Limiter(RULES)
    with pytest.raises(librl.Error):
        limiter.check_many([("alice", ""), ("alice", "", 0)])
    assert limiter.peek("alice").remaining == 4


def test_names_are_bytes_and_text_is_utf_8() -> None:
    limiter = Limiter("default = token-bucket,9,1000d\nuser.ä = token-bucket,2,1000d")
    assert limiter.check("ä").limit == limiter.check("ä".encode()).limit == 2
    assert not limiter.check("ä")
    limiter.check(b"\xff\0", b"\0")
    assert limiter.check("\udcff\0", "\0").remaining == 7  # as os.fsdecode has it
    assert limiter.allow("\udcff\0", "\0")
    assert limiter.check_many([("\udcff\0", b"\0")])[0].remaining == 5
    assert limiter.check(b"\xff").remaining == 8  # another name: a NUL ends none


def test_a_reload_keeps_what_was_counted() -> None:
    limiter = Limiter(RULES)
    limiter.check("alice", cost=5)
    limiter.reload("default = token-bucket,50,1000d")
    assert limiter.check("alice").limit == 50
    with pytest.raises(librl.Error):
        limiter.reload("default = nonsense")
    assert limiter.check("alice").limit == 50


def test_rules_may_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "limits.rules"
    path.write_text("default = token-bucket,3,1000d\n")
    limiter = Limiter(path=path)
    assert limiter.check("alice").limit == 3
    path.write_text("default = token-bucket,4,1000d\n")
    limiter.reload(path=str(path))
    assert limiter.check("alice").limit == 4
    assert Limiter("user.bob = deny", path=path).check("bob").retry_after == math.inf


def test_it_explains_which_rule_applies() -> None:
    assert Limiter(RULES).explain("root", "/a") == "user.root = unlimited"
    long = "\0" * 65_535
    limiter = Limiter(f'default = deny\nuser."{long.encode().hex()}" = deny'.replace("00", r"\x00"))
    assert limiter.explain(long).endswith('" = deny')


def test_numbers_come_plain_and_for_prometheus() -> None:
    limiter = Limiter(RULES)
    limiter.check("alice")
    limiter.check("nobody")
    stats = limiter.stats()
    assert (stats.allowed, stats.denied, stats.keys) == (1, 1, 1)
    assert stats.memory_bytes == 32 << 20 and stats.capacity > 100_000
    assert "# TYPE" in limiter.prometheus()


def test_a_decision_becomes_fields_of_http() -> None:
    limiter = Limiter("default = fixed-window,1,1h", clock=librl.ManualClock())
    policy = {"RateLimit-Policy": '"default";q=1;w=3600'}
    assert limiter.headers(limiter.check("a")) == {**policy, "RateLimit": '"default";r=0;t=3600'}
    refused = limiter.check("a")
    assert limiter.headers(refused)["Retry-After"] == "3600"
    assert limiter.headers(refused, "legacy") == {
        "X-RateLimit-Limit": "1",
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": "3600",
        "Retry-After": "3600",
    }
    with pytest.raises(ValueError, match="'draft' or 'legacy'"):
        limiter.headers(refused, "other")


def test_a_manual_clock_is_set_by_hand() -> None:
    clock = librl.ManualClock(100.5)
    limiter = Limiter("default = token-bucket,1,10", clock=clock)
    assert limiter.allow("alice") and not limiter.allow("alice")
    clock.advance(9.999)
    assert limiter.check("alice").retry_after == 0.001
    clock.advance(0.001)
    assert limiter.allow("alice")
    clock.set(120.5)
    assert limiter.allow("alice")


def test_a_decision_can_be_pickled() -> None:
    limiter = Limiter(RULES)
    limiter.check("alice", cost=5)
    for decision in [limiter.check("alice"), *limiter.check_many([("alice", "")])]:
        assert repr(pickle.loads(pickle.dumps(decision))) == repr(decision)
        error = pickle.loads(pickle.dumps(librl.Limited(decision)))
        assert error.decision.allowed is False and error.decision.limit == 5


def test_answers_of_a_batch_outlive_the_batch() -> None:
    limiter = Limiter("default = token-bucket,1000,1000d")
    kept = [limiter.check_many([("a", str(n)), ("b", str(n), n)])[1] for n in range(1, 1000)]
    assert [answer.remaining for answer in kept] == [1000 - n for n in range(1, 1000)]
