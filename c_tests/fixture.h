/*
 * What most of the tests begin with: a manual clock, and a service made from the
 * text of its rules. All of these end the program when they fail, saying why.
 */
#ifndef LIBRL_FIXTURE_H
#define LIBRL_FIXTURE_H

#include "rl.h"
#include "test.h"

static inline rl_clock *fixture_clock(uint64_t now_ns) {
    rl_clock *clock = NULL;
    rl_status status = rl_clock_new_manual(now_ns, &clock);
    test_need(status == RL_OK, __FILE__, __LINE__, "rl_clock_new_manual",
              rl_status_message(status));
    return clock;
}

static inline rl_config *fixture_config(const char *rules) {
    rl_config *config = NULL;
    rl_error error;
    rl_status status = rl_config_new(&config);
    test_need(status == RL_OK, __FILE__, __LINE__, "rl_config_new", rl_status_message(status));
    status = rl_config_parse(config, rules, strlen(rules), &error);
    test_need(status == RL_OK, __FILE__, __LINE__, rules, error.message);
    return config;
}

/* With clock NULL, the service's `clock` setting decides. */
static inline rl_service *fixture_service(const char *rules, rl_clock *clock) {
    rl_config *config = fixture_config(rules);
    rl_service *service = NULL;
    rl_error error;
    if (clock != NULL) {
        NEED(rl_config_set_clock(config, clock) == RL_OK);
    }
    rl_status status = rl_service_new(config, &service, &error);
    test_need(status == RL_OK, __FILE__, __LINE__, rules, error.message);
    rl_config_free(config);
    return service;
}

static inline rl_stats fixture_stats(rl_service *service) {
    rl_stats stats = RL_STATS_INIT;
    NEED(rl_service_stats(service, &stats) == RL_OK);
    return stats;
}

#endif
