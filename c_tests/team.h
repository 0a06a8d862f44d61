/*
 * A team of threads that do one job together, many times over, without being
 * started anew each time.
 *
 * A gate lets nobody through until all have come. It spins and yields: threads
 * that sleep at a barrier wake one after the other, and then they do not meet.
 */
#ifndef LIBRL_TEAM_H
#define LIBRL_TEAM_H

#include <pthread.h>
#include <sched.h>

#include "test.h"

#define TEAM_MOST 64

struct gate {
    unsigned members;
    unsigned arrived;
    unsigned turn;
};

static inline void gate_pass(struct gate *gate) {
    unsigned turn = __atomic_load_n(&gate->turn, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&gate->arrived, 1, __ATOMIC_ACQ_REL) == gate->members) {
        __atomic_store_n(&gate->arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&gate->turn, turn + 1, __ATOMIC_RELEASE);
        return;
    }
    while (__atomic_load_n(&gate->turn, __ATOMIC_ACQUIRE) == turn) {
        sched_yield();
    }
}

struct member {
    unsigned index;
    struct gate *gate;
    void *job; /* what the members share */
};

/* Runs `work` on `count` threads and waits for all of them. */
static inline void team_run(unsigned count, void *(*work)(void *), void *job) {
    pthread_t threads[TEAM_MOST];
    struct member members[TEAM_MOST];
    struct gate gate = {count, 0, 0};
    NEED(count <= TEAM_MOST);
    for (unsigned i = 0; i < count; i++) {
        members[i].index = i;
        members[i].gate = &gate;
        members[i].job = job;
        NEED(pthread_create(&threads[i], NULL, work, &members[i]) == 0);
    }
    for (unsigned i = 0; i < count; i++) {
        NEED(pthread_join(threads[i], NULL) == 0);
    }
}

#endif
