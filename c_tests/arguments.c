/*
 * Every function with NULL in every pointer position, with bad lengths and with
 * numbers out of range: nothing crashes, the status is right, and nothing is
 * written but the refusal that an rl_decision gets.
 */
#include <stddef.h>

#include "poison.h"

/* ---- outputs that are watched ----------------------------------------------------- */

/*
 * Each of these takes a call that writes to `out`, the status it must return, and
 * looks at what became of an `out` that was poisoned before.
 */
#define CHECK_REFUSES(call, status)                                \
    do {                                                           \
        rl_decision out;                                           \
        memset(&out, POISON, sizeof out);                          \
        CHECK_INT((call), (status));                               \
        CHECK(is_filled_with(&out, sizeof out, 0));    \
    } while (0)

#define CHECK_UNTOUCHED(type, call, status)                           \
    do {                                                              \
        type out;                                                     \
        memset(&out, POISON, sizeof out);                             \
        CHECK_INT((call), (status));                                  \
        CHECK(is_filled_with(&out, sizeof out, POISON));  \
    } while (0)

/* For calls whose last argument is `&error`: it must say what the status says. */
#define CHECK_EXPLAINS(call, wanted)                                        \
    do {                                                                    \
        rl_error error;                                                     \
        memset(&error, POISON, sizeof error);                               \
        CHECK_INT((call), (wanted));                                        \
        CHECK_INT(error.status, (wanted));                                  \
        CHECK(memchr(error.message, '\0', sizeof error.message) != NULL);   \
        CHECK(error.message[0] != '\0' && error.message[0] != POISON);      \
    } while (0)

/* ---- status and version ----------------------------------------------------------- */

static void every_status_has_its_text(void) {
    for (rl_status a = RL_ERR_INTERNAL; a <= RL_OK; a++) {
        CHECK(rl_status_message(a) != NULL && rl_status_message(a)[0] != '\0');
        for (rl_status b = a + 1; b <= RL_OK; b++) {
            CHECK(strcmp(rl_status_message(a), rl_status_message(b)) != 0);
        }
    }
    const rl_status unknown[] = {1, -9, -1000, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        CHECK(rl_status_message(unknown[i]) != NULL);
        CHECK_TEXT(rl_status_message(unknown[i]), rl_status_message(1));
        CHECK(strcmp(rl_status_message(unknown[i]), rl_status_message(RL_OK)) != 0);
    }
}

static void the_version_is_the_headers(void) {
    char numbers[32];
    CHECK_TEXT(rl_version(), LIBRL_VERSION);
    snprintf(numbers, sizeof numbers, "%d.%d.%d", LIBRL_VERSION_MAJOR, LIBRL_VERSION_MINOR,
             LIBRL_VERSION_PATCH);
    CHECK_TEXT(numbers, LIBRL_VERSION);
    CHECK_INT(LIBRL_ABI, 0);
}

/* ---- clocks ----------------------------------------------------------------------- */

static uint64_t stand_still(void *context) {
    (void)context;
    return 0;
}

static void clocks(void) {
    rl_clock *clock = NULL;
    CHECK_INT(rl_clock_new_manual(0, NULL), RL_ERR_ARGUMENT);
    CHECK_INT(rl_clock_new_callback(stand_still, NULL, NULL), RL_ERR_ARGUMENT);
    CHECK_UNTOUCHED(rl_clock *, rl_clock_new_callback(NULL, NULL, &out), RL_ERR_ARGUMENT);
    CHECK_UNTOUCHED(rl_clock *, rl_clock_new_callback(NULL, &clock, &out), RL_ERR_ARGUMENT);
    CHECK_INT(rl_clock_new_callback(stand_still, NULL, &clock), RL_OK);
    CHECK(clock != NULL);
    rl_clock_free(clock);
    CHECK_INT(rl_clock_set_ns(NULL, 1), RL_ERR_ARGUMENT);
    CHECK_INT(rl_clock_advance_ns(NULL, 1), RL_ERR_ARGUMENT);
    rl_clock_free(NULL);
}

/* ---- configuration ---------------------------------------------------------------- */

static void config_parse(void) {
    CHECK_EXPLAINS(rl_config_parse(NULL, "", 0, &error), RL_ERR_ARGUMENT);
    CHECK_EXPLAINS(rl_config_parse(config, NULL, 5, &error), RL_ERR_ARGUMENT);
    CHECK_EXPLAINS(rl_config_parse(config, NULL, RL_NUL, &error), RL_ERR_ARGUMENT);
    CHECK_EXPLAINS(rl_config_parse(config, "#", SIZE_MAX - 1, &error), RL_ERR_ARGUMENT);
    CHECK_EXPLAINS(rl_config_parse(config, "#", SIZE_MAX / 2 + 1, &error), RL_ERR_ARGUMENT);
    CHECK_INT(rl_config_parse(NULL, NULL, 0, NULL), RL_ERR_ARGUMENT);
    CHECK_UNTOUCHED(rl_error, rl_config_parse(config, NULL, 0, &out), RL_OK);
    CHECK_UNTOUCHED(rl_error, rl_config_parse(config, "# no rule", RL_NUL, &out), RL_OK);
    CHECK_EXPLAINS(rl_config_parse(config, "nothing", 7, &error), RL_ERR_CONFIG);
}

static void config_load_and_set(void) {
    CHECK_INT(rl_config_new(NULL), RL_ERR_ARGUMENT);
    CHECK_EXPLAINS(rl_config_load(NULL, "file", &error), RL_ERR_ARGUMENT);
    CHECK_EXPLAINS(rl_config_load(config, NULL, &error), RL_ERR_ARGUMENT);
    CHECK_INT(rl_config_load(NULL, NULL, NULL), RL_ERR_ARGUMENT);
    CHECK_EXPLAINS(rl_config_set(NULL, "user.a", "deny", &error), RL_ERR_ARGUMENT);
    CHECK_EXPLAINS(rl_config_set(config, NULL, "deny", &error), RL_ERR_ARGUMENT);
    CHECK_EXPLAINS(rl_config_set(config, "user.a", NULL, &error), RL_ERR_ARGUMENT);
    CHECK_EXPLAINS(rl_config_set(config, "", "deny", &error), RL_ERR_CONFIG);
    CHECK_EXPLAINS(rl_config_set(config, "user.a", "", &error), RL_ERR_CONFIG);
    CHECK_EXPLAINS(rl_config_set(config, "user.a", "deny\nuser.b = deny", &error), RL_ERR_CONFIG);
    CHECK_INT(rl_config_set(NULL, NULL, NULL, NULL), RL_ERR_ARGUMENT);
    CHECK_INT(rl_config_set_clock(NULL, manual), RL_ERR_ARGUMENT);
    CHECK_INT(rl_config_set_clock(config, NULL), RL_ERR_ARGUMENT);
    CHECK_INT(rl_config_set_clock(NULL, NULL), RL_ERR_ARGUMENT);
    rl_config_free(NULL);
}

static void config_set_rule(void) {
    rl_config *c = fixture_config("default = deny");
    CHECK_EXPLAINS(rl_config_set_rule(NULL, "u", 1, "a", 1, "deny", &error), RL_ERR_ARGUMENT);
    CHECK_EXPLAINS(rl_config_set_rule(c, "u", 1, "a", 1, NULL, &error), RL_ERR_ARGUMENT);
    CHECK_EXPLAINS(rl_config_set_rule(c, "u", 1, "a", 1, "", &error), RL_ERR_CONFIG);
    CHECK_EXPLAINS(rl_config_set_rule(c, long_name, LONGEST + 1, "a", 1, "deny", &error),
                   RL_ERR_ARGUMENT);
    CHECK_EXPLAINS(rl_config_set_rule(c, "u", 1, long_name, RL_NUL, "deny", &error),
                   RL_ERR_ARGUMENT);
    CHECK_EXPLAINS(rl_config_set_rule(c, "u", SIZE_MAX - 1, "a", 1, "deny", &error),
                   RL_ERR_ARGUMENT);
    CHECK_INT(rl_config_set_rule(NULL, NULL, 0, NULL, 0, NULL, NULL), RL_ERR_ARGUMENT);
    /* NULL is "any", whatever its length: both are the default rule, which is there. */
    CHECK_EXPLAINS(rl_config_set_rule(c, NULL, 3, NULL, RL_NUL, "deny", &error), RL_ERR_CONFIG);
    CHECK_INT(rl_config_set_rule(c, long_name, LONGEST, NULL, 0, "deny", NULL), RL_OK);
    CHECK_INT(rl_config_set_rule(c, long_name + 1, RL_NUL, "a", 1, "deny", NULL), RL_OK);
    rl_config_free(c);
}

/* NULL and what is not aligned are refused; the size is looked at by rl_service_new. */
static void config_set_memory(void) {
    enum { LEAST = 16384 };
    uint64_t *memory = calloc(1, LEAST);
    char *start = (char *)memory;
    rl_config *c = fixture_config("default = deny");
    rl_service *made = NULL;
    rl_error error = {0};
    NEED(memory != NULL);
    CHECK_INT(rl_config_set_memory(NULL, memory, LEAST), RL_ERR_ARGUMENT);
    CHECK_INT(rl_config_set_memory(NULL, NULL, 0), RL_ERR_ARGUMENT);
    CHECK_INT(rl_config_set_memory(c, NULL, LEAST), RL_ERR_ARGUMENT);
    CHECK_INT(rl_config_set_memory(c, NULL, 0), RL_ERR_ARGUMENT);
    for (size_t off = 1; off < 8; off++) {
        CHECK_INT(rl_config_set_memory(c, start + off, LEAST - 8), RL_ERR_ARGUMENT);
    }
    CHECK(is_filled_with(memory, LEAST, 0));

    const size_t too_small[] = {0, 1, 8, 4096, LEAST - 8, LEAST - 1};
    for (size_t i = 0; i < sizeof too_small / sizeof *too_small; i++) {
        CHECK_INT(rl_config_set_memory(c, memory, too_small[i]), RL_OK);
        CHECK_INT(rl_service_new(c, &made, &error), RL_ERR_MEMORY);
        CHECK_INT(error.status, RL_ERR_MEMORY);
        CHECK(strstr(error.message, "16384") != NULL || strstr(error.message, "16,384") != NULL);
    }
    CHECK(made == NULL);
    CHECK(is_filled_with(memory, LEAST, 0));
    CHECK_INT(rl_config_set_memory(c, memory, LEAST), RL_OK); /* the last call counts */
    CHECK_INT(rl_service_new(c, &made, &error), RL_OK);
    rl_service_free(made);

    made = NULL;
    CHECK_INT(rl_config_set(c, "shared", "/librl-arguments", NULL), RL_OK);
    CHECK_EXPLAINS(rl_service_new(c, &made, &error), RL_ERR_CONFIG);
    CHECK(made == NULL);
    CHECK_INT(rl_zone_unlink("/librl-arguments"), RL_ERR_IO); /* it has made none */
    rl_config_free(c);
    free(memory);
}

/* ---- zones ------------------------------------------------------------------------ */

static void zone_unlink(void) {
    char name[257]; /* a /, 255 bytes and a NUL */
    memset(name, 'n', sizeof name);
    name[0] = '/';
    name[256] = '\0';
    const char *const wrong[] = {"",     "zone", "/",     "//",   "/.",        "/..",
                                 "/a/b", "//a",  "/a/",   "./a",  "../../tmp", name,
                                 long_name};
    CHECK_INT(rl_zone_unlink(NULL), RL_ERR_ARGUMENT);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_INT(rl_zone_unlink(wrong[i]), RL_ERR_ARGUMENT);
    }
    name[255] = '\0'; /* good names, of which there is no zone */
    CHECK_INT(rl_zone_unlink(name), RL_ERR_IO);
    CHECK_INT(rl_zone_unlink("/librl-there-is-no-such-zone"), RL_ERR_IO);
}

static void service_new_and_free(void) {
    rl_service *made = NULL;
    CHECK_EXPLAINS(rl_service_new(NULL, &made, &error), RL_ERR_ARGUMENT);
    CHECK(made == NULL);
    CHECK_EXPLAINS(rl_service_new(config, NULL, &error), RL_ERR_ARGUMENT);
    CHECK_INT(rl_service_new(NULL, NULL, NULL), RL_ERR_ARGUMENT);
    CHECK_UNTOUCHED(rl_service *, rl_service_new(NULL, &out, NULL), RL_ERR_ARGUMENT);
    CHECK_UNTOUCHED(rl_error, rl_service_new(config, &made, &out), RL_OK);
    CHECK(made != NULL);
    rl_free(made);
    rl_free(NULL);
    rl_service_free(NULL);
}

/* ---- checks ----------------------------------------------------------------------- */

static void check(void) {
    CHECK_REFUSES(rl_check(NULL, "u", "a", &out), RL_ERR_ARGUMENT);
    CHECK_REFUSES(rl_check(service, NULL, "a", &out), RL_ERR_ARGUMENT);
    CHECK_REFUSES(rl_check(service, "u", NULL, &out), RL_ERR_ARGUMENT);
    CHECK_REFUSES(rl_check(service, long_name, "a", &out), RL_ERR_ARGUMENT);
    CHECK_REFUSES(rl_check(service, "u", long_name, &out), RL_ERR_ARGUMENT);
    CHECK_INT(rl_check(service, "u", "a", NULL), RL_ERR_ARGUMENT);
    CHECK_INT(rl_check(NULL, NULL, NULL, NULL), RL_ERR_ARGUMENT);
    CHECK(!rl_allow(NULL, "u"));
    CHECK(!rl_allow(service, NULL));
    CHECK(!rl_allow(service, long_name));
    CHECK(!rl_allow(NULL, NULL));
}

typedef rl_status check_function(rl_service *, const void *, size_t, const void *, size_t,
                                 uint64_t, rl_decision *);

/* rl_check_bytes and rl_peek take the same arguments, and refuse the same. */
static void check_with(check_function *ask) {
    CHECK_REFUSES(ask(NULL, "u", 1, "a", 1, 1, &out), RL_ERR_ARGUMENT);
    CHECK_REFUSES(ask(service, NULL, 1, "a", 1, 1, &out), RL_ERR_ARGUMENT);
    CHECK_REFUSES(ask(service, "u", 1, NULL, 1, 1, &out), RL_ERR_ARGUMENT);
    CHECK_REFUSES(ask(service, NULL, RL_NUL, "a", 1, 1, &out), RL_ERR_ARGUMENT);
    CHECK_REFUSES(ask(service, "u", 1, NULL, RL_NUL, 1, &out), RL_ERR_ARGUMENT);
    CHECK_REFUSES(ask(service, "u", 1, "a", 1, 0, &out), RL_ERR_ARGUMENT);
    CHECK_REFUSES(ask(service, long_name, LONGEST + 1, "a", 1, 1, &out), RL_ERR_ARGUMENT);
    CHECK_REFUSES(ask(service, "u", 1, long_name, LONGEST + 1, 1, &out), RL_ERR_ARGUMENT);
    CHECK_REFUSES(ask(service, long_name, RL_NUL, "a", 1, 1, &out), RL_ERR_ARGUMENT);
    CHECK_REFUSES(ask(service, "u", SIZE_MAX - 1, "a", 1, 1, &out), RL_ERR_ARGUMENT);
    CHECK_REFUSES(ask(service, "u", 1, "a", SIZE_MAX / 2, 1, &out), RL_ERR_ARGUMENT);
    CHECK_INT(ask(service, "u", 1, "a", 1, 1, NULL), RL_ERR_ARGUMENT);
    CHECK_INT(ask(service, "u", 1, "a", 1, 0, NULL), RL_ERR_ARGUMENT);
    CHECK_INT(ask(NULL, NULL, 0, NULL, 0, 0, NULL), RL_ERR_ARGUMENT);
}

static void check_batch(void) {
    rl_request good = {"batch", 5, "a", 1, 1};
    rl_decision out[3], refused[3], poison[3];
    memset(refused, 0, sizeof refused);
    memset(poison, POISON, sizeof poison);

    CHECK_INT(rl_check_batch(service, &good, 1, NULL), RL_ERR_ARGUMENT);
    CHECK_INT(rl_check_batch(NULL, NULL, 0, NULL), RL_ERR_ARGUMENT);
    CHECK_INT(rl_check_batch(service, NULL, 0, NULL), RL_OK);
    memset(out, POISON, sizeof out);
    CHECK_INT(rl_check_batch(service, &good, 0, out), RL_OK);
    CHECK_BYTES(out, poison, sizeof out);
    CHECK_INT(rl_check_batch(NULL, &good, 1, out), RL_ERR_ARGUMENT);
    CHECK_BYTES(out, refused, sizeof out[0]);
    CHECK_BYTES(out + 1, poison, 2 * sizeof out[0]);
    memset(out, POISON, sizeof out);
    CHECK_INT(rl_check_batch(service, NULL, 3, out), RL_ERR_ARGUMENT);
    CHECK_BYTES(out, refused, sizeof out);
    memset(out, POISON, sizeof out);
    CHECK_INT(rl_check_batch(service, &good, SIZE_MAX, out), RL_ERR_ARGUMENT);
    CHECK_INT(rl_check_batch(service, &good, SIZE_MAX / sizeof good + 2, out), RL_ERR_ARGUMENT);
    CHECK_BYTES(out, poison, sizeof out);
}

static void a_wrong_request_leaves_the_whole_batch_uncharged(void) {
    const rl_request good = {"batch", 5, "a", 1, 1};
    const rl_request wrong[] = {
        {NULL, 5, "a", 1, 1},
        {"batch", 5, NULL, RL_NUL, 1},
        {"batch", 5, "a", 1, 0},
        {long_name, RL_NUL, "a", 1, 1},
        {"batch", SIZE_MAX - 1, "a", 1, 1},
    };
    rl_decision out[3], refused[3];
    memset(refused, 0, sizeof refused);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rl_request requests[3] = {good, wrong[i], good};
        memset(out, POISON, sizeof out);
        CHECK_INT(rl_check_batch(service, requests, 3, out), RL_ERR_ARGUMENT);
        CHECK_BYTES(out, refused, sizeof out);
    }
    CHECK_INT(rl_peek(service, "batch", 5, "a", 1, 5, out), RL_OK);
    CHECK(out[0].allowed);
}

static void explain_and_statistics(void) {
    char text[64];
    rl_stats none = {0};
    CHECK_INT(rl_explain(service, "u", 1, "a", 1, NULL, 64), RL_ERR_ARGUMENT);
    CHECK_INT(rl_explain(NULL, NULL, 0, NULL, 0, NULL, 0), RL_ERR_ARGUMENT);
    memset(text, POISON, sizeof text);
    CHECK_INT(rl_explain(NULL, "u", 1, "a", 1, text, sizeof text), RL_ERR_ARGUMENT);
    CHECK_INT(rl_explain(service, NULL, 1, "a", 1, text, sizeof text), RL_ERR_ARGUMENT);
    CHECK_INT(rl_explain(service, "u", 1, NULL, 1, text, sizeof text), RL_ERR_ARGUMENT);
    CHECK_INT(rl_explain(service, long_name, RL_NUL, "a", 1, text, sizeof text), RL_ERR_ARGUMENT);
    CHECK_INT(rl_explain(service, "u", 1, "a", 1, text, 0), RL_ERR_MEMORY);
    CHECK_INT(rl_explain(service, "u", 1, "a", 1, text, 1), RL_ERR_MEMORY);
    CHECK(is_filled_with(text, sizeof text, POISON));
    CHECK_INT(rl_explain(service, NULL, 0, NULL, 0, text, sizeof text), RL_OK);

    CHECK_INT(rl_service_stats(NULL, NULL), RL_ERR_ARGUMENT);
    CHECK_INT(rl_service_stats(service, NULL), RL_ERR_ARGUMENT);
    CHECK_UNTOUCHED(rl_stats, rl_service_stats(NULL, &out), RL_ERR_ARGUMENT);
    CHECK_INT(rl_service_stats(service, &none), RL_ERR_ARGUMENT); /* no size set */
    CHECK_UINT(none.capacity, 0);
}

/* The size that the caller sets is the struct that it has. */
static void statistics_fit_the_struct_of_the_caller(void) {
    struct {
        rl_stats stats;
        char later[64];
    } out;
    memset(&out, POISON, sizeof out);
    out.stats.size = offsetof(rl_stats, errors); /* a header from before `errors` */
    CHECK_INT(rl_service_stats(service, &out.stats), RL_OK);
    CHECK_UINT(out.stats.size, offsetof(rl_stats, errors));
    CHECK(is_filled_with(&out.stats.errors, sizeof out - offsetof(rl_stats, errors), POISON));
    memset(&out, POISON, sizeof out);
    out.stats.size = sizeof out; /* a header from after this library */
    CHECK_INT(rl_service_stats(service, &out.stats), RL_OK);
    CHECK_UINT(out.stats.size, sizeof out.stats);
    CHECK(is_filled_with(out.later, sizeof out.later, POISON));
}

static void nothing_of_all_this_was_charged(void) {
    rl_stats stats = fixture_stats(service);
    CHECK_UINT(stats.allowed, 0);
    CHECK_UINT(stats.denied, 0);
    CHECK_UINT(stats.keys, 0);
    CHECK(stats.errors > 0);
}

/* ---- names ------------------------------------------------------------------------ */

static uint64_t remaining_of(const void *user, size_t user_len, const void *api, size_t api_len) {
    rl_decision out;
    CHECK_INT(rl_check_bytes(service, user, user_len, api, api_len, 1, &out), RL_OK);
    CHECK(out.allowed);
    return out.remaining;
}

static void any_bytes_are_a_name(void) {
    CHECK_UINT(remaining_of("a\0b", 3, "", 0), 4);
    CHECK_UINT(remaining_of("a\0c", 3, "", 0), 4);
    CHECK_UINT(remaining_of("a", 1, "", 0), 4);
    CHECK_UINT(remaining_of("a\0", 2, "", 0), 4);
    CHECK_UINT(remaining_of("a\0b", 3, "", 0), 3);
    CHECK_UINT(remaining_of("a\0b", RL_NUL, "", 0), 3); /* "a" */
    CHECK_UINT(remaining_of("\xff\xfe", 2, "\x80", 1), 4);
}

static void length_0_is_the_empty_name_wherever_it_points(void) {
    CHECK_UINT(remaining_of("", 0, "empty", 5), 4);
    CHECK_UINT(remaining_of(NULL, 0, "empty", 5), 3);
    CHECK_UINT(remaining_of((const void *)(uintptr_t)1, 0, "empty", 5), 2);
    CHECK_UINT(remaining_of("", RL_NUL, "empty", 5), 1);
    rl_decision out;
    CHECK_INT(rl_check(service, "", "empty", &out), RL_OK);
    CHECK_UINT(out.remaining, 0);
}

static void the_longest_name_is_whole(void) {
    const char *longest = long_name + 1; /* 65,535 bytes and a NUL */
    CHECK_UINT(remaining_of(longest, LONGEST, "", 0), 4);
    CHECK_UINT(remaining_of(longest, RL_NUL, "", 0), 3);
    CHECK_UINT(remaining_of(longest, LONGEST - 1, "", 0), 4);
    CHECK_UINT(remaining_of("", 0, longest, LONGEST), 4);
    CHECK(rl_allow(service, longest));
    CHECK_UINT(remaining_of(longest, LONGEST, "", 0), 1);
    long_name[LONGEST] = 'o'; /* another last byte, another name */
    CHECK_UINT(remaining_of(longest, LONGEST, "", 0), 4);
}

static void the_largest_cost_is_refused_for_ever(void) {
    rl_decision out;
    CHECK_INT(rl_check_bytes(service, "cost", 4, "", 0, UINT64_MAX, &out), RL_OK);
    CHECK(!out.allowed);
    CHECK_UINT(out.retry_after_ms, RL_NEVER);
    CHECK_UINT(out.remaining, 5);
}

int main(void) {
    set_up();
    every_status_has_its_text();
    the_version_is_the_headers();
    clocks();
    config_parse();
    config_load_and_set();
    config_set_rule();
    config_set_memory();
    zone_unlink();
    service_new_and_free();
    check();
    check_with(rl_check_bytes);
    check_with(rl_peek);
    check_batch();
    a_wrong_request_leaves_the_whole_batch_uncharged();
    explain_and_statistics();
    statistics_fit_the_struct_of_the_caller();
    nothing_of_all_this_was_charged();
    any_bytes_are_a_name();
    length_0_is_the_empty_name_wherever_it_points();
    the_longest_name_is_whole();
    the_largest_cost_is_refused_for_ever();
    tear_down();
    return test_end();
}
