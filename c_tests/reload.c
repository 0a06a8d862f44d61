/*
 * New rules for a service in use: what its counters hold under them, and that threads
 * which check meanwhile see the old rules or the new, never a mixture.
 *
 *     reload [RELOADS]     20,000 reloads under eight threads when not told
 */
#define _POSIX_C_SOURCE 200809L

#include <unistd.h>

#include "asks.h"
#include "team.h"

static rl_clock *manual;

static void set_ms(uint64_t now_ms) {
    NEED(rl_clock_set_ns(manual, now_ms * RL_NS_PER_MS) == RL_OK);
}

static rl_service *service_at(uint64_t now_ms, const char *rules) {
    set_ms(now_ms);
    return fixture_service(rules, manual);
}

static rl_config *config_without_default(void) {
    return fixture_config("user.u = fixed-window,1,1\n");
}

static const char *const algorithms[] = {"token-bucket", "fixed-window", "sliding-window",
                                         "sliding-window-counter"};
enum { ALGORITHMS = 4 };

/* ---- what is kept ------------------------------------------------------------------ */

static void the_same_rules_refill_nothing(void) {
    static const char rules[] =
        "default = token-bucket,5,60 + sliding-window,7,60,per=user + "
        "fixed-window,9,60,per=api + sliding-window-counter,11,60,per=all\n"
        "user.v api./b = sliding-window,3,60 + sliding-window,3,60\n";
    rl_service *service = service_at(120000, rules);
    check(service, "u", "/a", 4);
    check(service, "u", "/b", 2);
    check(service, "w", "/b", 3);
    check(service, "v", "/b", 2);
    const char *const pairs[][2] = {{"u", "/a"}, {"u", "/b"}, {"w", "/b"}, {"v", "/b"}, {"x", "/a"}};
    for (int i = 0; i < 10; i++) {
        for (size_t at = 0; at < sizeof pairs / sizeof *pairs; at++) {
            for (uint64_t cost = 1; cost < 8; cost += 3) {
                rl_decision before = peek(service, pairs[at][0], pairs[at][1], cost);
                reload(service, rules);
                rl_decision after = peek(service, pairs[at][0], pairs[at][1], cost);
                CHECK_SAME(after, before);
            }
        }
    }
    rl_service_free(service);
}

static void a_changed_limit_holds_at_once(void) {
    for (int i = 1; i < ALGORITHMS; i++) {
        char rule[64];
        snprintf(rule, sizeof rule, "default = %s,10,60", algorithms[i]);
        rl_service *service = service_at(120000, rule);
        check(service, "u", "/a", 6);
        snprintf(rule, sizeof rule, "default = %s,8,60,name=other", algorithms[i]);
        reload(service, rule);
        CHECK_UINT(left(service, "u", "/a"), 2);
        CHECK_UINT(left(service, "v", "/a"), 8);
        snprintf(rule, sizeof rule, "default = %s,4,60", algorithms[i]);
        reload(service, rule);
        CHECK_UINT(left(service, "u", "/a"), 0);
        snprintf(rule, sizeof rule, "default = %s,20,60,shadow", algorithms[i]);
        reload(service, rule);
        CHECK_UINT(left(service, "u", "/a"), 14);
        rl_service_free(service);
    }

    /* A bucket keeps the time until it is full. */
    rl_service *service = service_at(120000, "default = token-bucket,10,60");
    check(service, "u", "/a", 5);
    check(service, "v", "/a", 10);
    reload(service, "default = token-bucket,20,60");
    CHECK_UINT(left(service, "u", "/a"), 10);
    CHECK_UINT(left(service, "v", "/a"), 0);
    CHECK_NO(peek(service, "v", "/a", 1), 0, 3000);
    reload(service, "default = token-bucket,20,60,burst=30");
    CHECK_UINT(left(service, "u", "/a"), 20);
    CHECK_UINT(left(service, "v", "/a"), 10);
    reload(service, "default = token-bucket,20,60,burst=10");
    CHECK_UINT(left(service, "u", "/a"), 0);
    CHECK_NO(peek(service, "v", "/a", 1), 0, 3000); /* empty, and no more than that */
    rl_service_free(service);
}

static void what_changes_its_kind_starts_anew(void) {
    static const char *const sharings[] = {"pair", "user", "api", "all"};
    rl_service *service = service_at(120000, "default = fixed-window,5,60");
    check(service, "u", "/a", 5);
    reload(service, "default = fixed-window,5,61");
    CHECK_UINT(left(service, "u", "/a"), 5);
    for (int i = 0; i < ALGORITHMS; i++) {
        for (int per = 0; per < 4; per++) {
            char rule[64];
            snprintf(rule, sizeof rule, "default = %s,5,60,per=%s", algorithms[i], sharings[per]);
            reload(service, rule);
            CHECK_UINT(left(service, "u", "/a"), i == 1 && per == 0 ? 0 : 5);
        }
    }
    /* What was left behind is found again. */
    reload(service, "default = token-bucket,5,60 + fixed-window,7,60");
    CHECK_UINT(left(service, "u", "/a"), 2);
    rl_service_free(service);

    /* Of limits that are alike in kind each goes on in its place. */
    service = service_at(120000, "default = fixed-window,5,60 + fixed-window,9,60");
    check(service, "u", "/a", 4);
    reload(service, "default = fixed-window,9,60");
    CHECK_UINT(left(service, "u", "/a"), 5);
    rl_service_free(service);
}

static void rules_come_and_go(void) {
    rl_service *service = service_at(120000, "default = fixed-window,5,60");
    check(service, "u", "/a", 2);
    reload(service, "default = unlimited\nuser.u = deny\n");
    CHECK(!check(service, "u", "/a", 1).allowed);
    CHECK_INT(check(service, "v", "/a", 1).flags, RL_FLAG_UNLIMITED);
    reload(service, "default = token-bucket,1,1\napi./a* = fixed-window,5,60\n");
    CHECK_YES(check(service, "u", "/a", 1), 2);
    reload(service, "match = all\ndefault = fixed-window,5,60\nuser.u = fixed-window,1,60\n");
    CHECK_INT(peek(service, "u", "/a", 1).limit_count, 2);
    CHECK_UINT(left(service, "v", "/a"), 5);
    rl_service_free(service);

    /* A service without logs can have some later. */
    service = service_at(120000, "default = fixed-window,5,60");
    reload(service, "default = sliding-window,5,60");
    for (unsigned i = 0; i < 5; i++) {
        set_ms(120000 + i);
        CHECK_YES(check(service, "u", "/a", 1), 4 - i);
    }
    CHECK_NO(check(service, "u", "/a", 1), 0, 59996);
    rl_service_free(service);
}

static void a_failed_reload_changes_nothing(void) {
    rl_service *service = service_at(120000, "default = fixed-window,5,60,name=old\n"
                                             "user.u = fixed-window,3,60\n");
    check(service, "u", "/a", 1);
    rl_decision before = peek(service, "u", "/a", 1), other = peek(service, "v", "/a", 1);
    rl_config *without_default = config_without_default();
    rl_config *too_many = fixture_config("match = all\n"
                                         "default = fixed-window,1,1 + fixed-window,1,2 + "
                                         "fixed-window,1,3 + fixed-window,1,4 + fixed-window,1,5\n"
                                         "user.u = fixed-window,1,1 + fixed-window,1,2 + "
                                         "fixed-window,1,3 + fixed-window,1,4\n");
    rl_error error;
    CHECK_INT(rl_reload(service, without_default, &error), RL_ERR_CONFIG);
    CHECK_INT(error.status, RL_ERR_CONFIG);
    CHECK_CONTAINS(error.message, "default");
    CHECK_INT(rl_reload(service, too_many, &error), RL_ERR_CONFIG);
    CHECK_CONTAINS(error.message, "9 limits");
    CHECK_INT(rl_reload(service, NULL, &error), RL_ERR_ARGUMENT);
    rl_decision after = peek(service, "u", "/a", 1), other_after = peek(service, "v", "/a", 1);
    CHECK_SAME(after, before);
    CHECK_SAME(other_after, other);
    rl_config_free(without_default);
    rl_config_free(too_many);

    /* The new rules need their configuration no more; its memory and clock are not taken. */
    rl_clock *late = fixture_clock(900 * RL_NS_PER_S);
    rl_config *config = fixture_config("default = fixed-window,5,60,name=new\nmemory = 1m\n");
    uint64_t bytes = fixture_stats(service).memory_bytes;
    NEED(rl_config_set_clock(config, late) == RL_OK);
    CHECK_INT(rl_reload(service, config, &error), RL_OK);
    rl_config_free(config);
    rl_clock_free(late);
    CHECK_TEXT(peek(service, "v", "/a", 1).name, "new");
    CHECK_UINT(peek(service, "v", "/a", 1).reset_after_ms, 60000);
    CHECK_UINT(fixture_stats(service).memory_bytes, bytes);
    rl_service_free(service);
}

/* ---- under threads ----------------------------------------------------------------- */

enum { CHECKERS = 8, KEYS = 16, LIMIT = 50 };

static const char rules_a[] = "default = fixed-window,50,3600,name=a + "
                              "fixed-window,1000000000,7200,per=all,name=a2\n";
static const char rules_b[] = "default = sliding-window-counter,900000000,60,name=b3 + "
                              "fixed-window,50,3600,name=b + token-bucket,800000000,60,name=b2\n"
                              "api.only-b* = unlimited\n";

struct reloads {
    rl_service *service;
    unsigned reloads;
    unsigned reloading;
    unsigned long checks, errors, mixed, of_a, of_b;
    unsigned allowed[KEYS];
    unsigned long kib_early, kib_late;
};

/* KiB of this process that are in memory now. */
static unsigned long resident_kib(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*u %lu", &pages) != 1) {
        pages = 0;
    }
    if (file != NULL) {
        fclose(file);
    }
    return pages * (unsigned long)sysconf(_SC_PAGESIZE) / 1024;
}

/* Which rules a decision is of: 'a', 'b', or 0 if of neither as a whole. */
static char rules_of(const rl_decision *got) {
    bool is_first = strcmp(got->name, "a") == 0, is_second = strcmp(got->name, "b") == 0;
    if (got->limit != LIMIT || got->window_ms != 3600000 || got->flags != 0 ||
        got->denied_by != (got->allowed ? 0 : is_first ? 1 : 2)) {
        return 0;
    }
    if (is_first && got->limit_count == 2 && got->limit_index == 0) {
        return 'a';
    }
    return is_second && got->limit_count == 3 && got->limit_index == 1 ? 'b' : 0;
}

static void check_while_reloading(struct reloads *job, unsigned index) {
    unsigned long checks = 0, mixed = 0, of_a = 0, of_b = 0, errors = 0;
    do {
        unsigned key = (unsigned)(checks + index * 2) % KEYS;
        char user[16];
        rl_decision got;
        snprintf(user, sizeof user, "user-%u", key);
        if (rl_check(job->service, user, "/a", &got) != RL_OK) {
            errors++;
        }
        if (got.allowed) {
            __atomic_add_fetch(&job->allowed[key], 1, __ATOMIC_RELAXED);
        }
        switch (rules_of(&got)) {
        case 'a':
            of_a++;
            break;
        case 'b':
            of_b++;
            break;
        default:
            mixed++;
        }
        checks++;
    } while (__atomic_load_n(&job->reloading, __ATOMIC_ACQUIRE));
    __atomic_add_fetch(&job->checks, checks, __ATOMIC_RELAXED);
    __atomic_add_fetch(&job->errors, errors, __ATOMIC_RELAXED);
    __atomic_add_fetch(&job->mixed, mixed, __ATOMIC_RELAXED);
    __atomic_add_fetch(&job->of_a, of_a, __ATOMIC_RELAXED);
    __atomic_add_fetch(&job->of_b, of_b, __ATOMIC_RELAXED);
}

static void reload_in_a_loop(struct reloads *job, rl_config *a, rl_config *b, rl_config *none) {
    for (unsigned i = 0; i < job->reloads; i++) {
        if (rl_reload(job->service, i % 2 == 0 ? b : a, NULL) != RL_OK ||
            (i % 16 == 0 && rl_reload(job->service, none, NULL) != RL_ERR_CONFIG)) {
            __atomic_add_fetch(&job->errors, 1, __ATOMIC_RELAXED);
        }
        if (i == job->reloads / 4) {
            job->kib_early = resident_kib();
        }
        if (i % 50 == i / 50 % 2) {
            sched_yield(); /* by turns under either rules, or few processors might miss one */
        }
    }
    job->kib_late = resident_kib();
    __atomic_store_n(&job->reloading, 0, __ATOMIC_RELEASE);
}

static void *check_or_reload(void *argument) {
    struct member *me = argument;
    struct reloads *job = me->job;
    rl_config *a = NULL, *b = NULL, *none = NULL;
    if (me->index == CHECKERS) {
        a = fixture_config(rules_a);
        b = fixture_config(rules_b);
        none = config_without_default();
    }
    gate_pass(me->gate);
    if (me->index == CHECKERS) {
        reload_in_a_loop(job, a, b, none);
    } else {
        check_while_reloading(job, me->index);
    }
    rl_config_free(a);
    rl_config_free(b);
    rl_config_free(none);
    return NULL;
}

static void reloads_under_eight_threads(unsigned reloads) {
    struct reloads job;
    memset(&job, 0, sizeof job);
    job.service = service_at(120000, rules_a);
    job.reloads = reloads;
    job.reloading = 1;
    rl_stats before = fixture_stats(job.service);

    team_run(CHECKERS + 1, check_or_reload, &job);

    rl_stats after = fixture_stats(job.service);
    printf("%u reloads under %lu checks, %lu by one rule and %lu by the other; "
           "%lu KiB early, %lu KiB at the end\n",
           reloads, job.checks, job.of_a, job.of_b, job.kib_early, job.kib_late);
    CHECK_UINT(job.errors, 0);
    CHECK_UINT(job.mixed, 0);
    CHECK_UINT(job.of_a + job.of_b, job.checks);
    CHECK(job.of_a > 0 && job.of_b > 0);
    CHECK_AT_MOST(job.kib_late, job.kib_early + 1024);
    for (unsigned key = 0; key < KEYS; key++) {
        char user[16];
        snprintf(user, sizeof user, "user-%u", key);
        for (unsigned more = 0; more < LIMIT; more++) {
            job.allowed[key] += check(job.service, user, "/a", 1).allowed ? 1 : 0;
        }
        CHECK_UINT(job.allowed[key], LIMIT);
    }
    CHECK_UINT(fixture_stats(job.service).allowed - before.allowed, KEYS * LIMIT);
    CHECK_UINT(after.allowed + after.denied, job.checks);
    CHECK_UINT(after.evicted_live, 0);
    rl_service_free(job.service);
}

int main(int argc, char **argv) {
    unsigned reloads = (unsigned)test_argument(argc, argv, 20000);
    manual = fixture_clock(0);
    the_same_rules_refill_nothing();
    a_changed_limit_holds_at_once();
    what_changes_its_kind_starts_anew();
    rules_come_and_go();
    a_failed_reload_changes_nothing();
    reloads_under_eight_threads(reloads);
    rl_clock_free(manual);
    return test_end();
}
