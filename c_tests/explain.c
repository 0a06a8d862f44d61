/*
 * rl_explain: which rule answers a pair, as text that reads back as that rule.
 */
#include "fixture.h"

static const char rules[] = "default = token-bucket,5,10\n"
                            "api./login = fixed-window,2,10\n"
                            "user.vip-1 = token-bucket,8,10,burst=20\n"
                            "user.vip-1 api./login = sliding-window,3,90s,name=vip_login\n"
                            "user.\"a b\" api.\"\\\"\" = fixed-window,4,1h\n"
                            "user.odd = sliding-window-counter,7,1500ms\n"
                            "user.free = unlimited\n"
                            "user.none = deny\n";

static const struct {
    const char *user, *api, *line; /* line: of the rules above, that which is for the pair */
} pairs[] = {
    {"ann", "/orders", "default = token-bucket,5,10"},
    {"ann", "/login", "api./login = fixed-window,2,10"},
    {"vip-1", "/orders", "user.vip-1 = token-bucket,8,10,burst=20"},
    {"vip-1", "/login", "user.vip-1 api./login = sliding-window,3,90s,name=vip_login"},
    {"odd", "/login", "user.odd = sliding-window-counter,7,1500ms"},
    {"free", "/login", "user.free = unlimited"},
    {"none", "/orders", "user.none = deny"},
    {"a b", "\"", "user.\"a b\" api.\"\\\"\" = fixed-window,4,1h"},
};
#define PAIRS (sizeof pairs / sizeof *pairs)

/* What rl_explain says; ends the program where it says nothing. */
static void explain(rl_service *service, const char *user, const char *api, char text[256]) {
    NEED(rl_explain(service, user, strlen(user), api, RL_NUL, text, 256) == RL_OK);
}

/* A service that has this rule, and refuses everything else. */
static rl_service *service_of_line(const char *line, rl_clock *clock) {
    char text[512];
    bool is_default = strncmp(line, "default ", 8) == 0;
    snprintf(text, sizeof text, "%s%s\n", is_default ? "" : "default = deny\n", line);
    return fixture_service(text, clock);
}

static void the_same_decisions(rl_service *a, rl_service *b, const char *user, const char *api) {
    for (int i = 0; i < 30; i++) {
        rl_decision from_a, from_b;
        NEED(rl_check(a, user, api, &from_a) == RL_OK);
        NEED(rl_check(b, user, api, &from_b) == RL_OK);
        CHECK_BYTES(&from_a, &from_b, sizeof from_a);
    }
}

static void the_text_reads_back_as_the_rule(void) {
    rl_clock *clock = fixture_clock(0);
    for (size_t i = 0; i < PAIRS; i++) {
        rl_service *service = fixture_service(rules, clock);
        char text[256], again[256];
        explain(service, pairs[i].user, pairs[i].api, text);
        rl_service *copy = service_of_line(text, clock);
        rl_service *original = service_of_line(pairs[i].line, clock);
        explain(copy, pairs[i].user, pairs[i].api, again);
        CHECK_TEXT(again, text);
        explain(original, pairs[i].user, pairs[i].api, again);
        CHECK_TEXT(again, text);
        the_same_decisions(service, copy, pairs[i].user, pairs[i].api);
        rl_service_free(service);
        rl_service_free(copy);
        rl_service_free(original);
    }
    rl_clock_free(clock);
}

static void a_buffer_that_is_too_small_is_left_alone(void) {
    rl_service *service = fixture_service(rules, NULL);
    char text[256], buffer[256], poison[256];
    memset(poison, 0x5a, sizeof poison);
    explain(service, "ann", "/login", text);
    size_t size = strlen(text) + 1;

    for (size_t i = 0; i < size; i++) {
        memset(buffer, 0x5a, sizeof buffer);
        CHECK_INT(rl_explain(service, "ann", 3, "/login", 6, buffer, i), RL_ERR_MEMORY);
        CHECK_BYTES(buffer, poison, sizeof buffer);
    }
    memset(buffer, 0x5a, sizeof buffer);
    CHECK_INT(rl_explain(service, "ann", 3, "/login", 6, buffer, size), RL_OK);
    CHECK_TEXT(buffer, text);
    CHECK_BYTES(buffer + size, poison, sizeof buffer - size);
    rl_service_free(service);
}

static void it_takes_nothing(void) {
    rl_service *service = fixture_service(rules, NULL);
    char text[256];
    for (int i = 0; i < 10; i++) {
        explain(service, "ann", "/login", text);
    }
    rl_stats stats = fixture_stats(service);
    CHECK_UINT(stats.allowed + stats.denied, 0);
    CHECK_UINT(stats.keys, 0);
    rl_service_free(service);
}

int main(void) {
    the_text_reads_back_as_the_rule();
    a_buffer_that_is_too_small_is_left_alone();
    it_takes_nothing();
    return test_end();
}
