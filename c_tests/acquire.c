/*
 * Waiting for a request to pass: on the system's clock as long as the rate asks, no
 * longer and without work; on a manual clock until it is moved.
 *
 *     acquire [PERCENT]     the whole may take 10 % longer than the rate asks when not told
 */
#define _DEFAULT_SOURCE

#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "asks.h"
#include "team.h"

static rl_decision acquire(rl_service *service, const char *user, uint64_t cost,
                           uint64_t timeout_ms) {
    rl_decision got;
    NEED(rl_acquire(service, user, RL_NUL, "/a", RL_NUL, cost, timeout_ms, &got) == RL_OK);
    return got;
}

static uint64_t now_us(void) {
    struct timespec now;
    NEED(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* The time that the processors have spent on this process. */
static uint64_t cpu_us(void) {
    struct rusage used;
    NEED(getrusage(RUSAGE_SELF, &used) == 0);
    return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
           (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void sleep_ms(long ms) {
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* ---- the rate, on the system's clock ----------------------------------------------- */

enum { RATE_THREADS = 16, RATE_EACH = 20, RATE_US = 220000, RATE_RUNS = 10 };

struct rate {
    rl_service *service;
    uint64_t cost; /* of each of the RATE_EACH / cost calls of a thread */
    unsigned refused;
    uint64_t begun_us;
    uint64_t ended_us[RATE_THREADS];
};

static void *take_at_a_rate(void *argument) {
    struct member *me = argument;
    struct rate *job = me->job;
    gate_pass(me->gate);
    if (me->index == 0) {
        job->begun_us = now_us();
    }
    gate_pass(me->gate);
    for (uint64_t taken = 0; taken < RATE_EACH; taken += job->cost) {
        rl_decision got;
        if (rl_acquire(job->service, "u", 1, "/a", 2, job->cost, RL_NEVER, &got) != RL_OK ||
            !got.allowed) {
            __atomic_add_fetch(&job->refused, 1, __ATOMIC_RELAXED);
        }
    }
    job->ended_us[me->index] = now_us() - job->begun_us;
    return NULL;
}

/*
 * 16 threads want 20 of 100 per 100 ms each: 100 are there at once, and of the other 220
 * one comes each ms. Never sooner; and of some runs one must be as fast as promised, or
 * else something but the library keeps them waiting.
 */
static void sixteen_threads_get_the_rate(uint64_t cost, unsigned percent) {
    uint64_t most_us = RATE_US + (uint64_t)RATE_US * percent / 100;
    uint64_t best_us = UINT64_MAX, best_mean_us = 0, best_cpu_us = 0;
    for (int run = 0; run < RATE_RUNS && best_us > most_us; run++) {
        struct rate job;
        memset(&job, 0, sizeof job);
        job.cost = cost;
        job.service = fixture_service("default = token-bucket,100,100ms", NULL);
        uint64_t cpu = cpu_us(), slowest = 0, sum = 0;

        team_run(RATE_THREADS, take_at_a_rate, &job);

        cpu = cpu_us() - cpu;
        for (int i = 0; i < RATE_THREADS; i++) {
            slowest = job.ended_us[i] > slowest ? job.ended_us[i] : slowest;
            sum += job.ended_us[i];
        }
        CHECK_UINT(job.refused, 0);
        CHECK_AT_MOST(RATE_US, slowest);
        CHECK_UINT(fixture_stats(job.service).allowed, RATE_THREADS * RATE_EACH / cost);
        rl_service_free(job.service);
        if (slowest < best_us) {
            best_us = slowest;
            best_mean_us = sum / RATE_THREADS;
            best_cpu_us = cpu;
        }
    }
    printf("16 threads, 20 each, by %llu: %llu us, mean %llu, processor %llu\n",
           (unsigned long long)cost, (unsigned long long)best_us,
           (unsigned long long)best_mean_us, (unsigned long long)best_cpu_us);
    CHECK_AT_MOST(best_us, most_us);
    if (cost == 1) {
        CHECK_AT_MOST(best_us, 2 * best_mean_us); /* nobody starves */
    }
    if (percent <= 100) {
        CHECK_AT_MOST(best_cpu_us, best_us / 4);
    }
}

static void waits_on_the_system_clock(void) {
    rl_service *service = fixture_service("default = token-bucket,1,50ms\n"
                                          "user.slow = token-bucket,1,1h\n",
                                          NULL);
    uint64_t begun = now_us();
    CHECK_YES(acquire(service, "u", 1, RL_NEVER), 0);
    CHECK_YES(acquire(service, "u", 1, RL_NEVER), 0);
    CHECK_YES(acquire(service, "u", 1, 60000), 0);
    CHECK_AT_MOST(100000, now_us() - begun);

    /* What is sure to be missed is refused at once, not after the timeout. */
    check(service, "slow", "/a", 1);
    begun = now_us();
    rl_decision no = acquire(service, "slow", 1, 600000);
    CHECK(!no.allowed && no.retry_after_ms > 3500000 && no.retry_after_ms <= 3600000);
    CHECK_NO(acquire(service, "slow", 2, RL_NEVER), 0, RL_NEVER);
    CHECK_AT_MOST(now_us() - begun, 30 * 1000000u);
    rl_service_free(service);
}

/* ---- one thread, on a manual clock ------------------------------------------------- */

static rl_clock *manual;

static void set_ms(uint64_t now_ms) {
    NEED(rl_clock_set_ns(manual, now_ms * RL_NS_PER_MS) == RL_OK);
}

static void advance_ms(uint64_t by_ms) {
    NEED(rl_clock_advance_ns(manual, by_ms * RL_NS_PER_MS) == RL_OK);
}

static rl_service *service_at_zero(const char *rules) {
    set_ms(0);
    return fixture_service(rules, manual);
}

static void nothing_to_wait_for(void) {
    rl_service *service = service_at_zero("default = token-bucket,5,10\n"
                                          "user.free = unlimited\nuser.bad = deny\n"
                                          "user.many = fixed-window,3,10 + fixed-window,5,60\n");
    CHECK_YES(acquire(service, "u", 2, 0), 3);
    CHECK_YES(acquire(service, "u", 3, RL_NEVER), 0);
    /* A timeout of 0 is a check. */
    rl_decision said = peek(service, "u", "/a", 2), got = acquire(service, "u", 2, 0);
    CHECK_SAME(got, said);
    CHECK_NO(got, 0, 4000);
    CHECK_NO(acquire(service, "u", 2, 3999), 0, 4000);
    CHECK_NO(acquire(service, "u", 6, RL_NEVER), 0, RL_NEVER);
    CHECK_UINT(fixture_stats(service).denied, 3);
    set_ms(4000);
    CHECK_YES(acquire(service, "u", 2, 0), 0);

    got = acquire(service, "free", 1000, RL_NEVER);
    CHECK_YES(got, RL_NEVER);
    CHECK_INT(got.flags, RL_FLAG_UNLIMITED);
    CHECK_NO(acquire(service, "bad", 1, RL_NEVER), 0, RL_NEVER);
    CHECK_YES(acquire(service, "many", 3, RL_NEVER), 0);
    CHECK_NO(acquire(service, "many", 1, 5999), 0, 6000);
    CHECK_NO(acquire(service, "many", 3, 55999), 2, 56000);
    CHECK_NO(acquire(service, "many", 4, RL_NEVER), 0, RL_NEVER);
    set_ms(10000);
    CHECK_YES(acquire(service, "many", 2, 0), 0);
    rl_service_free(service);
}

static uint64_t no_time(void *context) {
    (void)context;
    return 0;
}

static void a_callback_clock_wakes_nobody(void) {
    rl_clock *clock = NULL;
    rl_decision got;
    NEED(rl_clock_new_callback(no_time, NULL, &clock) == RL_OK);
    rl_service *service = fixture_service("default = token-bucket,5,10", clock);
    for (uint64_t timeout = 0; timeout < 2; timeout++) {
        const rl_decision refusal = {0};
        memset(&got, 0x5a, sizeof got);
        CHECK_INT(rl_acquire(service, "u", 1, "/a", 2, 1, timeout, &got), RL_ERR_UNSUPPORTED);
        CHECK_SAME(got, refusal);
    }
    CHECK_UINT(left(service, "u", "/a"), 5);
    CHECK_UINT(fixture_stats(service).errors, 2);
    rl_service_free(service);
    rl_clock_free(clock);
}

/* ---- threads that wait, on a manual clock ------------------------------------------ */

struct waiter {
    rl_service *service;
    const char *user;
    uint64_t cost, timeout_ms;
    unsigned *turns; /* how many have been answered, of those who share it */
    long thread;
    unsigned turn; /* 0 until answered */
    rl_status status;
    rl_decision got;
    pthread_t handle;
};

static void *wait_for_it(void *argument) {
    struct waiter *me = argument;
    __atomic_store_n(&me->thread, syscall(SYS_gettid), __ATOMIC_RELEASE);
    me->status = rl_acquire(me->service, me->user, RL_NUL, "/a", RL_NUL, me->cost, me->timeout_ms,
                            &me->got);
    unsigned turn = __atomic_add_fetch(me->turns, 1, __ATOMIC_ACQ_REL);
    __atomic_store_n(&me->turn, turn, __ATOMIC_RELEASE);
    return NULL;
}

static bool is_asleep(long thread) {
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/self/task/%ld/stat", thread);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1) {
            state = 0;
        }
        fclose(file);
    }
    return state == 'S';
}

/* Starts one, and returns when it has been asleep for a while. */
static void begin(struct waiter *waiter, rl_service *service, const char *user, uint64_t cost,
                  uint64_t timeout_ms, unsigned *turns) {
    memset(waiter, 0, sizeof *waiter);
    waiter->service = service;
    waiter->user = user;
    waiter->cost = cost;
    waiter->timeout_ms = timeout_ms;
    waiter->turns = turns;
    NEED(pthread_create(&waiter->handle, NULL, wait_for_it, waiter) == 0);
    for (int asleep = 0; asleep < 5;) {
        long thread = __atomic_load_n(&waiter->thread, __ATOMIC_ACQUIRE);
        asleep = thread != 0 && is_asleep(thread) ? asleep + 1 : 0;
        sleep_ms(2);
    }
}

static bool is_answered(struct waiter *waiter) {
    return __atomic_load_n(&waiter->turn, __ATOMIC_ACQUIRE) != 0;
}

/* The answer, for which the watchdog waits if nobody else does. */
static rl_decision answer_of(struct waiter *waiter) {
    NEED(pthread_join(waiter->handle, NULL) == 0);
    CHECK_INT(waiter->status, RL_OK);
    return waiter->got;
}

static void a_manual_clock_wakes_the_sleepers(void) {
    rl_service *service = service_at_zero("default = token-bucket,1,10\n"
                                          "user.many = fixed-window,1,10 + fixed-window,1,20\n");
    static const char *const users[] = {"u", "v", "w", "many"};
    struct waiter waiters[4];
    unsigned turns = 0;
    for (int i = 0; i < 4; i++) {
        check(service, users[i], "/a", 1);
    }
    for (int i = 0; i < 4; i++) {
        begin(&waiters[i], service, users[i], 1, i == 1 ? 10000 : RL_NEVER, &turns);
    }
    uint64_t cpu = cpu_us();
    advance_ms(5000);
    set_ms(9999);
    set_ms(7000);
    set_ms(9999);
    sleep_ms(200);
    CHECK_UINT(__atomic_load_n(&turns, __ATOMIC_ACQUIRE), 0);
    CHECK_AT_MOST(cpu_us() - cpu, 100000);
    advance_ms(1);
    CHECK_YES(answer_of(&waiters[0]), 0);
    CHECK_YES(answer_of(&waiters[1]), 0);
    CHECK_YES(answer_of(&waiters[2]), 0);
    CHECK(!is_answered(&waiters[3]));
    set_ms(20000);
    CHECK_YES(answer_of(&waiters[3]), 0);
    CHECK_UINT(fixture_stats(service).allowed, 8);
    CHECK_UINT(fixture_stats(service).denied, 0);
    rl_service_free(service);
}

/* The clock stands still: what was given back, or allowed by new rules, is enough. */
static void what_is_given_back_wakes_the_first(void) {
    rl_service *service = service_at_zero("default = token-bucket,2,10");
    struct waiter waiters[3];
    unsigned turns = 0;
    check(service, "u", "/a", 2);
    for (int i = 0; i < 3; i++) {
        begin(&waiters[i], service, "u", 1, RL_NEVER, &turns);
    }
    sleep_ms(50);
    CHECK_UINT(__atomic_load_n(&turns, __ATOMIC_ACQUIRE), 0);
    refund(service, "u", "/a", 1);
    CHECK_YES(answer_of(&waiters[0]), 0);
    CHECK(!is_answered(&waiters[1]));
    reset(service, "u", "/a");
    CHECK_YES(answer_of(&waiters[1]), 1);
    CHECK_YES(answer_of(&waiters[2]), 0);
    begin(&waiters[0], service, "u", 1, RL_NEVER, &turns);
    reload(service, "default = unlimited");
    CHECK(answer_of(&waiters[0]).allowed);
    rl_service_free(service);
}

static void first_come_first_served(void) {
    enum { WAITERS = 6 };
    rl_service *service = service_at_zero("default = token-bucket,5,5");
    struct waiter waiters[WAITERS];
    unsigned turns = 0;
    check(service, "u", "/a", 5);
    for (int i = 0; i < WAITERS; i++) {
        /* The first wants as much as the others together. */
        begin(&waiters[i], service, "u", i == 0 ? 5 : 1, RL_NEVER, &turns);
    }
    advance_ms(4000);
    sleep_ms(50);
    CHECK_UINT(__atomic_load_n(&turns, __ATOMIC_ACQUIRE), 0);
    for (int i = 0; i < WAITERS; i++) {
        advance_ms(1000);
        CHECK_YES(answer_of(&waiters[i]), 0);
        CHECK_UINT(waiters[i].turn, (unsigned)i + 1);
    }
    rl_service_free(service);
}

static void who_does_not_wait_any_longer_leaves_the_queue(void) {
    rl_service *service = service_at_zero("default = token-bucket,5,5");
    struct waiter first, hasty, last;
    unsigned turns = 0;
    check(service, "u", "/a", 5);
    begin(&first, service, "u", 5, RL_NEVER, &turns);
    begin(&hasty, service, "u", 1, 2000, &turns);
    begin(&last, service, "u", 1, RL_NEVER, &turns);

    /* Its turn has not come when its time is over, although there is enough for it. */
    advance_ms(2000);
    rl_decision no = answer_of(&hasty);
    CHECK(!no.allowed);
    CHECK(no.retry_after_ms > 0);
    CHECK_UINT(left(service, "u", "/a"), 2);

    /* Who does not wait at all is not in the queue, and waits for nobody in it. */
    CHECK_YES(acquire(service, "u", 1, 0), 1);
    CHECK_NO(acquire(service, "u", 2, 0), 1, 1000);
    advance_ms(3000);
    sleep_ms(50);
    CHECK_UINT(__atomic_load_n(&turns, __ATOMIC_ACQUIRE), 1);
    advance_ms(1000);
    CHECK_YES(answer_of(&first), 0);
    CHECK(!is_answered(&last));
    advance_ms(1000);
    CHECK_YES(answer_of(&last), 0);
    rl_service_free(service);
}

static void the_next_in_the_queue_takes_the_place_of_one_that_left(void) {
    rl_service *service = service_at_zero("default = fixed-window,5,5");
    struct waiter first, second;
    unsigned turns = 0;
    check(service, "u", "/a", 3);
    begin(&first, service, "u", 4, 6000, &turns);
    begin(&second, service, "u", 2, RL_NEVER, &turns);
    set_ms(5000);
    CHECK_YES(answer_of(&first), 1);
    sleep_ms(20);
    CHECK(!is_answered(&second));
    set_ms(10000);
    CHECK_YES(answer_of(&second), 3);
    rl_service_free(service);

    service = service_at_zero("default = token-bucket,5,5");
    turns = 0;
    check(service, "u", "/a", 5);
    begin(&first, service, "u", 5, 5000, &turns);
    begin(&second, service, "u", 1, RL_NEVER, &turns);
    charge(service, "u", "/a", 1); /* now the first is sure to miss its timeout */
    advance_ms(1);
    CHECK_NO(answer_of(&first), 0, 5999);
    CHECK(!is_answered(&second));
    advance_ms(1999);
    CHECK_YES(answer_of(&second), 0);
    rl_service_free(service);
}

static void *test_all(void *argument) {
    struct member *me = argument;
    unsigned percent = *(unsigned *)me->job;
    nothing_to_wait_for();
    a_callback_clock_wakes_nobody();
    a_manual_clock_wakes_the_sleepers();
    what_is_given_back_wakes_the_first();
    first_come_first_served();
    who_does_not_wait_any_longer_leaves_the_queue();
    the_next_in_the_queue_takes_the_place_of_one_that_left();
    waits_on_the_system_clock();
    sixteen_threads_get_the_rate(1, percent);
    sixteen_threads_get_the_rate(20, percent);
    return NULL;
}

int main(int argc, char **argv) {
    unsigned percent = (unsigned)test_argument(argc, argv, 10);
    alarm(120); /* the watchdog: a sleeper that nobody wakes ends the program */
    manual = fixture_clock(0);
    /* Not here: what a thread that waits needs is freed when it ends, and this one never does. */
    team_run(1, test_all, &percent);
    rl_clock_free(manual);
    return test_end();
}
