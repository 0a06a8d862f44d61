/*
 * A forked child goes on with its parent's service, whatever the threads of the parent
 * were doing at that moment: four of them check, two wait for their turn, one reloads.
 *
 *     forks [FORKS]     300 forks for each kind of memory when not told
 *
 * In memory of the service's own the child has a copy: what it takes is its own. In
 * shared memory, and in memory of the caller's, both take from the same counters.
 */
#include "crew.h"

enum memory { OWN, SHARED, GIVEN, MEMORIES };
static const char *const memory_names[MEMORIES] = {"own", "shared", "given"};

enum { HAMMERERS = 4, WAITERS = 2, KEYS = 16, LIMIT = 400, CHECKS = 150, MOST_MS = 100 };
enum { WATCHDOG_S = 300, MEMORY = 1024 * 1024, NOW_S = 3600 };

#define YEAR (366 * 86400 * RL_NS_PER_S)

static const char rules[] = "default = token-bucket,400,3600\n"
                            "api./fixed = fixed-window,400,3600\n"
                            "api./log = sliding-window,400,3600\n"
                            "api./counter = sliding-window-counter,400,3600\n"
                            "api./two = sliding-window,400,3600 + fixed-window,500,3600,per=user\n"
                            "api./one = token-bucket,1,10\n"
                            "api./turn = token-bucket,1,18300d\n"
                            "memory = 1m\n";
static const char *const apis[] = {"/", "/fixed", "/log", "/counter", "/two"};
enum { APIS = 5 };

/* What child and parent tell each other. */
struct told {
    unsigned before[KEYS];  /* what the parent knows to be taken, just before the fork */
    unsigned started[KEYS]; /* what it may have begun to take, just after it */
    unsigned taken[KEYS];   /* by the child */
    uint64_t longest_ns;    /* of the child's calls */
    unsigned long wrong[8], did[8];
};

struct parent {
    enum memory memory;
    rl_service *service;
    rl_clock *clock;
    struct gate gate;
    unsigned rounds, round;
    unsigned started[KEYS], taken[KEYS]; /* by its threads, in this round */
    bool over;
    unsigned long errors, reloads;
    unsigned served;
    struct told *told;
};

static rl_service *service_in(enum memory memory, rl_clock *clock) {
    char name[CREW_NAME], shared[CREW_NAME + 16];
    rl_config *config = fixture_config(rules);
    rl_service *service = NULL;
    if (memory == SHARED) {
        crew_zone(name);
        snprintf(shared, sizeof shared, "shared = %s", name);
        NEED(rl_config_parse(config, shared, RL_NUL, NULL) == RL_OK);
    } else if (memory == GIVEN) {
        NEED(rl_config_set_memory(config, crew_memory(MEMORY), MEMORY) == RL_OK);
    }
    NEED(rl_config_set_clock(config, clock) == RL_OK);
    NEED(rl_service_new(config, &service, NULL) == RL_OK);
    rl_config_free(config);
    return service;
}

/* ---- the parent's threads ------------------------------------------------------------ */

static void name_key(char user[32], unsigned round, unsigned key) {
    snprintf(user, 32, "key-%u-%u", round, key);
}

static void add_one(unsigned *to) {
    __atomic_add_fetch(to, 1, __ATOMIC_SEQ_CST);
}

/* In all 48 ms of the hour in which the limits come back. */
static void hammer(struct parent *parent, unsigned index) {
    for (unsigned i = 0; i < CHECKS * KEYS; i++) {
        unsigned key = (i + index * 5) % KEYS;
        char user[32];
        rl_decision got;
        name_key(user, parent->round, key);
        if (parent->memory == OWN && index == 0 && i % 50 == 0) {
            rl_clock_advance_ns(parent->clock, RL_NS_PER_MS); /* or each log is one entry */
        }
        add_one(&parent->started[key]);
        if (rl_check(parent->service, user, apis[key % APIS], &got) != RL_OK) {
            crew_add(&parent->errors, 1);
        } else if (got.allowed) {
            add_one(&parent->taken[key]);
        }
    }
}

static void *hammer_each_round(void *argument) {
    struct member *me = argument;
    struct parent *parent = me->job;
    for (unsigned round = 0; round < parent->rounds; round++) {
        gate_pass(&parent->gate);
        hammer(parent, me->index);
        gate_pass(&parent->gate);
    }
    return NULL;
}

/* There is one for them every 50 years. */
static void *wait_for_a_turn(void *argument) {
    struct parent *parent = argument;
    rl_decision got;
    rl_status status = rl_acquire(parent->service, "turn", RL_NUL, "/turn", RL_NUL, 1, RL_NEVER,
                                  &got);
    if (status == RL_OK && got.allowed) {
        add_one(&parent->served);
    }
    return NULL;
}

static void *reload_over_and_over(void *argument) {
    struct parent *parent = argument;
    while (!__atomic_load_n(&parent->over, __ATOMIC_ACQUIRE)) {
        rl_config *config = NULL;
        if (rl_config_new(&config) != RL_OK ||
            rl_config_parse(config, rules, RL_NUL, NULL) != RL_OK ||
            rl_reload(parent->service, config, NULL) != RL_OK) {
            crew_add(&parent->errors, 1);
        }
        rl_config_free(config);
        parent->reloads++;
        sched_yield();
    }
    return NULL;
}

/* ---- the child ------------------------------------------------------------------------ */

/* How many of `checks` are allowed; the longest of them is kept. */
static unsigned take_timed(struct told *told, rl_service *service, const char *user,
                           const char *api, unsigned checks) {
    unsigned allowed = 0;
    for (unsigned i = 0; i < checks; i++) {
        uint64_t begun = crew_now();
        allowed += check(service, user, api, 1).allowed ? 1 : 0;
        crew_raise(&told->longest_ns, crew_now() - begun);
    }
    return allowed;
}

struct child {
    struct parent *parent;
    rl_service *service;
    struct told *told;
    char user[32]; /* a name that only this child has */
};

static bool refunds_and_resets(struct child *child) {
    bool right = crew_take(child->service, child->user, "/log", LIMIT + 5) == LIMIT;
    refund(child->service, child->user, "/log", 3);
    right &= crew_take(child->service, child->user, "/log", 5) == 3;
    reset(child->service, child->user, "/log");
    return right && crew_take(child->service, child->user, "/log", LIMIT + 5) == LIMIT;
}

static bool reloads(struct child *child) {
    bool right = crew_take(child->service, child->user, "/fixed", LIMIT + 5) == LIMIT;
    reload(child->service, "default = token-bucket,7,3600\napi./fixed = fixed-window,450,3600\n");
    right &= crew_take(child->service, child->user, "/fixed", 100) == 50;
    right &= crew_take(child->service, child->user, "/", 100) == 7;
    reload(child->service, rules);
    return right && crew_take(child->service, child->user, "/log", LIMIT + 5) == LIMIT;
}

static bool tells(struct child *child) {
    static char text[4096];
    rl_stats before = fixture_stats(child->service);
    crew_take(child->service, child->user, "/", 10);
    rl_stats after = fixture_stats(child->service);
    bool own = child->parent->memory == OWN;
    return rl_stats_prometheus(child->service, text, sizeof text, NULL) == RL_OK &&
           rl_explain(child->service, "a", RL_NUL, "/log", RL_NUL, text, sizeof text) == RL_OK &&
           strcmp(text, "api./log = sliding-window,400,3600") == 0 &&
           (own ? after.allowed == before.allowed + 10 : after.allowed >= before.allowed + 10);
}

static void *acquire_one(void *argument) {
    struct member *me = argument;
    struct child *child = me->job;
    rl_decision got;
    if (me->index == 0) {
        /* Its turn comes with the clock, which the other one moves until then. */
        rl_status status = rl_acquire(child->service, child->user, RL_NUL, "/one", RL_NUL, 1,
                                      60000, &got);
        me->gate->members = status == RL_OK && got.allowed ? 0 : 1;
        child->user[0] = '\0';
    } else {
        while (((volatile char *)child->user)[0] != '\0') {
            rl_clock_advance_ns(child->parent->clock, RL_NS_PER_S);
            crew_sleep(RL_NS_PER_MS / 10);
        }
    }
    return NULL;
}

static bool waits_for_its_turn(struct child *child) {
    rl_decision got;
    bool right = crew_take(child->service, child->user, "/one", 2) == 1;
    NEED(rl_acquire(child->service, child->user, RL_NUL, "/one", RL_NUL, 1, 9999, &got) == RL_OK);
    right &= !got.allowed && got.retry_after_ms == 10000;
    if (child->parent->memory == OWN) {
        /* The parent's clock stands still, and its waiters are not here. */
        pthread_t waiter;
        struct gate gate = {1, 0, 0};
        struct member first = {0, &gate, child}, second = {1, &gate, child};
        NEED(pthread_create(&waiter, NULL, acquire_one, &first) == 0);
        acquire_one(&second);
        NEED(pthread_join(waiter, NULL) == 0);
        right &= gate.members == 0;
    }
    return right;
}

struct team {
    struct child *child;
    unsigned allowed;
};

static void *take_a_part(void *argument) {
    struct member *me = argument;
    struct team *team = me->job;
    struct child *child = team->child;
    gate_pass(me->gate);
    unsigned allowed = crew_take(child->service, child->user, "/two", 200);
    __atomic_add_fetch(&team->allowed, allowed, __ATOMIC_RELAXED);
    return NULL;
}

static bool has_threads(struct child *child) {
    struct team team = {child, 0};
    team_run(3, take_a_part, &team);
    return team.allowed == LIMIT;
}

static void take_all_and_free(unsigned index, void *argument) {
    struct child *child = argument;
    child->told->taken[index] = crew_take(child->service, child->user, "/counter", LIMIT + 5);
    rl_service_free(child->service);
}

static bool forks_again(struct child *child) {
    unsigned taken[KEYS];
    bool right = crew_take(child->service, child->user, "/counter", 100) == 100;
    memcpy(taken, child->told->taken, sizeof taken);
    crew_end(crew_start(take_all_and_free, 0, child));
    unsigned by_grandchild = child->told->taken[0];
    memcpy(child->told->taken, taken, sizeof taken);
    unsigned left = crew_take(child->service, child->user, "/counter", LIMIT + 5);
    unsigned want = child->parent->memory == OWN ? LIMIT - 100 : 0;
    return right && by_grandchild == LIMIT - 100 && left == want && tests_failed == 0;
}

static bool makes_another(struct child *child) {
    rl_service *other = service_in(OWN, child->parent->clock);
    bool right = crew_take(other, child->user, "/", LIMIT + 5) == LIMIT;
    rl_service_free(other);
    return right && crew_take(child->service, child->user, "/", LIMIT + 5) == LIMIT;
}

/* What a child does beside taking all that there is of the parent's keys. */
static bool (*const deeds[])(struct child *) = {refunds_and_resets, reloads,     tells,
                                                waits_for_its_turn, has_threads, forks_again,
                                                makes_another};
static const char *const deed_names[] = {"refunds_and_resets", "reloads",     "tells",
                                         "waits_for_its_turn", "has_threads", "forks_again",
                                         "makes_another"};
enum { DEEDS = sizeof deeds / sizeof *deeds };

static void be_a_child(unsigned index, void *argument) {
    struct parent *parent = argument;
    struct child child = {parent, parent->service, parent->told, ""};
    for (unsigned key = 0; key < KEYS; key++) {
        char user[32];
        name_key(user, parent->round, key);
        child.told->taken[key] =
            take_timed(child.told, child.service, user, apis[key % APIS], LIMIT + 20);
    }
    snprintf(child.user, sizeof child.user, "child-%u", parent->round);
    child.told->did[index]++;
    child.told->wrong[index] += deeds[index](&child) ? 0 : 1;
    if (parent->round / DEEDS % 2 == 0) {
        rl_service_free(child.service);
    }
}

/* ---- forking -------------------------------------------------------------------------- */

struct tally {
    unsigned long over, wrong, amid;
};

static void judge_key(struct parent *parent, unsigned key, struct tally *tally) {
    struct told *told = parent->told;
    unsigned child = told->taken[key], mine = parent->taken[key];
    if (parent->memory != OWN) {
        tally->wrong += child + mine == LIMIT ? 0 : 1;
        return;
    }
    tally->wrong += mine == LIMIT ? 0 : 1;
    if (child + told->before[key] > LIMIT || child + told->started[key] < LIMIT) {
        printf("%s: %u taken before the fork, %u begun after it, %u by the child\n",
               apis[key % APIS], told->before[key], told->started[key], child);
        tally->over += 1;
    }
}

static unsigned started_in_all(struct parent *parent) {
    unsigned sum = 0;
    for (unsigned key = 0; key < KEYS; key++) {
        sum += __atomic_load_n(&parent->started[key], __ATOMIC_RELAXED);
    }
    return sum;
}

static void fork_amid_a_round(struct parent *parent, uint64_t *state, struct tally *tally) {
    struct told *told = parent->told;
    unsigned until = draw(state, HAMMERERS * CHECKS * KEYS);
    while (started_in_all(parent) < until) {
        sched_yield();
    }
    memcpy(told->before, parent->taken, sizeof told->before);
    pid_t pid = crew_start(be_a_child, parent->round % DEEDS, parent);
    memcpy(told->started, parent->started, sizeof told->started);
    for (unsigned key = 0; key < KEYS; key++) {
        if (told->started[key] > 0 && told->started[key] < HAMMERERS * CHECKS) {
            tally->amid++;
            break;
        }
    }
    crew_end(pid);
}

static void fork_each_round(struct parent *parent, struct tally *tally) {
    uint64_t state = 1;
    for (unsigned round = 0; round < parent->rounds; round++) {
        parent->round = round;
        memset(parent->started, 0, sizeof parent->started);
        memset(parent->taken, 0, sizeof parent->taken);
        gate_pass(&parent->gate);
        fork_amid_a_round(parent, &state, tally);
        gate_pass(&parent->gate);
        for (unsigned key = 0; key < KEYS; key++) {
            judge_key(parent, key, tally);
        }
        /* There is no child now: nobody has another time. All these keys are as new. */
        rl_clock_advance_ns(parent->clock, 3 * 3600 * RL_NS_PER_S);
    }
}

static void judge(struct parent *parent, const struct tally *tally, uint64_t gap_ns) {
    struct told *told = parent->told;
    uint64_t longest_ms = told->longest_ns / RL_NS_PER_MS, gap_ms = gap_ns / RL_NS_PER_MS;
    printf("%s memory: %u forks, %lu amid checks, %lu reloads, longest check of a child %llu ms "
           "(the clock alone %llu ms)\n",
           memory_names[parent->memory], parent->rounds, tally->amid, parent->reloads,
           (unsigned long long)longest_ms, (unsigned long long)gap_ms);
    CHECK_UINT(tally->over, 0);
    CHECK_UINT(tally->wrong, 0);
    CHECK_UINT(parent->errors, 0);
    CHECK_UINT(parent->served, WAITERS);
    if (parent->rounds >= 100) { /* else it is under valgrind, and slow */
        CHECK_AT_MOST(longest_ms, MOST_MS + 2 * gap_ms);
    }
    CHECK(tally->amid > 0);
    for (unsigned i = 0; i < DEEDS; i++) {
        test_uint(told->wrong[i], 0, __FILE__, __LINE__, deed_names[i]);
    }
    CHECK_UINT(fixture_stats(parent->service).evicted_live, 0);
}

static void a_child_goes_on(enum memory memory, unsigned rounds) {
    pthread_t hammerers[HAMMERERS], waiters[WAITERS], reloader;
    struct member members[HAMMERERS];
    static struct parent parent;
    struct tally tally = {0, 0, 0};
    memset(&parent, 0, sizeof parent);
    parent.memory = memory;
    parent.clock = fixture_clock(NOW_S * RL_NS_PER_S);
    parent.service = service_in(memory, parent.clock);
    parent.told = crew_memory(sizeof *parent.told);
    parent.rounds = rounds;
    parent.gate.members = HAMMERERS + 1;
    uint64_t *gap_ns = crew_memory(sizeof *gap_ns);
    pid_t control = crew_start(crew_look_at_the_clock, 0, gap_ns);
    NEED(rl_check(parent.service, "turn", "/turn", &(rl_decision){0}) == RL_OK);
    for (unsigned i = 0; i < WAITERS; i++) {
        NEED(pthread_create(&waiters[i], NULL, wait_for_a_turn, &parent) == 0);
    }
    NEED(pthread_create(&reloader, NULL, reload_over_and_over, &parent) == 0);
    for (unsigned i = 0; i < HAMMERERS; i++) {
        members[i] = (struct member){i, NULL, &parent};
        NEED(pthread_create(&hammerers[i], NULL, hammer_each_round, &members[i]) == 0);
    }

    fork_each_round(&parent, &tally);

    for (unsigned i = 0; i < HAMMERERS; i++) {
        NEED(pthread_join(hammerers[i], NULL) == 0);
    }
    __atomic_store_n(&parent.over, true, __ATOMIC_RELEASE);
    NEED(pthread_join(reloader, NULL) == 0);
    for (unsigned i = 0; i < WAITERS; i++) { /* whoever of them is first */
        rl_clock_advance_ns(parent.clock, 50 * YEAR);
        while (__atomic_load_n(&parent.served, __ATOMIC_ACQUIRE) == i) {
            crew_sleep(RL_NS_PER_MS);
        }
    }
    for (unsigned i = 0; i < WAITERS; i++) {
        NEED(pthread_join(waiters[i], NULL) == 0);
    }
    crew_kill(control);
    judge(&parent, &tally, *gap_ns);
    rl_service_free(parent.service);
    rl_clock_free(parent.clock);
}

int main(int argc, char **argv) {
    unsigned forks = (unsigned)test_argument(argc, argv, 300);
    crew_guard(WATCHDOG_S);
    for (unsigned memory = OWN; memory < MEMORIES; memory++) {
        a_child_goes_on((enum memory)memory, forks);
    }
    return test_end();
}
