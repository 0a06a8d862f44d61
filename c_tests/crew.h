/*
 * A crew of processes that do one job together over shared memory.
 *
 * A program begins with crew_guard(). From there on the test runs in a child, and the
 * first process is its guard: when the test ends, or takes longer than it may, the guard
 * ends every process of it and removes every zone, whatever has gone wrong. So no test
 * hangs, and none leaves anything behind.
 *
 * As with threads, checks are for the main process: the others count, in shared memory,
 * and main compares. A NEED that fails in one of them shows in how it ends.
 *
 * Include this first: it asks for what is not in C99.
 */
#ifndef LIBRL_CREW_H
#define LIBRL_CREW_H

#define _GNU_SOURCE /* MAP_ANONYMOUS, memfd_create */

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "asks.h"
#include "team.h"

enum { CREW_MOST = 16, CREW_ZONES = 4096, CREW_NAME = 40 };

/* ---- memory, time and small things ------------------------------------------------- */

/* Zeroed memory that all processes forked later have in common. */
static inline void *crew_memory(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    NEED(memory != MAP_FAILED);
    return memory;
}

static inline uint64_t crew_now(void) {
    struct timespec now;
    NEED(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * RL_NS_PER_S + (uint64_t)now.tv_nsec;
}

static inline void crew_sleep(uint64_t ns) {
    struct timespec rest = {(time_t)(ns / RL_NS_PER_S), (long)(ns % RL_NS_PER_S)};
    while (nanosleep(&rest, &rest) != 0) {
        NEED(errno == EINTR);
    }
}

static inline void crew_add(unsigned long *to, unsigned long what) {
    __atomic_add_fetch(to, what, __ATOMIC_RELAXED);
}

static inline void crew_raise(uint64_t *most, uint64_t seen) {
    uint64_t now = __atomic_load_n(most, __ATOMIC_RELAXED);
    while (now < seen && !__atomic_compare_exchange_n(most, &now, seen, false, __ATOMIC_RELAXED,
                                                      __ATOMIC_RELAXED)) {
    }
}

/* ---- the guard ---------------------------------------------------------------------- */

struct crew_guarded {
    pid_t test;
    unsigned zones; /* how many names were given out */
};

static struct crew_guarded *crew_guarded;

static inline void crew_name_zone(char name[CREW_NAME], unsigned number) {
    snprintf(name, CREW_NAME, "/librl-test-%ld-%u", (long)crew_guarded->test, number);
}

/* A name that no other zone has. The guard removes the zone, if the test does not. */
static inline void crew_zone(char name[CREW_NAME]) {
    unsigned number = __atomic_fetch_add(&crew_guarded->zones, 1, __ATOMIC_RELAXED);
    NEED(number < CREW_ZONES);
    crew_name_zone(name, number);
}

/* Waits for a process; NULL after so many seconds. */
static inline const int *crew_wait_for(pid_t pid, unsigned seconds) {
    static int status;
    uint64_t end = crew_now() + seconds * RL_NS_PER_S;
    pid_t ended = 0;
    while (ended == 0 && crew_now() < end) {
        ended = waitpid(pid, &status, WNOHANG);
        if (ended == 0) {
            crew_sleep(5 * RL_NS_PER_MS);
        }
    }
    return ended == pid ? &status : NULL;
}

/* Whether there are still processes in a group, which have then been killed. */
static inline bool crew_kill_group(pid_t group) {
    return kill(-group, SIGKILL) == 0;
}

static inline int crew_watch(unsigned seconds) {
    pid_t test = crew_guarded->test;
    const int *status = crew_wait_for(test, seconds);
    int code = status != NULL && WIFEXITED(*status) ? WEXITSTATUS(*status) : EXIT_FAILURE;
    bool left_behind = crew_kill_group(test);
    if (status == NULL) {
        printf("the test took longer than %u s\n", seconds);
        waitpid(test, NULL, 0);
    } else if (!WIFEXITED(*status)) {
        printf("the test ended by signal %d\n", WTERMSIG(*status));
    } else if (left_behind && code == 0) {
        printf("the test left processes behind\n");
        code = EXIT_FAILURE;
    }
    for (unsigned number = 0; number < crew_guarded->zones && number < CREW_ZONES; number++) {
        char name[CREW_NAME];
        crew_name_zone(name, number);
        shm_unlink(name);
    }
    return code;
}

/* Returns in the test, which may take so many seconds; never in the guard. */
static inline void crew_guard(unsigned seconds) {
    setvbuf(stdout, NULL, _IOLBF, 1024); /* nothing in it is written twice after a fork */
    crew_guarded = crew_memory(sizeof *crew_guarded);
    pid_t test = fork();
    NEED(test >= 0);
    if (test == 0) {
        NEED(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
        NEED(setpgid(0, 0) == 0);
        crew_guarded->test = getpid();
        return;
    }
    setpgid(test, test);
    crew_guarded->test = test;
    exit(crew_watch(seconds));
}

/* ---- processes ---------------------------------------------------------------------- */

/* As fork(). The child ends with its parent, at the latest. */
static inline pid_t crew_fork(void) {
    pid_t pid = fork();
    NEED(pid >= 0);
    if (pid == 0) {
        NEED(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
        tests_failed = 0; /* those of the parent */
    }
    return pid;
}

/* Waits for a process, which must end with 0. */
static inline void crew_end(pid_t pid) {
    int status = 0;
    NEED(waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
}

/* Kills a process, which must not have ended by itself, and waits for it. */
static inline void crew_kill(pid_t pid) {
    int status = 0;
    NEED(kill(pid, SIGKILL) == 0);
    NEED(waitpid(pid, &status, 0) == pid);
    NEED(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Starts a process that does `work` and ends. */
static inline pid_t crew_start(void (*work)(unsigned index, void *job), unsigned index,
                               void *job) {
    pid_t pid = crew_fork();
    if (pid == 0) {
        work(index, job);
        _exit(tests_failed == 0 ? 0 : 1);
    }
    return pid;
}

/* Does `work` in `count` processes at once, and waits for all of them. */
static inline void crew_run(unsigned count, void (*work)(unsigned index, void *job), void *job) {
    pid_t pids[CREW_MOST];
    NEED(count <= CREW_MOST);
    for (unsigned i = 0; i < count; i++) {
        pids[i] = crew_start(work, i, job);
    }
    for (unsigned i = 0; i < count; i++) {
        crew_end(pids[i]);
    }
}

/*
 * For a process beside the others that is to be killed: for how long the machine kept it
 * from the processor, at most. Others may have been delayed as long, whatever they did.
 */
static inline void crew_look_at_the_clock(unsigned index, void *longest_ns) {
    uint64_t last = crew_now();
    for (;; index++) {
        uint64_t now = crew_now();
        crew_raise(longest_ns, now - last);
        last = now;
    }
}

/* ---- services ----------------------------------------------------------------------- */

/* A clock that shows the same in all processes: a number in shared memory. */
static inline uint64_t crew_read_clock(void *now_ns) {
    return __atomic_load_n((uint64_t *)now_ns, __ATOMIC_ACQUIRE);
}

static inline rl_status crew_try_service(const char *rules, const char *zone, uint64_t *now_ns,
                                         rl_service **service, rl_error *error) {
    char shared[CREW_NAME + 16];
    rl_config *config = fixture_config(rules);
    rl_clock *clock = NULL;
    snprintf(shared, sizeof shared, "shared = %s", zone);
    NEED(rl_config_parse(config, shared, RL_NUL, NULL) == RL_OK);
    if (now_ns != NULL) {
        NEED(rl_clock_new_callback(crew_read_clock, now_ns, &clock) == RL_OK);
        NEED(rl_config_set_clock(config, clock) == RL_OK);
    }
    rl_status status = rl_service_new(config, service, error);
    rl_clock_free(clock);
    rl_config_free(config);
    return status;
}

/* A service in a zone, with the clock at `now_ns`, or the system's where that is NULL. */
static inline rl_service *crew_service(const char *rules, const char *zone, uint64_t *now_ns) {
    rl_service *service = NULL;
    rl_error error;
    rl_status status = crew_try_service(rules, zone, now_ns, &service, &error);
    test_need(status == RL_OK, __FILE__, __LINE__, rules, error.message);
    return service;
}

/* A service in memory of the caller's, by a clock in shared memory. */
static inline rl_service *crew_service_in(const char *rules, void *memory, size_t size,
                                          uint64_t *now_ns) {
    rl_config *config = fixture_config(rules);
    rl_clock *clock = NULL;
    rl_service *service = NULL;
    rl_error error;
    NEED(rl_clock_new_callback(crew_read_clock, now_ns, &clock) == RL_OK);
    NEED(rl_config_set_clock(config, clock) == RL_OK);
    NEED(rl_config_set_memory(config, memory, size) == RL_OK);
    rl_status status = rl_service_new(config, &service, &error);
    test_need(status == RL_OK, __FILE__, __LINE__, rules, error.message);
    rl_clock_free(clock);
    rl_config_free(config);
    return service;
}

/* How many of `checks` requests of a pair are allowed. */
static inline unsigned crew_take(rl_service *service, const char *user, const char *api,
                                 unsigned checks) {
    unsigned allowed = 0;
    for (unsigned i = 0; i < checks; i++) {
        allowed += check(service, user, api, 1).allowed ? 1 : 0;
    }
    return allowed;
}

#endif
