/*
 * Exactness among processes: whoever meets whom at a counter in shared memory, a limit
 * of N gives N. The processes stay the same over all rounds.
 *
 *     processes [ROUNDS]     1,000 rounds when not told
 *
 * Last come processes that sleep as they are told by the system's clock, for 20 ms a round.
 */
#include "crew.h"

static const char *const algorithms[] = {"token-bucket", "fixed-window", "sliding-window",
                                         "sliding-window-counter"};
enum { ALGORITHMS = 4, PROCESSES = 4, THREADS = 2, ALL = PROCESSES * THREADS, WATCHDOG_S = 300 };

/* ---- one zone, and what a round gives in all --------------------------------------- */

struct rounds {
    char zone[CREW_NAME];
    const char *rules;
    unsigned (*ask)(rl_service *service, unsigned round, unsigned *lesser);
    unsigned rounds, checks; /* checks: of each thread in each round */
    struct gate gate;
    uint64_t now_ns;
    unsigned long errors;
    unsigned *allowed, *lesser; /* by round: in all, and of one part of it */
};

struct pair {
    struct rounds *job;
    rl_service *service;
    unsigned process;
};

static void round_user(char user[24], unsigned round) {
    snprintf(user, 24, "key-%u", round);
}

static void *check_rounds(void *argument) {
    struct member *me = argument;
    struct pair *pair = me->job;
    struct rounds *job = pair->job;
    for (unsigned round = 0; round < job->rounds; round++) {
        unsigned allowed = 0, lesser = 0;
        gate_pass(&job->gate);
        for (unsigned i = 0; i < job->checks; i++) {
            allowed += job->ask(pair->service, round, &lesser);
        }
        __atomic_add_fetch(&job->allowed[round], allowed, __ATOMIC_RELAXED);
        __atomic_add_fetch(&job->lesser[round], lesser, __ATOMIC_RELAXED);
        gate_pass(&job->gate);
        if (pair->process == 0 && me->index == 0) {
            __atomic_add_fetch(&job->now_ns, 120 * RL_NS_PER_S, __ATOMIC_RELEASE);
        }
    }
    return NULL;
}

static void be_two_threads(unsigned index, void *argument) {
    struct rounds *job = argument;
    struct pair pair = {job, crew_service(job->rules, job->zone, &job->now_ns), index};
    team_run(THREADS, check_rounds, &pair);
    rl_service_free(pair.service);
}

/* Every round gives `limit` in all, and up to `of_lesser` of the lesser part of it. */
static void each_round_gives(unsigned limit, unsigned of_lesser, struct rounds *job) {
    unsigned wrong = 0, over = 0;
    crew_zone(job->zone);
    job->allowed = crew_memory(job->rounds * sizeof *job->allowed);
    job->lesser = crew_memory(job->rounds * sizeof *job->lesser);
    job->gate.members = ALL;
    job->now_ns = 3600 * RL_NS_PER_S;

    crew_run(PROCESSES, be_two_threads, job);

    for (unsigned round = 0; round < job->rounds; round++) {
        if (job->allowed[round] != limit && wrong++ == 0) {
            printf("round %u: got %u allowed, wanted %u\n", round, job->allowed[round], limit);
        }
        over += job->lesser[round] > of_lesser ? 1 : 0;
    }
    printf("%u rounds of %.*s\n", job->rounds, (int)strcspn(job->rules, "\n"), job->rules);
    CHECK_UINT(wrong, 0);
    CHECK_UINT(over, 0);
    /* Nobody has it any more, but it is all there. */
    rl_service *service = crew_service(job->rules, job->zone, &job->now_ns);
    rl_stats stats = fixture_stats(service);
    CHECK_UINT(stats.evicted_live, 0);
    CHECK_UINT(stats.errors, 0);
    CHECK_UINT(stats.recovered_locks, 0);
    rl_service_free(service);
    CHECK_INT(rl_zone_unlink(job->zone), RL_OK);
    munmap(job->allowed, job->rounds * sizeof *job->allowed);
    munmap(job->lesser, job->rounds * sizeof *job->lesser);
}

static struct rounds *job_of(unsigned rounds, const char *rules, unsigned checks,
                             unsigned (*ask)(rl_service *, unsigned, unsigned *)) {
    struct rounds *job = crew_memory(sizeof *job);
    job->rules = rules;
    job->rounds = rounds;
    job->checks = checks;
    job->ask = ask;
    return job;
}

static unsigned ask_one(rl_service *service, unsigned round, unsigned *lesser) {
    char user[24];
    (void)lesser;
    round_user(user, round);
    return check(service, user, "/a", 1).allowed ? 1 : 0;
}

static void each_key_gives_its_limit(const char *algorithm, unsigned rounds) {
    char rules[96];
    snprintf(rules, sizeof rules, "default = %s,100,60\nmemory = 1m\n", algorithm);
    struct rounds *job = job_of(rounds, rules, 20, ask_one);
    each_round_gives(100, 0, job);
    munmap(job, sizeof *job);
}

/* A user has 100 for each of two APIs, and less for both than the two of them have. */
static unsigned ask_two(rl_service *service, unsigned round, unsigned *lesser) {
    char user[24];
    round_user(user, round);
    unsigned one = check(service, user, "/a", 1).allowed ? 1 : 0;
    unsigned other = check(service, user, "/b", 1).allowed ? 1 : 0;
    *lesser += one;
    return one + other;
}

static void three_limits_give_the_least_of_them(unsigned at, unsigned of_user, unsigned of_all,
                                                unsigned rounds) {
    char rules[192];
    snprintf(rules, sizeof rules,
             "default = %s,100,60 + %s,%u,60,per=user + %s,%u,60,per=all\nmemory = 1m\n",
             algorithms[at % ALGORITHMS], algorithms[(at + 1) % ALGORITHMS], of_user,
             algorithms[(at + 2) % ALGORITHMS], of_all);
    struct rounds *job = job_of(rounds, rules, 16, ask_two);
    each_round_gives(of_user < of_all ? of_user : of_all, 100, job);
    munmap(job, sizeof *job);
}

/* A key with 100 and one with 70 for half of the calls, as one: all are charged, or none. */
static unsigned ask_all(rl_service *service, unsigned round, unsigned *lesser) {
    char user[24];
    rl_decision got[2];
    round_user(user, round);
    const rl_request both[2] = {request(user, "/a", 1), request(user, "/b", 1)};
    NEED(rl_check_all(service, both, 2, got) == RL_OK);
    unsigned passed = got[0].allowed && got[1].allowed ? 1 : 0;
    *lesser += passed;
    return passed + (check(service, user, "/a", 1).allowed ? 1 : 0);
}

static void requests_that_are_one_give_the_least(unsigned at, unsigned rounds) {
    char rules[192];
    snprintf(rules, sizeof rules, "default = %s,100,60\napi./b = %s,70,60\nmemory = 1m\n",
             algorithms[at % ALGORITHMS], algorithms[(at + 1) % ALGORITHMS]);
    struct rounds *job = job_of(rounds, rules, 20, ask_all);
    each_round_gives(100, 70, job);
    munmap(job, sizeof *job);
}

/* ---- everybody makes the zone ------------------------------------------------------- */

enum { MAKERS = 8, REMOVER = MAKERS };

struct makers {
    char zone[2][CREW_NAME]; /* of even and of odd rounds */
    unsigned rounds;
    struct gate gate;
    uint64_t now_ns;
    unsigned allowed; /* in this round, of the one counter that all ask for */
    unsigned long refused, errors, wrong, own, more, left, removed;
};

/* Makes or joins the zone; then takes its own 3 and its part of what there is for all. */
static void make_and_take(struct makers *job, const char *zone, unsigned index) {
    static const char rules[] = "default = sliding-window,100,60\nuser.own = token-bucket,3,60\n"
                                "memory = 64k\n";
    rl_service *service = NULL;
    rl_error error;
    char api[16];
    if (crew_try_service(rules, zone, &job->now_ns, &service, &error) != RL_OK) {
        crew_add(&job->refused, 1);
        printf("a zone that all make at once: %s\n", error.message);
        return;
    }
    snprintf(api, sizeof api, "/%u", index);
    unsigned own = crew_take(service, "own", api, 5);
    unsigned allowed = crew_take(service, "all", "/a", 20);
    crew_add(&job->own, own == 3 ? 0 : 1);
    __atomic_add_fetch(&job->allowed, allowed, __ATOMIC_RELAXED);
    rl_service_free(service);
}

static void remove_at_random(struct makers *job, const char *zone, uint64_t *state) {
    for (unsigned i = 0; i < 4; i++) {
        crew_sleep(draw(state, 300000));
        rl_status status = rl_zone_unlink(zone);
        crew_add(&job->removed, status == RL_OK ? 1 : 0);
        crew_add(&job->errors, status == RL_OK || status == RL_ERR_IO ? 0 : 1);
    }
}

static void judge_round(struct makers *job, const char *zone, bool removed) {
    unsigned most = MAKERS * 20;
    job->wrong += !removed && job->allowed != 100 ? 1 : 0;
    job->more += removed && (job->allowed < 100 || job->allowed > most) ? 1 : 0;
    job->allowed = 0;
    /* There is one zone, or where it was removed perhaps none. */
    rl_status first = rl_zone_unlink(zone);
    job->left += (removed || first == RL_OK) && rl_zone_unlink(zone) == RL_ERR_IO ? 0 : 1;
}

static void race_to_make(unsigned index, void *argument) {
    struct makers *job = argument;
    uint64_t state = index;
    for (unsigned round = 0; round < job->rounds; round++) {
        bool removed = round % 2 == 1;
        const char *zone = job->zone[round % 2];
        gate_pass(&job->gate);
        if (index < MAKERS) {
            make_and_take(job, zone, index);
        } else if (removed) {
            remove_at_random(job, zone, &state);
        }
        gate_pass(&job->gate);
        if (index == 0) {
            judge_round(job, zone, removed);
        }
    }
}

static void whoever_makes_the_zone_all_share_it(unsigned rounds) {
    struct makers *job = crew_memory(sizeof *job);
    crew_zone(job->zone[0]);
    crew_zone(job->zone[1]);
    job->rounds = rounds;
    job->gate.members = MAKERS + 1;
    job->now_ns = 3600 * RL_NS_PER_S;
    crew_run(MAKERS + 1, race_to_make, job);
    printf("%u rounds of %d that make a zone; %lu were removed meanwhile\n", rounds, MAKERS,
           job->removed);
    CHECK_UINT(job->refused, 0);
    CHECK_UINT(job->errors, 0);
    CHECK_UINT(job->own, 0);
    CHECK_UINT(job->wrong, 0);
    CHECK_UINT(job->more, 0);
    CHECK_UINT(job->left, 0);
    CHECK(job->removed > 0);
    munmap(job, sizeof *job);
}

/* ---- sleeping as one is told -------------------------------------------------------- */

enum { SLEEPERS = 2, QUOTA = 60 };

/* When one was let through: at some instant between these. */
struct passing {
    uint64_t before, after;
};

struct sleepers {
    char zone[CREW_NAME];
    const char *rules;
    uint64_t window_ns, end_ns;
    unsigned most, passed;
    struct passing *passings;
};

static void pass(struct sleepers *job, uint64_t before) {
    unsigned at = __atomic_fetch_add(&job->passed, 1, __ATOMIC_RELAXED);
    if (at < job->most) {
        job->passings[at] = (struct passing){before, crew_now()};
    }
}

/* The first takes all that it can get, the second rests in between. */
static void sleep_as_told(unsigned index, void *argument) {
    struct sleepers *job = argument;
    rl_service *service = crew_service(job->rules, job->zone, NULL);
    uint64_t state = 1;
    for (;;) {
        uint64_t before = crew_now();
        if (before >= job->end_ns) {
            break;
        }
        rl_decision got = check(service, "one", "/a", 1);
        if (!got.allowed) {
            uint64_t wait_ns = got.retry_after_ms * RL_NS_PER_MS;
            crew_sleep(before + wait_ns < job->end_ns ? wait_ns : job->end_ns - before);
            continue;
        }
        pass(job, before);
        if (index == 1) {
            crew_sleep(draw(&state, (uint32_t)(job->window_ns / 50)));
        }
    }
    rl_service_free(service);
}

static int by_end(const void *one, const void *other) {
    const struct passing *a = one, *b = other;
    return (a->after > b->after) - (a->after < b->after);
}

/* How many windows begin in which surely more than the quota passed. */
static unsigned windows_over(struct sleepers *job) {
    unsigned over = 0;
    qsort(job->passings, job->passed, sizeof *job->passings, by_end);
    for (unsigned first = 0; first + QUOTA < job->passed; first++) {
        uint64_t begin = UINT64_MAX, end = job->passings[first + QUOTA].after;
        for (unsigned i = first; i <= first + QUOTA; i++) {
            uint64_t before = job->passings[i].before;
            begin = before < begin ? before : begin;
        }
        over += end - begin < job->window_ns ? 1 : 0;
    }
    return over;
}

static void start_sleepers(struct sleepers *job, const char *rules, uint64_t window_ns,
                           uint64_t take_ns, pid_t pids[SLEEPERS]) {
    crew_zone(job->zone);
    job->rules = rules;
    job->window_ns = window_ns;
    job->end_ns = crew_now() + take_ns;
    job->most = (unsigned)(take_ns / window_ns + 3) * QUOTA * 2;
    job->passings = crew_memory(job->most * sizeof *job->passings);
    for (unsigned i = 0; i < SLEEPERS; i++) {
        pids[i] = crew_start(sleep_as_told, i, job);
    }
}

static void end_sleepers(struct sleepers *job, uint64_t take_ns, pid_t pids[SLEEPERS]) {
    for (unsigned i = 0; i < SLEEPERS; i++) {
        crew_end(pids[i]);
    }
    unsigned ideal = (unsigned)(take_ns / job->window_ns + 1) * QUOTA;
    printf("%s in %llu ms: %u passed of %u\n", job->rules,
           (unsigned long long)(take_ns / RL_NS_PER_MS), job->passed, ideal);
    NEED(job->passed <= job->most);
    CHECK_UINT(windows_over(job), 0);
    if (take_ns >= 20 * RL_NS_PER_S) { /* else it is under valgrind, and slow */
        CHECK_AT_MOST(ideal - ideal / 10, job->passed);
    }
    CHECK_INT(rl_zone_unlink(job->zone), RL_OK);
}

static void who_sleeps_as_told_gets_the_rate(unsigned rounds) {
    struct sleepers *jobs = crew_memory(2 * sizeof *jobs);
    uint64_t take_ns = (rounds < 100 ? 100 : rounds) * 20 * RL_NS_PER_MS;
    pid_t pids[2][SLEEPERS];
    start_sleepers(&jobs[0], "default = sliding-window,60,600ms", 600 * RL_NS_PER_MS, take_ns,
                   pids[0]);
    start_sleepers(&jobs[1], "default = sliding-window,60,6s", 6 * RL_NS_PER_S, take_ns, pids[1]);
    end_sleepers(&jobs[0], take_ns, pids[0]);
    end_sleepers(&jobs[1], take_ns, pids[1]);
}

int main(int argc, char **argv) {
    unsigned rounds = (unsigned)test_argument(argc, argv, 1000);
    crew_guard(WATCHDOG_S);
    for (unsigned i = 0; i < ALGORITHMS; i++) {
        each_key_gives_its_limit(algorithms[i], rounds);
    }
    for (unsigned i = 0; i < ALGORITHMS; i++) {
        three_limits_give_the_least_of_them(i, 130, 150, rounds / 2 + 1);
        three_limits_give_the_least_of_them(i, 150, 120, rounds / 2 + 1);
        requests_that_are_one_give_the_least(i, rounds / 2 + 1);
    }
    whoever_makes_the_zone_all_share_it(rounds);
    who_sleeps_as_told_gets_the_rate(rounds);
    return test_end();
}
