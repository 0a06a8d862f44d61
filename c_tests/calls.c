/*
 * The calls beside a single check, with NULL in every pointer position and with numbers
 * out of range: nothing crashes, the status is right, nothing is taken, and nothing is
 * written but the refusal that an rl_decision gets.
 */
#include "poison.h"

enum { MOST = 8 };

static uint64_t errors(void) {
    return fixture_stats(service).errors;
}

/* ---- one request ------------------------------------------------------------------- */

/* Arguments that are wrong in every call that has them. */
static const struct wrong {
    const char *what;
    const void *user;
    size_t user_len;
    const void *api;
    size_t api_len;
    uint64_t cost;
} wrong[] = {
    {"user is NULL", NULL, 1, "a", 1, 1},
    {"user is NULL without a length", NULL, RL_NUL, "a", 1, 1},
    {"user is too long", long_name, LONGEST + 1, "a", 1, 1},
    {"user is too long a string", long_name, RL_NUL, "a", 1, 1},
    {"user is longer than memory", "u", SIZE_MAX - 1, "a", 1, 1},
    {"api is NULL", "u", 1, NULL, 1, 1},
    {"api is NULL without a length", "u", 1, NULL, RL_NUL, 1},
    {"api is too long", "u", 1, long_name, LONGEST + 1, 1},
    {"api is longer than memory", "u", 1, "a", SIZE_MAX / 2 + 1, 1},
    {"cost is 0", "u", 1, "a", 1, 0},
};
#define WRONG (sizeof wrong / sizeof *wrong)

static rl_status charge(rl_service *s, struct wrong w, rl_decision *out) {
    return rl_charge(s, w.user, w.user_len, w.api, w.api_len, w.cost, out);
}

static rl_status acquire(rl_service *s, struct wrong w, rl_decision *out) {
    return rl_acquire(s, w.user, w.user_len, w.api, w.api_len, w.cost, 0, out);
}

static rl_status acquire_for_ever(rl_service *s, struct wrong w, rl_decision *out) {
    return rl_acquire(s, w.user, w.user_len, w.api, w.api_len, w.cost, RL_NEVER, out);
}

static rl_status peek(rl_service *s, struct wrong w, rl_decision *out) {
    return rl_peek(s, w.user, w.user_len, w.api, w.api_len, w.cost, out);
}

typedef rl_status ask_fn(rl_service *, struct wrong, rl_decision *);

static void refuses(ask_fn *ask, const char *name) {
    const struct wrong good = {"", "u", 1, "a", 1, 1};
    uint64_t before = errors();
    rl_decision out;
    for (size_t i = 0; i < WRONG; i++) {
        memset(&out, POISON, sizeof out);
        if (ask(service, wrong[i], &out) != RL_ERR_ARGUMENT) {
            printf("%s, %s: ", name, wrong[i].what);
            CHECK(!"it is refused");
        }
        CHECK(is_filled_with(&out, sizeof out, 0));
        CHECK_INT(ask(service, wrong[i], NULL), RL_ERR_ARGUMENT);
    }
    CHECK_INT(ask(service, good, NULL), RL_ERR_ARGUMENT);
    CHECK_UINT(errors(), before + 2 * WRONG + 1);
    memset(&out, POISON, sizeof out);
    CHECK_INT(ask(NULL, good, &out), RL_ERR_ARGUMENT);
    CHECK(is_filled_with(&out, sizeof out, 0));
    CHECK_INT(ask(NULL, good, NULL), RL_ERR_ARGUMENT);
}

static void calls_that_answer(void) {
    refuses(charge, "rl_charge");
    refuses(acquire, "rl_acquire");
    refuses(acquire_for_ever, "rl_acquire for ever");
    refuses(peek, "rl_peek");
}

static void refund_and_reset(void) {
    uint64_t before = errors();
    for (size_t i = 0; i < WRONG; i++) {
        const struct wrong w = wrong[i];
        CHECK_INT(rl_refund(service, w.user, w.user_len, w.api, w.api_len, w.cost),
                  RL_ERR_ARGUMENT);
        if (w.cost != 0) {
            CHECK_INT(rl_reset(service, w.user, w.user_len, w.api, w.api_len), RL_ERR_ARGUMENT);
        }
    }
    CHECK_UINT(errors(), before + 2 * WRONG - 1);
    CHECK_INT(rl_refund(NULL, "u", 1, "a", 1, 1), RL_ERR_ARGUMENT);
    CHECK_INT(rl_reset(NULL, "u", 1, "a", 1), RL_ERR_ARGUMENT);
}

/* ---- several requests -------------------------------------------------------------- */

static rl_request request_of(const struct wrong w) {
    const rl_request request = {w.user, w.user_len, w.api, w.api_len, w.cost};
    return request;
}

static void check_all_refuses(const rl_request *requests, size_t count) {
    rl_decision out[MOST + 2];
    memset(out, POISON, sizeof out);
    CHECK_INT(rl_check_all(service, requests, count, out), RL_ERR_ARGUMENT);
    CHECK(is_filled_with(out, count * sizeof *out, 0));
    CHECK(is_filled_with(out + count, sizeof out - count * sizeof *out, POISON));
}

static void check_all(void) {
    const rl_request good = {"u", 1, "a", 1, 1};
    rl_request requests[MOST + 1];
    rl_decision out[MOST + 1];
    uint64_t before = errors();
    for (size_t i = 0; i <= MOST; i++) {
        requests[i] = good;
    }
    check_all_refuses(requests, 0);
    check_all_refuses(NULL, 0);
    check_all_refuses(requests, MOST + 1);
    check_all_refuses(NULL, 1);
    CHECK_INT(rl_check_all(service, requests, 1, NULL), RL_ERR_ARGUMENT);
    CHECK_INT(rl_check_all(service, requests, 0, NULL), RL_ERR_ARGUMENT);
    CHECK_INT(rl_check_all(service, NULL, 0, NULL), RL_ERR_ARGUMENT);
    memset(out, POISON, sizeof out);
    CHECK_INT(rl_check_all(service, requests, SIZE_MAX, out), RL_ERR_ARGUMENT);
    CHECK(is_filled_with(out, sizeof out, POISON));
    CHECK_UINT(errors(), before + 8);
    for (size_t i = 0; i < WRONG; i++) {
        for (size_t at = 0; at < 3; at++) {
            requests[at] = request_of(wrong[i]);
            check_all_refuses(requests, 3);
            requests[at] = good;
        }
    }
    CHECK_UINT(errors(), before + 8 + 3 * WRONG);
    CHECK_INT(rl_check_all(NULL, requests, 1, out), RL_ERR_ARGUMENT);
    CHECK(is_filled_with(out, sizeof *out, 0));
    CHECK_INT(rl_check_all(NULL, NULL, 0, NULL), RL_ERR_ARGUMENT);
}

/* ---- rules and reports ------------------------------------------------------------- */

static void reload(void) {
    rl_config *empty = NULL;
    rl_error error;
    NEED(rl_config_new(&empty) == RL_OK);
    CHECK_INT(rl_reload(NULL, config, NULL), RL_ERR_ARGUMENT);
    CHECK_INT(rl_reload(service, NULL, NULL), RL_ERR_ARGUMENT);
    memset(&error, POISON, sizeof error);
    CHECK_INT(rl_reload(service, NULL, &error), RL_ERR_ARGUMENT);
    CHECK_INT(error.status, RL_ERR_ARGUMENT);
    CHECK(memchr(error.message, '\0', sizeof error.message) != NULL);
    CHECK_INT(rl_reload(service, empty, NULL), RL_ERR_CONFIG);
    CHECK_INT(rl_reload(service, empty, &error), RL_ERR_CONFIG);
    CHECK_INT(error.status, RL_ERR_CONFIG);
    CHECK_CONTAINS(error.message, "default");
    memset(&error, POISON, sizeof error);
    CHECK_INT(rl_reload(service, config, &error), RL_OK);
    CHECK(is_filled_with(&error, sizeof error, POISON));
    rl_config_free(empty);
}

static void prometheus(void) {
    char text[4096], again[4096];
    size_t needed = 0, length;
    CHECK_INT(rl_stats_prometheus(service, text, sizeof text, &needed), RL_OK);
    length = strlen(text);
    CHECK_UINT(needed, length + 1);
    CHECK_CONTAINS(text, "# TYPE librl_requests_total counter\n");
    CHECK_CONTAINS(text, "\nlibrl_requests_total{decision=\"denied\"} 0\n");
    CHECK(length > 0 && text[length - 1] == '\n');

    memset(again, POISON, sizeof again);
    CHECK_INT(rl_stats_prometheus(service, again, length + 1, NULL), RL_OK);
    CHECK_TEXT(again, text);
    CHECK(again[length + 1] == POISON);

    memset(again, POISON, sizeof again);
    const size_t too_small[] = {0, 1, 2, length - 1, length};
    for (size_t i = 0; i < sizeof too_small / sizeof *too_small; i++) {
        needed = 0;
        CHECK_INT(rl_stats_prometheus(service, again, too_small[i], &needed), RL_ERR_MEMORY);
        CHECK_UINT(needed, length + 1);
        CHECK_INT(rl_stats_prometheus(service, again, too_small[i], NULL), RL_ERR_MEMORY);
    }
    CHECK(is_filled_with(again, sizeof again, POISON));
    needed = 0;
    CHECK_INT(rl_stats_prometheus(service, NULL, 0, &needed), RL_ERR_MEMORY);
    CHECK_UINT(needed, length + 1);
    CHECK_INT(rl_stats_prometheus(service, NULL, 0, NULL), RL_ERR_MEMORY);

    needed = POISON;
    CHECK_INT(rl_stats_prometheus(service, NULL, 1, &needed), RL_ERR_ARGUMENT);
    CHECK_INT(rl_stats_prometheus(NULL, again, sizeof again, &needed), RL_ERR_ARGUMENT);
    CHECK_INT(rl_stats_prometheus(NULL, NULL, 0, NULL), RL_ERR_ARGUMENT);
    CHECK_UINT(needed, POISON);
    CHECK(is_filled_with(again, sizeof again, POISON));
}

/* After all of this, nobody has used anything. */
static void nothing_was_taken(void) {
    rl_stats stats = fixture_stats(service);
    rl_decision decision;
    CHECK_UINT(stats.allowed, 0);
    CHECK_UINT(stats.denied, 0);
    CHECK_UINT(stats.keys, 0);
    CHECK_INT(rl_check(service, "u", "a", &decision), RL_OK);
    CHECK_UINT(decision.remaining, 4);
}

int main(void) {
    set_up();
    calls_that_answer();
    refund_and_reset();
    check_all();
    reload();
    prometheus();
    nothing_was_taken();
    tear_down();
    return test_end();
}
