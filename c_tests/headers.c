/*
 * rl_decision_headers: what a client is told of a decision, in a buffer of any size,
 * and from a decision with anything in it.
 */
#include "fixture.h"

enum { POISON = 0x5a, ENOUGH = 192 };

static const char draft_allowed[] = "RateLimit-Policy: \"default\";q=5;w=10\r\n"
                                    "RateLimit: \"default\";r=4;t=2\r\n";
static const char draft_refused[] = "RateLimit-Policy: \"default\";q=5;w=10\r\n"
                                    "RateLimit: \"default\";r=0;t=2\r\n"
                                    "Retry-After: 2\r\n";
static const char legacy_allowed[] = "X-RateLimit-Limit: 5\r\n"
                                     "X-RateLimit-Remaining: 4\r\n"
                                     "X-RateLimit-Reset: 2\r\n";
static const char legacy_refused[] = "X-RateLimit-Limit: 5\r\n"
                                     "X-RateLimit-Remaining: 0\r\n"
                                     "X-RateLimit-Reset: 10\r\n"
                                     "Retry-After: 2\r\n";

static void says(const rl_decision *decision, uint32_t style, const char *want) {
    char text[ENOUGH];
    memset(text, POISON, sizeof text);
    CHECK_UINT(rl_decision_headers(decision, style, text, sizeof text), strlen(want));
    CHECK_TEXT(text, want);
}

/* The answer to one more request of this cost. */
static rl_decision ask(rl_service *service, const char *user, uint64_t cost) {
    rl_decision decision;
    NEED(rl_check_bytes(service, user, RL_NUL, "", 0, cost, &decision) == RL_OK);
    return decision;
}

static void decisions_of_a_service(void) {
    rl_clock *clock = fixture_clock(0);
    rl_service *service = fixture_service("default = token-bucket,5,10\n"
                                          "user.named = fixed-window,7,1500ms,name=seven\n"
                                          "user.free = unlimited\n"
                                          "user.none = deny\n",
                                          clock);
    rl_decision decision = ask(service, "ann", 1);
    says(&decision, RL_HEADERS_DRAFT, draft_allowed);
    says(&decision, RL_HEADERS_LEGACY, legacy_allowed);
    decision = ask(service, "ann", 4);
    decision = ask(service, "ann", 1);
    says(&decision, RL_HEADERS_DRAFT, draft_refused);
    says(&decision, RL_HEADERS_LEGACY, legacy_refused);
    decision = ask(service, "named", 1);
    says(&decision, RL_HEADERS_DRAFT,
         "RateLimit-Policy: \"seven\";q=7;w=2\r\nRateLimit: \"seven\";r=6;t=2\r\n");
    decision = ask(service, "named", 8); /* can never pass: no time to come back */
    says(&decision, RL_HEADERS_DRAFT,
         "RateLimit-Policy: \"seven\";q=7;w=2\r\nRateLimit: \"seven\";r=6;t=2\r\n");
    decision = ask(service, "free", 1);
    says(&decision, RL_HEADERS_DRAFT, "");
    says(&decision, RL_HEADERS_LEGACY, "");
    decision = ask(service, "none", 1);
    says(&decision, RL_HEADERS_DRAFT, "");
    says(&decision, RL_HEADERS_LEGACY, "");
    CHECK_INT(rl_check(service, NULL, "", &decision), RL_ERR_ARGUMENT);
    says(&decision, RL_HEADERS_DRAFT, "");
    says(&decision, RL_HEADERS_LEGACY, "");
    rl_service_free(service);
    rl_clock_free(clock);
}

/* A refusal with every field in both styles. */
static rl_decision refusal(void) {
    rl_decision decision;
    memset(&decision, 0, sizeof decision);
    decision.limit_count = 1;
    decision.denied_by = 1;
    decision.limit = 5;
    decision.retry_after_ms = 1001;
    decision.reset_after_ms = 9001;
    decision.window_ms = 10000;
    memcpy(decision.name, "default", 8);
    return decision;
}

/* As snprintf: what fits, with a NUL, and not a byte more; and the whole length. */
static void buffers_of_every_size(void) {
    static const struct {
        uint32_t style;
        const char *whole;
    } styles[] = {{RL_HEADERS_DRAFT, draft_refused}, {RL_HEADERS_LEGACY, legacy_refused}};
    rl_decision decision = refusal();
    for (int s = 0; s < 2; s++) {
        size_t length = strlen(styles[s].whole);
        CHECK_UINT(rl_decision_headers(&decision, styles[s].style, NULL, 0), length);
        for (size_t size = 0; size <= length + 2; size++) {
            unsigned char text[ENOUGH], want[ENOUGH];
            memset(text, POISON, sizeof text);
            memset(want, POISON, sizeof want);
            snprintf((char *)want, size, "%s", styles[s].whole);
            CHECK_UINT(rl_decision_headers(&decision, styles[s].style, (char *)text, size), length);
            CHECK_BYTES(text, want, sizeof text);
        }
    }
}

static void wrong_arguments(void) {
    rl_decision decision = refusal();
    char text[4];
    for (size_t size = 0; size <= sizeof text; size++) {
        unsigned char want[sizeof text];
        memset(want, POISON, sizeof want);
        want[0] = size > 0 ? '\0' : POISON;
        memset(text, POISON, sizeof text);
        CHECK_UINT(rl_decision_headers(NULL, RL_HEADERS_DRAFT, text, size), 0);
        CHECK_BYTES(text, want, sizeof text);
        memset(text, POISON, sizeof text);
        CHECK_UINT(rl_decision_headers(&decision, 2, text, size), 0);
        CHECK_BYTES(text, want, sizeof text);
    }
    CHECK_UINT(rl_decision_headers(&decision, UINT32_MAX, NULL, 0), 0);
    CHECK_UINT(rl_decision_headers(&decision, RL_HEADERS_DRAFT, NULL, 1), 0);
    CHECK_UINT(rl_decision_headers(&decision, RL_HEADERS_DRAFT, NULL, SIZE_MAX), 0);
    CHECK_UINT(rl_decision_headers(NULL, RL_HEADERS_DRAFT, NULL, 0), 0);
    CHECK_UINT(rl_decision_headers(NULL, UINT32_MAX, NULL, SIZE_MAX), 0);
}

/* A size that is a lie only upwards of what the text takes. */
static void a_size_beyond_all_memory(void) {
    rl_decision decision = refusal();
    char text[ENOUGH];
    CHECK_UINT(rl_decision_headers(&decision, RL_HEADERS_DRAFT, text, SIZE_MAX),
               strlen(draft_refused));
    CHECK_TEXT(text, draft_refused);
}

static void names_do_not_break_out(void) {
    static const struct {
        const char bytes[17];
        const char *shown;
    } names[] = {
        {"fifteen-bytes_x", "fifteen-bytes_x"}, {"sixteen-bytes_xy", "sixteen-bytes_x"},
        {"a\r\nSet-Cookie:x", "a"},             {"a\";q=0,\"b", "a"},
        {"a\\\"", "a"},                         {"Upper", "default"},
        {"\xff\xfe", "default"},                {"", "default"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        rl_decision decision = refusal();
        char want[ENOUGH];
        memcpy(decision.name, names[i].bytes, sizeof decision.name);
        snprintf(want, sizeof want,
                 "RateLimit-Policy: \"%s\";q=5;w=10\r\nRateLimit: \"%s\";r=0;t=2\r\n"
                 "Retry-After: 2\r\n",
                 names[i].shown, names[i].shown);
        says(&decision, RL_HEADERS_DRAFT, want);
        says(&decision, RL_HEADERS_LEGACY, legacy_refused);
    }
}

/* Fields hold no more than 15 digits; a limit may have 16. */
static void numbers_end_where_fields_do(void) {
    rl_decision decision = refusal();
    decision.limit = (UINT64_C(1) << 53) - 1;
    decision.remaining = UINT64_MAX;
    decision.retry_after_ms = RL_NEVER - 1;
    says(&decision, RL_HEADERS_DRAFT,
         "RateLimit-Policy: \"default\";q=999999999999999;w=10\r\n"
         "RateLimit: \"default\";r=999999999999999;t=999999999999999\r\n"
         "Retry-After: 999999999999999\r\n");
}

/* `text` is lines that begin as these do, end with CRLF, and have one kind of byte else. */
static int is_made_of_fields(const char *text) {
    static const char *const starts[] = {
        "RateLimit-Policy: \"", "RateLimit: \"",         "Retry-After: ",
        "X-RateLimit-Limit: ",  "X-RateLimit-Remaining: ", "X-RateLimit-Reset: ",
    };
    while (*text != '\0') {
        size_t i = 0, at;
        while (i < 6 && strncmp(text, starts[i], strlen(starts[i])) != 0) {
            i++;
        }
        if (i == 6) {
            return 0;
        }
        text += strlen(starts[i]);
        at = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-\";=");
        if (at == 0 || strncmp(text + at, "\r\n", 2) != 0) {
            return 0;
        }
        text += at + 2;
    }
    return 1;
}

/* A decision with any bytes at all, `allowed` among them, makes fields and no others. */
static void any_bytes_make_fields(void) {
    uint64_t seed = 1;
    int wrong = 0;
    CHECK(is_made_of_fields(draft_refused) && is_made_of_fields(legacy_refused));
    CHECK(!is_made_of_fields("Set-Cookie: x\r\n") && !is_made_of_fields("Retry-After: 1\n"));
    for (int round = 0; round < 20000; round++) {
        unsigned char bytes[sizeof(rl_decision)];
        rl_decision decision;
        char text[ENOUGH];
        for (size_t i = 0; i < sizeof bytes; i++) {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            bytes[i] = (unsigned char)(seed >> 56);
        }
        memcpy(&decision, bytes, sizeof decision);
        for (uint32_t style = 0; style < 2; style++) {
            size_t length = rl_decision_headers(&decision, style, text, sizeof text);
            wrong += length >= sizeof text || length != strlen(text) || !is_made_of_fields(text);
        }
    }
    CHECK_INT(wrong, 0);
}

/* The text may take the place of the decision that it is about. */
static void the_buffer_may_hold_the_decision(void) {
    union {
        rl_decision decision;
        char text[ENOUGH];
    } memory;
    memory.decision = refusal();
    CHECK_UINT(rl_decision_headers(&memory.decision, RL_HEADERS_DRAFT, memory.text, ENOUGH),
               strlen(draft_refused));
    CHECK_TEXT(memory.text, draft_refused);
}

static void nothing_is_said_of_a_counter_that_was_not_kept(void) {
    rl_decision decision = refusal();
    decision.flags = RL_FLAG_UNTRACKED;
    says(&decision, RL_HEADERS_DRAFT,
         "RateLimit-Policy: \"default\";q=5;w=10\r\nRetry-After: 2\r\n");
    says(&decision, RL_HEADERS_LEGACY, "X-RateLimit-Limit: 5\r\nRetry-After: 2\r\n");
}

int main(void) {
    decisions_of_a_service();
    buffers_of_every_size();
    wrong_arguments();
    a_size_beyond_all_memory();
    names_do_not_break_out();
    numbers_end_where_fields_do();
    any_bytes_make_fields();
    the_buffer_may_hold_the_decision();
    nothing_is_said_of_a_counter_that_was_not_kept();
    return test_end();
}
