/*
 * A batch is the same checks made one after the other: same decisions to the byte,
 * same statistics, whatever the requests.
 *
 *     batch [ROUNDS]     2,000 random batches when not told
 */
#include "fixture.h"

#define MOST 64

static const char rules[] = "default = token-bucket,7,3\n"
                            "api./fixed = fixed-window,9,2\n"
                            "api./log = sliding-window,5,1500ms\n"
                            "api./counter = sliding-window-counter,11,2500ms\n"
                            "user.free = unlimited\n"
                            "user.none = deny\n";

static const char *const users[] = {"ann", "bob", "cleo", "free", "none", ""};
static const char *const apis[] = {"/bucket", "/fixed", "/log", "/counter", ""};

/* xorshift64*: the same numbers on every machine. */
static uint64_t state = 0x9e3779b97f4a7c15;

static unsigned below(unsigned end) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (unsigned)(((state * 0x2545f4914f6cdd1d) >> 33) % end);
}

static rl_request random_request(void) {
    const char *user = users[below(sizeof users / sizeof *users)];
    const char *api = apis[below(sizeof apis / sizeof *apis)];
    rl_request request = {user, strlen(user), api, RL_NUL, 1 + below(4)};
    if (below(50) == 0) {
        request.cost = UINT64_MAX;
    }
    return request;
}

static void check_singly(rl_service *service, const rl_request *requests, size_t count,
                         rl_decision *out) {
    for (size_t i = 0; i < count; i++) {
        const rl_request *r = &requests[i];
        CHECK_INT(rl_check_bytes(service, r->user, r->user_len, r->api, r->api_len, r->cost,
                                 &out[i]),
                  RL_OK);
    }
}

/* Mostly a little forward, at times far, at times back. */
static uint64_t next_time(uint64_t now) {
    switch (below(12)) {
    case 0:
        return now + 10 * RL_NS_PER_S;
    case 1:
        return now - below(500) * RL_NS_PER_MS;
    default:
        return now + below(400) * RL_NS_PER_MS;
    }
}

static void a_batch_equals_the_same_single_checks(unsigned long rounds) {
    rl_clock *clock = fixture_clock(0);
    rl_service *batched = fixture_service(rules, clock);
    rl_service *single = fixture_service(rules, clock);
    uint64_t now = 1000 * RL_NS_PER_S;
    for (unsigned long round = 0; round < rounds; round++) {
        rl_request requests[MOST];
        rl_decision got[MOST], want[MOST];
        size_t count = below(MOST + 1);
        for (size_t i = 0; i < count; i++) {
            requests[i] = random_request();
        }
        now = next_time(now);
        NEED(rl_clock_set_ns(clock, now) == RL_OK);
        CHECK_INT(rl_check_batch(batched, requests, count, got), RL_OK);
        check_singly(single, requests, count, want);
        CHECK_BYTES(got, want, count * sizeof *got);
    }
    rl_stats got = fixture_stats(batched);
    rl_stats want = fixture_stats(single);
    CHECK_UINT(got.allowed, want.allowed);
    CHECK_UINT(got.denied, want.denied);
    CHECK(want.allowed > 0 && want.denied > 0);
    rl_service_free(batched);
    rl_service_free(single);
    rl_clock_free(clock);
}

static void later_requests_see_what_earlier_ones_took(void) {
    rl_clock *clock = fixture_clock(0);
    rl_service *service = fixture_service("default = token-bucket,3,10", clock);
    rl_request one = {"u", 1, "a", 1, 2};
    rl_request requests[] = {one, one, one};
    rl_decision got[3];
    requests[2].cost = 1;
    CHECK_INT(rl_check_batch(service, requests, 3, got), RL_OK);
    CHECK(got[0].allowed);
    CHECK(!got[1].allowed);
    CHECK(got[2].allowed);
    CHECK_UINT(got[0].remaining, 1);
    CHECK_UINT(got[1].remaining, 1);
    CHECK_UINT(got[2].remaining, 0);
    rl_service_free(service);
    rl_clock_free(clock);
}

int main(int argc, char **argv) {
    later_requests_see_what_earlier_ones_took();
    a_batch_equals_the_same_single_checks(test_argument(argc, argv, 2000));
    return test_end();
}
