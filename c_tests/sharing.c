/*
 * What processes have in common that name one zone, or that were given one memory, and
 * what is each one's own.
 *
 *     sharing [ROUNDS]     100 rounds of 8 that begin at once in zeroed memory
 *
 * A child does what it is told between two gates, so that parent and child take turns.
 */
#include "crew.h"

enum { WATCHDOG_S = 120, MEMORY = 64 * 1024 };

#define NOW (3600 * RL_NS_PER_S)

/* What a child found, and what it may need to know. */
struct found {
    char zone[CREW_NAME];
    uint64_t now_ns;
    struct gate gate;
    uint64_t numbers[8];
    rl_stats stats;
    void *memory;
    int file;
    unsigned allowed, rounds;
    unsigned long wrong;
};

static struct found *begin(void) {
    struct found *found = crew_memory(sizeof *found);
    crew_zone(found->zone);
    found->now_ns = NOW;
    found->gate.members = 2;
    return found;
}

static void end(struct found *found) {
    CHECK_INT(rl_zone_unlink(found->zone), RL_OK);
    munmap(found, sizeof *found);
}

/* ---- what stays when all have ended ---------------------------------------------------- */

static const char kept_rules[] = "default = token-bucket,5,60\n"
                                 "api./fixed = fixed-window,5,60\n"
                                 "api./log = sliding-window,5,60\n"
                                 "api./counter = sliding-window-counter,5,60\n";
static const char *const apis[] = {"/", "/fixed", "/log", "/counter"};
enum { APIS = 4 };

static void take_two_of_each(unsigned index, void *argument) {
    struct found *found = argument;
    char rules[256];
    snprintf(rules, sizeof rules, "%smemory = %s\n", kept_rules, index == 0 ? "1m" : "9m");
    rl_service *service = crew_service(rules, found->zone, &found->now_ns);
    for (unsigned i = 0; i < APIS; i++) {
        crew_take(service, "a", apis[i], 2);
    }
    found->numbers[index] = fixture_stats(service).memory_bytes;
    if (index == 0) {
        rl_service_free(service);
    } else {
        kill(getpid(), SIGKILL);
    }
}

static void counters_outlive_all_who_had_them(void) {
    struct found *found = begin();
    crew_end(crew_start(take_two_of_each, 0, found));
    pid_t killed = crew_start(take_two_of_each, 1, found);
    NEED(waitpid(killed, NULL, 0) == killed);

    rl_service *service = crew_service(kept_rules, found->zone, &found->now_ns);
    for (unsigned i = 0; i < APIS; i++) {
        CHECK_UINT(left(service, "a", apis[i]), 1);
    }
    rl_stats stats = fixture_stats(service);
    CHECK_UINT(stats.keys, APIS);
    CHECK_UINT(stats.allowed, 2 * 2 * APIS);
    CHECK_UINT(stats.log_entries, 1);
    /* The first has made it, and the others take it as it is. */
    CHECK_AT_MOST(found->numbers[0], 1024 * 1024);
    CHECK_AT_MOST(1024 * 1024 - 4096, found->numbers[0]);
    CHECK_UINT(found->numbers[1], found->numbers[0]);
    CHECK_UINT(stats.memory_bytes, found->numbers[0]);
    rl_service_free(service);
    end(found);
}

/* ---- rules are each one's own ---------------------------------------------------------- */

/* Alike: the pair's window of a minute and the user's hour. Only in one: all the others. */
static const char our_rules[] = "default = fixed-window,10,60 + fixed-window,1000,1h,per=user\n"
                                "api./kind = fixed-window,10,60\n"
                                "api./span = fixed-window,10,60\n"
                                "api./who = fixed-window,10,60,per=user\n"
                                "api./second = fixed-window,50,61 + fixed-window,10,62\n";
static const char their_rules[] = "default = fixed-window,1000,1h,per=user + fixed-window,20,60\n"
                                  "api./kind = sliding-window,10,60\n"
                                  "api./span = fixed-window,10,120\n"
                                  "api./who = fixed-window,10,60,per=api\n"
                                  "api./second = fixed-window,30,62\n";

static void ask_by_other_rules(unsigned index, void *argument) {
    struct found *found = argument;
    rl_service *service = crew_service(their_rules, found->zone, &found->now_ns);
    gate_pass(&found->gate);
    gate_pass(&found->gate); /* the parent has taken 4 of each */
    found->numbers[0] = left(service, "a", "/");
    found->numbers[1] = left(service, "a", "/kind");
    found->numbers[2] = left(service, "a", "/span");
    found->numbers[3] = left(service, "a", "/who");
    found->numbers[4] = left(service, "a", "/second");
    found->numbers[5] = crew_take(service, "a", "/", 100);
    gate_pass(&found->gate);
    gate_pass(&found->gate); /* the parent has other rules */
    found->numbers[6] = left(service, "b", "/");
    found->numbers[7] = left(service, "b", "/kind") + index;
    rl_service_free(service);
}

static void each_goes_by_its_own_rules(void) {
    struct found *found = begin();
    rl_service *service = crew_service(our_rules, found->zone, &found->now_ns);
    pid_t child = crew_start(ask_by_other_rules, 0, found);
    gate_pass(&found->gate);
    static const char *const all[] = {"/", "/kind", "/span", "/who", "/second"};
    for (unsigned i = 0; i < 5; i++) {
        CHECK_UINT(crew_take(service, "a", all[i], 4), 4);
    }
    gate_pass(&found->gate);
    gate_pass(&found->gate); /* the child has taken what it could */
    CHECK_UINT(found->numbers[0], 20 - 4);
    CHECK_UINT(found->numbers[1], 10);
    CHECK_UINT(found->numbers[2], 10);
    CHECK_UINT(found->numbers[3], 10);
    CHECK_UINT(found->numbers[4], 30 - 4);
    CHECK_UINT(found->numbers[5], 20 - 4);
    CHECK_NO(check(service, "a", "/", 1), 0, 60000);
    CHECK_UINT(left(service, "a", "/kind"), 10 - 4);
    reload(service, "default = deny\napi./kind = fixed-window,3,60\n");
    CHECK_NO(check(service, "b", "/", 1), 0, RL_NEVER);
    CHECK_UINT(left(service, "a", "/kind"), 0);
    gate_pass(&found->gate);
    crew_end(child);
    CHECK_UINT(found->numbers[6], 20);
    CHECK_UINT(found->numbers[7], 10);
    rl_service_free(service);
    end(found);
}

/* ---- statistics are those of the zone -------------------------------------------------- */

static void add_to_the_statistics(unsigned index, void *argument) {
    struct found *found = argument;
    rl_service *service = crew_service(kept_rules, found->zone, &found->now_ns);
    char user[16];
    rl_decision got;
    snprintf(user, sizeof user, "user-%u", index);
    crew_take(service, user, "/", 9);
    if (rl_check_bytes(service, user, RL_NUL, "/", RL_NUL, 0, &got) != RL_ERR_ARGUMENT) {
        found->wrong++;
    }
    peek(service, user, "/log", 1);
    rl_service_free(service);
}

static void statistics_are_the_sum_of_all(void) {
    struct found *found = begin();
    rl_service *service = crew_service(kept_rules, found->zone, &found->now_ns);
    crew_run(3, add_to_the_statistics, found);
    add_to_the_statistics(3, found);
    rl_stats stats = fixture_stats(service);
    CHECK_UINT(stats.allowed, 4 * 5);
    CHECK_UINT(stats.denied, 4 * 4);
    CHECK_UINT(stats.errors, 4);
    CHECK_UINT(stats.keys, 4);
    CHECK_UINT(stats.recovered_locks, 0);
    CHECK_UINT(found->wrong, 0);
    rl_service_free(service);
    end(found);
}

/* ---- memory of the caller's ------------------------------------------------------------- */

static const char memory_rules[] = "default = sliding-window,100,60\n";

/* Takes its part of the 100, in memory that it has at `memory`. */
static void take_in(struct found *found, void *memory, size_t size) {
    rl_service *service = crew_service_in(memory_rules, memory, size, &found->now_ns);
    unsigned allowed = crew_take(service, "a", "/", 20);
    __atomic_add_fetch(&found->allowed, allowed, __ATOMIC_RELAXED);
    rl_service_free(service);
}

static void take_in_inherited(unsigned index, void *argument) {
    struct found *found = argument;
    for (unsigned round = 0; round < found->rounds; round++) {
        gate_pass(&found->gate);
        take_in(found, found->memory, MEMORY);
        gate_pass(&found->gate);
        if (index == 0) {
            found->wrong += found->allowed == 100 ? 0 : 1;
            found->allowed = 0;
            if (round + 1 < found->rounds) {
                memset(found->memory, 0, MEMORY);
            }
        }
    }
}

static void zeroed_memory_becomes_one_zone(unsigned rounds) {
    struct found *found = begin();
    found->memory = crew_memory(MEMORY);
    found->rounds = rounds;
    found->gate.members = 8;
    crew_run(8, take_in_inherited, found);
    CHECK_UINT(found->wrong, 0);
    /* Nobody has it, but it is a zone. */
    take_in(found, found->memory, MEMORY);
    CHECK_UINT(found->allowed, 0);
    munmap(found->memory, MEMORY);
    munmap(found, sizeof *found);
}

/* Each maps the file at an address of its own: behind as many pages as its number says. */
static void take_in_mapped(unsigned index, void *argument) {
    struct found *found = argument;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), in_front = page * (16 * index + 16);
    NEED(mmap(NULL, in_front, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    char *memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED, found->file, 0);
    NEED(memory != MAP_FAILED);
    found->numbers[index] = (uint64_t)(uintptr_t)memory;
    gate_pass(&found->gate); /* nobody is ready before all have it */
    take_in(found, memory + found->numbers[7], MEMORY - found->numbers[7]);
    munmap(memory, MEMORY);
}

static void addresses_may_differ(size_t offset) {
    struct found *found = begin();
    found->file = memfd_create("librl-test", 0);
    NEED(found->file >= 0 && ftruncate(found->file, MEMORY) == 0);
    found->numbers[7] = offset;
    found->gate.members = 6;
    crew_run(6, take_in_mapped, found);
    CHECK_UINT(found->allowed, 100);
    for (unsigned i = 1; i < 6; i++) {
        CHECK(found->numbers[i] != found->numbers[0]);
    }
    close(found->file);
    munmap(found, sizeof *found);
}

int main(int argc, char **argv) {
    unsigned rounds = (unsigned)test_argument(argc, argv, 100);
    crew_guard(WATCHDOG_S);
    counters_outlive_all_who_had_them();
    each_goes_by_its_own_rules();
    statistics_are_the_sum_of_all();
    zeroed_memory_becomes_one_zone(rounds);
    addresses_may_differ(0);
    addresses_may_differ(8);
    return test_end();
}
