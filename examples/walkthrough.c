/*
 * A walk through the library: rules from a file, checks, and what they answer.
 *
 *     walkthrough [RULES]        examples/walkthrough.conf when not told
 *
 * The clock is a manual one, so every run prints the same.
 */
#include <pthread.h>
#include <rl.h>
#include <stdio.h>
#include <stdlib.h>

/* Every call that can fail returns a status; this program has no use for a failure. */
static void must(rl_status status, const rl_error *error) {
    if (status != RL_OK) {
        fprintf(stderr, "walkthrough: %s\n", error ? error->message : rl_status_message(status));
        exit(EXIT_FAILURE);
    }
}

/* Makes a service of a configuration, which is not needed after that. */
static rl_service *service_of(rl_config *config, rl_clock *clock) {
    rl_service *service;
    rl_error error;
    must(rl_config_set_clock(config, clock), NULL);
    must(rl_service_new(config, &service, &error), &error);
    rl_config_free(config);
    return service;
}

static rl_service *service_from_file(const char *path, rl_clock *clock) {
    rl_config *config;
    rl_error error;
    must(rl_config_new(&config), NULL);
    must(rl_config_load(config, path, &error), &error);
    return service_of(config, clock);
}

/* A service with one rule for everybody. */
static rl_service *service_with_rule(const char *rule, rl_clock *clock) {
    rl_config *config;
    rl_error error;
    must(rl_config_new(&config), NULL);
    must(rl_config_set(config, "default", rule, &error), &error);
    return service_of(config, clock);
}

/* Makes one check and prints the answer. */
static void show(rl_service *service, unsigned now_ms, const char *user, const char *api,
                 const char *note) {
    rl_decision decision;
    char call[64];
    must(rl_check(service, user, api, &decision), NULL);
    snprintf(call, sizeof call, "%s %s %s", user, api, note);
    printf("t=%5ums  %-24s ", now_ms, call);
    if (decision.allowed) {
        printf("ALLOWED  remaining=%llu\n", (unsigned long long)decision.remaining);
    } else {
        printf("REJECTED retryAfter=%llums\n", (unsigned long long)decision.retry_after_ms);
    }
}

/* The same check `count` times, numbered from #1. */
static void show_several(rl_service *service, unsigned now_ms, const char *user, const char *api,
                         int count) {
    for (int i = 1; i <= count; i++) {
        char note[16];
        snprintf(note, sizeof note, "#%d", i);
        show(service, now_ms, user, api, note);
    }
}

/* How many of three calls an algorithm allows, with 3 per 10 s, at 9.0 s and again at 10.0 s. */
static void show_algorithm(const char *title, const char *rule) {
    static const uint64_t times_ms[2] = {9000, 10000};
    int allowed[2] = {0, 0};
    rl_clock *clock;
    must(rl_clock_new_manual(0, &clock), NULL);
    rl_service *service = service_with_rule(rule, clock);
    for (int when = 0; when < 2; when++) {
        rl_clock_set_ns(clock, times_ms[when] * RL_NS_PER_MS);
        for (int i = 0; i < 3; i++) {
            allowed[when] += rl_allow(service, "alice");
        }
    }
    printf("%-15s allowed %d at 9.0s, %d at 10.0s\n", title, allowed[0], allowed[1]);
    rl_service_free(service);
    rl_clock_free(clock);
}

#define THREADS 8
#define CALLS 50

/* One of several threads that share a service; no lock is needed. */
static void *call_fifty_times(void *service) {
    for (int i = 0; i < CALLS; i++) {
        rl_allow(service, "alice");
    }
    return NULL;
}

/* The clock stands still, so of all these calls exactly the limit is allowed. */
static void show_threads(void) {
    pthread_t threads[THREADS];
    rl_stats stats = RL_STATS_INIT;
    rl_clock *clock;
    must(rl_clock_new_manual(0, &clock), NULL);
    rl_service *service = service_with_rule("token-bucket,100,10", clock);
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, call_fifty_times, service) != 0) {
            fprintf(stderr, "walkthrough: a thread could not be started\n");
            exit(EXIT_FAILURE);
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    must(rl_service_stats(service, &stats), NULL);
    printf("%d calls made, allowed = %llu\n", THREADS * CALLS, (unsigned long long)stats.allowed);
    rl_service_free(service);
    rl_clock_free(clock);
}

int main(int argc, char **argv) {
    const char *rules = argc > 1 ? argv[1] : "examples/walkthrough.conf";
    rl_clock *clock;
    must(rl_clock_new_manual(0, &clock), NULL);
    rl_service *service = service_from_file(rules, clock);

    /* One: the default rule. Five calls are allowed; 2 s later one more has been earned. */
    show_several(service, 0, "alice", "/orders", 6);
    rl_clock_advance_ns(clock, 2 * RL_NS_PER_S);
    show(service, 2000, "alice", "/orders", "after 2s");

    /* Two: a rule for one API. Its window ends at 10 s. */
    printf("\n");
    show_several(service, 2000, "alice", "/login", 3);

    /* Three: others have counters of their own, and vip-1 a rule. */
    printf("\n");
    show(service, 2000, "bob", "/orders", "");
    show_several(service, 2000, "vip-1", "/orders", 6);

    rl_service_free(service);
    rl_clock_free(clock);

    /* Four: what the algorithms do at the border of a window. */
    printf("\n");
    show_algorithm("TOKEN_BUCKET", "token-bucket,3,10");
    show_algorithm("FIXED_WINDOW", "fixed-window,3,10");
    show_algorithm("SLIDING_WINDOW", "sliding-window,3,10");
    show_algorithm("SLIDING_COUNTER", "sliding-window-counter,3,10");

    /* Five: eight threads at once. */
    printf("\n");
    show_threads();
    return EXIT_SUCCESS;
}
