/*
 * The harness of these tests: checks that print what they got and what they
 * wanted, and go on. They are plain code, not assert(), so NDEBUG changes
 * nothing. A program ends with `return test_end();`, which prints
 * `N passed, N failed` alone on the last line and gives the exit code.
 *
 * Checks are for the main thread: workers count, main compares.
 */
#ifndef LIBRL_TEST_H
#define LIBRL_TEST_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long tests_passed;
static unsigned long tests_failed;

/* Counts one check. A failing one is followed by its own explanation on the same line. */
static inline int test_count(int ok, const char *file, int line, const char *what) {
    if (ok) {
        tests_passed++;
    } else {
        tests_failed++;
        printf("%s:%d: %s: ", file, line, what);
    }
    return ok;
}

static inline void test_true(int ok, const char *file, int line, const char *what) {
    if (!test_count(ok, file, line, what)) {
        printf("got false, wanted true\n");
    }
}

static inline void test_int(long long got, long long want, const char *file, int line,
                            const char *what) {
    if (!test_count(got == want, file, line, what)) {
        printf("got %lld, wanted %lld\n", got, want);
    }
}

static inline void test_uint(unsigned long long got, unsigned long long want, const char *file,
                             int line, const char *what) {
    if (!test_count(got == want, file, line, what)) {
        printf("got %llu, wanted %llu\n", got, want);
    }
}

static inline void test_at_most(unsigned long long got, unsigned long long most, const char *file,
                                int line, const char *what) {
    if (!test_count(got <= most, file, line, what)) {
        printf("got %llu, wanted at most %llu\n", got, most);
    }
}

static inline void test_text(const char *got, const char *want, const char *file, int line,
                             const char *what) {
    if (!test_count(got != NULL && strcmp(got, want) == 0, file, line, what)) {
        printf("got \"%s\", wanted \"%s\"\n", got == NULL ? "(null)" : got, want);
    }
}

static inline void test_contains(const char *got, const char *part, const char *file, int line,
                                 const char *what) {
    if (!test_count(got != NULL && strstr(got, part) != NULL, file, line, what)) {
        printf("got \"%s\", wanted something with \"%s\" in it\n", got == NULL ? "(null)" : got,
               part);
    }
}

static inline void test_bytes(const void *got, const void *want, size_t size, const char *file,
                              int line, const char *what) {
    const unsigned char *g = got;
    const unsigned char *w = want;
    size_t at = 0;
    while (at < size && g[at] == w[at]) {
        at++;
    }
    if (!test_count(at == size, file, line, what)) {
        printf("byte %lu of %lu: got 0x%02x, wanted 0x%02x\n", (unsigned long)at,
               (unsigned long)size, g[at], w[at]);
    }
}

#define CHECK(condition) test_true((condition) ? 1 : 0, __FILE__, __LINE__, #condition)
#define CHECK_INT(got, want) test_int((got), (want), __FILE__, __LINE__, #got)
#define CHECK_UINT(got, want) test_uint((got), (want), __FILE__, __LINE__, #got)
#define CHECK_AT_MOST(got, most) test_at_most((got), (most), __FILE__, __LINE__, #got)
#define CHECK_TEXT(got, want) test_text((got), (want), __FILE__, __LINE__, #got)
#define CHECK_CONTAINS(got, part) test_contains((got), (part), __FILE__, __LINE__, #got)
#define CHECK_BYTES(got, want, size) test_bytes((got), (want), (size), __FILE__, __LINE__, #got)

static inline int test_end(void) {
    printf("%lu passed, %lu failed\n", tests_passed, tests_failed);
    return tests_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* For a preparation without which the rest means nothing: ends the program. */
static inline void test_need(int ok, const char *file, int line, const char *what,
                             const char *why) {
    if (!ok) {
        test_count(0, file, line, what);
        printf("%s\n", why);
        exit(test_end());
    }
}

#define NEED(condition) \
    test_need((condition) ? 1 : 0, __FILE__, __LINE__, #condition, "needed to go on")

/* The first argument as a number from 1 up, or what stands for it when there is none. */
static inline unsigned long test_argument(int argc, char **argv, unsigned long otherwise) {
    if (argc < 2) {
        return otherwise;
    }
    char *end;
    unsigned long number = strtoul(argv[1], &end, 10);
    test_need(argc == 2 && *end == '\0' && number > 0, __FILE__, __LINE__, argv[1],
              "wanted one number above 0");
    return number;
}

#endif
