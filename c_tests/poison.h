/*
 * What tests of arguments share: a service on a clock that stands still, a name that is
 * too long, and outputs that are filled with a pattern to see what is written to them.
 */
#ifndef LIBRL_POISON_H
#define LIBRL_POISON_H

#include "fixture.h"

#define LONGEST 65535

enum { POISON = 0x5a };

static rl_service *service; /* 5 per 10 s */
static rl_config *config;
static rl_clock *manual;

static char long_name[LONGEST + 2]; /* 65,536 bytes and a NUL */

static void set_up(void) {
    memset(long_name, 'n', LONGEST + 1);
    manual = fixture_clock(0);
    config = fixture_config("default = token-bucket,5,10");
    NEED(rl_config_set_clock(config, manual) == RL_OK);
    NEED(rl_service_new(config, &service, NULL) == RL_OK);
}

static void tear_down(void) {
    rl_service_free(service);
    rl_config_free(config);
    rl_clock_free(manual);
}

static int is_filled_with(const void *memory, size_t size, unsigned char byte) {
    const unsigned char *bytes = memory;
    size_t at = 0;
    while (at < size && bytes[at] == byte) {
        at++;
    }
    return at == size;
}

#endif
