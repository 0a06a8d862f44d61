/*
 * Processes killed at any instruction of a check, while others share their counters.
 *
 *     kills [KILLS]     1,000 kills when not told
 *
 * Four processes hammer; one of them is killed at a random time and replaced, over and
 * over. Nobody else may wait for it, nothing may be given twice, and at most the request
 * that it was at may be lost. Each writes into shared memory what it is about to ask and
 * then what it was told, so that what may be lost is known for each counter.
 *
 * The machine may delay anybody, and with them whoever waits for what they are writing.
 * How much it does so is shown by a process that only looks at the clock: what it misses
 * is granted to the others on top, twice.
 */
#include "crew.h"

enum { HAMMERERS = 4, KILLS_A_ROUND = 10, KEYS = 65536, ASKS = 160, MOST_MS = 100, OF_TWO = 90 };
enum { WATCHDOG_S = 90 };

#define DAY (86400 * RL_NS_PER_S)

/* Windows of 24 days, so that the time can go on within a round and logs have many chunks. */
static const char exact_rules[] = "default = token-bucket,40,24d\n"
                                  "api./fixed = fixed-window,40,24d\n"
                                  "api./log = sliding-window,40,24d\n"
                                  "api./counter = sliding-window-counter,40,24d\n"
                                  "api./two-* = sliding-window,60,24d + fixed-window,90,24d,"
                                  "per=user + token-bucket,1000000,24d,per=all\n"
                                  "memory = 32m\n";

/* Each key has a kind by its number. */
enum kind { BUCKET, FIXED, LOG, COUNTER, TWO, BOTH, KINDS };
static const char *const apis[KINDS] = {"/", "/fixed", "/log", "/counter", "/two-1", "/"};

/* Much more than the zone can hold, in logs that grow and run out. */
static const char crowded_rules[] = "default = sliding-window,64,2\n"
                                    "api./bucket = token-bucket,8,2\n"
                                    "memory = 128k\n";

/* What one of the hammering processes says of itself; 0 where it is at nothing. */
struct seat {
    unsigned at; /* the key that it asks for, and 1 */
};

struct kills {
    char exact[CREW_NAME], crowded[CREW_NAME];
    unsigned round;
    uint64_t asked; /* in this round */
    uint64_t now_ns, crowded_now_ns;
    struct seat seats[HAMMERERS];
    unsigned seen[HAMMERERS]; /* the round that each is in */
    unsigned long joined;     /* services made by those that replace others */
    unsigned long errors;
    uint64_t longest_ns;
    /* By key, in this round. */
    unsigned allowed[KEYS][2], may_be_lost[KEYS];
};

/* ---- hammering ---------------------------------------------------------------------- */

static enum kind kind_of(unsigned key) {
    return (enum kind)(key % KINDS);
}

static void name_key(char user[32], unsigned round, unsigned key) {
    snprintf(user, 32, "key-%u-%u", round, key);
}

static void add_one(unsigned *to, bool allowed) {
    __atomic_add_fetch(to, allowed ? 1 : 0, __ATOMIC_RELAXED);
}

/* One request for a key of the round. Returns what it gave. */
static bool ask_key(struct kills *job, rl_service *service, unsigned round, unsigned key,
                    unsigned which) {
    char user[32];
    rl_decision got[2];
    name_key(user, round, key);
    if (kind_of(key) == BOTH) {
        const rl_request both[2] = {request(user, "/log", 1), request(user, "/", 1)};
        if (rl_check_all(service, both, 2, got) != RL_OK) {
            crew_add(&job->errors, 1);
        }
        return got[0].allowed && got[1].allowed;
    }
    const char *api = kind_of(key) == TWO && which == 1 ? "/two-2" : apis[kind_of(key)];
    if (rl_check(service, user, api, &got[0]) != RL_OK) {
        crew_add(&job->errors, 1);
    }
    return got[0].allowed;
}

static void hammer_key(struct kills *job, unsigned index, rl_service *service, uint64_t *state) {
    unsigned round = __atomic_load_n(&job->round, __ATOMIC_ACQUIRE);
    __atomic_store_n(&job->seen[index], round, __ATOMIC_RELEASE);
    uint64_t asked = __atomic_fetch_add(&job->asked, 1, __ATOMIC_RELAXED);
    unsigned key = (unsigned)(asked / ASKS), which = draw(state, 2);
    if (key >= KEYS) {
        sched_yield();
        return;
    }
    __atomic_store_n(&job->seats[index].at, key + 1, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&job->now_ns, RL_NS_PER_MS, __ATOMIC_RELAXED);
    bool allowed = ask_key(job, service, round, key, which);
    add_one(&job->allowed[key][which], allowed);
    __atomic_store_n(&job->seats[index].at, 0, __ATOMIC_SEQ_CST);
}

static void crowd(struct kills *job, rl_service *service, uint64_t *state) {
    char user[32];
    rl_decision got;
    unsigned many = draw(state, 4) == 0 ? 20000 : 20;
    snprintf(user, sizeof user, "%u", draw(state, many));
    __atomic_add_fetch(&job->crowded_now_ns, RL_NS_PER_MS / 4, __ATOMIC_RELAXED);
    if (rl_check(service, user, draw(state, 4) == 0 ? "/bucket" : "/", &got) != RL_OK) {
        crew_add(&job->errors, 1);
    }
}

struct handles {
    struct kills *job;
    rl_service *exact, *crowded; /* the parent's own; or NULL, to make them */
};

static void hammer(unsigned index, void *argument) {
    struct handles *handles = argument;
    struct kills *job = handles->job;
    rl_service *exact = handles->exact, *crowded = handles->crowded;
    uint64_t state = (uint64_t)getpid();
    if (draw(&state, 2) == 0) {
        exact = crew_service(exact_rules, job->exact, &job->now_ns);
        crowded = crew_service(crowded_rules, job->crowded, &job->crowded_now_ns);
        crew_add(&job->joined, 2);
    }
    for (unsigned i = 0;; i++) {
        uint64_t begun = crew_now();
        if (draw(&state, 4) == 0) {
            crowd(job, crowded, &state);
        } else {
            hammer_key(job, index, exact, &state);
        }
        crew_raise(&job->longest_ns, crew_now() - begun);
    }
}

/* ---- killing ------------------------------------------------------------------------ */

struct tally {
    unsigned long keys, kills, in_a_check, over, lost, lost_too_much;
};

/* What is left of a key after the kills, and what it has given in all. */
static void judge_key(struct kills *job, rl_service *service, unsigned round, unsigned key,
                      struct tally *tally) {
    static const unsigned limits[KINDS] = {40, 40, 40, 40, OF_TWO, 40};
    unsigned *allowed = job->allowed[key], limit = limits[kind_of(key)];
    for (unsigned which = 0; which < 2; which++) {
        for (unsigned i = 0; i < limit + 1; i++) {
            add_one(&allowed[which], ask_key(job, service, round, key, which));
        }
    }
    unsigned sum = allowed[0] + allowed[1], may_be_lost = job->may_be_lost[key];
    bool over = sum > limit || (kind_of(key) == TWO && (allowed[0] > 60 || allowed[1] > 60));
    if (over || sum + may_be_lost < limit) {
        printf("round %u, key %u: %u + %u allowed, %u may be lost\n", round, key, allowed[0],
               allowed[1], may_be_lost);
    }
    tally->keys++;
    tally->over += over ? 1 : 0;
    tally->lost += sum < limit ? limit - sum : 0;
    tally->lost_too_much += sum + may_be_lost < limit ? 1 : 0;
    allowed[0] = allowed[1] = job->may_be_lost[key] = 0;
}

/*
 * Has everybody wait for the next round, as there is no key left to ask for, and returns
 * when nobody is at the one before any more. Says how many keys that had.
 */
static unsigned begin_next_round(struct kills *job) {
    const uint64_t all = (uint64_t)KEYS * ASKS;
    uint64_t asked = __atomic_exchange_n(&job->asked, all, __ATOMIC_SEQ_CST);
    unsigned next = job->round + 1;
    __atomic_store_n(&job->round, next, __ATOMIC_SEQ_CST);
    for (unsigned i = 0; i < HAMMERERS; i++) {
        while (__atomic_load_n(&job->seen[i], __ATOMIC_ACQUIRE) != next) {
            sched_yield();
        }
    }
    return asked < all ? (unsigned)(asked / ASKS) + 1 : KEYS;
}

static void judge_round(struct kills *job, rl_service *service, struct tally *tally) {
    unsigned keys = begin_next_round(job);
    for (unsigned key = 0; key < keys; key++) {
        judge_key(job, service, job->round - 1, key, tally);
    }
    /* All that was counted is as new: three windows, from the beginning of one on. */
    uint64_t window = job->now_ns / (24 * DAY);
    __atomic_store_n(&job->now_ns, (window + 3) * 24 * DAY, __ATOMIC_SEQ_CST);
    __atomic_store_n(&job->asked, 0, __ATOMIC_SEQ_CST);
}

static void kill_one(struct handles *handles, pid_t pids[HAMMERERS], uint64_t *state,
                     struct tally *tally) {
    struct kills *job = handles->job;
    unsigned victim = draw(state, HAMMERERS);
    crew_sleep(draw(state, 16 * RL_NS_PER_MS));
    crew_kill(pids[victim]);
    unsigned at = __atomic_exchange_n(&job->seats[victim].at, 0, __ATOMIC_SEQ_CST);
    if (at != 0) {
        job->may_be_lost[at - 1]++;
        tally->in_a_check++;
    }
    tally->kills++;
    pids[victim] = crew_start(hammer, victim, handles);
}

/* How many new keys a service of logs has room for. */
static unsigned long room_of(rl_service *service) {
    unsigned long room = 0;
    for (unsigned i = 0; i < 4000; i++) {
        char user[32];
        snprintf(user, sizeof user, "room-%u", i);
        room += check(service, user, "/", 1).flags == 0 ? 1 : 0;
    }
    return room;
}

/* After its window every key has its limit again, and no room is lost. */
static void all_is_there_again(struct kills *job) {
    char rules[160], name[CREW_NAME];
    unsigned wrong = 0;
    snprintf(rules, sizeof rules, "%son-full = deny\n", crowded_rules);
    crew_zone(name);
    rl_service *service = crew_service(rules, job->crowded, &job->crowded_now_ns);
    rl_service *unused = crew_service(rules, name, &job->crowded_now_ns);
    for (unsigned user = 0; user < 500; user++) {
        char key[32];
        snprintf(key, sizeof key, "%u", user);
        job->crowded_now_ns += 5 * RL_NS_PER_S;
        wrong += crew_take(service, key, "/", 70) == 64 ? 0 : 1;
        wrong += crew_take(service, key, "/bucket", 10) == 8 ? 0 : 1;
    }
    CHECK_UINT(wrong, 0);
    job->crowded_now_ns += 5 * RL_NS_PER_S;
    unsigned long room = room_of(unused), left = room_of(service);
    printf("of %lu new keys %lu have room\n", room, left);
    CHECK(room > 300);
    CHECK_AT_MOST(room - room / 10, left);
    rl_service_free(service);
    rl_service_free(unused);
}

static void nobody_waits_for_the_dead_and_nothing_is_given_twice(unsigned kills) {
    uint64_t *gap_ns = crew_memory(sizeof *gap_ns);
    struct kills *job = crew_memory(sizeof *job);
    struct tally tally = {0, 0, 0, 0, 0, 0};
    pid_t pids[HAMMERERS];
    uint64_t state = 1;
    crew_zone(job->exact);
    crew_zone(job->crowded);
    job->now_ns = job->crowded_now_ns = 72 * DAY;
    job->round = 1;
    struct handles handles = {job, crew_service(exact_rules, job->exact, &job->now_ns),
                              crew_service(crowded_rules, job->crowded, &job->crowded_now_ns)};
    pid_t control = crew_start(crew_look_at_the_clock, 0, gap_ns);
    for (unsigned i = 0; i < HAMMERERS; i++) {
        pids[i] = crew_start(hammer, i, &handles);
    }
    while (tally.kills < kills) {
        for (unsigned i = 0; i < KILLS_A_ROUND && tally.kills < kills; i++) {
            kill_one(&handles, pids, &state, &tally);
        }
        judge_round(job, handles.exact, &tally);
    }
    for (unsigned i = 0; i < HAMMERERS; i++) {
        crew_kill(pids[i]);
    }
    crew_kill(control);

    rl_stats stats = fixture_stats(handles.exact), crowded = fixture_stats(handles.crowded);
    uint64_t longest_ms = job->longest_ns / RL_NS_PER_MS, gap_ms = *gap_ns / RL_NS_PER_MS;
    printf("%lu kills, %lu in a check: %lu keys, %lu units lost, %llu + %llu locks taken over, "
           "longest %llu ms (the clock alone %llu ms)\n",
           tally.kills, tally.in_a_check, tally.keys, tally.lost,
           (unsigned long long)stats.recovered_locks, (unsigned long long)crowded.recovered_locks,
           (unsigned long long)longest_ms, (unsigned long long)gap_ms);
    CHECK_UINT(tally.over, 0);
    CHECK_UINT(tally.lost_too_much, 0);
    CHECK_UINT(job->errors, 0);
    CHECK_UINT(stats.evicted_live, 0);
    CHECK_UINT(stats.errors + crowded.errors, 0);
    CHECK_AT_MOST(longest_ms, MOST_MS + 2 * gap_ms);
    CHECK(crowded.evicted_live > 0);
    CHECK(job->joined > 0);
    CHECK(kills < 1000 || stats.recovered_locks + crowded.recovered_locks > 0);
    all_is_there_again(job);
    rl_service_free(handles.exact);
    rl_service_free(handles.crowded);
    munmap(job, sizeof *job);
}

/* ---- killed while making the zone ---------------------------------------------------- */

enum { MAKERS = 3 };

struct making {
    char zone[CREW_NAME];
    uint64_t now_ns, longest_ns;
    unsigned made; /* how often a service was made */
};

static const char one_rule[] = "default = sliding-window,30,60\nmemory = 64k\n";

/* Makes the zone, or joins it, over and over. */
static void make_over_and_over(unsigned index, void *argument) {
    struct making *job = argument;
    for (;;) {
        uint64_t begun = crew_now();
        rl_service *service = crew_service(one_rule, job->zone, &job->now_ns);
        crew_raise(&job->longest_ns, crew_now() - begun);
        __atomic_add_fetch(&job->made, 1, __ATOMIC_RELAXED);
        peek(service, "one", "/", 1 + index);
        rl_service_free(service);
    }
}

/* One after the other is killed; then the zone is made by whoever comes. */
static void who_dies_making_the_zone_is_no_hindrance(unsigned rounds) {
    uint64_t *gap_ns = crew_memory(sizeof *gap_ns);
    pid_t control = crew_start(crew_look_at_the_clock, 0, gap_ns);
    struct making *job = crew_memory(sizeof *job);
    uint64_t state = 1;
    unsigned wrong = 0, removed = 0;
    crew_zone(job->zone);
    job->now_ns = 3600 * RL_NS_PER_S;
    for (unsigned round = 0; round < rounds; round++) {
        pid_t pids[MAKERS];
        for (unsigned i = 0; i < MAKERS; i++) {
            pids[i] = crew_start(make_over_and_over, i, job);
        }
        for (unsigned i = 0; i < MAKERS; i++) {
            crew_sleep(draw(&state, RL_NS_PER_MS));
            crew_kill(pids[i]);
        }
        uint64_t begun = crew_now();
        rl_service *service = crew_service(one_rule, job->zone, &job->now_ns);
        crew_raise(&job->longest_ns, crew_now() - begun);
        wrong += crew_take(service, "one", "/", 40) == 30 ? 0 : 1;
        rl_service_free(service);
        removed += rl_zone_unlink(job->zone) == RL_OK ? 1 : 0;
    }
    crew_kill(control);
    uint64_t longest_ms = job->longest_ns / RL_NS_PER_MS, gap_ms = *gap_ns / RL_NS_PER_MS;
    printf("%u zones made by %d that were killed; %u times made or joined, longest %llu ms (the "
           "clock alone %llu ms)\n",
           rounds, MAKERS, job->made, (unsigned long long)longest_ms, (unsigned long long)gap_ms);
    CHECK_AT_MOST(longest_ms, MOST_MS + 2 * gap_ms);
    CHECK_UINT(wrong, 0);
    CHECK_UINT(removed, rounds);
    CHECK(job->made > 0);
    munmap(job, sizeof *job);
}

int main(int argc, char **argv) {
    unsigned kills = (unsigned)test_argument(argc, argv, 1000);
    crew_guard(WATCHDOG_S + kills / 10);
    nobody_waits_for_the_dead_and_nothing_is_given_twice(kills);
    who_dies_making_the_zone_is_no_hindrance(kills / 2 + 1);
    return test_end();
}
