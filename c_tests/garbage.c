/*
 * A zone may hold any bytes, since any process that may write to it may have written them.
 * The answers are then wrong at worst: no call crashes, looks outside of the zone, or goes
 * on for ever.
 *
 *     garbage [MILLISECONDS [SEED [LONGEST]]]
 *
 * For so long each kind of garbage is written while four threads call (200 ms). The seed is
 * printed; 0 is another one each time. When the writing has stopped no call may take more
 * than LONGEST ms (1000). A lock that names somebody who may live is waited for; such words
 * are put right before, but for the test at the end.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "asks.h"
#include "team.h"

#define RULES                                                                             \
    "memory = 64k\n"                                                                      \
    "default = token-bucket,5,1 + fixed-window,100,10,per=user"                           \
    " + sliding-window,50,10 + sliding-window-counter,1000,60,per=all\n"                  \
    "api./0 = token-bucket,5,10\napi./1 = fixed-window,5,10\n"                            \
    "api./2 = sliding-window,20,1\napi./3 = sliding-window-counter,5,10\n"                \
    "api./4 = sliding-window,20,1 + sliding-window,5000,1h,per=api\n"

/* The layout: src/machine/mod.rs, src/table/zone.rs, seat.rs, bucket.rs and chunk.rs. In words. */
enum {
    BUCKETS = 2, CHUNKS = 3, RECOVERING = 32, SEATS = 296, SEAT = 8, SEATS_THERE = 24,
    BODY = 512, BUCKET = 16, CHUNK = 16, PAGE = 4096, SIZE = 64 * 1024,
};
enum { HOLDER, FREE }; /* of a seat */

#define TAKEN (1ull << 32)
#define DEAD 0xffffffffu /* no process: a tag, and an id that is not given out */

struct zone {
    uint64_t *words;
    size_t count, buckets, chunks;
};

static uint64_t seed;
static unsigned long longest_ms;

static uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void nap_ms(long ms) {
    const struct timespec nap = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&nap, NULL);
}

static uint64_t any64(void) {
    uint64_t high = draw(&seed, 1u << 31), low = draw(&seed, 1u << 31);
    return high << 40 ^ low << 20 ^ draw(&seed, 1u << 31);
}

/* --- Zones ------------------------------------------------------------------------- */

static struct zone zone_at(void *memory, size_t size) {
    struct zone zone = {memory, size / 8, 0, 0};
    zone.buckets = (size_t)zone.words[BUCKETS];
    zone.chunks = (size_t)zone.words[CHUNKS];
    NEED(BODY + zone.buckets * BUCKET + zone.chunks * CHUNK <= zone.count);
    NEED(zone.buckets > 0 && zone.chunks > 0);
    return zone;
}

static void put(struct zone zone, size_t word, uint64_t value) {
    __atomic_store_n(&zone.words[word], value, __ATOMIC_RELAXED);
}

static uint64_t get(struct zone zone, size_t word) {
    return __atomic_load_n(&zone.words[word], __ATOMIC_RELAXED);
}

/* Zeroed shared memory between two pages that nobody may touch. */
static void *guarded(size_t size) {
    char *base = mmap(NULL, size + 2 * PAGE, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    NEED(base != MAP_FAILED);
    NEED(mprotect(base + PAGE, size, PROT_READ | PROT_WRITE) == 0);
    return base + PAGE;
}

static void unguard(void *memory, size_t size) {
    NEED(munmap((char *)memory - PAGE, size + 2 * PAGE) == 0);
}

static rl_status open_given(void *memory, size_t size, const char *rules, rl_clock *clock,
                            rl_service **out) {
    rl_error error;
    rl_config *config = fixture_config(rules);
    if (clock != NULL) {
        NEED(rl_config_set_clock(config, clock) == RL_OK);
    }
    NEED(rl_config_set_memory(config, memory, size) == RL_OK);
    rl_status status = rl_service_new(config, out, &error);
    rl_config_free(config);
    return status;
}

/* --- Garbage ------------------------------------------------------------------------ */

/* The id of a process: see src/table/process.rs. */
static uint32_t id_of(pid_t pid) {
    char path[64];
    unsigned long long started = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    NEED(file != NULL);
    NEED(fscanf(file, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
                      "%*d %*d %*d %*d %llu", &started) == 1);
    fclose(file);
    return (uint32_t)(1 + started % 1023) << 22 | (uint32_t)pid;
}

/* Somebody who may hold a lock: this process, the first, a dead one, nobody, anybody. */
static uint32_t somebody(void) {
    const uint32_t all[] = {id_of(getpid()), id_of(1), DEAD, 0, 1, (uint32_t)getpid()};
    uint32_t one = draw(&seed, 8);
    return one < 6 ? all[one] : (uint32_t)any64();
}

static uint64_t small(struct zone zone) {
    const uint32_t below[] = {3, 9, (uint32_t)zone.chunks + 2, (uint32_t)zone.buckets * 8 + 9};
    uint64_t word = draw(&seed, below[draw(&seed, 4)]);
    return draw(&seed, 3) > 0 ? word : word << 32 | draw(&seed, (uint32_t)zone.chunks + 2);
}

static void fill(struct zone zone, size_t from, size_t to, uint64_t (*word)(struct zone)) {
    for (size_t i = from; i < to; i++) {
        put(zone, i, word(zone));
    }
}

static uint64_t any(struct zone zone) {
    (void)zone;
    return any64();
}

static uint64_t ones(struct zone zone) {
    (void)zone;
    return ~0ull;
}

static uint64_t from_elsewhere(struct zone zone) {
    return get(zone, draw(&seed, (uint32_t)zone.count));
}

static void all_random(struct zone zone) { fill(zone, 0, zone.count, any); }
static void header_random(struct zone zone) { fill(zone, 0, BODY, any); }
static void body_random(struct zone zone) { fill(zone, BODY, zone.count, any); }
static void all_small(struct zone zone) { fill(zone, 0, zone.count, small); }
static void all_ones(struct zone zone) { fill(zone, 0, zone.count, ones); }

static void single_bits(struct zone zone) {
    for (int i = 0; i < 1000; i++) {
        size_t word = draw(&seed, (uint32_t)zone.count);
        put(zone, word, get(zone, word) ^ 1ull << draw(&seed, 64));
    }
}

static void copies(struct zone zone) {
    for (int i = 0; i < 1000; i++) {
        put(zone, draw(&seed, (uint32_t)zone.count), from_elsewhere(zone));
    }
}

static void locks(struct zone zone) {
    for (size_t i = 0; i < zone.buckets; i++) {
        uint64_t count = any64() & 0xffffffff;
        put(zone, BODY + i * BUCKET, (uint64_t)somebody() << 32 | count);
    }
    put(zone, RECOVERING, draw(&seed, 2) ? TAKEN | somebody() : any64());
}

/* Rings of chunks, and seats that name what is not there. */
static void seats(struct zone zone) {
    for (size_t i = 0; i < zone.chunks; i++) {
        size_t chunk = BODY + zone.buckets * BUCKET + i * CHUNK;
        put(zone, chunk, (uint64_t)draw(&seed, (uint32_t)zone.buckets + 2) << 32 |
                             draw(&seed, (uint32_t)zone.chunks + 2));
    }
    for (size_t i = 0; i < SEATS_THERE; i++) {
        size_t seat = SEATS + i * SEAT;
        fill(zone, seat, seat + SEAT, draw(&seed, 2) ? small : any);
        put(zone, seat + HOLDER, draw(&seed, 2) ? TAKEN | somebody() : 0);
        put(zone, seat + FREE, draw(&seed, (uint32_t)zone.chunks + 2));
    }
}

/* The words of another zone, with as many keys. */
static void of_another(struct zone zone) {
    void *memory = guarded(SIZE);
    rl_service *service = NULL;
    NEED(open_given(memory, SIZE, RULES, NULL, &service) == RL_OK);
    for (int i = 0; i < 300; i++) {
        char user[32];
        snprintf(user, sizeof user, "other-%d", i);
        check(service, user, i % 2 ? "/2" : "/4", 1);
    }
    struct zone other = zone_at(memory, SIZE);
    for (size_t i = 0; i < zone.count && i < other.count; i++) {
        put(zone, i, get(other, i));
    }
    rl_service_free(service);
    unguard(memory, SIZE);
}

static const struct kind {
    const char *name;
    void (*write)(struct zone);
} kinds[] = {
    {"random", all_random},       {"bits", single_bits}, {"header", header_random},
    {"body", body_random},        {"small", all_small},  {"ones", all_ones},
    {"copies", copies},           {"locks", locks},      {"seats", seats},
    {"another zone", of_another},
};

/* Whether who holds something with this id would be waited for. */
static bool is_waited_for(uint32_t id) {
    pid_t pid = (pid_t)(id & ((1u << 22) - 1));
    return id == 0 || (pid > 0 && (kill(pid, 0) == 0 || errno != ESRCH));
}

/* Lets everything be held by the dead that may be held by the living, or by nobody. */
static unsigned long bury(struct zone zone) {
    unsigned long buried = 0;
    for (size_t i = 0; i < zone.buckets; i++) {
        uint64_t version = get(zone, BODY + i * BUCKET);
        if (version % 2 == 1 && is_waited_for((uint32_t)(version >> 32))) {
            put(zone, BODY + i * BUCKET, (uint64_t)DEAD << 32 | (version & 0xffffffff));
            buried++;
        }
    }
    for (size_t i = 0; i <= SEATS_THERE; i++) {
        size_t word = i < SEATS_THERE ? SEATS + i * SEAT + HOLDER : RECOVERING;
        if (get(zone, word) != 0 && is_waited_for((uint32_t)get(zone, word))) {
            put(zone, word, TAKEN | DEAD);
            buried++;
        }
    }
    return buried;
}

/* --- Calls meanwhile ----------------------------------------------------------------- */

struct storm {
    rl_service *service;
    struct zone zone;
    const struct kind *kind;
    unsigned long ms;
    uint64_t calm_since; /* 0 before */
    unsigned calls, longest, errors, buried;
    bool over;
};

static void one_call(rl_service *service, uint32_t number, uint32_t which) {
    char user[32], api[8], text[4096];
    size_t needed;
    rl_decision out[2];
    snprintf(user, sizeof user, "user-%u", number % 1000);
    snprintf(api, sizeof api, "/%u", number % 6);
    const rl_request two[2] = {request(user, api, 1), request("all", "/4", 2)};
    switch (which) {
    case 0: charge(service, user, api, 3); break;
    case 1: refund(service, user, api, 2); break;
    case 2: reset(service, user, api); break;
    case 3: peek(service, user, api, 1); break;
    case 4: fixture_stats(service); break;
    case 5: reload(service, RULES); break;
    case 6: NEED(rl_check_all(service, two, 2, out) == RL_OK); break;
    case 7: NEED(rl_check_batch(service, two, 2, out) == RL_OK); break;
    case 8: NEED(rl_stats_prometheus(service, text, sizeof text, &needed) == RL_OK); break;
    default: check(service, user, api, 1 + number % 7);
    }
}

static void *call(void *argument) {
    struct member *me = argument;
    struct storm *storm = me->job;
    uint64_t state = me->index + 1;
    while (!__atomic_load_n(&storm->over, __ATOMIC_ACQUIRE)) {
        uint64_t begun = now_ms();
        one_call(storm->service, draw(&state, 1u << 30), draw(&state, 40));
        uint64_t ended = now_ms(), calm = __atomic_load_n(&storm->calm_since, __ATOMIC_ACQUIRE);
        __atomic_add_fetch(&storm->calls, 1, __ATOMIC_RELAXED);
        if (calm > 0) {
            unsigned took = (unsigned)(ended - (begun > calm ? begun : calm));
            unsigned most = __atomic_load_n(&storm->longest, __ATOMIC_RELAXED);
            while (took > most && !__atomic_compare_exchange_n(&storm->longest, &most, took, 0,
                                                               __ATOMIC_RELAXED,
                                                               __ATOMIC_RELAXED)) {
            }
        }
    }
    return NULL;
}

static void *write_garbage(struct storm *storm) {
    uint64_t until = now_ms() + storm->ms;
    do {
        storm->kind->write(storm->zone);
        nap_ms(draw(&seed, 3));
    } while (now_ms() < until);
    storm->buried = (unsigned)bury(storm->zone);
    __atomic_store_n(&storm->calm_since, now_ms(), __ATOMIC_RELEASE);
    nap_ms((long)storm->ms);
    __atomic_store_n(&storm->over, true, __ATOMIC_RELEASE);
    return NULL;
}

static void *work(void *argument) {
    struct member *me = argument;
    return me->index == 0 ? write_garbage(me->job) : call(argument);
}

static void every_call_comes_back(rl_service *service, struct zone zone, const char *where,
                                  unsigned long ms) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct storm storm = {service, zone, &kinds[i], ms, 0, 0, 0, 0, 0, false};
        team_run(5, work, &storm);
        rl_stats stats = fixture_stats(service);
        printf("%s, %s: %u calls, the longest %u ms, %u locks buried\n", where, kinds[i].name,
               storm.calls, storm.longest, storm.buried);
        CHECK(storm.calls > 0);
        CHECK_AT_MOST(storm.longest, longest_ms);
        CHECK_AT_MOST(stats.keys, stats.capacity);
    }
}

static void in_given_memory(unsigned long ms) {
    void *memory = guarded(SIZE);
    rl_service *service = NULL, *late = NULL;
    NEED(open_given(memory, SIZE, RULES, NULL, &service) == RL_OK);
    every_call_comes_back(service, zone_at(memory, SIZE), "given", ms);
    rl_service_free(service);
    all_random((struct zone){memory, SIZE / 8, 1, 1});
    CHECK_INT(open_given(memory, SIZE, RULES, NULL, &late), RL_ERR_ZONE);
    unguard(memory, SIZE);
}

static void in_shared_memory(unsigned long ms) {
    char rules[1024], name[64];
    snprintf(name, sizeof name, "/librl-garbage-%d", (int)getpid());
    snprintf(rules, sizeof rules, "shared = %s\n%s", name, RULES);
    rl_service *service = fixture_service(rules, NULL);
    size_t size = (size_t)fixture_stats(service).memory_bytes;
    int object = shm_open(name, O_RDWR, 0);
    NEED(object >= 0);
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, object, 0);
    NEED(memory != MAP_FAILED);
    close(object);
    every_call_comes_back(service, zone_at(memory, size), "shared", ms);
    rl_service_free(service);
    NEED(munmap(memory, size) == 0);
    CHECK_INT(rl_zone_unlink(name), RL_OK);
}

/* --- Rings --------------------------------------------------------------------------- */

#define LARGE (32ul * 1024 * 1024)
#define LARGE_KEYS 20000

/* All chunks are one ring that is walked from end to end, and every log begins there. */
static void make_rings(struct zone zone) {
    size_t chunks = BODY + zone.buckets * BUCKET, step = zone.chunks / 3 | 1;
    for (size_t i = 0; i < zone.chunks; i++) {
        size_t chunk = chunks + i * CHUNK;
        put(zone, chunk, (i + step) % zone.chunks + 1);
        put(zone, chunk + 1, 13ull << 32);
        put(zone, chunk + 2, ~0ull);
    }
    for (size_t i = 0; i < zone.buckets; i++) {
        for (size_t slot = 0; slot < 5; slot++) {
            size_t bucket = BODY + i * BUCKET;
            put(zone, bucket + 7 + 2 * slot, (uint64_t)(1 + (i * 5 + slot) % zone.chunks) << 32);
            if (i % 2 == 0) {
                put(zone, bucket, (uint64_t)DEAD << 32 | 1);
            }
        }
    }
}

static void a_walk_round_a_ring_ends_soon(void) {
    uint64_t longest = 0;
    void *memory = guarded(LARGE);
    rl_clock *clock = fixture_clock(7200 * RL_NS_PER_S);
    rl_service *service = NULL;
    const char *rule = "default = sliding-window,100,1h";
    NEED(open_given(memory, LARGE, rule, clock, &service) == RL_OK);
    for (uint32_t i = 0; i < LARGE_KEYS; i++) {
        char user[32];
        snprintf(user, sizeof user, "user-%u", i);
        check(service, user, "", 1);
    }
    make_rings(zone_at(memory, LARGE));
    uint64_t begun = now_ms();
    fixture_stats(service);
    uint64_t took = now_ms() - begun;
    for (uint32_t i = 0; i < LARGE_KEYS; i += LARGE_KEYS / 50) {
        char user[32];
        snprintf(user, sizeof user, "user-%u", i);
        make_rings(zone_at(memory, LARGE)); /* the last check may have cut them */
        begun = now_ms();
        check(service, user, "", 1);
        uint64_t check_took = now_ms() - begun;
        longest = check_took > longest ? check_took : longest;
    }
    printf("rings in 32 MiB: the longest check %lu ms, statistics %lu ms\n",
           (unsigned long)longest, (unsigned long)took);
    CHECK_AT_MOST(longest, longest_ms);
    CHECK_AT_MOST(took, 5 * longest_ms);
    rl_service_free(service);
    rl_clock_free(clock);
    unguard(memory, LARGE);
}

/* --- What a hostile writer can do: make others wait ------------------------------------- */

/* A zone in which everything of a kind is held by one, who may be killed meanwhile. */
struct wait {
    uint32_t holder;
    bool holds_seats; /* and the right to recover; else all buckets */
    bool is_killed;
    uint64_t took_ms;
    uint64_t recovered;
};

static void hold(struct zone zone, const struct wait *wait) {
    for (size_t i = 0; i < zone.buckets && !wait->holds_seats; i++) {
        put(zone, BODY + i * BUCKET, (uint64_t)wait->holder << 32 | 1);
    }
    for (size_t i = 0; i < SEATS_THERE && wait->holds_seats; i++) {
        put(zone, SEATS + i * SEAT + HOLDER, TAKEN | wait->holder);
        put(zone, RECOVERING, TAKEN | wait->holder);
    }
}

static void *kill_after_half_a_second(void *holder) {
    pid_t pid = *(const pid_t *)holder;
    nap_ms(500);
    kill(pid, SIGKILL);
    NEED(waitpid(pid, NULL, 0) == pid);
    return NULL;
}

/* How long a call takes of a key that is there. It needs a seat: both its words change. */
static void *wait_for(void *argument) {
    struct member *me = argument;
    struct wait *wait = (struct wait *)me->job + me->index;
    void *memory = guarded(SIZE);
    rl_clock *clock = fixture_clock(0);
    rl_service *service = NULL;
    const char *rule = "default = sliding-window-counter,5,10";
    NEED(open_given(memory, SIZE, rule, clock, &service) == RL_OK);
    check(service, "a", "", 1);
    rl_clock_advance_ns(clock, 11 * RL_NS_PER_S);
    hold(zone_at(memory, SIZE), wait);
    pthread_t killer;
    pid_t holder = (pid_t)(wait->holder & ((1u << 22) - 1));
    NEED(!wait->is_killed ||
         pthread_create(&killer, NULL, kill_after_half_a_second, &holder) == 0);
    uint64_t begun = now_ms();
    check(service, "a", "", 1);
    wait->took_ms = now_ms() - begun;
    NEED(!wait->is_killed || pthread_join(killer, NULL) == 0);
    wait->recovered = fixture_stats(service).recovered_locks;
    rl_service_free(service);
    rl_clock_free(clock);
    unguard(memory, SIZE);
    return NULL;
}

static void the_living_are_waited_for_and_nobody_for_10_seconds(void) {
    pid_t child = fork();
    if (child == 0) {
        nap_ms(60000);
        _exit(0);
    }
    NEED(child > 0);
    struct wait waits[] = {
        {id_of(child), false, true, 0, 0}, {DEAD, false, false, 0, 0}, {DEAD, true, false, 0, 0},
        {0, false, false, 0, 0},           {0, true, false, 0, 0},
    };
    team_run(5, wait_for, waits);
    for (size_t i = 0; i < 5; i++) {
        printf("held by %#x: %lu ms\n", (unsigned)waits[i].holder, (unsigned long)waits[i].took_ms);
        CHECK_UINT(waits[i].recovered, waits[i].holds_seats ? 0 : 1);
    }
    CHECK(waits[0].took_ms >= 450);
    CHECK_AT_MOST(waits[0].took_ms, 500 + longest_ms);
    CHECK_AT_MOST(waits[1].took_ms, longest_ms);
    CHECK_AT_MOST(waits[2].took_ms, longest_ms);
    CHECK(waits[3].took_ms >= 9900);
    CHECK_AT_MOST(waits[3].took_ms, 10000 + longest_ms);
    CHECK(waits[4].took_ms >= 9900); /* for the seats, and then for who recovers */
    CHECK_AT_MOST(waits[4].took_ms, 20000 + longest_ms);
}

static unsigned long number(int argc, char **argv, int index, unsigned long otherwise) {
    return argc > index ? strtoul(argv[index], NULL, 10) : otherwise;
}

/* garbage [ms a scenario] [seed] [longest ms of a call] [0: without what waits for 20 s] */
int main(int argc, char **argv) {
    unsigned long ms = number(argc, argv, 1, 200);
    seed = number(argc, argv, 2, 0);
    seed = seed != 0 ? seed : (uint64_t)time(NULL);
    longest_ms = number(argc, argv, 3, 1000);
    printf("seed %llu\n", (unsigned long long)seed);
    in_given_memory(ms);
    in_shared_memory(ms);
    a_walk_round_a_ring_ends_soon();
    if (number(argc, argv, 4, 1) != 0) {
        the_living_are_waited_for_and_nobody_for_10_seconds();
    }
    return test_end();
}
