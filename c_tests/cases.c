/*
 * Runs case files: rules, calls at given times, and what each must answer.
 *
 *     cases FILE...
 *
 * A file is a list of cases; blank lines and lines that begin with # are skipped.
 *
 *     case NAME
 *     config            the rules, up to `end`; a new service with its clock at 0
 *     ...
 *     end
 *     reload            new rules for the running service, up to `end`
 *     ...
 *     end
 *     TIME USER API [cost=N] [x=N] => allow|deny [remaining=R] [retry=MS|never]
 *     FROM..TO/STEP USER API [cost=N] [x=N] => count N
 *
 * Times are milliseconds. x=N makes N calls at each time. On an `allow` or `deny` line
 * all must answer so, and remaining and retry are those of the last; a `count` line
 * tells how many of all its calls are allowed. A name may stand in double quotes, with
 * \xNN, \" and \\ for single bytes. A line that is none of this is a failure.
 */
#include "fixture.h"

#include <ctype.h>
#include <stdarg.h>

#define MAX_LINE 4096
#define MAX_RULES 16384

enum answer { ALLOW, DENY, COUNT };

struct name {
    char bytes[MAX_LINE];
    size_t length;
};

struct line {
    uint64_t from_ms, to_ms, step_ms; /* one time: from == to */
    struct name user, api;
    uint64_t cost, times;
    enum answer answer;
    uint64_t count;
    bool has_remaining, has_retry;
    uint64_t remaining, retry_ms;
};

struct run {
    const char *path;
    FILE *file;
    unsigned long number; /* of the line last read */
    char text[MAX_LINE];

    char name[MAX_LINE]; /* of the case; empty before the first */
    unsigned long begun; /* its line */
    rl_clock *clock;
    rl_service *service;
    unsigned long lines; /* expectations met in this case */
    bool refused;        /* its rules are wrong: the rest is moot */
};

static void fail(struct run *run, unsigned long line, const char *format, ...) {
    va_list arguments;
    tests_failed++;
    printf("%s:%lu: ", run->path, line);
    if (run->name[0] != '\0') {
        printf("%s: ", run->name);
    }
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

/* ---- reading --------------------------------------------------------------------- */

/* Every reader below moves *at behind what it took, or leaves it and returns false. */

static void skip_blanks(const char **at) {
    while (**at == ' ' || **at == '\t') {
        (*at)++;
    }
}

static bool read_text(const char **at, const char *text) {
    size_t length = strlen(text);
    if (strncmp(*at, text, length) != 0) {
        return false;
    }
    *at += length;
    return true;
}

/* A whole word, with the blanks around it. */
static bool read_word(const char **at, const char *word) {
    const char *here = *at;
    skip_blanks(&here);
    if (!read_text(&here, word) || (*here != '\0' && *here != ' ' && *here != '\t')) {
        return false;
    }
    skip_blanks(&here);
    *at = here;
    return true;
}

static bool read_number(const char **at, uint64_t *out) {
    const char *here = *at;
    uint64_t number = 0;
    if (!isdigit((unsigned char)*here)) {
        return false;
    }
    for (; isdigit((unsigned char)*here); here++) {
        unsigned digit = (unsigned)(*here - '0');
        if (number > (UINT64_MAX - digit) / 10) {
            return false;
        }
        number = number * 10 + digit;
    }
    *at = here;
    *out = number;
    return true;
}

static int hex_digit(char c) {
    const char *digits = "0123456789abcdef";
    const char *found = c == '\0' ? NULL : strchr(digits, tolower((unsigned char)c));
    return found == NULL ? -1 : (int)(found - digits);
}

static bool read_escape(const char **at, char *out) {
    const char *here = *at + 1; /* behind the backslash */
    if (*here == '"' || *here == '\\') {
        *out = *here;
        *at = here + 1;
        return true;
    }
    if (*here == 'x' && hex_digit(here[1]) >= 0 && hex_digit(here[2]) >= 0) {
        *out = (char)(hex_digit(here[1]) * 16 + hex_digit(here[2]));
        *at = here + 3;
        return true;
    }
    return false;
}

static bool read_quoted(const char **at, struct name *out) {
    const char *here = *at + 1;
    while (*here != '"') {
        char byte = *here;
        if (byte == '\0') {
            return false;
        }
        if (byte != '\\') {
            here++;
        } else if (!read_escape(&here, &byte)) {
            return false;
        }
        out->bytes[out->length++] = byte;
    }
    *at = here + 1;
    return true;
}

static bool read_name(const char **at, struct name *out) {
    out->length = 0;
    skip_blanks(at);
    if (**at == '"') {
        return read_quoted(at, out) && (**at == ' ' || **at == '\t');
    }
    while (**at != '\0' && **at != ' ' && **at != '\t') {
        out->bytes[out->length++] = *(*at)++;
    }
    return out->length > 0;
}

/* TIME or FROM..TO/STEP, in milliseconds that fit into the clock's nanoseconds. */
static bool read_times(const char **at, struct line *line) {
    if (!read_number(at, &line->from_ms)) {
        return false;
    }
    line->to_ms = line->from_ms;
    line->step_ms = 1;
    if (read_text(at, "..") && (!read_number(at, &line->to_ms) || !read_text(at, "/") ||
                                !read_number(at, &line->step_ms))) {
        return false;
    }
    return (**at == ' ' || **at == '\t') && line->step_ms > 0 && line->to_ms >= line->from_ms &&
           line->to_ms <= UINT64_MAX / RL_NS_PER_MS - line->step_ms;
}

/* ` KEY=NUMBER`, each at most once; what is left out keeps its value. */
static bool read_call_options(const char **at, struct line *line) {
    bool has_cost = false, has_times = false;
    for (;;) {
        skip_blanks(at);
        if (!has_cost && read_text(at, "cost=")) {
            has_cost = true;
            if (!read_number(at, &line->cost)) {
                return false;
            }
        } else if (!has_times && read_text(at, "x=")) {
            has_times = true;
            if (!read_number(at, &line->times) || line->times == 0) {
                return false;
            }
        } else {
            return true;
        }
    }
}

static bool read_answer(const char **at, struct line *line) {
    if (read_word(at, "count")) {
        line->answer = COUNT;
        return read_number(at, &line->count);
    }
    if (line->to_ms != line->from_ms) {
        return false; /* several times can only be counted */
    }
    if (read_word(at, "allow")) {
        line->answer = ALLOW;
    } else if (read_word(at, "deny")) {
        line->answer = DENY;
    } else {
        return false;
    }
    if (read_text(at, "remaining=")) {
        line->has_remaining = true;
        if (!read_number(at, &line->remaining)) {
            return false;
        }
        skip_blanks(at);
    }
    if (read_text(at, "retry=")) {
        line->has_retry = true;
        line->retry_ms = RL_NEVER;
        return read_text(at, "never") || read_number(at, &line->retry_ms);
    }
    return true;
}

static bool read_line(const char *at, struct line *line) {
    line->cost = line->times = 1;
    line->has_remaining = line->has_retry = false;
    if (!read_times(&at, line) || !read_name(&at, &line->user) || !read_name(&at, &line->api) ||
        !read_call_options(&at, line) || !read_word(&at, "=>") || !read_answer(&at, line)) {
        return false;
    }
    skip_blanks(&at);
    return *at == '\0';
}

/* ---- running --------------------------------------------------------------------- */

/* Makes the line's calls and counts the allowed ones; the last decision stays in *out. */
static bool call(struct run *run, const struct line *line, uint64_t *allowed, rl_decision *out) {
    *allowed = 0;
    for (uint64_t now = line->from_ms; now <= line->to_ms; now += line->step_ms) {
        rl_clock_set_ns(run->clock, now * RL_NS_PER_MS);
        for (uint64_t i = 0; i < line->times; i++) {
            rl_status status =
                rl_check_bytes(run->service, line->user.bytes, line->user.length, line->api.bytes,
                               line->api.length, line->cost, out);
            if (status != RL_OK) {
                fail(run, run->number, "got status %d (%s), expected a decision", (int)status,
                     rl_status_message(status));
                return false;
            }
            *allowed += out->allowed ? 1 : 0;
        }
    }
    return true;
}

static void compare(struct run *run, const char *what, uint64_t got, uint64_t expected) {
    if (got == expected) {
        tests_passed++;
    } else if (got == RL_NEVER) {
        fail(run, run->number, "%s: got never, expected %llu", what,
             (unsigned long long)expected);
    } else if (expected == RL_NEVER && strcmp(what, "retry") == 0) {
        fail(run, run->number, "%s: got %llu, expected never", what, (unsigned long long)got);
    } else {
        fail(run, run->number, "%s: got %llu, expected %llu", what, (unsigned long long)got,
             (unsigned long long)expected);
    }
}

static void run_line(struct run *run) {
    static struct line line;
    rl_decision decision;
    uint64_t allowed;
    if (!read_line(run->text, &line)) {
        fail(run, run->number, "malformed line: %s", run->text);
        return;
    }
    run->lines++;
    if (run->refused) {
        return;
    }
    if (run->service == NULL) {
        fail(run, run->number, "a call before the config");
        return;
    }
    if (!call(run, &line, &allowed, &decision)) {
        return;
    }
    uint64_t expected = line.answer == COUNT ? line.count : line.answer == ALLOW ? line.times : 0;
    compare(run, "allowed", allowed, expected);
    if (line.has_remaining) {
        compare(run, "remaining", decision.remaining, line.remaining);
    }
    if (line.has_retry) {
        compare(run, "retry", decision.retry_after_ms, line.retry_ms);
    }
}

/* The configuration of a block of rules; NULL where they are wrong. */
static rl_config *parsed(struct run *run, const char *rules, unsigned long line) {
    rl_config *config = NULL;
    rl_error error;
    NEED(rl_config_new(&config) == RL_OK);
    NEED(rl_config_set_clock(config, run->clock) == RL_OK);
    if (rl_config_parse(config, rules, strlen(rules), &error) != RL_OK) {
        fail(run, line + error.line, "rules refused: %s", error.message);
        run->refused = true;
        rl_config_free(config);
        return NULL;
    }
    return config;
}

static void configure(struct run *run, const char *rules, unsigned long line) {
    rl_config *config = parsed(run, rules, line);
    rl_error error;
    if (config != NULL && rl_service_new(config, &run->service, &error) != RL_OK) {
        fail(run, line, "config refused: %s", error.message);
        run->refused = true;
    }
    rl_config_free(config);
}

static void reload(struct run *run, const char *rules, unsigned long line) {
    rl_config *config = parsed(run, rules, line);
    rl_error error;
    if (run->service == NULL) {
        fail(run, line, "a reload before the config");
    } else if (config != NULL && rl_reload(run->service, config, &error) != RL_OK) {
        fail(run, line, "reload refused: %s", error.message);
        run->refused = true;
    }
    rl_config_free(config);
}

/* ---- files ----------------------------------------------------------------------- */

/* The next line, without its end; false at the end of the file. */
static bool next_line(struct run *run) {
    if (fgets(run->text, sizeof run->text, run->file) == NULL) {
        return false;
    }
    run->number++;
    size_t length = strlen(run->text);
    if (length > 0 && run->text[length - 1] == '\n') {
        run->text[length - 1] = '\0';
    } else if (!feof(run->file)) {
        fail(run, run->number, "longer than %d bytes, or a NUL in the line", MAX_LINE - 2);
    }
    return true;
}

/* The lines up to `end`, each without its indentation, so that a column is one of the rule. */
static void read_block(struct run *run, char rules[MAX_RULES]) {
    unsigned long begun = run->number;
    size_t used = 0;
    while (next_line(run)) {
        const char *at = run->text;
        skip_blanks(&at);
        if (strcmp(at, "end") == 0) {
            rules[used] = '\0';
            return;
        }
        size_t length = strlen(at);
        if (used + length + 2 > MAX_RULES) {
            fail(run, run->number, "more than %d bytes of rules", MAX_RULES - 1);
            break;
        }
        memcpy(rules + used, at, length);
        used += length;
        rules[used++] = '\n';
    }
    fail(run, begun, "a block without its `end`");
    rules[used] = '\0';
}

static void end_case(struct run *run) {
    if (run->name[0] != '\0' && run->lines == 0) {
        fail(run, run->begun, "a case without a call");
    }
    rl_service_free(run->service);
    rl_clock_free(run->clock);
    run->service = NULL;
    run->clock = NULL;
    run->name[0] = '\0';
    run->lines = 0;
    run->refused = false;
}

static void begin_case(struct run *run, const char *name) {
    end_case(run);
    strcpy(run->name, name);
    run->begun = run->number;
    run->clock = fixture_clock(0);
}

static void run_file(const char *path) {
    static char rules[MAX_RULES];
    static struct run run;
    unsigned long cases = 0;
    memset(&run, 0, sizeof run);
    run.path = path;
    run.file = fopen(path, "r");
    if (run.file == NULL) {
        fail(&run, 0, "could not be opened");
        return;
    }
    while (next_line(&run)) {
        const char *at = run.text;
        unsigned long line = run.number;
        skip_blanks(&at);
        if (*at == '\0' || *at == '#') {
            continue;
        }
        if (read_text(&at, "case ") && *at != '\0') {
            begin_case(&run, at);
            cases++;
        } else if (run.name[0] == '\0') {
            fail(&run, line, "malformed line outside a case: %s", run.text);
        } else if (strcmp(at, "config") == 0) {
            read_block(&run, rules);
            if (run.service != NULL || run.refused) {
                fail(&run, line, "a second config in one case");
            } else {
                configure(&run, rules, line);
            }
        } else if (strcmp(at, "reload") == 0) {
            read_block(&run, rules);
            if (!run.refused) {
                reload(&run, rules, line);
            }
        } else {
            run_line(&run);
        }
    }
    end_case(&run);
    if (cases == 0) {
        fail(&run, run.number, "a file without a case");
    }
    fclose(run.file);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: %s FILE...\n", argv[0]);
        return EXIT_FAILURE;
    }
    for (int i = 1; i < argc; i++) {
        run_file(argv[i]);
    }
    return test_end();
}
