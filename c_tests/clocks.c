/*
 * Two processes with clocks that are 100 ms apart, over one memory. The early one is
 * this process, the late one its child, which does what it is told through a pipe.
 *
 * Beside them stands a service of its own memory with the early clock, the control:
 * what only the early one may take it must take as if the late one were not there.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

#define ZONE_SIZE (64 * 1024)
#define BEHIND (100 * RL_NS_PER_MS)
#define STEPS 20
#define WINDOWS 4

struct rule {
    const char *algorithm;
    uint64_t limit;
    uint64_t window_ms;
};

/* The last: clocks that are as far apart as the tolerance is wide. */
static const struct rule rules[] = {
    {"token-bucket", 5, 10000},           {"token-bucket", 1000, 1000},
    {"token-bucket", 7, 100},             {"fixed-window", 5, 10000},
    {"fixed-window", 1000, 1000},         {"fixed-window", 7, 100},
    {"sliding-window", 5, 10000},         {"sliding-window", 1000, 1000},
    {"sliding-window", 7, 100},           {"sliding-window-counter", 5, 10000},
    {"sliding-window-counter", 1000, 1000}, {"sliding-window-counter", 7, 100},
};
#define RULES (sizeof rules / sizeof *rules)

enum call { CHECK_IT, PEEK, CHARGE, REFUND };

struct order {
    uint64_t now_ns;
    uint64_t cost;
    enum call call;
};

/* A service with a clock of its own. */
struct process {
    rl_clock *clock;
    rl_service *service;
};

struct two {
    const struct rule *rule;
    void *zone;
    struct process early, control;
    pid_t child;
    int orders, answers;
    uint64_t now_ns; /* by the early clock */
};

static struct process start(const struct rule *rule, void *zone) {
    struct process process = {fixture_clock(0), NULL};
    char text[64];
    rl_error error;
    snprintf(text, sizeof text, "default = %s,%llu,%llums", rule->algorithm,
             (unsigned long long)rule->limit, (unsigned long long)rule->window_ms);
    rl_config *config = fixture_config(text);
    NEED(rl_config_set_clock(config, process.clock) == RL_OK);
    if (zone != NULL) {
        NEED(rl_config_set_memory(config, zone, ZONE_SIZE) == RL_OK);
    }
    rl_status status = rl_service_new(config, &process.service, &error);
    test_need(status == RL_OK, __FILE__, __LINE__, text, error.message);
    rl_config_free(config);
    return process;
}

static void stop(struct process process) {
    rl_service_free(process.service);
    rl_clock_free(process.clock);
}

static rl_decision act(struct process process, struct order order) {
    rl_decision out;
    rl_status status = RL_OK;
    memset(&out, 0, sizeof out);
    NEED(rl_clock_set_ns(process.clock, order.now_ns) == RL_OK);
    switch (order.call) {
    case CHECK_IT:
        status = rl_check_bytes(process.service, "u", 1, "", 0, order.cost, &out);
        break;
    case PEEK:
        status = rl_peek(process.service, "u", 1, "", 0, order.cost, &out);
        break;
    case CHARGE:
        status = rl_charge(process.service, "u", 1, "", 0, order.cost, &out);
        break;
    case REFUND:
        status = rl_refund(process.service, "u", 1, "", 0, order.cost);
        break;
    }
    NEED(status == RL_OK);
    return out;
}

/* The child, until nobody gives it orders. */
static void serve(struct two *two, int orders, int answers) {
    struct process late = start(two->rule, two->zone);
    struct order order;
    while (read(orders, &order, sizeof order) == (ssize_t)sizeof order) {
        rl_decision out = act(late, order);
        NEED(write(answers, &out, sizeof out) == (ssize_t)sizeof out);
    }
    stop(late);
}

/*
 * Starts both, and the control. The child is made first, so that it has nothing of this
 * process but the memory.
 */
static struct two begin(const struct rule *rule) {
    struct two two = {rule, NULL, {NULL, NULL}, {NULL, NULL}, 0, 0, 0, 0};
    int orders[2], answers[2];
    two.zone = mmap(NULL, ZONE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    NEED(two.zone != MAP_FAILED);
    NEED(pipe(orders) == 0 && pipe(answers) == 0);
    fflush(stdout);
    two.child = fork();
    NEED(two.child >= 0);
    if (two.child == 0) {
        close(orders[1]);
        close(answers[0]);
        serve(&two, orders[0], answers[1]);
        exit(EXIT_SUCCESS);
    }
    close(orders[0]);
    close(answers[1]);
    two.orders = orders[1];
    two.answers = answers[0];
    two.early = start(rule, two.zone);
    two.control = start(rule, NULL);
    two.now_ns = 1000000 * RL_NS_PER_S;
    return two;
}

static void end(struct two two) {
    int status = 0;
    close(two.orders);
    close(two.answers);
    CHECK_INT(waitpid(two.child, &status, 0), two.child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
    stop(two.early);
    stop(two.control);
    NEED(munmap(two.zone, ZONE_SIZE) == 0);
}

static rl_decision early(const struct two *two, enum call call, uint64_t cost) {
    return act(two->early, (struct order){two->now_ns, cost, call});
}

static rl_decision control(const struct two *two, enum call call, uint64_t cost) {
    return act(two->control, (struct order){two->now_ns, cost, call});
}

static rl_decision late_at(const struct two *two, uint64_t now_ns, enum call call, uint64_t cost) {
    struct order order = {now_ns, cost, call};
    rl_decision out;
    NEED(write(two->orders, &order, sizeof order) == (ssize_t)sizeof order);
    NEED(read(two->answers, &out, sizeof out) == (ssize_t)sizeof out);
    return out;
}

static rl_decision late(const struct two *two, enum call call, uint64_t cost) {
    return late_at(two, two->now_ns - BEHIND, call, cost);
}

static void step(struct two *two) {
    two->now_ns += two->rule->window_ms * RL_NS_PER_MS / STEPS;
}

static void same(rl_decision got, rl_decision want) {
    CHECK_INT(got.allowed, want.allowed);
    CHECK_UINT(got.remaining, want.remaining);
    CHECK_UINT(got.retry_after_ms, want.retry_after_ms);
    CHECK_UINT(got.reset_after_ms, want.reset_after_ms);
}

/*
 * The early one takes all there is, at once and whenever there is more. The late one
 * asks first each time: it gets nothing, and the early one gets all that it would alone.
 */
static void the_late_one_earns_nothing(const struct rule *rule) {
    struct two two = begin(rule);
    CHECK(early(&two, CHECK_IT, rule->limit).allowed);
    CHECK(control(&two, CHECK_IT, rule->limit).allowed);
    for (int i = 0; i < STEPS * WINDOWS; i++) {
        CHECK(!late(&two, CHECK_IT, 1).allowed);
        CHECK(!late(&two, CHECK_IT, rule->limit).allowed);
        for (uint64_t given = 0; given <= rule->limit; given++) {
            rl_decision got = early(&two, CHECK_IT, 1);
            same(got, control(&two, CHECK_IT, 1));
            if (!got.allowed) {
                break;
            }
        }
        step(&two);
    }
    end(two);
}

/* At one instant they get the limit between them, whoever takes how much of it. */
static void both_together_get_exactly_the_limit(const struct rule *rule) {
    for (uint64_t first = 1; first < 5; first++) {
        struct two two = begin(rule);
        uint64_t given = first;
        two.now_ns += rule->window_ms * RL_NS_PER_MS / 2;
        CHECK(early(&two, CHECK_IT, first).allowed);
        CHECK(control(&two, CHECK_IT, first).allowed);
        while (given <= rule->limit && late(&two, CHECK_IT, 1).allowed) {
            given++;
            CHECK(control(&two, CHECK_IT, 1).allowed);
            same(early(&two, PEEK, 1), control(&two, PEEK, 1));
            if (early(&two, CHECK_IT, 1).allowed) {
                given++;
                CHECK(control(&two, CHECK_IT, 1).allowed);
            }
        }
        /* What a bucket gains in 100 ms, the early one alone sees. */
        while (given <= rule->limit && early(&two, CHECK_IT, 1).allowed) {
            given++;
        }
        CHECK(!late(&two, CHECK_IT, 1).allowed);
        CHECK_UINT(given, rule->limit);
        end(two);
    }
}

/*
 * Of a counter that is new to both, the late one's part counts by its clock: then the
 * early one finds what comes in 100 ms, and no more. Asked about the middle of a window
 * that is longer than that.
 */
static void what_the_late_one_takes_first_is_counted(const struct rule *rule) {
    struct two two = begin(rule);
    int is_bucket = strcmp(rule->algorithm, "token-bucket") == 0;
    uint64_t given = 0, most = is_bucket ? rule->limit * 100 / rule->window_ms : 0;
    two.now_ns += rule->window_ms * RL_NS_PER_MS / 2;
    if (rule->window_ms > 200) {
        CHECK(late(&two, CHECK_IT, rule->limit).allowed);
        CHECK(!late(&two, CHECK_IT, 1).allowed);
        for (; given <= most && early(&two, CHECK_IT, 1).allowed; given++) {
        }
        CHECK_UINT(given, most);
        CHECK(!late(&two, CHECK_IT, 1).allowed);
    }
    end(two);
}

/* Whatever the late one asks or charges: the early one has no more, and not sooner. */
static void nothing_is_moved_back(const struct rule *rule, uint64_t used, uint64_t charged) {
    struct two two = begin(rule);
    const enum call calls[] = {PEEK, CHECK_IT, CHARGE};
    CHECK(early(&two, CHECK_IT, used).allowed);
    if (charged > 0) {
        early(&two, CHARGE, charged);
    }
    for (int i = 0; i < 3 * STEPS; i++) {
        uint64_t cost = (uint64_t)i % 3 == 0 ? 1 : rule->limit;
        rl_decision before = early(&two, PEEK, rule->limit), after;
        late(&two, calls[i % 3], cost);
        after = early(&two, PEEK, rule->limit);
        CHECK_AT_MOST(after.remaining, before.remaining);
        CHECK_AT_MOST(before.retry_after_ms, after.retry_after_ms);
        if (!before.allowed) { /* else the answer is about the counter after the request */
            CHECK_AT_MOST(before.reset_after_ms, after.reset_after_ms);
        }
        if (i % 2 == 0) {
            step(&two);
        }
    }
    end(two);
}

/* The late one gives back what the early one would have, and no more. */
static void a_refund_is_no_more_than_it_was(const struct rule *rule) {
    struct two two = begin(rule);
    for (int i = 0; i < 2 * STEPS; i++) {
        uint64_t cost = 1 + (uint64_t)i % rule->limit;
        int allowed = early(&two, CHECK_IT, cost).allowed;
        CHECK_INT(control(&two, CHECK_IT, cost).allowed, allowed);
        if (allowed) {
            late(&two, REFUND, cost);
            control(&two, REFUND, cost);
            CHECK_AT_MOST(early(&two, PEEK, 1).remaining, control(&two, PEEK, 1).remaining);
        }
        CHECK_INT(early(&two, CHECK_IT, 1).allowed, control(&two, CHECK_IT, 1).allowed);
        step(&two);
    }
    end(two);
}

/*
 * By its own clock the late one is never put off: what it is told to wait lets it pass,
 * a millisecond less does not, and it is a window (a sliding counter's are two) and the
 * tolerance at most.
 */
static void the_late_ones_hint_is_tight(const struct rule *rule) {
    int windows = strcmp(rule->algorithm, "sliding-window-counter") == 0 ? 2 : 1;
    uint64_t tolerance = rule->window_ms < 1000 ? rule->window_ms : 1000;
    for (int i = 0; i < STEPS; i++) {
        struct two two = begin(rule);
        for (int gone = 0; gone < i; gone++) {
            step(&two);
        }
        CHECK(early(&two, CHECK_IT, rule->limit).allowed);
        rl_decision refused = late(&two, CHECK_IT, 1);
        CHECK(!refused.allowed);
        CHECK_AT_MOST(refused.retry_after_ms, windows * rule->window_ms + tolerance + 1);
        uint64_t then = two.now_ns - BEHIND + refused.retry_after_ms * RL_NS_PER_MS;
        CHECK(!late_at(&two, then - RL_NS_PER_MS, CHECK_IT, 1).allowed);
        CHECK(late_at(&two, then, CHECK_IT, 1).allowed);
        end(two);
    }
}

int main(void) {
    for (size_t i = 0; i < RULES; i++) {
        const struct rule *rule = &rules[i];
        unsigned long failed = tests_failed;
        the_late_one_earns_nothing(rule);
        both_together_get_exactly_the_limit(rule);
        what_the_late_one_takes_first_is_counted(rule);
        nothing_is_moved_back(rule, rule->limit, 0);
        nothing_is_moved_back(rule, rule->limit / 2, 0);
        nothing_is_moved_back(rule, rule->limit, 3 * rule->limit);
        a_refund_is_no_more_than_it_was(rule);
        the_late_ones_hint_is_tight(rule);
        if (tests_failed != failed) {
            printf("    of %s, %llu in %llu ms\n", rule->algorithm,
                   (unsigned long long)rule->limit, (unsigned long long)rule->window_ms);
        }
    }
    return test_end();
}
