/*
 * What stands between Go and librl. Names come as Go has them, a pointer and a length, and
 * are not copied. An answer goes back by value: a pointer to where it belongs would make Go
 * allocate it anew for each check.
 */
#ifndef LIBRL_GO_SHIM_H
#define LIBRL_GO_SHIM_H

#include <rl.h>
#include <stdlib.h>

/*
 * A service, as a type that is complete and holds no pointers. Of rl_service, which is
 * neither as far as Go can see, cgo would look through the memory before each call, and
 * allocate for that.
 */
typedef struct {
    char opaque;
} shim_service;

#define SHIM_C(service) ((rl_service *)(service))

typedef struct {
    rl_decision decision;
    rl_status status;
} shim_answer;

#define SHIM_BYTES(name) _GoStringPtr(name), _GoStringLen(name)
#define SHIM_NAMES SHIM_BYTES(user), SHIM_BYTES(api)

static inline bool shim_allow(shim_service *service, _GoString_ user, _GoString_ api) {
    rl_decision decision;
    rl_check_bytes(SHIM_C(service), SHIM_NAMES, 1, &decision);
    return decision.allowed; // false on any error
}

static inline shim_answer shim_check(shim_service *service, _GoString_ user, _GoString_ api,
                                     uint64_t cost) {
    shim_answer answer;
    answer.status = rl_check_bytes(SHIM_C(service), SHIM_NAMES, cost, &answer.decision);
    return answer;
}

static inline shim_answer shim_peek(shim_service *service, _GoString_ user, _GoString_ api,
                                    uint64_t cost) {
    shim_answer answer;
    answer.status = rl_peek(SHIM_C(service), SHIM_NAMES, cost, &answer.decision);
    return answer;
}

static inline shim_answer shim_charge(shim_service *service, _GoString_ user, _GoString_ api,
                                      uint64_t cost) {
    shim_answer answer;
    answer.status = rl_charge(SHIM_C(service), SHIM_NAMES, cost, &answer.decision);
    return answer;
}

static inline rl_status shim_refund(shim_service *service, _GoString_ user, _GoString_ api,
                                    uint64_t cost) {
    return rl_refund(SHIM_C(service), SHIM_NAMES, cost);
}

static inline rl_status shim_reset(shim_service *service, _GoString_ user, _GoString_ api) {
    return rl_reset(SHIM_C(service), SHIM_NAMES);
}

static inline rl_status shim_explain(shim_service *service, _GoString_ user, _GoString_ api,
                                     char *buf, size_t size) {
    return rl_explain(SHIM_C(service), SHIM_NAMES, buf, size);
}

static inline rl_status shim_parse(rl_config *config, _GoString_ text, rl_error *error) {
    return rl_config_parse(config, SHIM_BYTES(text), error);
}

/* A request of many, whose names stand one behind the other in a text of their own. */
typedef struct {
    size_t user_len;
    size_t api_len;
    uint64_t cost;
} shim_entry;

enum { SHIM_FEW = 64 };

static inline void shim_unpack(const char *names, const shim_entry *entries, size_t count,
                               rl_request *requests) {
    for (size_t i = 0; i < count; i++) {
        requests[i].user = names;
        requests[i].user_len = entries[i].user_len;
        names += entries[i].user_len;
        requests[i].api = names;
        requests[i].api_len = entries[i].api_len;
        names += entries[i].api_len;
        requests[i].cost = entries[i].cost;
    }
}

typedef rl_status shim_many(rl_service *, const rl_request *, size_t, rl_decision *);

/* Memory with pointers to Go's names in it has to be C's own. */
static inline rl_status shim_ask(shim_many *ask, rl_service *service, const char *names,
                                 const shim_entry *entries, size_t count, rl_decision *out) {
    rl_request few[SHIM_FEW], *requests = few;
    if (count > SHIM_FEW) requests = calloc(count, sizeof *requests);
    if (requests == NULL) return RL_ERR_MEMORY;
    shim_unpack(names, entries, count, requests);
    rl_status status = ask(service, requests, count, out);
    if (requests != few) free(requests);
    return status;
}

static inline rl_status shim_check_batch(shim_service *service, const char *names,
                                         const shim_entry *entries, size_t count,
                                         rl_decision *out) {
    return shim_ask(rl_check_batch, SHIM_C(service), names, entries, count, out);
}

static inline rl_status shim_check_all(shim_service *service, const char *names,
                                       const shim_entry *entries, size_t count,
                                       rl_decision *out) {
    return shim_ask(rl_check_all, SHIM_C(service), names, entries, count, out);
}

#endif
