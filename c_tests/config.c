/*
 * Rules and settings through the C interface: what is refused, where, and that a
 * refusal changes nothing.
 */
#include "fixture.h"

static rl_config *new_config(void) {
    rl_config *config = NULL;
    NEED(rl_config_new(&config) == RL_OK);
    return config;
}

/* ---- what is refused -------------------------------------------------------------- */

static const struct {
    const char *text;
    uint32_t line, column; /* column 0: somewhere in the line */
    const char *says;
} wrong_texts[] = {
    {"default = leaky,5,10\n", 1, 11, "leaky"},
    {"default = token-bucketful,5,10\n", 1, 11, "token-bucketful"},
    {"default = token-bucket,0,10\n", 1, 24, "0"},
    {"default = token-bucket,-5,10\n", 1, 24, "-5"},
    {"default = token-bucket,1.5,10\n", 1, 24, "1.5"},
    {"default = token-bucket,0x10,10\n", 1, 24, "0x10"},
    {"default = token-bucket,,10\n", 1, 24, ""},
    {"default = token-bucket,5,0\n", 1, 26, "0"},
    {"default = token-bucket,5,10parsecs\n", 1, 26, "parsecs"},
    {"default = token-bucket,5\n", 1, 0, ""},
    {"default = token-bucket,5,10,colour=red\n", 1, 29, "colour"},
    {"default = \n", 1, 0, ""},
    {"default\n", 1, 0, ""},
    {"# one\n\n  default = nothing\n", 3, 13, "nothing"},
    {"default = unlimited\r\nmemory = lots\r\n", 2, 10, "lots"},
    {"default = unlimited\ncolour = red\n", 2, 1, "colour"},
    {"default = unlimited\nclock = sundial\n", 2, 9, "sundial"},
    {"default = unlimited\non-full = panic\n", 2, 11, "panic"},
    {"default = unlimited\nuser.a = deny\nuser.a = deny\n", 3, 1, "user.a"},
    {"default = unlimited\ndefault = deny\n", 2, 1, "default"},
    {"default = unlimited\nuser.\"a = deny\n", 2, 0, ""},
    {"default = unlimited\nuser.\"a\\q\" = deny\n", 2, 0, ""},
    {"default = token-bucket,5,10 + deny\n", 1, 0, "deny"},
    {"default = token-bucket,5,10,per=galaxy\n", 1, 0, "galaxy"},
    {"default = token-bucket,5,10,shadow,shadow\n", 1, 0, "shadow"},
    {"default = unlimited\nuser.a* = deny\n", 2, 0, "*"},
    {"default = unlimited\nmatch = some\n", 2, 9, "some"},
    {"default = unlimited\nshared = zone\n", 2, 10, "such as /shop"},
    {"default = unlimited\nshared = /a/b\n", 2, 10, "/a/b"},
    {"default = unlimited\nshared = /z\nshared-mode = 0700\n", 3, 15, "0700"},
};

static void a_wrong_text_says_where_and_what(void) {
    for (size_t i = 0; i < sizeof wrong_texts / sizeof *wrong_texts; i++) {
        const char *text = wrong_texts[i].text;
        rl_config *config = new_config();
        rl_error error;
        unsigned long failed = tests_failed;
        memset(&error, 0x5a, sizeof error);
        CHECK_INT(rl_config_parse(config, text, strlen(text), &error), RL_ERR_CONFIG);
        CHECK_INT(error.status, RL_ERR_CONFIG);
        CHECK_UINT(error.line, wrong_texts[i].line);
        if (wrong_texts[i].column != 0) {
            CHECK_UINT(error.column, wrong_texts[i].column);
        } else {
            CHECK(error.column > 0);
        }
        CHECK(memchr(error.message, '\0', sizeof error.message) != NULL);
        CHECK(error.message[0] != '\0');
        CHECK_CONTAINS(error.message, wrong_texts[i].says);
        if (tests_failed != failed) {
            printf("    of the text: %s    which got: %u:%u: %.200s\n", text,
                   (unsigned)error.line, (unsigned)error.column, error.message);
        }
        CHECK_INT(rl_config_parse(config, text, strlen(text), NULL), RL_ERR_CONFIG);
        rl_config_free(config);
    }
}

/* The limit that the config gives a pair, by a service made from it. */
static uint64_t limit_of(const rl_config *config, const char *user, const char *api) {
    rl_service *service = NULL;
    rl_decision decision;
    NEED(rl_service_new(config, &service, NULL) == RL_OK);
    NEED(rl_check(service, user, api, &decision) == RL_OK);
    rl_service_free(service);
    return decision.limit;
}

static void an_error_leaves_the_config_as_it_was(void) {
    static const char good[] = "default = token-bucket,5,10\nuser.a = token-bucket,6,10\n";
    static const char bad[] = "user.b = token-bucket,7,10\nuser.c = token-bucket,0,10\n";
    rl_config *config = new_config();
    rl_error error;
    CHECK_INT(rl_config_parse(config, good, RL_NUL, &error), RL_OK);
    CHECK_INT(rl_config_parse(config, bad, RL_NUL, &error), RL_ERR_CONFIG);
    CHECK_UINT(error.line, 2);
    CHECK_INT(rl_config_set(config, "user.b", "token-bucket,7", &error), RL_ERR_CONFIG);
    CHECK_INT(rl_config_set_rule(config, "b", 1, NULL, 0, "fixed", &error), RL_ERR_CONFIG);
    CHECK_INT(rl_config_load(config, "no/such/file", &error), RL_ERR_IO);
    CHECK_UINT(limit_of(config, "x", ""), 5);
    CHECK_UINT(limit_of(config, "a", ""), 6);
    CHECK_UINT(limit_of(config, "b", ""), 5);
    CHECK_INT(rl_config_set(config, "user.b", "token-bucket,7,10", &error), RL_OK);
    CHECK_UINT(limit_of(config, "b", ""), 7);
    rl_config_free(config);
}

static void a_config_without_a_default_makes_no_service(void) {
    rl_config *config = new_config();
    rl_service *service = (rl_service *)&config; /* stays as it is */
    rl_error error;
    CHECK_INT(rl_service_new(config, &service, &error), RL_ERR_CONFIG);
    CHECK_CONTAINS(error.message, "default");
    CHECK_INT(rl_config_set(config, "user.a", "unlimited", &error), RL_OK);
    CHECK_INT(rl_service_new(config, &service, &error), RL_ERR_CONFIG);
    CHECK_INT(error.status, RL_ERR_CONFIG);
    CHECK(service == (rl_service *)&config);
    rl_config_free(config);
}

/* Neither for a new service nor for one that is there. */
static void a_mode_without_shared_memory_makes_no_service(void) {
    rl_config *config = new_config();
    rl_service *service = NULL;
    rl_error error;
    CHECK_INT(rl_config_set(config, "default", "unlimited", NULL), RL_OK);
    NEED(rl_service_new(config, &service, NULL) == RL_OK);
    CHECK_INT(rl_config_set(config, "shared-mode", "0660", &error), RL_OK);
    CHECK_INT(rl_reload(service, config, &error), RL_ERR_CONFIG);
    rl_service_free(service);
    service = NULL;
    CHECK_INT(rl_service_new(config, &service, &error), RL_ERR_CONFIG);
    CHECK_CONTAINS(error.message, "shared = /NAME");
    CHECK(service == NULL);
    rl_config_free(config);
}

static void a_name_is_given_once_however_it_comes(void) {
    rl_config *config = new_config();
    rl_error error;
    CHECK_INT(rl_config_set(config, "default", "unlimited", &error), RL_OK);
    CHECK_INT(rl_config_set(config, "default", "deny", &error), RL_ERR_CONFIG);
    CHECK_INT(rl_config_set(config, "user.a api.b", "deny", &error), RL_OK);
    CHECK_INT(rl_config_set_rule(config, "a", 1, "b", 1, "deny", &error), RL_ERR_CONFIG);
    CHECK_INT(rl_config_set_rule(config, "\0", 1, NULL, 0, "deny", &error), RL_OK);
    CHECK_INT(rl_config_set(config, "user.\"\\x00\"", "deny", &error), RL_ERR_CONFIG);
    rl_config_free(config);
}

static void a_file_that_is_not_there_is_an_io_error(void) {
    rl_config *config = new_config();
    rl_error error;
    CHECK_INT(rl_config_load(config, "no/such/file.conf", &error), RL_ERR_IO);
    CHECK_INT(error.status, RL_ERR_IO);
    CHECK_CONTAINS(error.message, "no/such/file.conf");
    CHECK_UINT(error.line, 0);
    CHECK_UINT(error.column, 0);
    CHECK_INT(rl_config_load(config, ".", &error), RL_ERR_IO);
    CHECK_INT(rl_config_load(config, "", &error), RL_ERR_IO);
    rl_config_free(config);
}

static void a_file_is_read_as_its_text_is(void) {
    const char *path = "config-test.conf";
    FILE *file = fopen(path, "wb");
    NEED(file != NULL);
    fputs("# rules\r\n\r\ndefault = token-bucket,5,10\r\nuser.a = token-bucket,6,10", file);
    NEED(fclose(file) == 0);
    rl_config *config = new_config();
    rl_error error;
    CHECK_INT(rl_config_load(config, path, &error), RL_OK);
    CHECK_UINT(limit_of(config, "x", ""), 5);
    CHECK_UINT(limit_of(config, "a", ""), 6);
    rl_config_free(config);

    file = fopen(path, "ab");
    NEED(file != NULL);
    fputs("\nuser.b = what", file);
    NEED(fclose(file) == 0);
    config = new_config();
    CHECK_INT(rl_config_load(config, path, &error), RL_ERR_CONFIG);
    CHECK_UINT(error.line, 5);
    CHECK_UINT(error.column, 10);
    rl_config_free(config);
    remove(path);
}

/* ---- names as bytes --------------------------------------------------------------- */

static void null_is_any_and_length_0_is_the_empty_name(void) {
    rl_config *config = new_config();
    rl_error error;
    CHECK_INT(rl_config_set_rule(config, NULL, 0, NULL, 0, "token-bucket,1,10", &error), RL_OK);
    CHECK_INT(rl_config_set_rule(config, "", 0, NULL, 0, "token-bucket,2,10", &error), RL_OK);
    CHECK_INT(rl_config_set_rule(config, NULL, 0, "", 0, "token-bucket,3,10", &error), RL_OK);
    CHECK_INT(rl_config_set_rule(config, "", 0, "", 0, "token-bucket,4,10", &error), RL_OK);
    CHECK_INT(rl_config_set_rule(config, "u", RL_NUL, "a", RL_NUL, "token-bucket,5,10", &error),
              RL_OK);
    CHECK_UINT(limit_of(config, "x", "y"), 1);
    CHECK_UINT(limit_of(config, "", "y"), 2);
    CHECK_UINT(limit_of(config, "x", ""), 3);
    CHECK_UINT(limit_of(config, "", ""), 4);
    CHECK_UINT(limit_of(config, "u", "a"), 5);
    rl_config_free(config);
}

static void a_length_cuts_a_name_and_a_nul_does_not(void) {
    rl_config *config = new_config();
    rl_service *service = NULL;
    rl_decision decision;
    rl_error error;
    CHECK_INT(rl_config_set(config, "default", "token-bucket,1,10", &error), RL_OK);
    CHECK_INT(rl_config_set_rule(config, "ab\0cd", 5, NULL, 0, "token-bucket,2,10", &error),
              RL_OK);
    CHECK_INT(rl_config_set_rule(config, "abcd", 3, NULL, 0, "token-bucket,3,10", &error), RL_OK);
    NEED(rl_service_new(config, &service, &error) == RL_OK);
    CHECK_INT(rl_check_bytes(service, "ab\0cd", 5, "", 0, 1, &decision), RL_OK);
    CHECK_UINT(decision.limit, 2);
    CHECK_INT(rl_check_bytes(service, "ab\0cd", RL_NUL, "", 0, 1, &decision), RL_OK);
    CHECK_UINT(decision.limit, 1);
    CHECK_INT(rl_check_bytes(service, "abcd", 3, "", 0, 1, &decision), RL_OK);
    CHECK_UINT(decision.limit, 3);
    rl_service_free(service);
    rl_config_free(config);
}

static void a_service_keeps_the_rules_it_was_made_with(void) {
    rl_config *config = fixture_config("default = token-bucket,5,10\n");
    rl_service *service = NULL;
    rl_decision decision;
    NEED(rl_service_new(config, &service, NULL) == RL_OK);
    CHECK_INT(rl_config_set(config, "user.a", "deny", NULL), RL_OK);
    CHECK_INT(rl_check(service, "a", "", &decision), RL_OK);
    CHECK(decision.allowed);
    rl_config_free(config);
    CHECK_INT(rl_check(service, "a", "", &decision), RL_OK);
    CHECK_UINT(decision.remaining, 3);
    rl_service_free(service);
}

int main(void) {
    a_wrong_text_says_where_and_what();
    an_error_leaves_the_config_as_it_was();
    a_config_without_a_default_makes_no_service();
    a_mode_without_shared_memory_makes_no_service();
    a_name_is_given_once_however_it_comes();
    a_file_that_is_not_there_is_an_io_error();
    a_file_is_read_as_its_text_is();
    null_is_any_and_length_0_is_the_empty_name();
    a_length_cuts_a_name_and_a_nul_does_not();
    a_service_keeps_the_rules_it_was_made_with();
    return test_end();
}
