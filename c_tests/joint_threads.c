/*
 * Several limits, and several requests, in one decision while other threads decide about
 * the same counters: each limit gives what it has, no more and no less, and nobody waits
 * for ever.
 *
 *     joint_threads [ROUNDS]     10,000 rounds when not told
 */
#define _POSIX_C_SOURCE 200809L

#include <unistd.h>

#include "asks.h"
#include "team.h"

static const char *const algorithms[] = {"token-bucket", "fixed-window", "sliding-window",
                                         "sliding-window-counter"};
enum { ALGORITHMS = 4 };

enum { THREADS = 8, WATCHDOG_S = 30 };

static void add(unsigned long *to, unsigned long what) {
    __atomic_add_fetch(to, what, __ATOMIC_RELAXED);
}

/* ---- counters of a pair, a user and of all ----------------------------------------- */

/*
 * Each of 4 users asks for 2 APIs. A pair has 5, a user 8, and all together a number
 * below, at or above the 32 that the users have.
 */
enum { USERS = 4, APIS = 2, PAIRS = USERS * APIS, OF_PAIR = 5, OF_USER = 8 };

struct shared {
    rl_service *service;
    rl_clock *clock;
    uint64_t step_ns;   /* from round to round: all counters are as new then */
    unsigned rounds;
    unsigned allowed[PAIRS]; /* in this round */
    unsigned of_all;         /* what all together have in a round */
    unsigned long errors, over, wrong, unexplained;
};

static void check_each_pair(struct shared *job, unsigned index) {
    for (unsigned i = 0; i < PAIRS; i++) {
        /* Half of the threads go through them backwards. */
        unsigned pair = (index % 2 == 0 ? i + index : 2 * PAIRS - i - index) % PAIRS;
        char user[] = {'u', (char)('0' + pair / APIS), '\0'};
        char api[] = {'a', (char)('0' + pair % APIS), '\0'};
        rl_decision got;
        if (rl_check(job->service, user, api, &got) != RL_OK) {
            add(&job->errors, 1);
        } else if (got.allowed) {
            __atomic_add_fetch(&job->allowed[pair], 1, __ATOMIC_RELAXED);
        }
        if (got.limit_count != 3 || (got.denied_by == 0) != got.allowed || got.denied_by > 7 ||
            (!got.allowed && (got.denied_by >> got.limit_index & 1) == 0)) {
            add(&job->unexplained, 1);
        }
    }
}

static void *share(void *argument) {
    struct member *me = argument;
    struct shared *job = me->job;
    for (unsigned round = 0; round < job->rounds; round++) {
        gate_pass(me->gate);
        check_each_pair(job, me->index);
        gate_pass(me->gate);
        if (me->index != 0) {
            continue;
        }
        unsigned sum = 0;
        for (unsigned user = 0; user < USERS; user++) {
            unsigned one = job->allowed[user * APIS], other = job->allowed[user * APIS + 1];
            sum += one + other;
            job->over += one > OF_PAIR || other > OF_PAIR || one + other > OF_USER ? 1 : 0;
        }
        unsigned of_users = USERS * OF_USER;
        job->wrong += sum == (job->of_all < of_users ? job->of_all : of_users) ? 0 : 1;
        memset(job->allowed, 0, sizeof job->allowed);
        rl_clock_advance_ns(job->clock, job->step_ns);
    }
    return NULL;
}

/* `at` is where the algorithms of the three limits begin in their list. */
static void shared_counters_give_what_they_have(unsigned at, unsigned of_all, unsigned rounds) {
    char rules[160];
    struct shared job;
    memset(&job, 0, sizeof job);
    job.clock = fixture_clock(3600 * RL_NS_PER_S);
    job.step_ns = 120 * RL_NS_PER_S;
    job.rounds = rounds;
    job.of_all = of_all;
    snprintf(rules, sizeof rules,
             "default = %s,%u,60 + %s,%u,60,per=user + %s,%u,60,per=all\nmemory = 1m\n",
             algorithms[at % ALGORITHMS], OF_PAIR, algorithms[(at + 1) % ALGORITHMS], OF_USER,
             algorithms[(at + 2) % ALGORITHMS], of_all);
    job.service = fixture_service(rules, job.clock);

    team_run(THREADS, share, &job);

    unsigned of_users = USERS * OF_USER, least = of_all < of_users ? of_all : of_users;
    rl_stats stats = fixture_stats(job.service);
    printf("%u rounds of %.*s\n", rounds, (int)strcspn(rules, "\n"), rules);
    CHECK_UINT(job.errors, 0);
    CHECK_UINT(job.over, 0);
    CHECK_UINT(job.wrong, 0);
    CHECK_UINT(job.unexplained, 0);
    CHECK_UINT(stats.allowed, (uint64_t)rounds * least);
    CHECK_UINT(stats.allowed + stats.denied, (uint64_t)rounds * THREADS * PAIRS);
    CHECK_UINT(stats.evicted_live, 0);
    rl_service_free(job.service);
    rl_clock_free(job.clock);
}

/* ---- requests in opposite orders --------------------------------------------------- */

enum { CROWD = 16, NAMES = 24 };

struct crossing {
    rl_service *service;
    unsigned rounds;
    unsigned long errors, partial;
    unsigned long taken[NAMES];
    unsigned long passed; /* calls that were allowed */
};

/* Some of the names: the same few in any order, or any with one of them twice. */
static size_t pick(uint64_t *state, unsigned *names) {
    size_t count = 2 + draw(state, 7);
    unsigned from = draw(state, NAMES);
    bool backwards = draw(state, 2) == 1;
    for (size_t i = 0; i < count; i++) {
        unsigned step = (unsigned)(backwards ? count - 1 - i : i);
        names[i] = (from + step) % NAMES;
    }
    if (draw(state, 4) == 0) {
        names[count - 1] = names[0];
    }
    return count;
}

static void *cross(void *argument) {
    struct member *me = argument;
    struct crossing *job = me->job;
    uint64_t state = me->index + 1;
    gate_pass(me->gate);
    for (unsigned round = 0; round < job->rounds; round++) {
        unsigned picked[8];
        char users[8][8];
        rl_request requests[8];
        rl_decision out[8];
        size_t count = pick(&state, picked), yes = 0, reasons = 0;
        for (size_t i = 0; i < count; i++) {
            snprintf(users[i], sizeof users[i], "n%u", picked[i]);
            requests[i] = request(users[i], "/a", 1 + picked[i] % 3);
        }
        if (rl_check_all(job->service, requests, count, out) != RL_OK) {
            add(&job->errors, 1);
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            yes += out[i].allowed ? 1 : 0;
            reasons += out[i].allowed == (out[i].denied_by == 0) ? 1 : 0;
        }
        job->partial += reasons == count ? 0 : 1;
        if (yes == count) {
            add(&job->passed, 1);
            for (size_t i = 0; i < count; i++) {
                add(&job->taken[picked[i]], 1 + picked[i] % 3);
            }
        }
    }
    return NULL;
}

static void opposite_orders_neither_lock_nor_miscount(const char *algorithm, unsigned rounds) {
    char rules[128];
    struct crossing job;
    rl_clock *clock = fixture_clock(3600 * RL_NS_PER_S);
    unsigned limit = rounds * 4;
    memset(&job, 0, sizeof job);
    job.rounds = rounds;
    snprintf(rules, sizeof rules, "default = %s,%u,3600\nmemory = 64k\n", algorithm, limit);
    job.service = fixture_service(rules, clock);

    alarm(WATCHDOG_S);
    team_run(CROWD, cross, &job);
    alarm(0);

    rl_stats stats = fixture_stats(job.service);
    printf("%s: %d threads x %u decisions about 2 to 8 of %d names, %lu allowed\n", algorithm,
           CROWD, rounds, NAMES, job.passed);
    CHECK_UINT(job.errors, 0);
    CHECK_UINT(job.partial, 0);
    CHECK(job.passed > 0 && job.passed < (unsigned long)rounds * CROWD);
    CHECK_UINT(stats.evicted_live, 0);
    for (unsigned i = 0; i < NAMES; i++) {
        char user[8];
        snprintf(user, sizeof user, "n%u", i);
        CHECK_AT_MOST(job.taken[i], limit);
        CHECK_UINT(left(job.service, user, "/a"), limit - job.taken[i]);
    }
    rl_service_free(job.service);
    rl_clock_free(clock);
}

/* The same eight names, forwards and backwards: as many pass as each name has. */
static void *meet_head_on(void *argument) {
    struct member *me = argument;
    struct crossing *job = me->job;
    char users[8][8];
    for (unsigned round = 0; round < job->rounds; round++) {
        rl_request requests[8];
        rl_decision out[8];
        for (unsigned i = 0; i < 8; i++) {
            unsigned at = me->index % 2 == 0 ? i : 7 - i;
            snprintf(users[at], sizeof users[at], "r%u-%u", round % 1000, i);
            requests[at] = request(users[at], "/a", 1);
        }
        gate_pass(me->gate);
        if (rl_check_all(job->service, requests, 8, out) != RL_OK) {
            add(&job->errors, 1);
        }
        add(&job->passed, out[0].allowed && out[7].allowed ? 1 : 0);
        for (unsigned i = 1; i < 8; i++) {
            /* All have the same limit and are in the same decisions: all say the same,
             * as the counters were at one instant. */
            add(&job->partial, out[i].allowed == out[0].allowed ? 0 : 1);
        }
    }
    return NULL;
}

static void new_names_from_both_ends(unsigned rounds) {
    struct crossing job;
    rl_clock *clock = fixture_clock(3600 * RL_NS_PER_S);
    memset(&job, 0, sizeof job);
    job.rounds = rounds < 1000 ? rounds : 1000;
    job.service = fixture_service("default = fixed-window,5,3600\nmemory = 2m\n", clock);

    alarm(WATCHDOG_S);
    team_run(THREADS, meet_head_on, &job);
    alarm(0);

    rl_stats stats = fixture_stats(job.service);
    printf("%d threads meet head-on at %u times 8 new names\n", THREADS, job.rounds);
    CHECK_UINT(job.errors, 0);
    CHECK_UINT(job.partial, 0);
    CHECK_UINT(job.passed, 5u * job.rounds);
    CHECK_UINT(stats.allowed, 8u * 5u * job.rounds);
    CHECK_UINT(stats.keys, 8u * job.rounds);
    CHECK_UINT(stats.evicted_live, 0);
    rl_service_free(job.service);
    rl_clock_free(clock);
}

/* ---- charges, refunds and resets --------------------------------------------------- */

enum { HOLDERS = 3 };

struct giving {
    rl_service *service;
    unsigned rounds;
    unsigned long errors;
    unsigned long held[HOLDERS]; /* units taken and not given back, of each user */
};

static void *take_and_give_back(void *argument) {
    static const char *const users[HOLDERS] = {"u0", "u1", "u2"};
    struct member *me = argument;
    struct giving *job = me->job;
    unsigned long own[HOLDERS] = {0, 0, 0};
    uint64_t state = me->index + 77;
    gate_pass(me->gate);
    for (unsigned i = 0; i < job->rounds; i++) {
        unsigned at = draw(&state, HOLDERS);
        uint64_t cost = 1 + draw(&state, 5);
        rl_decision got;
        rl_status status = RL_OK;
        switch (draw(&state, 4)) {
        case 0:
            status = rl_check_bytes(job->service, users[at], 2, "/a", 2, cost, &got);
            own[at] += got.allowed ? cost : 0;
            break;
        case 1:
            status = rl_charge(job->service, users[at], 2, "/a", 2, cost, &got);
            own[at] += cost;
            break;
        case 2:
            status = rl_peek(job->service, users[at], 2, "/a", 2, cost, &got);
            break;
        default:
            /* Only what this thread has taken. */
            cost = own[at] < 2 * cost ? own[at] : 2 * cost;
            if (cost > 0) {
                status = rl_refund(job->service, users[at], 2, "/a", 2, cost);
                own[at] -= cost;
            }
        }
        add(&job->errors, status == RL_OK ? 0 : 1);
    }
    for (unsigned at = 0; at < HOLDERS; at++) {
        add(&job->held[at], own[at]);
    }
    return NULL;
}

static void what_is_given_back_adds_up(const char *algorithm, unsigned rounds) {
    char rules[160];
    struct giving job;
    rl_clock *clock = fixture_clock(3600 * RL_NS_PER_S);
    memset(&job, 0, sizeof job);
    job.rounds = rounds;
    /* As much as they can take, so that no debt is ever forgiven. */
    snprintf(rules, sizeof rules,
             "default = %s,100000000,3600,per=user + %s,1000000000,3600,per=all\nmemory = 1m\n",
             algorithm, algorithm);
    job.service = fixture_service(rules, clock);

    team_run(THREADS, take_and_give_back, &job);

    unsigned long sum = 0;
    CHECK_UINT(job.errors, 0);
    for (unsigned at = 0; at < HOLDERS; at++) {
        char user[] = {'u', (char)('0' + at), '\0'};
        CHECK_UINT(left(job.service, user, "/a"), 100000000 - job.held[at]);
        sum += job.held[at];
    }
    snprintf(rules, sizeof rules, "default = %s,1000000000,3600,per=all\n", algorithm);
    reload(job.service, rules);
    CHECK_UINT(left(job.service, "u", "/a"), 1000000000 - sum);
    printf("%s: %lu of all that was taken were not given back\n", algorithm, sum);
    rl_service_free(job.service);
    rl_clock_free(clock);
}

int main(int argc, char **argv) {
    unsigned rounds = (unsigned)test_argument(argc, argv, 10000);
    unsigned part = rounds < 4 ? 1 : rounds / 4;
    for (unsigned at = 0; at < ALGORITHMS; at++) {
        static const unsigned of_all[ALGORITHMS] = {31, 32, 20, 33};
        shared_counters_give_what_they_have(at, of_all[at], rounds);
    }
    for (unsigned at = 0; at < ALGORITHMS; at++) {
        opposite_orders_neither_lock_nor_miscount(algorithms[at], part);
    }
    new_names_from_both_ends(rounds);
    for (unsigned at = 0; at < ALGORITHMS; at++) {
        what_is_given_back_adds_up(algorithms[at], rounds);
    }
    return test_end();
}
