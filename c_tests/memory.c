/*
 * Memory stays within the `memory` setting whatever names come, and what has to be
 * forgotten to keep it so is what loses least.
 *
 *     memory [ROUNDS]     100 rounds of 100,000 new keys when not told
 */
#define _POSIX_C_SOURCE 200809L

#include <unistd.h>

#include "fixture.h"
#include "team.h"

#define MIB (1024 * 1024UL)
#define KEYS_A_ROUND 100000UL

/* Bytes of this process that are in memory now. */
static unsigned long resident(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    NEED(file != NULL);
    NEED(fscanf(file, "%*u %lu", &pages) == 1);
    fclose(file);
    return pages * (unsigned long)sysconf(_SC_PAGESIZE);
}

/* Checks `count` users named PREFIX-0, PREFIX-1 ... once each. Returns how many were allowed. */
static unsigned long check_each(rl_service *service, const char *prefix, unsigned long from,
                                unsigned long count, unsigned *flags) {
    unsigned long allowed = 0;
    for (unsigned long i = from; i < from + count; i++) {
        char user[32];
        rl_decision decision;
        snprintf(user, sizeof user, "%s-%lu", prefix, i);
        NEED(rl_check(service, user, "/a", &decision) == RL_OK);
        allowed += decision.allowed ? 1 : 0;
        *flags |= decision.flags;
    }
    return allowed;
}

static void memory_stays_flat(const char *rule, unsigned long rounds) {
    char rules[128];
    unsigned flags = 0;
    unsigned long before = resident(), first = 0, most = 0;
    rl_clock *clock = fixture_clock(0);
    snprintf(rules, sizeof rules, "default = %s\nmemory = 1m\n", rule);
    rl_service *service = fixture_service(rules, clock);
    for (unsigned long round = 0; round < rounds; round++) {
        check_each(service, "key", round * KEYS_A_ROUND, KEYS_A_ROUND, &flags);
        rl_clock_advance_ns(clock, RL_NS_PER_S);
        unsigned long now = resident();
        first = round == 0 ? now : first;
        most = now > most ? now : most;
    }
    rl_stats stats = fixture_stats(service);
    printf("%s: %lu rounds of %lu keys, %lu KiB at first, %lu KiB at most\n", rule, rounds,
           KEYS_A_ROUND, (first - before) / 1024, (most - before) / 1024);
    CHECK_AT_MOST(most - before, MIB + 2 * MIB); /* 2 MiB for pages of code met by the way */
    CHECK_AT_MOST(most - first, MIB / 4);
    CHECK_AT_MOST(stats.memory_bytes, MIB);
    CHECK_AT_MOST(stats.keys, stats.capacity);
    CHECK_UINT(stats.allowed + stats.denied, rounds * KEYS_A_ROUND);
    CHECK(stats.keys > 0);
    CHECK(stats.evicted_live > 0);
    CHECK_UINT(stats.refused_full, 0);
    rl_service_free(service);
    rl_clock_free(clock);
}

static void idle_keys_make_room_before_any_live_one(void) {
    unsigned flags = 0;
    rl_clock *clock = fixture_clock(0);
    rl_service *service = fixture_service("default = token-bucket,1,1\nmemory = 256k\n", clock);
    uint64_t third = fixture_stats(service).capacity / 3;
    for (unsigned long round = 0; round < 20; round++) {
        CHECK_UINT(check_each(service, "key", round * third, third, &flags), third);
        rl_clock_advance_ns(clock, RL_NS_PER_S); /* all of them are as good as new */
    }
    rl_stats stats = fixture_stats(service);
    CHECK_UINT(stats.evicted_live, 0);
    CHECK(stats.evicted_idle > 0);
    rl_service_free(service);
    rl_clock_free(clock);
}

static void a_drained_key_outlives_a_flood_of_fresh_ones(unsigned long flood) {
    unsigned flags = 0;
    rl_clock *clock = fixture_clock(0);
    rl_service *service =
        fixture_service("default = token-bucket,100,3600\nmemory = 128k\n", clock);
    for (unsigned long i = 0; i < 100; i++) {
        CHECK_UINT(check_each(service, "drained", 0, 20, &flags), 20);
    }
    CHECK_UINT(check_each(service, "drained", 0, 20, &flags), 0);

    CHECK_UINT(check_each(service, "fresh", 0, flood, &flags), flood);

    CHECK(fixture_stats(service).evicted_live > 0);
    CHECK_UINT(check_each(service, "drained", 0, 20, &flags), 0);
    CHECK_UINT(flags, 0);
    rl_service_free(service);
    rl_clock_free(clock);
}

/* Drains a great many keys of a tiny table, of which the first stay counted for ever. */
static void a_full_table(const char *rule, const char *policy, bool allows) {
    char rules[128];
    const unsigned long keys = 20000;
    unsigned flags = 0;
    rl_clock *clock = fixture_clock(0);
    snprintf(rules, sizeof rules, "default = %s\nmemory = 64k\non-full = %s\n", rule, policy);
    rl_service *service = fixture_service(rules, clock);

    unsigned long allowed = check_each(service, "key", 0, keys, &flags);

    rl_stats stats = fixture_stats(service);
    CHECK_UINT(flags, RL_FLAG_UNTRACKED);
    CHECK_UINT(stats.evicted_live, 0);
    CHECK_AT_MOST(stats.keys, stats.capacity);
    CHECK(stats.keys > 200);
    CHECK_UINT(allowed, allows ? keys : stats.keys);
    CHECK_UINT(stats.allowed, allowed);
    CHECK_UINT(stats.denied, keys - allowed);
    CHECK_UINT(stats.refused_full, keys - stats.keys);

    /* A key that is counted is refused by its own counter, full or not. */
    rl_decision decision;
    CHECK_INT(rl_check(service, "key-0", "/a", &decision), RL_OK);
    CHECK(!decision.allowed);
    CHECK_UINT(decision.flags, 0);
    CHECK_UINT(decision.retry_after_ms, 3600 * 1000);

    /* And when the counters have run out, there is room again. */
    rl_clock_advance_ns(clock, 3600 * RL_NS_PER_S);
    CHECK_INT(rl_check(service, "late", "/a", &decision), RL_OK);
    CHECK(decision.allowed);
    CHECK_UINT(decision.flags, 0);
    rl_service_free(service);
    rl_clock_free(clock);
}

/* ---- what was used is free again --------------------------------------------------- */

#define LOGS "default = sliding-window,9,10\nmemory = 256k\non-full = deny\n"

struct storm {
    rl_service *service;
    rl_clock *clock;
    unsigned long checks; /* of each thread */
    unsigned long errors;
};

/* Logs begin, grow, run out and are refused, while the time goes on. */
static void *be_stormy(void *argument) {
    struct member *me = argument;
    struct storm *storm = me->job;
    for (unsigned long i = 0; i < storm->checks; i++) {
        char user[32];
        rl_decision decision;
        snprintf(user, sizeof user, "user-%lu", (i * 31 + me->index * 7) % 20000 / (1 + i % 50));
        if (rl_check(storm->service, user, "", &decision) != RL_OK) {
            __atomic_add_fetch(&storm->errors, 1, __ATOMIC_RELAXED);
        }
        if (i % 16 == 0) {
            rl_clock_advance_ns(storm->clock, RL_NS_PER_MS);
        }
    }
    return NULL;
}

/* How many new keys find room. */
static unsigned long room_of(rl_service *service) {
    unsigned flags = 0;
    unsigned long allowed = check_each(service, "new", 0, 20000, &flags);
    CHECK_UINT(flags, RL_FLAG_UNTRACKED);
    return allowed;
}

static void logs_that_ran_out_give_back_all_they_had(unsigned long checks) {
    rl_clock *clock = fixture_clock(0);
    struct storm storm = {fixture_service(LOGS, clock), clock, checks, 0};
    rl_service *unused = fixture_service(LOGS, clock);
    team_run(4, be_stormy, &storm);
    CHECK_UINT(storm.errors, 0);
    rl_clock_advance_ns(clock, 11 * RL_NS_PER_S);
    unsigned long room = room_of(unused);
    CHECK(room > 500);
    CHECK_AT_MOST(room - room / 10, room_of(storm.service)); /* keys fall where they may */
    rl_service_free(storm.service);
    rl_service_free(unused);
    rl_clock_free(clock);
}

int main(int argc, char **argv) {
    unsigned long rounds = test_argument(argc, argv, 100);
    memory_stays_flat("token-bucket,5,3600", rounds);
    memory_stays_flat("sliding-window,5,3600", rounds);
    idle_keys_make_room_before_any_live_one();
    a_drained_key_outlives_a_flood_of_fresh_ones(rounds * 10000);
    a_full_table("token-bucket,1,3600", "deny", false);
    a_full_table("token-bucket,1,3600", "allow", true);
    a_full_table("sliding-window,1,3600", "deny", false);
    a_full_table("sliding-window,1,3600", "allow", true);
    logs_that_ran_out_give_back_all_they_had(rounds * 10000);
    return test_end();
}
