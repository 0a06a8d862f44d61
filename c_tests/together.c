/*
 * Several limits, and several requests, in one decision: all are charged or none, and
 * the answer says which limit it is about. The clock stands still but where a test
 * moves it.
 */
#include "asks.h"

static const char *const algorithms[] = {"token-bucket", "fixed-window", "sliding-window",
                                         "sliding-window-counter"};
enum { ALGORITHMS = 4 };

static const char *const sharings[] = {"pair", "user", "api", "all"};
enum { SHARINGS = 4 };

static rl_clock *manual;

static rl_service *service_at_zero(const char *rules) {
    NEED(rl_clock_set_ns(manual, 0) == RL_OK);
    return fixture_service(rules, manual);
}

static void set_ms(uint64_t now_ms) {
    NEED(rl_clock_set_ns(manual, now_ms * RL_NS_PER_MS) == RL_OK);
}

/* ---- several limits in a rule ------------------------------------------------------ */

/* Four limits, of which `small` gives 3 and the others 10. */
static void rule_with_a_small_limit(char *rule, size_t size, int small) {
    int length = snprintf(rule, size, "default = ");
    for (int i = 0; i < ALGORITHMS; i++) {
        length += snprintf(rule + length, size - (size_t)length, "%s%s,%d,60,per=%s",
                           i == 0 ? "" : " + ", algorithms[i], i == small ? 3 : 10, sharings[i]);
    }
}

static void a_refusal_by_one_takes_nothing_from_the_others(void) {
    /* A sliding counter opens as its last window fades. */
    static const uint64_t retry_ms[ALGORITHMS] = {20000, 60000, 60000, 80000};
    for (int small = 0; small < ALGORITHMS; small++) {
        char rule[256];
        rule_with_a_small_limit(rule, sizeof rule, small);
        rl_service *service = service_at_zero(rule);
        CHECK_YES(check(service, "u", "/a", 2), 1);
        CHECK_YES(check(service, "u", "/a", 1), 0);
        for (int i = 0; i < 5; i++) {
            rl_decision no = check(service, "u", "/a", 1);
            CHECK_NO(no, 0, retry_ms[small]);
            CHECK_INT(no.limit_count, 4);
            CHECK_INT(no.limit_index, small);
            CHECK_INT(no.denied_by, 1 << small);
            CHECK_UINT(no.limit, 3);
            CHECK_UINT(no.window_ms, 60000);
        }
        for (int i = 0; i < ALGORITHMS; i++) {
            char single[64];
            snprintf(single, sizeof single, "default = %s,10,60,per=%s", algorithms[i], sharings[i]);
            reload(service, single);
            /* A bucket keeps the time until it is full: all of its 3 are all of its 10. */
            CHECK_UINT(left(service, "u", "/a"), i == small && i == 0 ? 0 : 7);
        }
        rl_service_free(service);
    }
}

static void the_answer_is_about_the_limit_that_refuses_longest(void) {
    rl_service *service =
        service_at_zero("default = fixed-window,2,10,name=short + fixed-window,2,60,name=long + "
                        "fixed-window,9,600,name=wide");
    CHECK_YES(check(service, "u", "/a", 2), 0);
    rl_decision no = check(service, "u", "/a", 1);
    CHECK_NO(no, 0, 60000);
    CHECK_INT(no.limit_index, 1);
    CHECK_INT(no.denied_by, 3);
    CHECK_TEXT(no.name, "long");
    CHECK_UINT(no.window_ms, 60000);
    CHECK_UINT(no.reset_after_ms, 60000);

    /* For ever is longest. */
    no = check(service, "u", "/a", 8);
    CHECK_NO(no, 0, RL_NEVER);
    CHECK_INT(no.limit_index, 0);
    CHECK_INT(no.denied_by, 7);
    no = check(service, "v", "/a", 3);
    CHECK_NO(no, 2, RL_NEVER);
    CHECK_INT(no.denied_by, 3);
    CHECK_UINT(left(service, "v", "/a"), 2);

    /* The short one opens; only the long one is in the way. */
    set_ms(10000);
    no = check(service, "u", "/a", 1);
    CHECK_NO(no, 0, 50000);
    CHECK_INT(no.denied_by, 2);
    set_ms(59999);
    CHECK_NO(check(service, "u", "/a", 1), 0, 1);
    set_ms(60000);
    CHECK_YES(check(service, "u", "/a", 1), 1);
    rl_service_free(service);
}

static void the_answer_is_about_the_limit_with_the_least_left(void) {
    rl_service *service = service_at_zero("default = token-bucket,10,10 + fixed-window,12,60");
    rl_decision yes = check(service, "u", "/a", 1);
    CHECK_YES(yes, 9);
    CHECK_INT(yes.limit_index, 0);
    CHECK_INT(yes.denied_by, 0);
    CHECK_UINT(yes.limit, 10);
    CHECK_UINT(yes.window_ms, 10000);
    CHECK_UINT(yes.reset_after_ms, 1000);
    CHECK_TEXT(yes.name, "limit-1");
    set_ms(1000);
    check(service, "u", "/a", 8);
    set_ms(9000);
    yes = check(service, "u", "/a", 1);
    CHECK_YES(yes, 2);
    CHECK_INT(yes.limit_index, 1);
    CHECK_UINT(yes.limit, 12);
    CHECK_UINT(yes.window_ms, 60000);
    CHECK_UINT(yes.reset_after_ms, 51000);
    CHECK_TEXT(yes.name, "limit-2");
    rl_service_free(service);
}

static void names_of_limits(void) {
    rl_service *service = service_at_zero("default = fixed-window,5,10\n"
                                          "api.named = fixed-window,5,10,name=only_one-1\n"
                                          "api.longest = fixed-window,5,10,name=abcdefghijklmno\n"
                                          "api.some = fixed-window,5,10 + fixed-window,4,20,name=b"
                                          " + fixed-window,3,30\n");
    CHECK_TEXT(check(service, "u", "/a", 1).name, "default");
    CHECK_TEXT(check(service, "u", "named", 1).name, "only_one-1");
    CHECK_TEXT(check(service, "u", "longest", 1).name, "abcdefghijklmno");
    CHECK_TEXT(check(service, "u", "some", 1).name, "limit-3");
    CHECK_TEXT(check(service, "u", "some", 4).name, "limit-3");
    CHECK_TEXT(check(service, "v", "some", 5).name, "b");
    CHECK_TEXT(check(service, "v", "some", 6).name, "limit-1");
    rl_service_free(service);
}

static void eight_limits(void) {
    char rule[256];
    for (int small = 0; small < 8; small++) {
        int length = snprintf(rule, sizeof rule, "default = ");
        for (int i = 0; i < 8; i++) {
            length += snprintf(rule + length, sizeof rule - (size_t)length, "%s%s,%d,60",
                               i == 0 ? "" : " + ", algorithms[i % 4], i == small ? 1 : 5);
        }
        rl_service *service = service_at_zero(rule);
        char name[16];
        snprintf(name, sizeof name, "limit-%d", small + 1);
        rl_decision yes = check(service, "u", "/a", 1), no = check(service, "u", "/a", 1);
        CHECK_YES(yes, 0);
        CHECK(!no.allowed);
        CHECK_INT(yes.limit_count, 8);
        CHECK_INT(yes.limit_index, small);
        CHECK_INT(no.limit_index, small);
        CHECK_INT(no.denied_by, 1 << small);
        CHECK_TEXT(no.name, name);
        CHECK_UINT(fixture_stats(service).keys, 8);
        no = check(service, "v", "/a", 6);
        CHECK_NO(no, 5 - (small == 0 ? 4 : 0), RL_NEVER);
        CHECK_INT(no.denied_by, 255);
        CHECK_UINT(fixture_stats(service).keys, 8);
        rl_service_free(service);
    }
}

static void who_shares_a_counter(void) {
    /* What is left after (u, /a) took 2 of 5, for itself, (u, /b), (v, /a) and (v, /b). */
    static const unsigned lefts[SHARINGS][4] = {
        {3, 5, 5, 5}, {3, 3, 5, 5}, {3, 5, 3, 5}, {3, 3, 3, 3}};
    for (int i = 0; i < ALGORITHMS * SHARINGS; i++) {
        char rule[128];
        const unsigned *left_now = lefts[i % SHARINGS];
        snprintf(rule, sizeof rule, "default = fixed-window,100,10 + %s,5,60,per=%s",
                 algorithms[i / SHARINGS], sharings[i % SHARINGS]);
        rl_service *service = service_at_zero(rule);
        CHECK_YES(check(service, "u", "/a", 2), 3);
        CHECK_UINT(left(service, "u", "/a"), left_now[0]);
        CHECK_UINT(left(service, "u", "/b"), left_now[1]);
        CHECK_UINT(left(service, "v", "/a"), left_now[2]);
        CHECK_UINT(left(service, "v", "/b"), left_now[3]);
        rl_service_free(service);
    }
}

static void a_burst_a_quota_and_a_ceiling(void) {
    rl_service *service = service_at_zero("default = token-bucket,10,1,name=burst + "
                                          "token-bucket,1000,3600,per=user,name=quota + "
                                          "fixed-window,1500,60,per=all,name=ceiling\n");
    char api[16];
    rl_decision no;
    for (int i = 0; i < 100; i++) {
        snprintf(api, sizeof api, "/%d", i);
        CHECK_YES(check(service, "u", api, 10), 0);
        no = check(service, "u", api, 1);
        CHECK_INT(no.denied_by, i < 99 ? 1 : 3);
    }
    no = check(service, "u", "/new", 1);
    CHECK_NO(no, 0, 3600);
    CHECK_TEXT(no.name, "quota");
    for (int i = 0; i < 50; i++) {
        snprintf(api, sizeof api, "/%d", i);
        CHECK_YES(check(service, "v", api, 10), 0);
    }
    no = check(service, "w", "/new", 1);
    CHECK_NO(no, 0, 60000);
    CHECK_TEXT(no.name, "ceiling");
    CHECK_INT(no.denied_by, 4);
    no = check(service, "u", "/99", 1);
    CHECK_NO(no, 0, 60000);
    CHECK_INT(no.denied_by, 7);
    rl_service_free(service);
}

static void burst_differs_from_the_limit(void) {
    rl_service *service = service_at_zero("default = token-bucket,10,10,burst=2\n"
                                          "api.big = token-bucket,10,10,burst=20\n"
                                          "api.both = token-bucket,10,10,burst=20,name=big + "
                                          "token-bucket,10,20,burst=2,name=small\n");
    rl_decision yes = check(service, "u", "/a", 2);
    CHECK_YES(yes, 0);
    CHECK_UINT(yes.limit, 2);
    CHECK_UINT(yes.window_ms, 10000);
    CHECK_UINT(yes.reset_after_ms, 2000);
    CHECK_NO(check(service, "u", "/a", 1), 0, 1000);
    CHECK_NO(check(service, "u", "/a", 3), 0, RL_NEVER);
    yes = check(service, "u", "big", 20);
    CHECK_YES(yes, 0);
    CHECK_UINT(yes.limit, 20);
    CHECK_UINT(yes.reset_after_ms, 20000);
    CHECK_NO(check(service, "u", "big", 1), 0, 1000);
    CHECK_NO(check(service, "u", "big", 20), 0, 20000);
    CHECK_NO(check(service, "u", "big", 21), 0, RL_NEVER);
    yes = check(service, "u", "both", 2);
    CHECK_YES(yes, 0);
    CHECK_TEXT(yes.name, "small");
    CHECK_NO(check(service, "u", "both", 1), 0, 2000);
    CHECK_NO(check(service, "u", "both", 19), 0, RL_NEVER);
    set_ms(2000);
    CHECK_YES(check(service, "u", "both", 1), 0);
    rl_service_free(service);
}

/* ---- limits that only tell --------------------------------------------------------- */

static void shadow_tells_and_never_refuses(void) {
    for (int i = 0; i < ALGORITHMS; i++) {
        char rule[64];
        snprintf(rule, sizeof rule, "default = %s,3,60,shadow", algorithms[i]);
        rl_service *service = service_at_zero(rule);
        rl_decision yes = check(service, "u", "/a", 2);
        CHECK_YES(yes, 1);
        CHECK_INT(yes.flags, 0);
        CHECK_INT(yes.denied_by, 0);
        yes = check(service, "u", "/a", 2);
        CHECK_YES(yes, 1);
        CHECK_INT(yes.flags, RL_FLAG_SHADOW);
        CHECK_INT(yes.denied_by, 1);
        CHECK_INT(yes.limit_count, 1);
        /* What it would have refused is not charged to it. */
        yes = check(service, "u", "/a", 1);
        CHECK_YES(yes, 0);
        CHECK_INT(yes.flags, 0);
        yes = check(service, "u", "/a", 1);
        CHECK_YES(yes, 0);
        CHECK_INT(yes.flags, RL_FLAG_SHADOW);
        yes = check(service, "u", "/a", 1000);
        CHECK_YES(yes, 0);
        CHECK_INT(yes.flags, RL_FLAG_SHADOW);
        CHECK_UINT(fixture_stats(service).allowed, 5);
        CHECK_UINT(fixture_stats(service).denied, 0);
        set_ms(120000);
        yes = check(service, "u", "/a", 3);
        CHECK_YES(yes, 0);
        CHECK_INT(yes.flags, 0);
        rl_service_free(service);
    }
}

static void shadow_beside_a_limit(void) {
    rl_service *service = service_at_zero("default = fixed-window,4,10,name=real + "
                                          "fixed-window,2,60,shadow,name=trial");
    for (unsigned i = 0; i < 4; i++) {
        rl_decision yes = check(service, "u", "/a", 1);
        CHECK_YES(yes, 3 - i);
        CHECK_TEXT(yes.name, "real");
        CHECK_INT(yes.limit_index, 0);
        CHECK_INT(yes.flags, i < 2 ? 0 : RL_FLAG_SHADOW);
        CHECK_INT(yes.denied_by, i < 2 ? 0 : 2);
    }
    rl_decision no = check(service, "u", "/a", 1);
    CHECK_NO(no, 0, 10000);
    CHECK_INT(no.denied_by, 3);
    CHECK_INT(no.limit_index, 0);
    CHECK_INT(no.flags, RL_FLAG_SHADOW);
    rl_service_free(service);

    /* What the real one refuses is not charged to the trial. */
    service = service_at_zero("default = fixed-window,1,10 + fixed-window,3,60,shadow");
    for (unsigned i = 0; i < 5; i++) {
        set_ms(i * 10000);
        rl_decision yes = check(service, "u", "/a", 1);
        CHECK(yes.allowed);
        CHECK_INT(yes.flags, i < 3 ? 0 : RL_FLAG_SHADOW);
        CHECK_INT(yes.denied_by, i < 3 ? 0 : 2);
        for (int again = 0; again < 3; again++) {
            CHECK_INT(check(service, "u", "/a", 1).denied_by, i < 2 ? 1 : 3);
        }
    }
    rl_service_free(service);
}

/* ---- which rules count ------------------------------------------------------------- */

static void the_most_specific_rule_counts(void) {
    static const struct {
        const char *user, *api;
        uint64_t limit;
    } asked[] = {
        {"v", "", 1},        {"v", "/v1", 1},     {"v", "/v1/", 2},    {"v", "/v1/b", 2},
        {"v", "/v1/a", 4},   {"v", "/v1/ab", 3},  {"v", "/v1/abc", 3}, {"v", "/v1/abc/", 5},
        {"v", "/v1/*", 2},   {"v", "/V1/a", 1},   {"v", "x/v1/a", 1},  {"u", "/v2", 6},
        {"u", "/v1/", 7},    {"u", "/v1/ab", 7},  {"u", "/v1/a", 8},   {"u", "/v1/long/", 9},
        {"u", "/v1/lon", 7}, {"u", "/v1/abc/", 7}, {"u", "", 6},       {"u ", "", 1},
    };
    rl_service *service = service_at_zero("default = fixed-window,1,60\n"
                                          "api./v1/* = fixed-window,2,60\n"
                                          "api./v1/a* = fixed-window,3,60\n"
                                          "api./v1/a = fixed-window,4,60\n"
                                          "api./v1/abc/* = fixed-window,5,60\n"
                                          "user.u = fixed-window,6,60\n"
                                          "user.u api./v1/* = fixed-window,7,60\n"
                                          "user.u api./v1/a = fixed-window,8,60\n"
                                          "user.u api./v1/long/* = fixed-window,9,60\n");
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        CHECK_UINT(peek(service, asked[i].user, asked[i].api, 1).limit, asked[i].limit);
    }
    rl_service_free(service);
}

static void apis_under_a_prefix_count_apart_or_together(void) {
    rl_service *service =
        service_at_zero("default = fixed-window,1,60\n"
                        "api./v1/* = fixed-window,3,60 + fixed-window,5,60,per=user\n");
    CHECK_YES(check(service, "u", "/v1/a", 3), 0);
    CHECK_INT(check(service, "u", "/v1/a", 1).denied_by, 1);
    CHECK_YES(check(service, "u", "/v1/b", 2), 0);
    CHECK_INT(check(service, "u", "/v1/b", 1).denied_by, 2);
    CHECK_INT(check(service, "u", "/v1/c", 1).denied_by, 2);
    CHECK_YES(check(service, "v", "/v1/a", 3), 0);
    rl_service_free(service);
}

static void with_match_all_every_rule_counts(void) {
    rl_service *service = service_at_zero("match = all\n"
                                          "default = fixed-window,8,60,per=all\n"
                                          "user.u = fixed-window,4,60,per=user\n"
                                          "api./x = fixed-window,6,60,per=api\n"
                                          "user.u api./x = fixed-window,2,60\n");
    rl_decision got = check(service, "u", "/x", 1);
    CHECK_YES(got, 1);
    CHECK_INT(got.limit_count, 4);
    CHECK_TEXT(got.name, "limit-1");
    CHECK_YES(check(service, "u", "/x", 1), 0);
    got = check(service, "u", "/x", 1);
    CHECK_NO(got, 0, 60000);
    CHECK_INT(got.denied_by, 1);
    got = check(service, "u", "/y", 2);
    CHECK_YES(got, 0);
    CHECK_INT(got.limit_count, 2);
    CHECK_UINT(got.limit, 4);
    CHECK_INT(check(service, "u", "/y", 1).denied_by, 1);
    CHECK_INT(check(service, "u", "/x", 1).denied_by, 3);
    got = check(service, "v", "/x", 4);
    CHECK_YES(got, 0);
    CHECK_INT(got.limit_count, 2);
    CHECK_INT(check(service, "v", "/x", 1).denied_by, 3);
    CHECK_INT(check(service, "u", "/x", 1).denied_by, 15);
    got = check(service, "w", "/z", 1);
    CHECK_NO(got, 0, 60000);
    CHECK_INT(got.limit_count, 1);
    CHECK_UINT(got.limit, 8);
    rl_service_free(service);

    /* Rules that are alike still count apart. */
    for (int i = 0; i < ALGORITHMS; i++) {
        char rules[256];
        const char *a = algorithms[i];
        snprintf(rules, sizeof rules,
                 "match = all\ndefault = %s,5,60\nuser.u = %s,5,60\napi./x = %s,5,60\n"
                 "user.u api./x = %s,5,60\n",
                 a, a, a, a);
        service = service_at_zero(rules);
        for (unsigned at = 0; at < 5; at++) {
            CHECK_YES(check(service, "u", "/x", 1), 4 - at);
        }
        got = check(service, "u", "/x", 1);
        CHECK(!got.allowed);
        CHECK_INT(got.denied_by, 15);
        CHECK_UINT(fixture_stats(service).keys, 4);
        rl_service_free(service);
    }

    /* Of each kind the most specific. */
    service = service_at_zero("match = all\ndefault = fixed-window,9,60\n"
                              "api./v1/* = fixed-window,1,60\napi./v1/a* = fixed-window,2,60\n"
                              "api./v1/ab = fixed-window,3,60\n"
                              "user.u api./v1/* = fixed-window,5,60\n"
                              "user.u api./v1/a* = fixed-window,4,60\n");
    CHECK_UINT(peek(service, "v", "/v1/ab", 1).limit, 3);
    CHECK_UINT(peek(service, "v", "/v1/ac", 1).limit, 2);
    CHECK_UINT(peek(service, "v", "/v1/c", 1).limit, 1);
    CHECK_INT(peek(service, "u", "/v1/ab", 1).limit_count, 3);
    CHECK_INT(peek(service, "u", "/v1/ab", 9).denied_by, 3);
    CHECK_INT(peek(service, "u", "/v1/c", 2).denied_by, 2);
    CHECK_INT(peek(service, "u", "/v1/c", 6).denied_by, 3);
    rl_service_free(service);
}

static void unlimited_and_deny(void) {
    static const char rules[] = "default = fixed-window,3,60,per=all\n"
                                "user.free = unlimited\nuser.bad = deny\napi./x = unlimited\n"
                                "user.bad api./x = unlimited\n";
    rl_service *service = service_at_zero(rules);
    rl_decision got = check(service, "free", "/a", 1000000);
    CHECK_YES(got, RL_NEVER);
    CHECK_INT(got.flags, RL_FLAG_UNLIMITED);
    CHECK_INT(got.limit_count, 0);
    CHECK_UINT(got.limit, RL_NEVER);
    got = check(service, "bad", "/a", 1);
    CHECK_NO(got, 0, RL_NEVER);
    CHECK_INT(got.flags, 0);
    CHECK_INT(got.limit_count, 0);
    CHECK_INT(got.denied_by, 0);
    CHECK_UINT(got.limit, 0);
    CHECK(check(service, "bad", "/x", 1).allowed);
    CHECK_UINT(fixture_stats(service).keys, 0);

    /* With every rule counting, a deny refuses, and an unlimited takes no limit away. */
    char all[sizeof rules + 16];
    snprintf(all, sizeof all, "match = all\n%s", rules);
    reload(service, all);
    got = check(service, "bad", "/x", 1);
    CHECK_NO(got, 0, RL_NEVER);
    CHECK_INT(got.limit_count, 0);
    CHECK_UINT(fixture_stats(service).keys, 0);
    got = check(service, "free", "/x", 1);
    CHECK_YES(got, 2);
    CHECK_INT(got.flags, 0);
    CHECK_INT(got.limit_count, 1);
    CHECK_NO(check(service, "free", "/a", 3), 2, 60000);
    CHECK_UINT(left(service, "v", "/a"), 2);
    rl_service_free(service);

    service = service_at_zero("match = all\ndefault = unlimited\nuser.u = unlimited\n");
    got = check(service, "u", "/a", 5);
    CHECK_YES(got, RL_NEVER);
    CHECK_INT(got.flags, RL_FLAG_UNLIMITED);
    rl_service_free(service);
}

/* ---- several requests -------------------------------------------------------------- */

static void check_all(rl_service *service, const rl_request *requests, size_t count,
                      rl_decision *out) {
    NEED(rl_check_all(service, requests, count, out) == RL_OK);
}

static void requests_are_charged_all_or_none(void) {
    rl_service *service = service_at_zero("default = fixed-window,5,60\n"
                                          "api.address = token-bucket,10,10\n"
                                          "api.key = fixed-window,8,60 + "
                                          "sliding-window,4,30,name=log\n");
    const rl_request three[] = {request("10.0.0.1", "address", 4), request("alice", "account", 2),
                                request("k-1", "key", 1)};
    rl_decision out[8];
    check_all(service, three, 3, out);
    CHECK_YES(out[0], 6);
    CHECK_YES(out[1], 3);
    CHECK_YES(out[2], 3);
    CHECK_TEXT(out[2].name, "log");
    CHECK_INT(out[2].limit_count, 2);
    CHECK_UINT(out[0].limit, 10);
    check_all(service, three, 3, out);
    CHECK_YES(out[0], 2);
    CHECK_YES(out[1], 1);
    CHECK_YES(out[2], 2);
    /* Two refuse now; the third would have passed, and is not charged. */
    for (int i = 0; i < 3; i++) {
        check_all(service, three, 3, out);
        CHECK_NO(out[0], 2, 2000);
        CHECK_NO(out[1], 1, 60000);
        CHECK_YES(out[2], 2);
        CHECK_UINT(out[2].reset_after_ms, 30000);
        CHECK_INT(out[0].denied_by, 1);
        CHECK_INT(out[2].denied_by, 0);
    }
    CHECK_UINT(left(service, "10.0.0.1", "address"), 2);
    CHECK_UINT(left(service, "alice", "account"), 1);
    CHECK_UINT(left(service, "k-1", "key"), 2);
    CHECK_UINT(fixture_stats(service).allowed, 6);
    CHECK_UINT(fixture_stats(service).denied, 9);

    /* What is not charged stays as new as it was. */
    const rl_request fresh[] = {request("new", "account", 3), request("10.0.0.9", "address", 11)};
    check_all(service, fresh, 2, out);
    CHECK_YES(out[0], 5);
    CHECK_UINT(out[0].reset_after_ms, 0);
    CHECK_NO(out[1], 10, RL_NEVER);

    /* A wrong one among them leaves all uncharged. */
    rl_request wrong[] = {three[2], three[2], request("x", "y", 0)};
    CHECK_INT(rl_check_all(service, wrong, 3, out), RL_ERR_ARGUMENT);
    CHECK(!out[0].allowed && !out[1].allowed && !out[2].allowed);
    CHECK_UINT(left(service, "k-1", "key"), 2);
    check_all(service, wrong, 2, out);
    CHECK_YES(out[0], 1);
    CHECK_YES(out[1], 0);
    rl_service_free(service);
}

static void requests_that_meet_add_up(void) {
    for (int i = 0; i < ALGORITHMS; i++) {
        char rule[128];
        rl_decision out[8];
        snprintf(rule, sizeof rule, "default = %s,8,60\napi.all = %s,8,60,per=all\n",
                 algorithms[i], algorithms[i]);
        rl_service *service = service_at_zero(rule);
        const rl_request pair[] = {request("u", "/a", 4), request("v", "/a", 1),
                                   request("u", "/a", 5)};
        check_all(service, pair, 3, out);
        CHECK_YES(out[0], 8);
        CHECK_YES(out[1], 8);
        CHECK_NO(out[2], 8, RL_NEVER); /* 9 together never fit into 8 */
        CHECK_UINT(left(service, "u", "/a"), 8);
        CHECK_UINT(left(service, "v", "/a"), 8);
        const rl_request fit[] = {request("u", "/a", 4), request("v", "/a", 1),
                                  request("u", "/a", 3)};
        check_all(service, fit, 3, out);
        CHECK_YES(out[0], 4);
        CHECK_YES(out[1], 7);
        CHECK_YES(out[2], 1);
        CHECK_UINT(left(service, "u", "/a"), 1);

        /* The same names eight times, and eight names in one counter. */
        rl_request eight[8];
        char user[8][4];
        for (int at = 0; at < 8; at++) {
            eight[at] = request("w", "/a", 1);
        }
        check_all(service, eight, 8, out);
        CHECK_YES(out[0], 7);
        CHECK_YES(out[7], 0);
        check_all(service, eight, 1, out);
        CHECK(!out[0].allowed);
        for (int at = 0; at < 8; at++) {
            snprintf(user[at], sizeof user[at], "u%d", at);
            eight[at] = request(user[at], "all", at == 7 ? 2 : 1);
        }
        check_all(service, eight, 8, out);
        CHECK(out[6].allowed && !out[7].allowed);
        CHECK_UINT(left(service, "new", "all"), 8);
        check_all(service, eight, 7, out);
        CHECK_YES(out[6], 1);
        CHECK_UINT(left(service, "new", "all"), 1);
        rl_service_free(service);
    }
}

static void check_all_with_deny_and_unlimited(void) {
    rl_service *service = service_at_zero("default = fixed-window,5,60\n"
                                          "user.bad = deny\nuser.free = unlimited\n");
    const rl_request requests[] = {request("u", "/a", 2), request("free", "/a", 1000),
                                   request("bad", "/a", 1)};
    rl_decision out[3];
    check_all(service, requests, 3, out);
    CHECK_YES(out[0], 5);
    CHECK(out[1].allowed);
    CHECK_NO(out[2], 0, RL_NEVER);
    CHECK_UINT(left(service, "u", "/a"), 5);
    check_all(service, requests, 2, out);
    CHECK_YES(out[0], 3);
    CHECK_YES(out[1], RL_NEVER);
    CHECK_INT(out[1].flags, RL_FLAG_UNLIMITED);
    rl_service_free(service);
}

/*
 * The first passes a limit in shadow mode and is charged to it; the second would be too
 * much and is not, also where it comes upon a log of which much has expired.
 */
static void check_all_with_shadow(void) {
    for (int i = 0; i < ALGORITHMS; i++) {
        char rule[64];
        rl_decision out[2];
        snprintf(rule, sizeof rule, "default = %s,20,10,shadow", algorithms[i]);
        rl_service *service = service_at_zero(rule);
        for (unsigned at = 0; at < 20; at++) {
            set_ms(at * 10);
            CHECK(check(service, "u", "/a", 1).flags == 0);
        }
        set_ms(10175);
        uint64_t before = left(service, "u", "/a");
        const rl_request requests[] = {request("u", "/a", 3), request("u", "/a", 20)};
        check_all(service, requests, 2, out);
        CHECK(out[0].allowed && out[1].allowed);
        CHECK_INT(out[0].flags, before < 3 ? RL_FLAG_SHADOW : 0);
        CHECK_INT(out[1].flags, RL_FLAG_SHADOW);
        CHECK_UINT(left(service, "u", "/a"), before < 3 ? before : before - 3);
        rl_service_free(service);
    }
}

/* ---- looking changes nothing ------------------------------------------------------- */

static const char *const shapes[] = {
    "default = token-bucket,7,10",
    "default = token-bucket,7,10,burst=3",
    "default = fixed-window,7,10",
    "default = sliding-window,7,10",
    "default = sliding-window-counter,7,10",
    "default = fixed-window,5,10,shadow",
    "default = unlimited",
    "default = deny",
    "default = token-bucket,7,10 + sliding-window,9,20,per=user + fixed-window,11,30,per=all",
    "default = sliding-window,5,10 + sliding-window,5,10 + sliding-window-counter,9,20,per=api",
    "default = sliding-window,9,10 + sliding-window,5,10,shadow + token-bucket,5,10,shadow",
    "match = all\ndefault = sliding-window,9,10\nuser.a = token-bucket,5,10,per=user\n"
    "api.a* = fixed-window,9,10,per=api\nuser.b api.b = deny\nuser.c = unlimited\n",
};

static void a_peek_changes_nothing_and_tells_the_truth(void) {
    static const char *const names[] = {"a", "b", "c"};
    uint64_t state = 3;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        rl_service *watched = service_at_zero(shapes[i]), *alone = service_at_zero(shapes[i]);
        uint64_t now_ms = 0;
        for (int step = 0; step < 400; step++) {
            const char *user = names[draw(&state, 3)], *api = names[draw(&state, 3)];
            uint64_t cost = draw(&state, 4) == 0 ? 1 + draw(&state, 12) : 1;
            now_ms += draw(&state, 700);
            set_ms(now_ms);
            for (int other = 0; other < 3; other++) {
                peek(watched, names[other], api, 1 + draw(&state, 12));
            }
            rl_decision said = peek(watched, user, api, cost);
            rl_decision again = peek(watched, user, api, cost);
            rl_decision met = check(watched, user, api, cost);
            rl_decision unwatched = check(alone, user, api, cost);
            CHECK_SAME(again, said);
            CHECK_SAME(met, said);
            CHECK_SAME(met, unwatched);
        }
        rl_stats a = fixture_stats(watched), b = fixture_stats(alone);
        CHECK_BYTES(&a, &b, sizeof a);
        rl_service_free(watched);
        rl_service_free(alone);
    }
}

int main(void) {
    manual = fixture_clock(0);
    a_refusal_by_one_takes_nothing_from_the_others();
    the_answer_is_about_the_limit_that_refuses_longest();
    the_answer_is_about_the_limit_with_the_least_left();
    names_of_limits();
    eight_limits();
    who_shares_a_counter();
    a_burst_a_quota_and_a_ceiling();
    burst_differs_from_the_limit();
    shadow_tells_and_never_refuses();
    shadow_beside_a_limit();
    the_most_specific_rule_counts();
    apis_under_a_prefix_count_apart_or_together();
    with_match_all_every_rule_counts();
    unlimited_and_deny();
    requests_are_charged_all_or_none();
    requests_that_meet_add_up();
    check_all_with_deny_and_unlimited();
    check_all_with_shadow();
    a_peek_changes_nothing_and_tells_the_truth();
    rl_clock_free(manual);
    return test_end();
}
