/*
 * What is charged after the fact, given back and forgotten: exact numbers for each
 * algorithm, on a clock that stands still but where a test moves it.
 */
#include "asks.h"

static rl_clock *manual;

static void set_ms(uint64_t now_ms) {
    NEED(rl_clock_set_ns(manual, now_ms * RL_NS_PER_MS) == RL_OK);
}

static rl_service *service_at(uint64_t now_ms, const char *rules) {
    set_ms(now_ms);
    return fixture_service(rules, manual);
}

static const char *const algorithms[] = {"token-bucket", "fixed-window", "sliding-window",
                                         "sliding-window-counter"};
enum { ALGORITHMS = 4 };

/* ---- charge ------------------------------------------------------------------------ */

static void a_bucket_goes_into_debt_by_one_window_at_most(void) {
    rl_service *service = service_at(100000, "default = token-bucket,10,10");
    rl_decision got = charge(service, "u", "/a", 4);
    CHECK_YES(got, 6);
    CHECK_UINT(got.reset_after_ms, 4000);
    CHECK_INT(got.denied_by, 0);
    got = charge(service, "u", "/a", 9);
    CHECK_NO(got, 0, 4000);
    CHECK_UINT(got.reset_after_ms, 13000);
    CHECK_INT(got.denied_by, 1);
    CHECK_NO(peek(service, "u", "/a", 1), 0, 4000);
    CHECK_NO(peek(service, "u", "/a", 10), 0, 13000);

    /* What is owed is paid back as tokens come. */
    set_ms(103999);
    CHECK_NO(check(service, "u", "/a", 1), 0, 1);
    set_ms(104000);
    CHECK_YES(check(service, "u", "/a", 1), 0);
    set_ms(114000);
    CHECK_UINT(left(service, "u", "/a"), 10);

    /* However much is charged, and however often, ten tokens are owed. */
    for (uint64_t cost = 1000; cost >= 1000; cost = cost > UINT64_MAX / 1000 ? 0 : cost * 1000) {
        got = charge(service, "u", "/a", cost);
        CHECK_NO(got, 0, 11000);
        CHECK_UINT(got.reset_after_ms, 20000);
    }
    CHECK_NO(charge(service, "u", "/a", UINT64_MAX), 0, 11000);
    CHECK_NO(charge(service, "u", "/a", 1), 0, 11000);
    set_ms(124999);
    CHECK_NO(check(service, "u", "/a", 1), 0, 1);
    set_ms(125000);
    CHECK_YES(check(service, "u", "/a", 1), 0);
    set_ms(129999);
    CHECK_UINT(left(service, "u", "/a"), 4);
    set_ms(135000);
    CHECK_YES(check(service, "u", "/a", 10), 0);
    rl_service_free(service);

    service = service_at(100000, "default = token-bucket,3,10\n"
                                 "api.small = token-bucket,10,10,burst=2\n"
                                 "api.big = token-bucket,10,10,burst=30\n");
    CHECK_NO(charge(service, "u", "/a", 4), 0, 6667);
    CHECK_NO(charge(service, "u", "/a", 1), 0, 10000);
    CHECK_NO(charge(service, "u", "small", 1000), 0, 11000);
    CHECK_UINT(peek(service, "u", "small", 1).reset_after_ms, 12000);
    CHECK_NO(charge(service, "u", "big", 1000), 0, 11000);
    CHECK_UINT(peek(service, "u", "big", 1).reset_after_ms, 40000);
    rl_service_free(service);
}

static void a_window_counts_over_its_limit(void) {
    rl_service *service = service_at(100000, "default = fixed-window,10,60");
    CHECK_YES(charge(service, "u", "/a", 3), 7);
    rl_decision got = charge(service, "u", "/a", 9);
    CHECK_NO(got, 0, 20000);
    CHECK_UINT(got.reset_after_ms, 20000);
    /* 12 are in it; a refund of 2 makes no room, one of 3 does. */
    refund(service, "u", "/a", 2);
    CHECK_NO(peek(service, "u", "/a", 1), 0, 20000);
    refund(service, "u", "/a", 1);
    CHECK_YES(peek(service, "u", "/a", 1), 0);
    CHECK_NO(charge(service, "u", "/a", UINT64_MAX), 0, 20000);
    CHECK_NO(charge(service, "u", "/a", UINT64_MAX), 0, 20000);
    set_ms(119999);
    CHECK_NO(check(service, "u", "/a", 1), 0, 1);
    set_ms(120000);
    CHECK_YES(check(service, "u", "/a", 1), 9);
    rl_service_free(service);

    service = service_at(100000, "default = sliding-window,10,60");
    CHECK_YES(charge(service, "u", "/a", 4), 6);
    set_ms(110000);
    got = charge(service, "u", "/a", 7);
    CHECK_NO(got, 0, 50000);
    CHECK_UINT(got.reset_after_ms, 60000);
    got = charge(service, "u", "/a", 3); /* 14: what goes first is not enough now */
    CHECK_NO(got, 0, 60000);
    set_ms(169999);
    CHECK_NO(check(service, "u", "/a", 1), 0, 1);
    set_ms(170000);
    CHECK_UINT(left(service, "u", "/a"), 10);
    CHECK_NO(charge(service, "u", "/a", UINT64_MAX), 0, 60000);
    set_ms(171000);
    CHECK_NO(charge(service, "u", "/a", UINT64_MAX), 0, 60000);
    set_ms(230999);
    CHECK_NO(check(service, "u", "/a", 1), 0, 1);
    set_ms(231000);
    CHECK_UINT(left(service, "u", "/a"), 10);
    rl_service_free(service);

    service = service_at(120000, "default = sliding-window-counter,10,60");
    CHECK_YES(charge(service, "u", "/a", 4), 6);
    got = charge(service, "u", "/a", 11);
    CHECK_NO(got, 0, 84000); /* of 15 in the last window, 9 count after 24 s of the next */
    CHECK_UINT(got.reset_after_ms, 120000);
    set_ms(203999);
    CHECK_NO(check(service, "u", "/a", 1), 0, 1);
    set_ms(204000);
    CHECK_YES(check(service, "u", "/a", 1), 0);
    CHECK_NO(charge(service, "u", "/a", UINT64_MAX), 0, 96000);
    CHECK_NO(charge(service, "u", "/a", UINT64_MAX), 0, 96000);
    set_ms(300000);
    CHECK_UINT(left(service, "u", "/a"), 10);
    rl_service_free(service);
}

/* After a charge that was over, the wait is that for a cost of 1, to the millisecond. */
static void the_hint_after_a_charge_is_tight(void) {
    static const char *const rules[] = {
        "default = token-bucket,7,10",
        "default = token-bucket,7,10,burst=3",
        "default = token-bucket,3,1,burst=20",
        "default = fixed-window,7,10",
        "default = sliding-window,7,10",
        "default = sliding-window-counter,7,10",
    };
    uint64_t state = 5;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        rl_service *service = service_at(1000, rules[i]);
        unsigned over = 0;
        uint64_t now_ms = 1000;
        for (int round = 0; round < 300; round++) {
            for (uint32_t n = draw(&state, 6); n > 0; n--) {
                now_ms += draw(&state, 3000);
                set_ms(now_ms);
                check(service, "u", "/a", 1 + draw(&state, 3));
            }
            rl_decision got = charge(service, "u", "/a", 1 + draw(&state, 12));
            CHECK(got.allowed == (got.retry_after_ms == 0));
            if (got.allowed) {
                continue;
            }
            CHECK_UINT(got.remaining, 0);
            over++;
            set_ms(now_ms + got.retry_after_ms - 1);
            CHECK(!peek(service, "u", "/a", 1).allowed);
            now_ms += got.retry_after_ms;
            set_ms(now_ms);
            CHECK(peek(service, "u", "/a", 1).allowed);
        }
        CHECK(over > 50);
        rl_service_free(service);
    }
}

/* ---- refund ------------------------------------------------------------------------ */

static void a_refund_is_never_above_full(void) {
    for (int i = 0; i < ALGORITHMS; i++) {
        char rule[64];
        snprintf(rule, sizeof rule, "default = %s,10,60", algorithms[i]);
        rl_service *service = service_at(120000, rule);
        refund(service, "u", "/a", 5);
        CHECK_UINT(left(service, "u", "/a"), 10);
        CHECK_UINT(fixture_stats(service).keys, 0);
        check(service, "u", "/a", 3);
        refund(service, "u", "/a", 1);
        CHECK_UINT(left(service, "u", "/a"), 8);
        refund(service, "u", "/a", 5);
        CHECK_UINT(left(service, "u", "/a"), 10);
        check(service, "u", "/a", 3);
        refund(service, "u", "/a", UINT64_MAX);
        CHECK_UINT(left(service, "u", "/a"), 10);
        CHECK_YES(check(service, "u", "/a", 10), 0);
        refund(service, "u", "/a", 10);
        rl_decision fresh = peek(service, "u", "/a", 1), never = peek(service, "v", "/a", 1);
        CHECK_SAME(fresh, never);
        CHECK(!charge(service, "u", "/a", UINT64_MAX).allowed);
        refund(service, "u", "/a", UINT64_MAX);
        CHECK_UINT(left(service, "u", "/a"), 10);
        CHECK_UINT(fixture_stats(service).log_entries, 0);
        rl_service_free(service);
    }
}

static void a_refund_takes_the_newest_entries_of_a_log(void) {
    rl_service *service = service_at(100000, "default = sliding-window,10,60");
    check(service, "u", "/a", 5);
    set_ms(105000);
    check(service, "u", "/a", 3);
    set_ms(106000);
    check(service, "u", "/a", 1);
    refund(service, "u", "/a", 5); /* 1, 3 and one of the oldest */
    CHECK_UINT(left(service, "u", "/a"), 6);
    rl_decision no = peek(service, "u", "/a", 7);
    CHECK_NO(no, 6, 54000);
    CHECK_UINT(no.reset_after_ms, 54000);
    set_ms(159999);
    CHECK_UINT(left(service, "u", "/a"), 6);
    set_ms(160000);
    CHECK_UINT(left(service, "u", "/a"), 10);

    /* A log of many entries, over many chunks. */
    rl_service_free(service);
    service = service_at(0, "default = sliding-window,1000,60");
    for (unsigned i = 0; i < 500; i++) {
        set_ms(i);
        check(service, "u", "/a", 2);
    }
    refund(service, "u", "/a", 701);
    CHECK_UINT(left(service, "u", "/a"), 701);
    CHECK_UINT(fixture_stats(service).log_entries, 150);
    set_ms(60099);
    CHECK_UINT(left(service, "u", "/a"), 701 + 200);
    set_ms(60148);
    CHECK_UINT(left(service, "u", "/a"), 701 + 298);
    set_ms(60149);
    CHECK_UINT(left(service, "u", "/a"), 1000);
    rl_service_free(service);
}

static void a_refund_reaches_the_last_window_of_a_counter(void) {
    rl_service *service = service_at(60000, "default = sliding-window-counter,10,60");
    check(service, "u", "/a", 6);
    set_ms(150000);
    CHECK_UINT(left(service, "u", "/a"), 7);
    check(service, "u", "/a", 1);
    refund(service, "u", "/a", 3); /* 1 of this window, 2 of the last */
    CHECK_UINT(left(service, "u", "/a"), 8);
    refund(service, "u", "/a", 4);
    CHECK_UINT(left(service, "u", "/a"), 10);
    rl_service_free(service);

    /* A fixed window has forgotten the last one. */
    service = service_at(60000, "default = fixed-window,10,60");
    check(service, "u", "/a", 6);
    set_ms(150000);
    check(service, "u", "/a", 2);
    refund(service, "u", "/a", 6);
    CHECK_UINT(left(service, "u", "/a"), 10);
    rl_service_free(service);
}

static void charge_and_refund_are_inverse(void) {
    static const char *const rules[] = {
        "default = token-bucket,7,10",
        "default = token-bucket,7,10,burst=20",
        "default = fixed-window,7,10",
        "default = sliding-window,7,10",
        "default = sliding-window-counter,7,10",
        "default = fixed-window,7,10,shadow",
        "default = token-bucket,11,10 + sliding-window,7,20,per=user + fixed-window,9,30,per=all",
    };
    uint64_t state = 7;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        rl_service *service = service_at(1000, rules[i]);
        uint64_t now_ms = 1000;
        for (int round = 0; round < 300; round++) {
            now_ms += draw(&state, 4000);
            set_ms(now_ms);
            check(service, "u", "/a", 1 + draw(&state, 3));
            now_ms += draw(&state, 4000);
            set_ms(now_ms);
            uint64_t cost = 1 + draw(&state, 7); /* no more than one window's worth */
            rl_decision one = peek(service, "u", "/a", 1), all = peek(service, "u", "/a", 7);
            rl_decision was = peek(service, "u", "/a", cost);
            rl_decision said = charge(service, "u", "/a", cost);
            CHECK(said.allowed == was.allowed && said.denied_by == was.denied_by);
            if (said.allowed && said.flags == 0) {
                CHECK_SAME(said, was);
            }
            refund(service, "u", "/a", cost);
            rl_decision one_again = peek(service, "u", "/a", 1);
            rl_decision all_again = peek(service, "u", "/a", 7);
            CHECK_SAME(one_again, one);
            CHECK_SAME(all_again, all);
        }
        CHECK_UINT(fixture_stats(service).allowed + fixture_stats(service).denied, 300);
        rl_service_free(service);
    }
}

/* ---- reset ------------------------------------------------------------------------- */

static void a_reset_forgets_what_is_the_pairs_own(void) {
    rl_service *service =
        service_at(120000, "default = fixed-window,5,60 + fixed-window,8,60,per=user + "
                           "fixed-window,20,60,per=api + fixed-window,30,60,per=all");
    reset(service, "u", "/a");
    check(service, "u", "/a", 5);
    check(service, "v", "/a", 4);
    CHECK_INT(check(service, "u", "/a", 1).denied_by, 1);
    reset(service, "u", "/a");
    rl_decision got = check(service, "u", "/a", 1);
    CHECK_YES(got, 2);
    CHECK_INT(got.limit_index, 1);
    CHECK_YES(check(service, "u", "/a", 2), 0);
    got = check(service, "u", "/a", 1);
    CHECK_NO(got, 0, 60000);
    CHECK_INT(got.denied_by, 2);
    CHECK_UINT(left(service, "v", "/a"), 1);
    CHECK_UINT(left(service, "w", "/a"), 5);
    check(service, "w", "/a", 5);
    check(service, "x", "/a", 2);
    CHECK_UINT(left(service, "x", "/a"), 1); /* 19 of the API's 20: the resets took none away */
    rl_service_free(service);

    for (int i = 0; i < ALGORITHMS; i++) {
        char rule[64];
        snprintf(rule, sizeof rule, "default = %s,5,60", algorithms[i]);
        service = service_at(120000, rule);
        check(service, "u", "/a", 5);
        check(service, "u", "/b", 2);
        check(service, "v", "/a", 3);
        charge(service, "u", "/a", 100);
        reset(service, "u", "/a");
        CHECK_UINT(left(service, "u", "/a"), 5);
        CHECK_UINT(left(service, "u", "/b"), 3);
        CHECK_UINT(left(service, "v", "/a"), 2);
        rl_stats stats = fixture_stats(service);
        CHECK_UINT(stats.keys, 2);
        CHECK_UINT(stats.log_entries, i == 2 ? 2 : 0);
        reset(service, "u", "/b");
        reset(service, "v", "/a");
        reset(service, "v", "/a");
        stats = fixture_stats(service);
        CHECK_UINT(stats.keys, 0);
        CHECK_UINT(stats.log_entries, 0);
        rl_service_free(service);
    }

    service = service_at(120000, "match = all\ndefault = fixed-window,9,60\n"
                                 "user.u = fixed-window,5,60\napi./a = fixed-window,7,60,per=api\n");
    check(service, "u", "/a", 5);
    CHECK_INT(check(service, "u", "/a", 5).denied_by, 7);
    reset(service, "u", "/a");
    got = check(service, "u", "/a", 5);
    CHECK_NO(got, 2, 60000);
    CHECK_INT(got.denied_by, 2);
    CHECK_YES(check(service, "u", "/a", 2), 0);
    rl_service_free(service);
}

/* ---- several limits ---------------------------------------------------------------- */

static void all_limits_are_charged_and_refunded(void) {
    rl_service *service =
        service_at(120000, "default = fixed-window,5,60 + sliding-window,20,30,per=user + "
                           "token-bucket,12,60,per=all + fixed-window,6,20,shadow");
    rl_decision got = charge(service, "u", "/a", 7);
    CHECK_NO(got, 0, 60000);
    CHECK_INT(got.limit_count, 4);
    CHECK_INT(got.limit_index, 0);
    CHECK_INT(got.denied_by, 9);
    CHECK_INT(got.flags, RL_FLAG_SHADOW);
    got = peek(service, "v", "/a", 5); /* all have 5 left */
    CHECK_YES(got, 0);
    CHECK_INT(got.limit_index, 0);
    CHECK_INT(peek(service, "v", "/a", 6).denied_by, 5);
    got = charge(service, "u", "/b", 9); /* over for the pair, the user and all */
    CHECK_NO(got, 0, 60000);
    CHECK_INT(got.denied_by, 1 | 4 | 8);
    CHECK_NO(peek(service, "v", "/a", 1), 0, 25000); /* 4 owed, and one to come */
    got = charge(service, "u", "/c", 5);
    CHECK_INT(got.denied_by, 2 | 4);

    refund(service, "u", "/c", 5);
    refund(service, "u", "/b", 9);
    CHECK_UINT(left(service, "v", "/a"), 5);
    refund(service, "u", "/a", 7);
    rl_decision fresh = peek(service, "u", "/a", 1), never = peek(service, "w", "/w", 1);
    CHECK_SAME(fresh, never);
    CHECK_YES(check(service, "u", "/a", 5), 0);
    CHECK_YES(check(service, "v", "/a", 5), 0);
    CHECK_YES(check(service, "w", "/a", 2), 0);
    CHECK_INT(check(service, "w", "/a", 1).denied_by, 4);
    rl_service_free(service);
}

/* One limit is over, another has nothing left and opens later. */
static void the_hint_after_a_charge_is_that_of_all_limits(void) {
    rl_service *service = service_at(120000, "default = fixed-window,5,10 + fixed-window,7,60");
    rl_decision got = charge(service, "u", "/a", 7);
    CHECK_NO(got, 0, 60000);
    CHECK_INT(got.denied_by, 1);
    set_ms(120000 + 59999);
    CHECK_INT(check(service, "u", "/a", 1).allowed, 0);
    set_ms(120000 + 60000);
    CHECK_INT(check(service, "u", "/a", 1).allowed, 1);
    rl_service_free(service);
}

static void rules_without_limits(void) {
    rl_service *service = service_at(0, "match = all\ndefault = unlimited\nuser.bad = deny\n"
                                        "user.bad api./a = fixed-window,5,60\n");
    rl_decision got = charge(service, "u", "/a", UINT64_MAX);
    CHECK_YES(got, RL_NEVER);
    CHECK_INT(got.flags, RL_FLAG_UNLIMITED);
    got = charge(service, "bad", "/b", 2);
    CHECK_NO(got, 0, RL_NEVER);
    refund(service, "u", "/a", UINT64_MAX);
    refund(service, "bad", "/b", 2);
    reset(service, "u", "/a");
    reset(service, "bad", "/b");
    CHECK_UINT(fixture_stats(service).keys, 0);
    CHECK_UINT(fixture_stats(service).errors, 0);
    rl_service_free(service);
}

int main(void) {
    manual = fixture_clock(0);
    a_bucket_goes_into_debt_by_one_window_at_most();
    a_window_counts_over_its_limit();
    the_hint_after_a_charge_is_tight();
    a_refund_is_never_above_full();
    a_refund_takes_the_newest_entries_of_a_log();
    a_refund_reaches_the_last_window_of_a_counter();
    charge_and_refund_are_inverse();
    a_reset_forgets_what_is_the_pairs_own();
    all_limits_are_charged_and_refunded();
    the_hint_after_a_charge_is_that_of_all_limits();
    rules_without_limits();
    rl_clock_free(manual);
    return test_end();
}
