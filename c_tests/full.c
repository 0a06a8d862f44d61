/*
 * Zones that are full, used by several processes at once: what becomes of new keys under
 * each on-full policy, what is kept meanwhile, and that it all adds up.
 *
 *     full [KEYS]     that many go through a zone of 1 MiB; 1,000,000 when not told
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asks.h"

#define SIZE (64 * 1024)
#define MIB (1024 * 1024ul)
#define PROCESSES 4
#define OLD 50          /* keys that were there before */
#define OLD_LIMIT 1000000
#define WATCHED_LIMIT 64

static const char *const algorithms[] = {"token-bucket", "fixed-window", "sliding-window",
                                         "sliding-window-counter"};

enum policy { EVICT, DENY, ALLOW };
static const char *const policies[] = {"evict", "deny", "allow"};

/* What all processes have seen, in memory that they share. */
struct sums {
    uint64_t tracked_allowed, tracked_denied, untracked_allowed, untracked_denied;
    uint64_t watched_allowed, old_denied, failed;
    uint64_t resident_most; /* bytes of the zone in a process's memory */
};

struct job {
    const char *rules;
    void *zone; /* or NULL where the rules name one */
    struct sums *sums;
    unsigned long keys;
    bool apart; /* each process has keys of its own */
    rl_service *parents; /* of which a child has a copy */
    rl_clock *clock;
};

static void *shared_memory(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    NEED(memory != MAP_FAILED);
    return memory;
}

static void add(uint64_t *sum, unsigned more) { __atomic_add_fetch(sum, more, __ATOMIC_RELAXED); }

static rl_service *start(const struct job *job, rl_clock *clock) {
    rl_service *service = NULL;
    rl_error error;
    rl_config *config = fixture_config(job->rules);
    NEED(rl_config_set_clock(config, clock) == RL_OK);
    if (job->zone != NULL) {
        NEED(rl_config_set_memory(config, job->zone, SIZE) == RL_OK);
    }
    rl_status status = rl_service_new(config, &service, &error);
    test_need(status == RL_OK, __FILE__, __LINE__, job->rules, error.message);
    rl_config_free(config);
    return service;
}

static rl_decision ask(rl_service *service, const char *kind, unsigned long i, const char *api) {
    char user[48];
    snprintf(user, sizeof user, "%s-%lu", kind, i);
    return check(service, user, api, 1);
}

/* Bytes of shared memory that are in this process's memory now. */
static unsigned long resident_shared(void) {
    unsigned long kib = 0;
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    NEED(file != NULL);
    while (fgets(line, sizeof line, file) != NULL && sscanf(line, "RssShmem: %lu", &kib) != 1) {
    }
    fclose(file);
    return kib * 1024;
}

/* One process: new keys, and between them the watched key and the old ones. */
static void use(const struct job *job, unsigned index) {
    struct sums *sums = job->sums;
    rl_clock *clock = fixture_clock(0);
    rl_service *service = start(job, clock);
    for (unsigned long i = 0; i < job->keys; i++) {
        /* The same keys from both ends, or everybody their own. */
        unsigned long number = index % 2 == 0 ? i : job->keys - 1 - i;
        number += job->apart ? index * job->keys : 0;
        rl_decision got = ask(service, "new", number, "");
        if (got.flags & RL_FLAG_UNTRACKED) {
            add(got.allowed ? &sums->untracked_allowed : &sums->untracked_denied, 1);
        } else {
            add(got.allowed ? &sums->tracked_allowed : &sums->tracked_denied, 1);
        }
        if (i % 20 == 0) {
            rl_decision watched = check(service, "watched", "/watched", 1);
            rl_decision old = ask(service, "old", i / 20 % OLD, "/old");
            add(&sums->watched_allowed, watched.allowed || watched.flags != 0);
            add(&sums->old_denied, !old.allowed || old.flags != 0);
        }
    }
    uint64_t resident = resident_shared();
    sums->resident_most = resident > sums->resident_most ? resident : sums->resident_most;
    rl_service_free(service);
    rl_clock_free(clock);
}

static void use_from(const struct job *job, unsigned processes) {
    pid_t children[PROCESSES];
    fflush(stdout); /* or children might print it, too */
    for (unsigned i = 1; i < processes; i++) {
        children[i] = fork();
        NEED(children[i] >= 0);
        if (children[i] == 0) {
            use(job, i);
            rl_service_free(job->parents);
            rl_clock_free(job->clock);
            _exit(0);
        }
    }
    use(job, 0);
    for (unsigned i = 1; i < processes; i++) {
        int status = 0;
        NEED(waitpid(children[i], &status, 0) == children[i]);
        job->sums->failed += status != 0 ? 1 : 0;
    }
}

/* Drains the watched key, and makes the old ones. */
static void prepare(rl_service *service) {
    for (int i = 0; i < WATCHED_LIMIT; i++) {
        NEED(check(service, "watched", "/watched", 1).allowed);
    }
    for (unsigned long i = 0; i < OLD; i++) {
        NEED(ask(service, "old", i, "/old").allowed);
    }
}

static void it_adds_up(const struct sums *sums, rl_stats stats, uint64_t asked,
                       enum policy policy) {
    uint64_t untracked = sums->untracked_allowed + sums->untracked_denied;
    CHECK_UINT(sums->failed, 0);
    CHECK_UINT(sums->watched_allowed, 0);
    CHECK_AT_MOST(stats.keys, stats.capacity);
    CHECK_AT_MOST(stats.log_entries, stats.log_capacity);
    CHECK_UINT(stats.errors, 0);
    CHECK_UINT(stats.evicted_idle, 0); /* the time stands still */
    CHECK_UINT(stats.refused_full, untracked);
    CHECK_UINT(stats.allowed + stats.denied, asked);
    if (policy == EVICT) {
        CHECK(stats.evicted_live > 0);
        CHECK_UINT(untracked, 0);
        return;
    }
    CHECK_UINT(sums->old_denied, 0);
    CHECK_UINT(stats.evicted_live, 0);
    CHECK(untracked > 0);
    CHECK_UINT(policy == DENY ? sums->untracked_allowed : sums->untracked_denied, 0);
    CHECK_UINT(sums->tracked_allowed + OLD + 1, stats.keys); /* each once, whoever asked */
}

static void two_processes_fill_it(const char *algorithm, enum policy policy) {
    const unsigned long keys = 5000;
    char rules[512];
    snprintf(rules, sizeof rules,
             "on-full = %s\ndefault = %s,%d,1h\napi./old = %s,%d,1h\napi./watched = %s,%d,1h\n",
             policies[policy], algorithm, policy == EVICT ? WATCHED_LIMIT : 1, algorithm,
             OLD_LIMIT, algorithm, WATCHED_LIMIT);
    struct sums *sums = shared_memory(sizeof *sums);
    struct job job = {rules, shared_memory(SIZE), sums, keys, false, NULL, NULL};
    rl_clock *clock = fixture_clock(0);
    rl_service *service = start(&job, clock);
    job.parents = service;
    job.clock = clock;
    prepare(service);

    use_from(&job, 2);

    rl_stats stats = fixture_stats(service);
    it_adds_up(sums, stats, WATCHED_LIMIT + OLD + 2 * (keys + 2 * (keys / 20)), policy);
    /* What counts goes on counting, and when it has run out there is room again. */
    rl_decision watched = check(service, "watched", "/watched", 1);
    CHECK(!watched.allowed && watched.flags == 0 && watched.retry_after_ms > 1000);
    rl_clock_advance_ns(clock, 2 * 3600 * RL_NS_PER_S);
    rl_decision late = ask(service, "late", 0, "");
    CHECK(late.allowed && late.flags == 0);
    CHECK(check(service, "watched", "/watched", 1).allowed);
    rl_service_free(service);
    rl_clock_free(clock);
    NEED(munmap(job.zone, SIZE) == 0 && munmap(sums, sizeof *sums) == 0);
}

static void a_million_keys_through_one_mib(const char *algorithm, unsigned long keys) {
    char rules[512], name[64], path[80];
    struct stat object;
    snprintf(name, sizeof name, "/librl-full-%d", (int)getpid());
    snprintf(path, sizeof path, "/dev/shm%s", name);
    snprintf(rules, sizeof rules,
             "shared = %s\nmemory = 1m\ndefault = %s,%d,1h\napi./old = %s,%d,1h\n"
             "api./watched = %s,%d,1h\n",
             name, algorithm, WATCHED_LIMIT, algorithm, OLD_LIMIT, algorithm, WATCHED_LIMIT);
    struct sums *sums = shared_memory(sizeof *sums);
    struct job job = {rules, NULL, sums, keys / PROCESSES, true, NULL, NULL};
    rl_clock *clock = fixture_clock(0);
    unsigned long before = resident_shared();
    rl_service *service = start(&job, clock);
    job.parents = service;
    job.clock = clock;
    prepare(service);

    use_from(&job, PROCESSES);

    rl_stats stats = fixture_stats(service);
    uint64_t between = (job.keys + 19) / 20 * 2;
    it_adds_up(sums, stats, WATCHED_LIMIT + OLD + PROCESSES * (job.keys + between), EVICT);
    CHECK_UINT(sums->tracked_allowed, PROCESSES * job.keys);
    CHECK(!check(service, "watched", "/watched", 1).allowed);
    NEED(stat(path, &object) == 0);
    printf("%s: object of %lu bytes, at most %lu KiB of shared memory in a process\n", algorithm,
           (unsigned long)object.st_size, (unsigned long)(sums->resident_most - before) / 1024);
    CHECK_UINT((unsigned long)object.st_size, stats.memory_bytes);
    CHECK_AT_MOST((unsigned long)object.st_size, MIB);
    CHECK_AT_MOST((unsigned long)object.st_blocks * 512, MIB);
    CHECK_AT_MOST(sums->resident_most - before, 2 * MIB); /* here it is mapped twice */
    rl_service_free(service);
    rl_clock_free(clock);
    CHECK_INT(rl_zone_unlink(name), RL_OK);
    NEED(munmap(sums, sizeof *sums) == 0);
}

int main(int argc, char **argv) {
    unsigned long keys = test_argument(argc, argv, 1000000);
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        for (enum policy policy = EVICT; policy <= ALLOW; policy++) {
            two_processes_fill_it(algorithms[i], policy);
        }
        a_million_keys_through_one_mib(algorithms[i], keys);
    }
    return test_end();
}
