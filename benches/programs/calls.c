/* Calls of one kind, as many as are asked for, under a manual clock: for counting their
   instructions (instructions.py). `calls KIND COUNT`; the answers are checked. */

#include <rl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 16

struct kind {
    const char *name;
    const char *rules;
    bool allowed;
};

static const struct kind KINDS[] = {
    {"allowed", "default = token-bucket,1000,1,burst=1000000000", true},
    {"refused", "default = token-bucket,1,86400", false},
    {"three",
     "default = token-bucket,1000,1,burst=1000000000"
     " + token-bucket,1000,1,burst=1000000000,per=user"
     " + token-bucket,1000,1,burst=1000000000,per=all",
     true},
    {"batch", "default = token-bucket,1000,1,burst=1000000000", true},
    {"fixed", "default = fixed-window,1000000000,1d", true},
    {"fixed-refused", "default = fixed-window,1,1d", false},
    {"sliding", "default = sliding-window,1000000000,1d", true},
    {"sliding-refused", "default = sliding-window,1,1d", false},
    {"counter", "default = sliding-window-counter,1000000000,1d", true},
    {"counter-refused", "default = sliding-window-counter,1,1d", false},
};

static rl_service *service_with(const char *rules) {
    rl_error error;
    rl_config *config;
    rl_clock *clock;
    rl_service *service;
    if (rl_config_new(&config) != RL_OK || rl_clock_new_manual(1000000000, &clock) != RL_OK ||
        rl_config_parse(config, rules, RL_NUL, &error) != RL_OK ||
        rl_config_set_clock(config, clock) != RL_OK ||
        rl_service_new(config, &service, &error) != RL_OK) {
        fprintf(stderr, "no service with %s\n", rules);
        exit(1);
    }
    return service;
}

/* Batches for as many users; how many answers are wrong. */
static long batches(rl_service *service, long count) {
    static char users[BATCH][16];
    rl_request requests[BATCH];
    rl_decision decisions[BATCH];
    for (int i = 0; i < BATCH; i++) {
        snprintf(users[i], sizeof users[i], "user-%07d", i);
        requests[i] = (rl_request){users[i], 12, "/v1/orders", 10, 1};
    }
    long wrong = 0;
    while (count-- > 0) {
        wrong += rl_check_batch(service, requests, BATCH, decisions) != RL_OK;
        for (int i = 0; i < BATCH; i++) {
            wrong += !decisions[i].allowed;
        }
    }
    return wrong;
}

int main(int argc, char **argv) {
    for (size_t i = 0; argc == 3 && i < sizeof KINDS / sizeof *KINDS; i++) {
        if (strcmp(argv[1], KINDS[i].name) != 0) {
            continue;
        }
        rl_service *service = service_with(KINDS[i].rules);
        long wrong = 0;
        long count = atol(argv[2]);
        if (strcmp(argv[1], "batch") == 0) {
            wrong = batches(service, count / BATCH);
            count = 0;
        }
        rl_decision decision;
        while (count-- > 0) {
            rl_check_bytes(service, "user-0000001", 12, "/v1/orders", 10, 1, &decision);
            wrong += decision.allowed != KINDS[i].allowed;
        }
        /* The first of the refused is allowed. */
        return wrong > 1;
    }
    fprintf(stderr, "usage: calls KIND COUNT\n");
    return 2;
}
