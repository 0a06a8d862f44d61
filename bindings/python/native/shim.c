/*
 * What librl._native calls in place of rl.h where that would cost Python time: answers by
 * value, with the verdict of the call in them; many requests out of three plain arrays.
 *
 * cffi lets go of the GIL around every call. A check is done before another thread could
 * have taken it, and letting go costs more than most of a check, so here the GIL is kept;
 * only the call that waits lets go of it, by itself.
 */
#include <rl.h>
#include <string.h>

#undef Py_BEGIN_ALLOW_THREADS
#undef Py_END_ALLOW_THREADS
#define Py_BEGIN_ALLOW_THREADS {
#define Py_END_ALLOW_THREADS }

/* A rl_decision with the verdict in its first reserved byte. */
typedef struct {
    bool allowed;
    uint8_t flags, limit_count, limit_index, denied_by;
    int8_t verdict; /* 1 allowed, 0 refused, or the rl_status of an error */
    uint8_t reserved[2];
    uint64_t limit, remaining, retry_after_ms, reset_after_ms, window_ms;
    char name[16];
} answer;

typedef char answer_is_a_decision[sizeof(answer) == sizeof(rl_decision) ? 1 : -1];

static answer answered(rl_status status, const rl_decision *decision) {
    answer a;
    memcpy(&a, decision, sizeof a);
    a.verdict = (int8_t)(status == RL_OK ? decision->allowed : status);
    return a;
}

/* The cost as librl takes it: a negative one is out of its range, as 0 is. */
static uint64_t units(int64_t cost) {
    return cost < 0 ? 0 : (uint64_t)cost;
}

static answer py_check(rl_service *service, const void *user, size_t user_len, const void *api,
                       size_t api_len, int64_t cost) {
    rl_decision d;
    rl_status status = rl_check_bytes(service, user, user_len, api, api_len, units(cost), &d);
    return answered(status, &d);
}

static int py_allow(rl_service *service, const void *user, size_t user_len, const void *api,
                    size_t api_len, int64_t cost) {
    return py_check(service, user, user_len, api, api_len, cost).verdict;
}

static answer py_peek(rl_service *service, const void *user, size_t user_len, const void *api,
                      size_t api_len, int64_t cost) {
    rl_decision d;
    rl_status status = rl_peek(service, user, user_len, api, api_len, units(cost), &d);
    return answered(status, &d);
}

static answer py_charge(rl_service *service, const void *user, size_t user_len, const void *api,
                        size_t api_len, int64_t cost) {
    rl_decision d;
    rl_status status = rl_charge(service, user, user_len, api, api_len, units(cost), &d);
    return answered(status, &d);
}

static rl_status py_refund(rl_service *service, const void *user, size_t user_len,
                           const void *api, size_t api_len, int64_t cost) {
    return rl_refund(service, user, user_len, api, api_len, units(cost));
}

static answer py_acquire(rl_service *service, const void *user, size_t user_len, const void *api,
                         size_t api_len, int64_t cost, uint64_t timeout_ms) {
    rl_decision d;
    rl_status status;
    PyThreadState *thread = PyEval_SaveThread();
    status = rl_acquire(service, user, user_len, api, api_len, units(cost), timeout_ms, &d);
    PyEval_RestoreThread(thread);
    return answered(status, &d);
}

typedef rl_status (*asks_many)(rl_service *, const rl_request *, size_t, rl_decision *);

/* Names stand one after the other, user and API by turns, with their lengths beside them. */
static void gather(rl_request *requests, const char *names, const uint64_t *lengths,
                   const int64_t *costs, size_t count) {
    for (size_t i = 0; i < count; i++) {
        rl_request *request = &requests[i];
        request->user = names;
        request->user_len = (size_t)lengths[2 * i];
        names += request->user_len;
        request->api = names;
        request->api_len = (size_t)lengths[2 * i + 1];
        names += request->api_len;
        request->cost = units(costs[i]);
    }
}

static rl_status ask_many(asks_many ask, rl_service *service, rl_request *requests,
                          const char *names, const uint64_t *lengths, const int64_t *costs,
                          size_t count, answer *out) {
    gather(requests, names, lengths, costs, count);
    rl_status status = ask(service, requests, count, (rl_decision *)(void *)out);
    for (size_t i = 0; status == RL_OK && i < count; i++) out[i].verdict = out[i].allowed;
    return status;
}

static rl_status py_check_many(rl_service *service, rl_request *requests, const char *names,
                               const uint64_t *lengths, const int64_t *costs, size_t count,
                               answer *out) {
    return ask_many(rl_check_batch, service, requests, names, lengths, costs, count, out);
}

static rl_status py_check_all(rl_service *service, rl_request *requests, const char *names,
                              const uint64_t *lengths, const int64_t *costs, size_t count,
                              answer *out) {
    return ask_many(rl_check_all, service, requests, names, lengths, costs, count, out);
}

static size_t py_headers(const answer *decision, uint32_t style, char *buf, size_t size) {
    rl_decision d;
    memcpy(&d, decision, sizeof d);
    memset(d.reserved, 0, sizeof d.reserved);
    return rl_decision_headers(&d, style, buf, size);
}
