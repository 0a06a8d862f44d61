/*
 * Calls about one request with its names as C strings, and checks of what they answer.
 */
#ifndef LIBRL_ASKS_H
#define LIBRL_ASKS_H

#include "fixture.h"

static inline rl_decision check(rl_service *service, const char *user, const char *api,
                                uint64_t cost) {
    rl_decision decision;
    NEED(rl_check_bytes(service, user, RL_NUL, api, RL_NUL, cost, &decision) == RL_OK);
    return decision;
}

static inline rl_decision peek(rl_service *service, const char *user, const char *api,
                               uint64_t cost) {
    rl_decision decision;
    NEED(rl_peek(service, user, RL_NUL, api, RL_NUL, cost, &decision) == RL_OK);
    return decision;
}

static inline rl_decision charge(rl_service *service, const char *user, const char *api,
                                 uint64_t cost) {
    rl_decision decision;
    NEED(rl_charge(service, user, RL_NUL, api, RL_NUL, cost, &decision) == RL_OK);
    return decision;
}

static inline void refund(rl_service *service, const char *user, const char *api, uint64_t cost) {
    NEED(rl_refund(service, user, RL_NUL, api, RL_NUL, cost) == RL_OK);
}

static inline void reset(rl_service *service, const char *user, const char *api) {
    NEED(rl_reset(service, user, RL_NUL, api, RL_NUL) == RL_OK);
}

static inline rl_request request(const char *user, const char *api, uint64_t cost) {
    const rl_request made = {user, RL_NUL, api, RL_NUL, cost};
    return made;
}

static inline void reload(rl_service *service, const char *rules) {
    rl_config *config = fixture_config(rules);
    rl_error error;
    rl_status status = rl_reload(service, config, &error);
    test_need(status == RL_OK, __FILE__, __LINE__, rules, error.message);
    rl_config_free(config);
}

/* What is left for a pair, whatever its rule; RL_NEVER where nothing limits it. */
static inline uint64_t left(rl_service *service, const char *user, const char *api) {
    rl_decision decision = peek(service, user, api, 1);
    return decision.allowed && decision.remaining != RL_NEVER ? decision.remaining + 1
                                                              : decision.remaining;
}

static inline void test_answer(rl_decision got, bool allowed, uint64_t remaining,
                               uint64_t retry_after_ms, const char *file, int line,
                               const char *what) {
    int ok = got.allowed == allowed && got.remaining == remaining &&
             got.retry_after_ms == retry_after_ms;
    if (!test_count(ok, file, line, what)) {
        printf("got %s, %llu left, retry %llu, wanted %s, %llu left, retry %llu\n",
               got.allowed ? "yes" : "no", (unsigned long long)got.remaining,
               (unsigned long long)got.retry_after_ms, allowed ? "yes" : "no",
               (unsigned long long)remaining, (unsigned long long)retry_after_ms);
    }
}

#define CHECK_YES(ask, remaining) test_answer((ask), true, (remaining), 0, __FILE__, __LINE__, #ask)
#define CHECK_NO(ask, remaining, retry_after_ms) \
    test_answer((ask), false, (remaining), (retry_after_ms), __FILE__, __LINE__, #ask)
#define CHECK_SAME(a, b) CHECK_BYTES(&(a), &(b), sizeof(rl_decision))

/* Numbers that look drawn, and are the same in every run. */
static inline uint32_t draw(uint64_t *state, uint32_t below) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % below);
}

#endif
