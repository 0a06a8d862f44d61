/*
 * Exactness under threads: whoever meets whom at a counter, a limit of N gives N.
 *
 *     threads [ROUNDS]     10,000 rounds when not told
 *
 * The clock stands still but where a test moves it, so each sum is known exactly.
 */
#define _POSIX_C_SOURCE 200809L

#include "fixture.h"
#include "team.h"

static const char *const algorithms[] = {"token-bucket", "fixed-window", "sliding-window",
                                         "sliding-window-counter"};
#define ALGORITHMS (sizeof algorithms / sizeof *algorithms)

/* ---- many threads, one key a round ------------------------------------------------ */

struct rounds {
    rl_service *service;
    unsigned threads, rounds, checks; /* checks: of each thread in each round */
    unsigned char *allowed;           /* [round * threads + thread] */
    unsigned errors;
};

static void *check_rounds(void *argument) {
    struct member *me = argument;
    struct rounds *job = me->job;
    for (unsigned round = 0; round < job->rounds; round++) {
        unsigned char allowed = 0;
        char key[24];
        snprintf(key, sizeof key, "key-%u", round);
        gate_pass(me->gate);
        for (unsigned i = 0; i < job->checks; i++) {
            rl_decision decision;
            if (rl_check(job->service, key, "/a", &decision) != RL_OK) {
                __atomic_add_fetch(&job->errors, 1, __ATOMIC_RELAXED);
            } else if (decision.allowed) {
                allowed++;
            }
        }
        job->allowed[round * job->threads + me->index] = allowed;
    }
    return NULL;
}

/* How many rounds gave another sum than `limit`; prints the first of them. */
static unsigned wrong_rounds(const struct rounds *job, unsigned limit) {
    unsigned wrong = 0;
    for (unsigned round = 0; round < job->rounds; round++) {
        unsigned sum = 0;
        for (unsigned i = 0; i < job->threads; i++) {
            sum += job->allowed[round * job->threads + i];
        }
        if (sum != limit && wrong++ == 0) {
            printf("round %u: got %u allowed, wanted %u\n", round, sum, limit);
        }
    }
    return wrong;
}

static void each_key_gives_its_limit(const char *algorithm, unsigned limit, unsigned threads,
                                     unsigned checks, unsigned rounds) {
    char rules[128];
    rl_clock *clock = fixture_clock(9 * RL_NS_PER_S);
    snprintf(rules, sizeof rules, "default = %s,%u,3600\nmemory = 64m\n", algorithm, limit);
    struct rounds job = {fixture_service(rules, clock), threads, rounds, checks, NULL, 0};
    job.allowed = calloc((size_t)rounds * threads, 1);
    NEED(job.allowed != NULL);

    team_run(threads, check_rounds, &job);

    rl_stats stats = fixture_stats(job.service);
    uint64_t calls = (uint64_t)rounds * threads * checks;
    printf("%s: %u threads x %u checks on each of %u keys\n", algorithm, threads, checks, rounds);
    CHECK_UINT(job.errors, 0);
    CHECK_UINT(wrong_rounds(&job, limit), 0);
    CHECK_UINT(stats.allowed, (uint64_t)rounds * limit);
    CHECK_UINT(stats.allowed + stats.denied, calls);
    CHECK_UINT(stats.keys, rounds);
    CHECK_UINT(stats.evicted_live, 0);
    rl_service_free(job.service);
    rl_clock_free(clock);
    free(job.allowed);
}

/* ---- the instant at which one more may pass --------------------------------------- */

#define REFILL_CHECKS 20

struct refill {
    rl_service *service;
    uint64_t now_ns;
    uint64_t step_ns; /* from one instant to the next */
    unsigned rounds;
    unsigned char *early, *met; /* allowed before and from the instant on, [round * 16 + thread] */
};

/* A clock whose answer is old by the time it comes: others have been let through meanwhile. */
static uint64_t read_late(void *context) {
    struct refill *job = context;
    uint64_t now = __atomic_load_n(&job->now_ns, __ATOMIC_ACQUIRE);
    sched_yield();
    return now;
}

static void set_clock(struct refill *job, uint64_t now_ns) {
    __atomic_store_n(&job->now_ns, now_ns, __ATOMIC_RELEASE);
}

static unsigned char allowed_of(rl_service *service, unsigned checks) {
    unsigned char allowed = 0;
    for (unsigned i = 0; i < checks; i++) {
        allowed += rl_allow(service, "one") ? 1 : 0;
    }
    return allowed;
}

/*
 * The first thread moves the clock into the instant while the others are checking: in
 * one round from a nanosecond before, where nothing may pass yet, in the next from the
 * instant before.
 */
static void *meet_refills(void *argument) {
    struct member *me = argument;
    struct refill *job = me->job;
    for (unsigned round = 0; round < job->rounds; round++) {
        uint64_t instant = (round + 1) * job->step_ns;
        if (round % 2 == 0) {
            if (me->index == 0) {
                set_clock(job, instant - 1);
            }
            gate_pass(me->gate);
            job->early[round * 16 + me->index] = allowed_of(job->service, 2);
        }
        gate_pass(me->gate);
        if (me->index == 0) {
            set_clock(job, instant);
        }
        job->met[round * 16 + me->index] = allowed_of(job->service, REFILL_CHECKS);
        gate_pass(me->gate);
    }
    return NULL;
}

static unsigned sum_of(const unsigned char *cells, unsigned count) {
    unsigned sum = 0;
    for (unsigned i = 0; i < count; i++) {
        sum += cells[i];
    }
    return sum;
}

static void a_refill_gives_exactly_one(const char *algorithm, uint64_t step_ns, unsigned rounds) {
    char rules[64];
    unsigned early = 0, wrong = 0;
    struct refill job = {NULL, 0, step_ns, rounds, calloc(rounds, 16), calloc(rounds, 16)};
    rl_clock *clock = NULL;
    NEED(job.early != NULL && job.met != NULL);
    NEED(rl_clock_new_callback(read_late, &job, &clock) == RL_OK);
    snprintf(rules, sizeof rules, "default = %s,1,1", algorithm);
    job.service = fixture_service(rules, clock);
    CHECK(rl_allow(job.service, "one"));

    team_run(16, meet_refills, &job);

    for (unsigned round = 0; round < rounds; round++) {
        early += sum_of(job.early + round * 16, 16);
        wrong += sum_of(job.met + round * 16, 16) == 1 ? 0 : 1;
    }
    printf("%s: 16 threads meet each of %u refills\n", algorithm, rounds);
    CHECK_UINT(early, 0);
    CHECK_UINT(wrong, 0);
    CHECK_UINT(fixture_stats(job.service).allowed, rounds + 1);
    rl_service_free(job.service);
    rl_clock_free(clock);
    free(job.early);
    free(job.met);
}

/* ---- everything at once ----------------------------------------------------------- */

enum { CHECKERS = 8, READERS = 2, MAKERS = 2, BUSY = CHECKERS + READERS + MAKERS };

struct busy {
    rl_service *service;
    unsigned checks;        /* of each checker */
    unsigned checking;      /* checkers that have not ended */
    unsigned long allowed;  /* what the checkers were told */
    unsigned long errors;   /* a call that failed */
    unsigned long backward; /* a statistic that fell, or was more than can be */
    unsigned long unequal;  /* a new service that did not give its own limit */
    unsigned long read, made;
};

static void add(unsigned long *to, unsigned long what) {
    __atomic_add_fetch(to, what, __ATOMIC_RELAXED);
}

static bool still_checking(struct busy *job) {
    return __atomic_load_n(&job->checking, __ATOMIC_ACQUIRE) > 0;
}

static void busy_check(struct busy *job, unsigned index) {
    unsigned long allowed = 0;
    for (unsigned i = 0; i < job->checks; i++) {
        char user[24];
        rl_decision decision;
        snprintf(user, sizeof user, "user-%u", (i * 7 + index) % 1000);
        if (rl_check(job->service, user, i % 2 == 0 ? "/even" : "/odd", &decision) != RL_OK) {
            add(&job->errors, 1);
        } else {
            allowed += decision.allowed ? 1 : 0;
        }
    }
    add(&job->allowed, allowed);
    __atomic_sub_fetch(&job->checking, 1, __ATOMIC_RELEASE);
}

static void busy_read(struct busy *job) {
    uint64_t calls = (uint64_t)job->checks * CHECKERS;
    rl_stats before = RL_STATS_INIT;
    do {
        rl_stats now = RL_STATS_INIT;
        char text[256];
        if (rl_service_stats(job->service, &now) != RL_OK ||
            rl_explain(job->service, "user-1", 6, "/odd", 4, text, sizeof text) != RL_OK) {
            add(&job->errors, 1);
        }
        if (now.allowed < before.allowed || now.denied < before.denied ||
            now.allowed + now.denied > calls || now.keys > now.capacity) {
            add(&job->backward, 1);
        }
        before = now;
        add(&job->read, 1);
    } while (still_checking(job));
}

static void busy_make(struct busy *job) {
    do {
        rl_config *config = NULL;
        rl_service *service = NULL;
        if (rl_config_new(&config) != RL_OK ||
            rl_config_set(config, "default", "sliding-window,3,3600", NULL) != RL_OK ||
            rl_config_set(config, "memory", "64k", NULL) != RL_OK ||
            rl_service_new(config, &service, NULL) != RL_OK) {
            add(&job->errors, 1);
        } else if (allowed_of(service, 5) != 3) {
            add(&job->unequal, 1);
        }
        rl_service_free(service);
        rl_config_free(config);
        add(&job->made, 1);
    } while (still_checking(job));
}

static void *be_busy(void *argument) {
    struct member *me = argument;
    gate_pass(me->gate);
    if (me->index < CHECKERS) {
        busy_check(me->job, me->index);
    } else if (me->index < CHECKERS + READERS) {
        busy_read(me->job);
    } else {
        busy_make(me->job);
    }
    return NULL;
}

static void checks_statistics_and_new_services_at_once(unsigned checks) {
    struct busy job;
    memset(&job, 0, sizeof job);
    job.service = fixture_service("default = token-bucket,20,3600\n"
                                  "api./odd = sliding-window,30,3600\n",
                                  NULL);
    job.checks = checks;
    job.checking = CHECKERS;

    team_run(BUSY, be_busy, &job);

    rl_stats stats = fixture_stats(job.service);
    printf("%d x %u checks beside %lu readings of statistics and %lu other services\n", CHECKERS,
           checks, job.read, job.made);
    CHECK_UINT(job.errors, 0);
    CHECK_UINT(job.backward, 0);
    CHECK_UINT(job.unequal, 0);
    CHECK_UINT(stats.errors, 0);
    CHECK_UINT(stats.allowed, job.allowed);
    CHECK_UINT(stats.allowed + stats.denied, (uint64_t)checks * CHECKERS);
    rl_service_free(job.service);
}

int main(int argc, char **argv) {
    unsigned rounds = (unsigned)test_argument(argc, argv, 10000);
    unsigned tenth = rounds < 10 ? 1 : rounds / 10;
    /* When a limit of 1 in 1 s opens again: a sliding counter waits for two windows. */
    static const uint64_t opens_after_s[ALGORITHMS] = {1, 1, 1, 2};

    for (size_t i = 0; i < ALGORITHMS; i++) {
        each_key_gives_its_limit(algorithms[i], 100, 8, 50, rounds);
    }
    for (size_t i = 0; i < ALGORITHMS; i++) {
        each_key_gives_its_limit(algorithms[i], 1, 64, 1, tenth);
    }
    for (size_t i = 0; i < ALGORITHMS; i++) {
        a_refill_gives_exactly_one(algorithms[i], opens_after_s[i] * RL_NS_PER_S, tenth);
    }
    checks_statistics_and_new_services_at_once(rounds * 10);
    return test_end();
}
