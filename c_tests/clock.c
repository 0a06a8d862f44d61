/*
 * The clocks that a service may be given, how often it reads them, and what becomes
 * of a limit when the time steps.
 */
#include "fixture.h"

static void a_manual_clock_moves_only_when_told(void) {
    rl_clock *clock = fixture_clock(0);
    rl_service *service = fixture_service("default = token-bucket,1,10", clock);
    CHECK(rl_allow(service, "u"));
    CHECK(!rl_allow(service, "u"));
    CHECK_INT(rl_clock_advance_ns(clock, 10 * RL_NS_PER_S - 1), RL_OK);
    CHECK(!rl_allow(service, "u"));
    CHECK_INT(rl_clock_advance_ns(clock, 1), RL_OK);
    CHECK(rl_allow(service, "u"));
    CHECK_INT(rl_clock_set_ns(clock, 20 * RL_NS_PER_S), RL_OK);
    CHECK(rl_allow(service, "u"));
    CHECK_INT(rl_clock_set_ns(clock, 0), RL_OK); /* back: no extra burst */
    CHECK(!rl_allow(service, "u"));
    CHECK_INT(rl_clock_advance_ns(clock, UINT64_MAX), RL_OK);
    CHECK_INT(rl_clock_advance_ns(clock, UINT64_MAX), RL_OK); /* stops at the end */
    CHECK(rl_allow(service, "u"));
    rl_service_free(service);
    rl_clock_free(clock);
}

static void services_share_a_clock_and_outlive_its_handle(void) {
    rl_clock *clock = fixture_clock(0);
    rl_service *first = fixture_service("default = token-bucket,1,10", clock);
    rl_service *second = fixture_service("default = token-bucket,1,10", clock);
    CHECK(rl_allow(first, "u") && rl_allow(second, "u"));
    CHECK_INT(rl_clock_set_ns(clock, 10 * RL_NS_PER_S), RL_OK);
    CHECK(rl_allow(first, "u") && rl_allow(second, "u"));
    rl_clock_free(clock);
    CHECK(!rl_allow(first, "u"));
    rl_service_free(first);
    CHECK(!rl_allow(second, "u"));
    rl_service_free(second);
}

struct counted {
    uint64_t now_ns, readings;
};

static uint64_t count_reading(void *context) {
    struct counted *counted = context;
    counted->readings++;
    return counted->now_ns;
}

static uint64_t readings_since(const struct counted *counted, uint64_t *before) {
    uint64_t since = counted->readings - *before;
    *before = counted->readings;
    return since;
}

static void a_callback_clock_is_read_once_a_call(void) {
    struct counted counted = {0, 0};
    rl_clock *clock = NULL;
    NEED(rl_clock_new_callback(count_reading, &counted, &clock) == RL_OK);
    rl_service *service = fixture_service("default = token-bucket,2,10\n"
                                          "api.w = fixed-window,2,10\n"
                                          "api.l = sliding-window,2,10\n"
                                          "api.c = sliding-window-counter,2,10\n",
                                          clock);
    const char *apis[] = {"", "w", "l", "c"};
    uint64_t before = counted.readings;
    rl_decision decisions[40];
    for (size_t i = 0; i < 16; i++) { /* of each: a new key, a known one, two refusals */
        CHECK_INT(rl_check(service, "u", apis[i % 4], decisions), RL_OK);
        CHECK_UINT(readings_since(&counted, &before), 1);
    }
    CHECK(rl_allow(service, "v"));
    CHECK_UINT(readings_since(&counted, &before), 1);
    CHECK_INT(rl_peek(service, "u", 1, "", 0, 1, decisions), RL_OK);
    CHECK_UINT(readings_since(&counted, &before), 1);

    rl_request requests[40];
    for (size_t i = 0; i < 40; i++) {
        requests[i] = (rl_request){&"abcdefghij"[i % 10], 1, apis[i % 4], RL_NUL, 1};
    }
    CHECK_INT(rl_check_batch(service, requests, 40, decisions), RL_OK);
    CHECK_UINT(readings_since(&counted, &before), 1);
    rl_service_free(service);
    rl_clock_free(clock);
}

static void a_callback_clock_is_what_the_service_goes_by(void) {
    struct counted counted = {0, 0};
    rl_clock *clock = NULL;
    NEED(rl_clock_new_callback(count_reading, &counted, &clock) == RL_OK);
    rl_service *service = fixture_service("default = token-bucket,1,10", clock);
    CHECK_INT(rl_clock_set_ns(clock, 1), RL_ERR_UNSUPPORTED);
    CHECK_INT(rl_clock_advance_ns(clock, 1), RL_ERR_UNSUPPORTED);
    rl_clock_free(clock);
    CHECK(rl_allow(service, "u"));
    CHECK(!rl_allow(service, "u"));
    counted.now_ns = 10 * RL_NS_PER_S;
    CHECK(rl_allow(service, "u"));
    rl_service_free(service);
}

static void the_clocks_of_the_system_go(const char *name) {
    char rules[128];
    rl_decision decision;
    snprintf(rules, sizeof rules,
             "default = token-bucket,1,50ms\napi.slow = token-bucket,1,1h\nclock = %s\n", name);
    rl_service *service = fixture_service(rules, NULL);
    CHECK_INT(rl_check(service, "u", "slow", &decision), RL_OK);
    CHECK(decision.allowed);
    CHECK_INT(rl_check(service, "u", "slow", &decision), RL_OK);
    CHECK(!decision.allowed);
    CHECK(rl_allow(service, "u"));
    while (!rl_allow(service, "u")) { /* for ever, if the clock stood still */
    }
    rl_service_free(service);
}

/* ---- steps ------------------------------------------------------------------------ */

static const char *const algorithms[] = {"token-bucket", "fixed-window", "sliding-window",
                                         "sliding-window-counter"};
#define ALGORITHMS (sizeof algorithms / sizeof *algorithms)

#define START (1000000 * RL_NS_PER_S)
#define WINDOW (10 * RL_NS_PER_S)

static const uint64_t steps[] = {1,
                                 RL_NS_PER_MS,
                                 RL_NS_PER_S,
                                 WINDOW - 1,
                                 WINDOW,
                                 WINDOW + 1,
                                 3600 * RL_NS_PER_S,
                                 START};
#define STEPS (sizeof steps / sizeof *steps)

static unsigned allowed_of_five(rl_service *service) {
    unsigned allowed = 0;
    for (int i = 0; i < 5; i++) {
        allowed += rl_allow(service, "u") ? 1 : 0;
    }
    return allowed;
}

/* A service that gives 5 in a window, of which all are taken at START. */
static rl_service *drained(const char *algorithm, rl_clock *clock) {
    char rule[64];
    snprintf(rule, sizeof rule, "default = %s,5,10", algorithm);
    rl_service *service = fixture_service(rule, clock);
    NEED(rl_clock_set_ns(clock, START) == RL_OK);
    CHECK_UINT(allowed_of_five(service), 5);
    CHECK(!rl_allow(service, "u"));
    return service;
}

/* Nothing at once, and in less than a window no more than a window's. */
static void a_step_back_gives_no_extra_burst(const char *algorithm, uint64_t step) {
    rl_clock *clock = fixture_clock(START);
    rl_service *service = drained(algorithm, clock);
    unsigned allowed = 0;
    rl_clock_set_ns(clock, START - step);
    CHECK_UINT(allowed_of_five(service), 0);
    for (int i = 1; i < 20; i++) {
        rl_clock_advance_ns(clock, WINDOW / 20);
        allowed += allowed_of_five(service);
    }
    CHECK_AT_MOST(allowed, 5);
    rl_service_free(service);
    rl_clock_free(clock);
}

/*
 * Whoever goes on asking is let in again within a window (a sliding counter's are
 * two) and the millisecond or so to which a log is exact.
 */
static void a_step_back_locks_nobody_out_for_long(const char *algorithm, uint64_t step) {
    rl_clock *clock = fixture_clock(START);
    rl_service *service = drained(algorithm, clock);
    int windows = strcmp(algorithm, "sliding-window-counter") == 0 ? 2 : 1;
    unsigned allowed = 0;
    rl_clock_set_ns(clock, START - step);
    for (int i = 0; i < 20 * windows; i++) {
        allowed += allowed_of_five(service);
        rl_clock_advance_ns(clock, WINDOW / 20);
    }
    rl_clock_advance_ns(clock, 2 * RL_NS_PER_MS);
    allowed += allowed_of_five(service);
    CHECK(allowed > 0);
    rl_service_free(service);
    rl_clock_free(clock);
}

static void the_hint_holds_after_a_step_back(const char *algorithm, uint64_t step) {
    rl_clock *clock = fixture_clock(START);
    rl_service *service = drained(algorithm, clock);
    rl_decision refused, then;
    rl_clock_set_ns(clock, START - step);
    CHECK_INT(rl_check(service, "u", "", &refused), RL_OK);
    CHECK(!refused.allowed);
    CHECK_AT_MOST(refused.retry_after_ms, 2 * WINDOW / RL_NS_PER_MS);
    rl_clock_advance_ns(clock, (refused.retry_after_ms - 1) * RL_NS_PER_MS);
    CHECK_INT(rl_check(service, "u", "", &then), RL_OK);
    CHECK(!then.allowed);
    rl_clock_advance_ns(clock, RL_NS_PER_MS);
    CHECK_INT(rl_check(service, "u", "", &then), RL_OK);
    CHECK(then.allowed);
    rl_service_free(service);
    rl_clock_free(clock);
}

static void steps_back(void (*test)(const char *algorithm, uint64_t step)) {
    for (size_t a = 0; a < ALGORITHMS; a++) {
        for (size_t s = 0; s < STEPS; s++) {
            unsigned long failed = tests_failed;
            test(algorithms[a], steps[s]);
            if (tests_failed != failed) {
                printf("    of %s, %llu ns back\n", algorithms[a], (unsigned long long)steps[s]);
            }
        }
    }
}

static void a_leap_forward_is_one_refill(const char *algorithm) {
    rl_clock *clock = fixture_clock(START);
    rl_service *service = drained(algorithm, clock);
    rl_clock_advance_ns(clock, UINT64_MAX / 4); /* 146 years */
    CHECK_UINT(allowed_of_five(service), 5);
    CHECK(!rl_allow(service, "u"));
    rl_service_free(service);
    rl_clock_free(clock);
}

int main(void) {
    a_manual_clock_moves_only_when_told();
    services_share_a_clock_and_outlive_its_handle();
    a_callback_clock_is_read_once_a_call();
    a_callback_clock_is_what_the_service_goes_by();
    the_clocks_of_the_system_go("monotonic");
    the_clocks_of_the_system_go("monotonic-vdso");
    the_clocks_of_the_system_go("monotonic-coarse");
    the_clocks_of_the_system_go("realtime");
    steps_back(a_step_back_gives_no_extra_burst);
    steps_back(a_step_back_locks_nobody_out_for_long);
    steps_back(the_hint_holds_after_a_step_back);
    for (size_t i = 0; i < ALGORITHMS; i++) {
        a_leap_forward_is_one_refill(algorithms[i]);
    }
    return test_end();
}
