/*
 * What would these rules have refused? Replays the access log of a web server
 * (combined or common format) against a rules file.
 *
 *     weblog RULES [LOG]         the log is standard input when not told, or for -
 *
 * The client's address is the user, the path without its query is the API, and each
 * line's own time is the clock. One pass; memory does not grow with the log. A line
 * that cannot be read is counted and skipped.
 */
#include <rl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topk.h"

#define LONGEST_LINE 16384 /* twice what web servers take as a request's head */
#define SHOWN 10           /* of the most refused */
#define SHOWN_WIDTH 60     /* columns of a name */

/* A server writes a line when the request ends, with the time at which it began. */
#define LONGEST_REQUEST_S 300

/* ---- one line ---------------------------------------------------------------------- */

struct text {
    const char *bytes;
    size_t length;
};

struct entry {
    struct text client;
    struct text path; /* "-" where the request has none */
    uint64_t time_s;  /* since 1970 */
};

/* `count` digits as a number; false where one is none. */
static bool read_digits(const char *at, int count, unsigned *out) {
    *out = 0;
    for (int i = 0; i < count; i++) {
        if (at[i] < '0' || at[i] > '9') {
            return false;
        }
        *out = *out * 10 + (unsigned)(at[i] - '0');
    }
    return true;
}

/* The number of a month's English name, from 1; 0 where it is none. */
static unsigned month_of(const char *at) {
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (unsigned month = 0; month < 12; month++) {
        if (memcmp(at, names + month * 3, 3) == 0) {
            return month + 1;
        }
    }
    return 0;
}

static bool is_leap(unsigned year) {
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static unsigned days_in(unsigned month, unsigned year) {
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 2 && is_leap(year) ? 29 : days[month - 1];
}

static int64_t days_since_1970(unsigned year, unsigned month, unsigned day) {
    unsigned before = year - 1;
    int64_t days = (int64_t)before * 365 + before / 4 - before / 100 + before / 400 - 719162;
    for (unsigned m = 1; m < month; m++) {
        days += days_in(m, year);
    }
    return days + day - 1;
}

/* "10/Oct/2026:13:55:36 +0200", all 26 characters of it. */
static bool read_time(const char *at, uint64_t *out_s) {
    unsigned day, year, hour, minute, second, zone_hours, zone_minutes;
    unsigned month = month_of(at + 3);
    if (!read_digits(at, 2, &day) || at[2] != '/' || month == 0 || at[6] != '/' ||
        !read_digits(at + 7, 4, &year) || at[11] != ':' || !read_digits(at + 12, 2, &hour) ||
        at[14] != ':' || !read_digits(at + 15, 2, &minute) || at[17] != ':' ||
        !read_digits(at + 18, 2, &second) || at[20] != ' ' || (at[21] != '+' && at[21] != '-') ||
        !read_digits(at + 22, 2, &zone_hours) || !read_digits(at + 24, 2, &zone_minutes)) {
        return false;
    }
    if (year < 1970 || year > 2200 || day < 1 || day > days_in(month, year) || hour > 23 ||
        minute > 59 || second > 60 || zone_hours > 23 || zone_minutes > 59) {
        return false; /* 2200: the clock counts nanoseconds up to 2262 */
    }
    int64_t zone_s = (int64_t)zone_hours * 3600 + zone_minutes * 60;
    int64_t time_s = days_since_1970(year, month, day) * 86400 + (int64_t)hour * 3600 +
                     minute * 60 + second - (at[21] == '+' ? zone_s : -zone_s);
    *out_s = (uint64_t)time_s;
    return time_s >= 0;
}

/* The quote that closes what begins at `at`. A backslash goes with the byte behind it. */
static const char *closing_quote(const char *at, const char *end) {
    for (; at < end && *at != '"'; at++) {
        at += *at == '\\' ? 1 : 0;
    }
    return at < end ? at : NULL;
}

/* "GET /path?query HTTP/1.1" has a path; "-", an empty one and garbage have not. */
static struct text path_of(const char *at, const char *end) {
    const struct text none = {"-", 1};
    const char *method = at;
    while (at < end && *at >= 'A' && *at <= 'Z') {
        at++;
    }
    if (at == method || at == end || *at != ' ' || at + 1 == end || at[1] == ' ') {
        return none;
    }
    struct text path = {at + 1, 0};
    for (at++; at < end && *at != ' ' && *at != '?'; at++) {
        path.length++;
    }
    return path;
}

/* " 200 " or " - ": what follows the request in an unbroken line. */
static bool is_status(const char *at, const char *end) {
    unsigned status;
    if (end - at >= 3 && at[0] == ' ' && at[1] == '-' && at[2] == ' ') {
        return true;
    }
    return end - at >= 5 && at[0] == ' ' && read_digits(at + 1, 3, &status) && at[4] == ' ';
}

/*
 * client ident user [time] "request" status size ...
 *
 * The user's name is the client's choice and may hold anything but a double quote,
 * which servers escape. So the first quote opens the request, and the time stands
 * right before it. What follows the status is not looked at.
 */
static bool read_entry(struct text line, struct entry *out) {
    const char *end = line.bytes + line.length;
    const char *blank = memchr(line.bytes, ' ', line.length);
    const char *quote = memchr(line.bytes, '"', line.length);
    if (blank == NULL || blank == line.bytes || quote == NULL || quote - blank < 30) {
        return false;
    }
    const char *time = quote - 28; /* [26 characters] and a blank */
    const char *close = closing_quote(quote + 1, end);
    if (time[-1] != '[' || time[26] != ']' || time[27] != ' ' || close == NULL ||
        !is_status(close + 1, end)) {
        return false;
    }
    out->client.bytes = line.bytes;
    out->client.length = (size_t)(blank - line.bytes);
    out->path = path_of(quote + 1, close);
    return read_time(time, &out->time_s);
}

/* ---- the log ----------------------------------------------------------------------- */

enum got { GOT_LINE, GOT_TOO_LONG, GOT_END };

/* The next line without its end. The rest of one that is too long is skipped. */
static enum got next_line(FILE *log, char buffer[LONGEST_LINE], size_t *length) {
    int c = getc(log);
    if (c == EOF) {
        return GOT_END;
    }
    for (*length = 0; c != EOF && c != '\n'; c = getc(log)) {
        if (*length < LONGEST_LINE) {
            buffer[*length] = (char)c;
        }
        ++*length;
    }
    return *length > LONGEST_LINE ? GOT_TOO_LONG : GOT_LINE;
}

struct replay {
    rl_service *service;
    rl_clock *clock;
    uint64_t now_s;
    uint64_t requests, allowed, unreadable, late, steps_back;
    struct topk users, apis; /* of refused requests */
};

static void die(const char *what, const char *why) {
    fprintf(stderr, "weblog: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

/*
 * The clock follows the lines. A line a little before the latest one is that of a
 * request that took long; it is taken to be made now. Further back, the log itself
 * has gone back (or a time far ahead was wrong), and the clock goes along.
 */
static void move_clock(struct replay *replay, uint64_t time_s) {
    if (time_s < replay->now_s && replay->now_s - time_s <= LONGEST_REQUEST_S) {
        replay->late++;
        return;
    }
    replay->steps_back += time_s < replay->now_s ? 1 : 0;
    replay->now_s = time_s;
    rl_clock_set_ns(replay->clock, time_s * RL_NS_PER_S);
}

static void replay_entry(struct replay *replay, const struct entry *entry) {
    rl_decision decision;
    const struct text *user = &entry->client, *api = &entry->path;
    move_clock(replay, entry->time_s);
    rl_status status = rl_check_bytes(replay->service, user->bytes, user->length, api->bytes,
                                      api->length, 1, &decision);
    if (status != RL_OK) {
        die("a check failed", rl_status_message(status));
    }
    replay->requests++;
    if (decision.allowed) {
        replay->allowed++;
    } else {
        topk_add(&replay->users, user->bytes, user->length);
        topk_add(&replay->apis, api->bytes, api->length);
    }
}

static void replay_log(struct replay *replay, FILE *log, const char *name) {
    static char buffer[LONGEST_LINE];
    struct text line = {buffer, 0};
    struct entry entry;
    enum got got;
    while ((got = next_line(log, buffer, &line.length)) != GOT_END) {
        if (got == GOT_LINE && read_entry(line, &entry)) {
            replay_entry(replay, &entry);
        } else {
            replay->unreadable++;
        }
    }
    if (ferror(log)) {
        die(name, "could not be read");
    }
}

/* ---- what comes out ---------------------------------------------------------------- */

/* Names come from strangers: nothing but printable ASCII goes to the terminal. */
static void print_name(const char *name, size_t length) {
    int width = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)name[i];
        bool is_plain = byte > ' ' && byte <= '~' && byte != '\\';
        if (width + (is_plain ? 1 : 4) > SHOWN_WIDTH) {
            printf("...");
            return;
        }
        width += is_plain ? printf("%c", byte) : printf("\\x%02x", byte);
    }
    if (length == 0) {
        printf("(empty)");
    }
}

static void print_most_refused(const char *what, struct topk *top) {
    printf("\nmost refused %s", what);
    if (top->is_exact) {
        printf("\n");
    } else {
        printf(" (estimates: whoever is not listed was refused at most %llu times)\n",
               (unsigned long long)topk_missed(top));
    }
    topk_sort(top);
    for (size_t i = 0; i < top->used && i < SHOWN; i++) {
        const struct topk_place *place = &top->places[i];
        printf("%10llu  ", (unsigned long long)place->count);
        print_name(place->name, place->length);
        if (place->too_high > 0) {
            printf("  (at most %llu too high)", (unsigned long long)place->too_high);
        }
        printf("\n");
    }
}

static void print_count(const char *what, uint64_t count, const char *note) {
    printf("%-10s %10llu%s%s\n", what, (unsigned long long)count, note[0] ? "  " : "", note);
}

static void print_replay(struct replay *replay) {
    rl_stats stats = RL_STATS_INIT;
    print_count("requests", replay->requests, "");
    print_count("allowed", replay->allowed, "");
    print_count("refused", replay->requests - replay->allowed, "");
    print_count("unreadable", replay->unreadable, "lines skipped");
    print_count("late", replay->late, "lines taken at the time of the latest before them");
    if (replay->steps_back > 0) {
        print_count("steps back", replay->steps_back, "times the log went back by minutes or more");
    }
    if (rl_service_stats(replay->service, &stats) == RL_OK && stats.evicted_live > 0) {
        print_count("forgotten", stats.evicted_live, "counters still in use: raise memory");
    }
    print_most_refused("users", &replay->users);
    print_most_refused("APIs", &replay->apis);
}

static void start(struct replay *replay, const char *rules) {
    rl_config *config = NULL;
    rl_error error;
    memset(replay, 0, sizeof *replay);
    topk_init(&replay->users);
    topk_init(&replay->apis);
    if (rl_config_new(&config) != RL_OK || rl_clock_new_manual(0, &replay->clock) != RL_OK ||
        rl_config_set_clock(config, replay->clock) != RL_OK) {
        die(rules, "out of memory");
    }
    if (rl_config_load(config, rules, &error) != RL_OK ||
        rl_service_new(config, &replay->service, &error) != RL_OK) {
        fprintf(stderr, "weblog: %s:%u:%u: %s\n", rules, (unsigned)error.line,
                (unsigned)error.column, error.message);
        exit(EXIT_FAILURE);
    }
    rl_config_free(config);
}

int main(int argc, char **argv) {
    static struct replay replay;
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: %s RULES [LOG]\n", argv[0]);
        return EXIT_FAILURE;
    }
    const char *name = argc == 3 ? argv[2] : "-";
    FILE *log = strcmp(name, "-") == 0 ? stdin : fopen(name, "rb");
    if (log == NULL) {
        die(name, "could not be opened");
    }
    start(&replay, argv[1]);
    replay_log(&replay, log, name);
    print_replay(&replay);
    rl_service_free(replay.service);
    rl_clock_free(replay.clock);
    if (log != stdin) {
        fclose(log);
    }
    return EXIT_SUCCESS;
}
