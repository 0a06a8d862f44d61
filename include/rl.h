/*
 * librl: an exact, bounded and fast rate limiter.
 *
 * This file is generated from src/capi by `make header`; change it there.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *
 * HOW IT IS USED
 *
 * Gather rules in a configuration, make a service of it, and ask the service before
 * each request whether it may go on:
 *
 *     #include <rl.h>
 *     #include <stdio.h>
 *
 *     int main(void) {
 *         rl_config *config = NULL;
 *         rl_service *service = NULL;
 *         rl_error error;
 *         rl_decision decision;
 *         if (rl_config_new(&config) != RL_OK) return 1;
 *         if (rl_config_parse(config, "default = token-bucket,5,10", RL_NUL, &error) != RL_OK
 *             || rl_service_new(config, &service, &error) != RL_OK) {
 *             fprintf(stderr, "line %u: %s\n", (unsigned)error.line, error.message);
 *             return 1;
 *         }
 *         rl_config_free(config);
 *         rl_check(service, "alice", "/orders", &decision);
 *         puts(decision.allowed ? "allowed" : "refused");
 *         rl_service_free(service);
 *         return 0;
 *     }
 *
 *     cc program.c $(pkg-config --cflags --libs librl)
 *
 * Alice may make 5 requests at once, and gets 5 new ones every 10 seconds, one after
 * 2 seconds each. Everybody else has as much of their own.
 *
 *
 * RULES AND SETTINGS
 *
 * One entry a line; blank lines and lines that begin with # are skipped.
 *
 *     # what applies where nothing else does; each configuration needs it
 *     default    = token-bucket,5,10
 *     api./login = fixed-window,2,10
 *     api./v1*   = token-bucket,10,1 + token-bucket,1000,1h,per=user
 *     user.vip-1 = token-bucket,8,10
 *     user.vip-1 api./login = unlimited
 *     memory     = 64m
 *
 * The most specific rule wins: of the pair, then of the user, then of the API, then the
 * default. A name of an API that ends with * is for all that begin like it; an exact name
 * beats a beginning, and a longer beginning a shorter one. A name with blanks, =, # or "
 * in it is written in double quotes, with \xNN, \" and \\ in them.
 *
 * A rule is unlimited, or deny, or limits: one, or up to 8 with " + " between them. All
 * of them must allow, as one decision: a refusal by one takes nothing from the others. A
 * limit is ALGORITHM,LIMIT,WINDOW[,OPTION]...
 *
 *     ALGORITHM  token-bucket            refills steadily; bursts up to the limit
 *                fixed-window            starts anew with every window
 *                sliding-window          exact over the last window; keeps a log
 *                sliding-window-counter  nearly that, in one counter
 *     LIMIT      1 to 2^53 - 1; the sliding ones 1 to 2^32 - 1
 *     WINDOW     seconds, or with a unit: 500ms 10s 5m 1h 30d; 1 ms to 100 years
 *     OPTION     burst=N    token bucket: how much it holds, if not the limit
 *                per=WHO    who shares a counter: pair (each user and API has its own;
 *                           so it is without per=), user (one over all APIs), api (one
 *                           over all users) or all (one for everybody)
 *                name=WORD  what rl_decision calls it: up to 15 of a-z 0-9 - _
 *                shadow     counts and tells (RL_FLAG_SHADOW), but never refuses: to try
 *                           a limit before it is meant
 *
 * So each user has 10 requests a second for each API of version 1, and 1000 an hour for all
 * of these APIs together.
 *
 * A counter belongs to a limit's algorithm, window and per=, and to the names that per=
 * keeps apart; not to the rule. A pair's own counter is used by one rule alone, but limits
 * of several rules that say per=user (or api, or all) and have the same algorithm and
 * window use the same counters, each with its own limit. Where they should not, make the
 * windows differ: 1h and 3601s.
 *
 * Settings are memory (what the counters may ever take, such as 32m), clock (monotonic;
 * monotonic-vdso, the same clock but never read by the processor's counter;
 * monotonic-coarse or realtime), on-full (evict, deny or allow: what becomes of a new name
 * when the table is full of live counters) and match (first, or all: not only the most
 * specific rule counts, but those of the pair, the user, the API and the default, as one
 * decision). With match = all, unlimited adds no limit and lifts none, deny refuses, each
 * of the four kinds of rule has counters of its own, and no request may meet more than 8
 * limits. And there are shared and shared-mode, for counters that many processes have in
 * common: see MANY PROCESSES below.
 *
 *
 * THE CALLS THAT ASK
 *
 *     rl_check, rl_check_bytes  may it go on? takes the cost if so
 *     rl_allow                  the same for one user, as true or false
 *     rl_check_batch            many of them, one after the other
 *     rl_check_all              up to 8 of them as one: all are charged, or none
 *     rl_acquire                waits until it may go on, up to a timeout
 *     rl_peek                   what a check would say; takes nothing
 *     rl_charge, rl_refund      takes whatever the answer; gives back
 *     rl_reset                  forgets what a pair has used
 *
 * What they say goes into a response with rl_decision_headers. rl_explain tells which
 * rule applies, rl_reload brings new rules, rl_service_stats and rl_stats_prometheus have
 * the numbers of the whole.
 *
 *
 * OWNERSHIP
 *
 * Whoever makes a rl_clock, rl_config or rl_service frees it, with the function of its
 * name, once. Freeing NULL does nothing. Configurations hold on to their clock and
 * services to their rules and clock, so these may be freed in any order. Texts and names
 * are copied where they are needed later. Nothing that the library returns is to be
 * freed by free().
 *
 *
 * THREADS
 *
 * Every function may be called from any thread. Any number of threads may use the same
 * clock, configuration or service at the same time, without a lock of their own; only
 * the _free function must have the object for itself, and be the last to get it. A
 * check waits for another, of this process or of one that shares the zone, only where
 * both have a counter in the same small part of the table, or share one, and then for as
 * long as the other takes to write it: a moment, or until the other has the processor
 * back. Only rl_acquire waits longer, as it is asked
 * to. The library starts no thread. Do not check from a signal handler: it might
 * interrupt a check, and wait for it.
 *
 *
 * ERRORS
 *
 * A function that can fail returns a rl_status: RL_OK, which is 0, or a negative RL_ERR_
 * number. Outputs are written only on RL_OK, with three exceptions: to be safe, a
 * rl_decision becomes a refusal; a rl_error is filled; and where a buffer was too small
 * for rl_stats_prometheus, *needed is set. NULL where it does not belong, a length or
 * number out of range: all are answered with RL_ERR_ARGUMENT. What no library can find
 * out is left to the caller: a pointer that is not NULL must point at what its type and
 * length say.
 *
 *
 * MANY PROCESSES
 *
 * Without more, a service counts for its own process alone, per=all too. With
 *
 *     shared      = /shop
 *     shared-mode = 0600
 *     memory      = 64m
 *
 * its counters stand in a zone: shared memory that all processes of a machine have in
 * common that name it, forked or not, in any number. They give together what each limit
 * says. A name is a / and 1 to 254 bytes without another /. shared-mode says who may use
 * the zone, as of a file: from 0600, where nothing is said, which is its owner alone, to
 * 0666. Who comes first makes the zone, with its setting memory; the others join it as it
 * is. It keeps what was counted when all have ended, until rl_zone_unlink or the end of
 * the machine's run. rl_config_set_memory does the same with memory of the caller's.
 *
 * Rules, match and on-full are each process's own. Two processes with different rules
 * share the counters of the limits that they have in common (the same algorithm, window,
 * per= and names), and each goes by its own LIMIT. Statistics are those of the zone.
 * rl_acquire queues within a process only: the first of each process wait side by side.
 * A clock of the caller's must show the same time in all processes.
 *
 * rl_service_new answers RL_ERR_ZONE where the zone was made by a library with another
 * layout version, for another kind of clock or before the last boot, where it belongs to
 * another user and shared-mode lets in none, where it is open to others than shared-mode
 * says, and where it is cut short or damaged; the message says what to do. Whoever may write to a zone can make its
 * answers wrong, for all who use it; no bytes in it make them crash or hang.
 *
 * Fork at any time. The child may use the services of its parent: those with a zone go on
 * sharing it, and so do those in memory of the caller's that is mapped MAP_SHARED; of
 * others it has a copy that counts on its own from there. Nobody waits in a copied queue
 * of rl_acquire. A rl_config, or a manual clock, may be used in the child if no other
 * thread was in one of its functions at the fork. Parent and child each free their own.
 *
 * A process may be killed at any time. At most the request that it was at is lost: it may
 * be charged without having been answered, and nothing is ever given twice. If it was
 * writing, its counters are taken over within milliseconds. One that is only stopped
 * (SIGSTOP) is waited for where it was writing. Where processes cannot see each other's
 * ids, as in containers that have nothing but the memory in common, 10 s without a change
 * count as a death. Two things look as if the process were still writing, and those
 * counters are waited for as long as it lives: an exec() while other threads are in the
 * middle of a check, and the end of a thread in the middle of one.
 *
 *
 * LIMITS
 *
 * The counters' memory is bounded by the memory setting, whoever thinks up how many names;
 * rules come on top. Checks do not allocate, but for the first of a thread after a reload
 * (see rl_reload). Names have up to 65,535 bytes. The library installs no signal handler,
 * panic hook or logger, prints nothing (but the runtime's message on a bug), reads no
 * environment variable, and stays loaded after dlclose().
 */
#ifndef LIBRL_RL_H
#define LIBRL_RL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The version of this header, in numbers and in text. rl_version has the library's. */
#define LIBRL_VERSION_MAJOR 0
#define LIBRL_VERSION_MINOR 1
#define LIBRL_VERSION_PATCH 0
#define LIBRL_VERSION "0.1.0"

/**
 * As the length of a name or text: it ends at its first NUL. A name is searched for it
 * no further than 65,536 bytes.
 */
#define RL_NUL SIZE_MAX

/* --- Version ----------------------------------------------------------------------- */

/**
 * Number in the name of the shared library (librl.so.0). It changes when a
 * program built with an earlier header could no longer run with the library;
 * functions and fields may be added without a change.
 */
#define LIBRL_ABI 0

/**
 * The version of the library that is loaded, such as "0.1.0". Where that
 * matters, compare it with LIBRL_VERSION, the version of this header.
 *
 * Returns static text, never NULL. Any thread may call it at any time.
 */
const char *rl_version(void);

/* --- Status ------------------------------------------------------------------------ */

/**
 * What a call came to: RL_OK, or one of the negative RL_ERR_ numbers. A request
 * that is refused is not an error; it is RL_OK with allowed == false.
 *
 * Later versions may add numbers: treat any other negative one as an error too.
 */
typedef int32_t rl_status;

/**
 * Done.
 */
#define RL_OK 0

/**
 * An argument is NULL where it must not be, a length or a number is out of its
 * range, or a cost is 0. Nothing has been changed or charged.
 */
#define RL_ERR_ARGUMENT (-1)

/**
 * The text of a rule or of a setting is wrong, or rules do not go together; rl_error
 * says where, what was found there and what would be right.
 */
#define RL_ERR_CONFIG (-2)

/**
 * Memory could not be had, or the buffer or memory handed in is too small.
 */
#define RL_ERR_MEMORY (-3)

/**
 * A file or shared memory could not be made, opened, read, mapped or removed, or the
 * system gave no random bytes.
 */
#define RL_ERR_IO (-4)

/**
 * Shared memory, or memory of the caller's, holds what cannot be joined: a zone of
 * another layout version, of another kind of clock or from before the last boot; one that
 * belongs to another user, where shared-mode lets in none, or that is open to others than
 * shared-mode says; or no whole zone, cut short or damaged. rl_error says which, and what to do. Nothing in it has been
 * changed.
 */
#define RL_ERR_ZONE (-5)

/**
 * The remote store did not answer in time. No function of this version returns it.
 */
#define RL_ERR_STORE (-6)

/**
 * This kind of clock cannot do that.
 */
#define RL_ERR_UNSUPPORTED (-7)

/**
 * A bug in the library, caught before it could do harm. Please report it.
 */
#define RL_ERR_INTERNAL (-8)

/**
 * A status in words, such as "bug in the library".
 *
 * Returns static text, never NULL: a number that is no status has a text too.
 * Any thread may call it at any time.
 */
const char *rl_status_message(rl_status status);

/* --- Error ------------------------------------------------------------------------- */

/**
 * Why a call failed, in words for the person who has to mend it.
 *
 * Functions that read text or build something take a pointer to one as their
 * last argument. It may be NULL. It is filled when the call fails, and is not
 * touched when the call succeeds. 256 bytes.
 */
typedef struct rl_error {
    /**
     * What the call returned.
     */
    rl_status status;
    /**
     * The line of the text, counted from 1; 0 where the failure lies in no text.
     */
    uint32_t line;
    /**
     * The column in bytes, counted from 1; 0 where there is none.
     */
    uint32_t column;
    /**
     * What was found and what would be right, in UTF-8, always with a NUL at its
     * end. A longer message is cut between two characters.
     */
    char message[244];
} rl_error;

/* --- Clock ------------------------------------------------------------------------- */

/**
 * Nanoseconds in a millisecond.
 */
#define RL_NS_PER_MS 1000000ull

/**
 * Nanoseconds in a second.
 */
#define RL_NS_PER_S 1000000000ull

/**
 * A source of time of the caller's: one to set by hand, for tests and for
 * replaying logs, or a function to ask. Without one, the setting clock of the
 * configuration decides, and that is the system's monotonic clock by default.
 *
 * A clock is given to a configuration with rl_config_set_clock. One clock may
 * drive any number of services. All its functions but rl_clock_free may run on
 * any threads at the same time.
 *
 * Times are nanoseconds since any fixed instant. A reading above 2^63 - 1 (292
 * years) counts as 2^63 - 1.
 */
typedef struct rl_clock rl_clock;

/**
 * A function that says what time it is, in nanoseconds. It is called once for a
 * check, and once more whenever another thread changes a counter in between; on the
 * thread that checks, and so at the same time on several. It must not call back into
 * the service that asks, must not throw a C++ exception and must not leave by longjmp.
 * The time may stand still or go back.
 */
typedef uint64_t (*rl_clock_fn)(void *context);

/**
 * Makes a clock that shows now_ns until it is set or advanced.
 *
 * The clock is written to *out and belongs to the caller: rl_clock_free.
 *
 * Returns
 *   RL_OK            the clock is in *out
 *   RL_ERR_ARGUMENT  out is NULL
 *   RL_ERR_INTERNAL  a bug in the library
 */
rl_status rl_clock_new_manual(uint64_t now_ns, rl_clock **out);

/**
 * Makes a clock that asks a function of the caller's.
 *
 * context is handed to the function as it is; the library does not look at it,
 * and it may be NULL. Function and context must stay valid until the clock and
 * every service made with it are freed.
 *
 * The clock is written to *out and belongs to the caller: rl_clock_free.
 *
 * Returns
 *   RL_OK            the clock is in *out
 *   RL_ERR_ARGUMENT  now or out is NULL
 *   RL_ERR_INTERNAL  a bug in the library
 */
rl_status rl_clock_new_callback(rl_clock_fn now, void *context, rl_clock **out);

/**
 * Sets a manual clock, forwards or backwards.
 *
 * Returns
 *   RL_OK               the clock shows now_ns
 *   RL_ERR_ARGUMENT     clock is NULL
 *   RL_ERR_UNSUPPORTED  clock is not a manual one
 *   RL_ERR_INTERNAL     a bug in the library
 */
rl_status rl_clock_set_ns(rl_clock *clock, uint64_t now_ns);

/**
 * Moves a manual clock forwards. It stops at the end of its range (2^64 - 1)
 * rather than starting again at 0. Of several threads that advance it at the same
 * time, each advance counts.
 *
 * Returns
 *   RL_OK               the clock has moved
 *   RL_ERR_ARGUMENT     clock is NULL
 *   RL_ERR_UNSUPPORTED  clock is not a manual one
 *   RL_ERR_INTERNAL     a bug in the library
 */
rl_status rl_clock_advance_ns(rl_clock *clock, uint64_t by_ns);

/**
 * Frees a clock. Configurations and services that were given it keep a hold of
 * their own, and go on with the time it shows (or with the function it asks).
 *
 * NULL is allowed and does nothing. It must be the last call with this clock.
 */
void rl_clock_free(rl_clock *clock);

/* --- Configuration ----------------------------------------------------------------- */

/**
 * Rules, settings and a clock, gathered before services are made of them. The
 * functions may be mixed in any order, and each adds to what is there. One that
 * fails leaves the configuration as it was.
 *
 * All its functions but rl_config_free may run on any threads at the same time;
 * they wait for each other.
 */
typedef struct rl_config rl_config;

/**
 * Makes an empty configuration. It needs a default rule before a service can be
 * made of it.
 *
 * The configuration is written to *out and belongs to the caller: rl_config_free.
 *
 * Returns
 *   RL_OK            the configuration is in *out
 *   RL_ERR_ARGUMENT  out is NULL
 *   RL_ERR_INTERNAL  a bug in the library
 */
rl_status rl_config_new(rl_config **out);

/**
 * Adds a text of lines "name = value", as described at the top of this file.
 *
 * The text is len bytes long, or ends with a NUL when len is RL_NUL. With len 0
 * it is empty, whatever the pointer. It is not needed after the call. All lines
 * are taken, or, when one is wrong, none.
 *
 * Returns
 *   RL_OK            the lines have been added
 *   RL_ERR_ARGUMENT  config is NULL, or text is NULL and len is not 0
 *   RL_ERR_CONFIG    a line is wrong; *error says which, and why
 *   RL_ERR_INTERNAL  a bug in the library
 */
rl_status rl_config_parse(rl_config *config,
                          const char *text,
                          size_t len,
                          rl_error *error);

/**
 * Adds the text of a file, as rl_config_parse does. path is a C string.
 *
 * Returns
 *   RL_OK            the lines have been added
 *   RL_ERR_ARGUMENT  config or path is NULL
 *   RL_ERR_IO        the file could not be read; *error says why
 *   RL_ERR_CONFIG    a line is wrong; *error says which, and why
 *   RL_ERR_INTERNAL  a bug in the library
 */
rl_status rl_config_load(rl_config *config, const char *path, rl_error *error);

/**
 * Adds one entry: rl_config_set(config, "user.vip-1", "token-bucket,8,10", NULL)
 * is the line "user.vip-1 = token-bucket,8,10". Both are C strings.
 *
 * Returns
 *   RL_OK            the entry has been added
 *   RL_ERR_ARGUMENT  config, name or value is NULL
 *   RL_ERR_CONFIG    the entry is wrong, or there already; *error says why
 *   RL_ERR_INTERNAL  a bug in the library
 */
rl_status rl_config_set(rl_config *config,
                        const char *name,
                        const char *value,
                        rl_error *error);

/**
 * Adds one rule whose names are given as raw bytes, so that they need no quotes.
 *
 * A NULL pointer means any user or any API, whatever its length; both NULL make
 * the default rule. Another pointer with length 0 is the empty name. A name has up
 * to 65,535 bytes; with RL_NUL as its length it ends at its first NUL. A * in it is a
 * byte like any other: prefixes are for text. rule is a C string, such as
 * "token-bucket,8,10".
 *
 * Returns
 *   RL_OK            the rule has been added
 *   RL_ERR_ARGUMENT  config or rule is NULL, or a name is too long
 *   RL_ERR_CONFIG    the rule is wrong, or there is one for these names; *error says
 *                    why
 *   RL_ERR_INTERNAL  a bug in the library
 */
rl_status rl_config_set_rule(rl_config *config,
                             const void *user,
                             size_t user_len,
                             const void *api,
                             size_t api_len,
                             const char *rule,
                             rl_error *error);

/**
 * Makes services of this configuration take their time from clock, whatever the
 * setting clock says. The configuration keeps a hold of its own: the clock may be
 * freed right after the call. A second call replaces the clock of the first.
 *
 * Returns
 *   RL_OK            services made from now on use the clock
 *   RL_ERR_ARGUMENT  config or clock is NULL
 *   RL_ERR_INTERNAL  a bug in the library
 */
rl_status rl_config_set_clock(rl_config *config, rl_clock *clock);

/**
 * Puts the counters of services of this configuration into memory of the caller's, such
 * as a mapping that several processes have, each at an address of its own. A second call
 * replaces the memory of the first. With the setting shared beside it, no service can be
 * made.
 *
 * All of it must be zero, and becomes a zone, or it holds a zone already, of the same
 * size, and that is joined; several processes may try at the same time. rl_service_new
 * says whether it fits. The setting memory is ignored then. address must be a multiple of
 * 8; best is one of 128. Any size is taken here, but it takes 16,384 bytes at least to
 * make a service (RL_ERR_MEMORY of rl_service_new).
 *
 * The memory stays the caller's: it must be there, for reading and writing, until the
 * last call with a service that uses it but rl_service_free, which does not touch it, in
 * every process that does, and nothing but the library may write to it. The library never frees or unmaps it. Zeros start it anew,
 * when no service uses it.
 *
 * Returns
 *   RL_OK            services made from now on have their counters there
 *   RL_ERR_ARGUMENT  config or address is NULL, or address is not a multiple of 8
 *   RL_ERR_INTERNAL  a bug in the library
 */
rl_status rl_config_set_memory(rl_config *config,
                               void *address,
                               size_t size);

/**
 * Frees a configuration. Services made of it need it no more.
 *
 * NULL is allowed and does nothing. It must be the last call with this
 * configuration.
 */
void rl_config_free(rl_config *config);

/* --- Request ----------------------------------------------------------------------- */

/**
 * One request, for rl_check_batch and rl_check_all.
 *
 * Names may hold any bytes, NUL too. A name has up to 65,535 bytes; with RL_NUL as
 * its length it ends at its first NUL; with length 0 it is the empty name, and the
 * pointer is not looked at. The library keeps no pointer after the call.
 */
typedef struct rl_request {
    /**
     * Who asks.
     */
    const void *user;
    /**
     * Bytes of the user's name, or RL_NUL.
     */
    size_t user_len;
    /**
     * What for.
     */
    const void *api;
    /**
     * Bytes of the API's name, or RL_NUL.
     */
    size_t api_len;
    /**
     * Units of the quota that it takes, at least 1.
     */
    uint64_t cost;
} rl_request;

/* --- Decision ---------------------------------------------------------------------- */

/**
 * As rl_decision.retry_after_ms: the request can never pass, as its cost is more
 * than the limit ever gives, or as the rule says deny.
 */
#define RL_NEVER UINT64_MAX

/**
 * In rl_decision.flags: a limit in shadow mode would have refused the request;
 * denied_by says which.
 */
#define RL_FLAG_SHADOW 1

/**
 * In rl_decision.flags: there was no room for a counter or for an entry of a log, so
 * that the request was refused, or allowed without being counted there; the setting
 * on-full says which.
 */
#define RL_FLAG_UNTRACKED 2

/**
 * In rl_decision.flags: the rule says unlimited. limit and remaining are UINT64_MAX.
 */
#define RL_FLAG_UNLIMITED 4

/**
 * For rl_decision_headers: RateLimit-Policy and RateLimit, as the IETF has drafted them.
 */
#define RL_HEADERS_DRAFT 0

/**
 * For rl_decision_headers: X-RateLimit-Limit, X-RateLimit-Remaining and
 * X-RateLimit-Reset, the last in seconds from now.
 */
#define RL_HEADERS_LEGACY 1

/**
 * The answer to a request. 64 bytes.
 *
 * When a call returns an error, the decision is a refusal with everything else 0,
 * so that a caller who looks at nothing but allowed is on the safe side.
 */
typedef struct rl_decision {
    /**
     * Whether the request may go on.
     */
    bool allowed;
    /**
     * Bits RL_FLAG_; later versions may set others.
     */
    uint8_t flags;
    /**
     * How many limits apply, 0 to 8: those of the rule, with match = all those of all
     * the rules that apply, the most specific first. 0 for unlimited and deny.
     */
    uint8_t limit_count;
    /**
     * Which of them the fields below describe, counted from 0: the one that
     * refuses longest, else the one with the least left; one in shadow mode only
     * where there is no other.
     */
    uint8_t limit_index;
    /**
     * Bit i is set when limit i refuses; of a limit in shadow mode, when it would.
     */
    uint8_t denied_by;
    /**
     * 0.
     */
    uint8_t reserved[3];
    /**
     * The limit's quota, or its burst where it has one.
     */
    uint64_t limit;
    /**
     * What is left of it after this request, in whole units; as it was before, if
     * nothing was taken.
     */
    uint64_t remaining;
    /**
     * 0 when allowed. Else the milliseconds after which the same request passes if
     * nobody else asks; one less would not do. RL_NEVER when it can never pass. Of
     * rl_charge, the milliseconds after which a cost of 1 passes.
     */
    uint64_t retry_after_ms;
    /**
     * Milliseconds until the counter is as if never used.
     */
    uint64_t reset_after_ms;
    /**
     * Length of the limit's window in milliseconds.
     */
    uint64_t window_ms;
    /**
     * The limit's name, always with a NUL at its end: what name= says in the rule,
     * else "default", or "limit-1" to "limit-8" where several apply.
     */
    char name[16];
} rl_decision;

/**
 * Writes a decision to buf as fields of an HTTP response, with CRLF after each and a NUL
 * at the end. No name of a user or an API is in them; the name is that of the limit.
 *
 *   RL_HEADERS_DRAFT                             RL_HEADERS_LEGACY
 *   RateLimit-Policy: "default";q=100;w=60       X-RateLimit-Limit: 100
 *   RateLimit: "default";r=0;t=2                 X-RateLimit-Remaining: 0
 *   Retry-After: 2                               X-RateLimit-Reset: 60
 *                                                Retry-After: 2
 *
 * q is limit and w is window_ms; r is remaining. t is retry_after_ms of a refusal that is
 * worth another try, else reset_after_ms; X-RateLimit-Reset is always reset_after_ms.
 * Retry-After is there only in such a refusal. Times are whole seconds, rounded up.
 * Numbers above 999999999999999, the most that these fields can hold, are written as it.
 *
 * A decision without limits (unlimited, deny, or of a call that failed) makes the empty
 * text. With RL_FLAG_UNTRACKED, what tells of the count is left out: RateLimit,
 * X-RateLimit-Remaining and X-RateLimit-Reset.
 *
 * The decision need not come from this library: whatever its bytes are, the text has
 * these lines and no others. A name ends where name= in a rule could not go on.
 *
 * Returns, as snprintf does, the length of the whole text without its NUL, of which
 * size - 1 bytes at most have been written: it is cut where the result is size or more,
 * and then not fit to be sent. 192 bytes are always enough. With size 0 nothing is
 * written, and buf may be NULL. Returns 0 with the empty text (where there is room) when
 * decision is NULL, style is neither of the two, or buf is NULL and size not 0.
 *
 * The call does not allocate. Any thread may call it at any time.
 */
size_t rl_decision_headers(const rl_decision *decision,
                           uint32_t style,
                           char *buf,
                           size_t size);

/* --- Statistics -------------------------------------------------------------------- */

/**
 * What a service has done since it was made, and what it holds now. With shared memory,
 * or memory of the caller's, these are the numbers of the zone: of all processes that use
 * it or have used it, since it was made.
 *
 * The struct begins with its own size, so that it can grow: begin with
 * rl_stats stats = RL_STATS_INIT, and a later library fills no more of it than this
 * header knows. Without a zone, all counts are of the one service, and start at 0.
 */
typedef struct rl_stats {
    /**
     * sizeof(rl_stats), set by the caller. The call makes it the number of bytes that
     * it has filled, which is less when the library is older than the header.
     */
    size_t size;
    /**
     * Requests allowed: those of checks of every kind, and of rl_acquire. Of an
     * rl_check_all each request counts, all as allowed or all as refused. rl_peek and
     * rl_charge are not counted.
     */
    uint64_t allowed;
    /**
     * Requests refused, likewise.
     */
    uint64_t denied;
    /**
     * Calls that ended in an error.
     */
    uint64_t errors;
    /**
     * Live counters.
     */
    uint64_t keys;
    /**
     * Counters that the table has room for.
     */
    uint64_t capacity;
    /**
     * Counters whose place was taken when they were as good as new: nothing was lost.
     */
    uint64_t evicted_idle;
    /**
     * Counters forgotten while they still counted. If this rises, raise memory.
     */
    uint64_t evicted_live;
    /**
     * Requests that found no room for a counter or for an entry of a log: under
     * on-full = deny or allow, and for logs that need more than all the room there is.
     */
    uint64_t refused_full;
    /**
     * Locks taken over from a process that died while it wrote.
     */
    uint64_t recovered_locks;
    /**
     * Bytes of memory that the counters may take.
     */
    uint64_t memory_bytes;
    /**
     * Entries in the logs of sliding windows.
     */
    uint64_t log_entries;
    /**
     * Entries that those logs have room for.
     */
    uint64_t log_capacity;
} rl_stats;

/* --- Service ----------------------------------------------------------------------- */

/**
 * A rate limiter: rules, and the counters of all who have asked. All its functions
 * but rl_service_free may run on any threads at the same time, without a lock of the
 * caller's. A forked child may go on using it (see MANY PROCESSES at the top of this
 * file).
 */
typedef struct rl_service rl_service;

/**
 * Makes a service of a configuration, whose rules and clock it copies: the
 * configuration may be changed or freed afterwards.
 *
 * This sets aside the address space of the memory setting (32 MiB by default); the
 * system gives the memory itself as counters fill it. The service is written to *out
 * and belongs to the caller: rl_service_free.
 *
 * With the setting shared, or after rl_config_set_memory, the counters stand in a zone.
 * Where there is none it is made, and where there is one it is joined with all that was
 * counted in it: then the setting memory, and whether these rules keep logs, change
 * nothing. Any number of processes may do so at the same time.
 *
 * Returns
 *   RL_OK            the service is in *out
 *   RL_ERR_ARGUMENT  config or out is NULL
 *   RL_ERR_CONFIG    there is no default rule, or with match = all a request could
 *                    meet more than 8 limits, or there is shared-mode without shared,
 *                    or both shared and memory of the caller's; *error says which
 *   RL_ERR_MEMORY    the memory could not be had, or that of rl_config_set_memory is
 *                    too small: it takes 16,384 bytes
 *   RL_ERR_IO        the system gives no random bytes, under which names are hashed,
 *                    or shared memory could not be made, opened or mapped; *error says
 *                    why
 *   RL_ERR_ZONE      what is there cannot be joined: it has another layout version,
 *                    another kind of clock, or is from before the last boot; it belongs
 *                    to another user, where shared-mode lets in none, or is open to
 *                    others than shared-mode says; or it is cut short or damaged.
 *                    *error says which, and what to do
 *   RL_ERR_INTERNAL  a bug in the library
 */
rl_status rl_service_new(const rl_config *config,
                         rl_service **out,
                         rl_error *error);

/**
 * Gives the service the rules of a configuration in place of those that it has. Of the
 * settings, on-full and match take effect; memory, clock, shared and memory of the
 * caller's are set once and for all by rl_service_new, and those of the new configuration
 * are ignored. Rules are this process's own: others that share the counters have theirs,
 * and are reloaded each by itself.
 *
 * Every check has either the old rules or the new ones, never a mixture; so has each
 * request of a batch. A counter goes on where the algorithm, the window and the sharing
 * (per=) of its limit stay the same, and what it holds counts under the new limit at
 * once: a count stays that count, and a token bucket is full again when it would have
 * been. Other counters start anew. Limits of one rule that are alike in all three are
 * told apart by their order. Another match makes the counters of rules for users, APIs
 * and pairs start anew. The configuration is copied: it may be changed or freed
 * afterwards.
 *
 * Half of the memory is for the logs of sliding windows if there was such a rule when
 * the service (or the zone, by whichever process) was made, else a 64th; a reload does
 * not change that. After the first
 * reload, the first check of each thread may allocate once, and a check that is the last
 * to use the old rules frees them.
 *
 * Any threads may call it at the same time, also while others check.
 *
 * Returns
 *   RL_OK            the next checks have the new rules
 *   RL_ERR_ARGUMENT  service or config is NULL
 *   RL_ERR_CONFIG    there is no default rule, or with match = all a request could
 *                    meet more than 8 limits, or there is shared-mode without shared;
 *                    *error says which, and the old rules stay
 *   RL_ERR_INTERNAL  a bug in the library
 */
rl_status rl_reload(rl_service *service,
                    const rl_config *config,
                    rl_error *error);

/**
 * Writes the rule that applies to a user and an API to buf, as the line of text that
 * makes it, with a NUL at its end; with match = all a line for each rule that applies,
 * the most specific first, with newlines between. user and api are names as in
 * rl_request.
 *
 * size is the room in buf, in bytes, with the NUL. 1024 is enough unless names are long
 * or need quotes.
 *
 * Any threads may call it at the same time.
 *
 * Returns
 *   RL_OK            the line is in buf
 *   RL_ERR_ARGUMENT  service or buf is NULL, a name is NULL and its length not 0, or a
 *                    name is too long
 *   RL_ERR_MEMORY    the line does not fit; buf is not touched
 *   RL_ERR_INTERNAL  a bug in the library
 */
rl_status rl_explain(rl_service *service,
                     const void *user,
                     size_t user_len,
                     const void *api,
                     size_t api_len,
                     char *buf,
                     size_t size);

/**
 * Fills *out with what the service has done and holds. Its size must be set before:
 * rl_stats stats = RL_STATS_INIT. A larger size than this library knows is fine, what
 * lies beyond is not touched; of a smaller one the whole fields that it has are filled.
 *
 * With a zone, they are those of the zone, summed over all its processes.
 *
 * Any threads may call it at the same time, also while others check. Each number is
 * right by itself; together they are no snapshot while checks go on.
 *
 * Returns
 *   RL_OK            *out is filled
 *   RL_ERR_ARGUMENT  service or out is NULL, or out->size is less than 8
 *   RL_ERR_INTERNAL  a bug in the library
 */
rl_status rl_service_stats(rl_service *service, rl_stats *out);

/**
 * Writes the same statistics to buf as text for Prometheus (its text format 0.0.4), with
 * a NUL at its end. A server sends it, without the NUL, with the content type
 * "text/plain; version=0.0.4".
 *
 * size is the room in buf, in bytes, with the NUL. 4096 is always enough. Where needed is
 * not NULL, the bytes that the text takes with its NUL are written there, also where they
 * are more than size: with size 0, buf may be NULL to ask for that alone. As numbers get
 * longer, a later text may take some bytes more.
 *
 * Any threads may call it at the same time, also while others check.
 *
 * Returns
 *   RL_OK            the text is in buf, and its size in *needed
 *   RL_ERR_ARGUMENT  service is NULL, or buf is NULL and size not 0
 *   RL_ERR_MEMORY    the text does not fit; *needed is set, and buf is not touched
 *   RL_ERR_INTERNAL  a bug in the library
 */
rl_status rl_stats_prometheus(rl_service *service,
                              char *buf,
                              size_t size,
                              size_t *needed);

/**
 * Frees a service and its counters. It must be the last call with this service: no
 * other may be running or follow. A zone stays, with what was counted: this process
 * leaves it. After a fork, parent and child each free their own.
 *
 * NULL is allowed and does nothing.
 */
void rl_service_free(rl_service *service);

/* --- Checks ------------------------------------------------------------------------ */

/**
 * May this user call this API once now? If so, one unit of the quota is taken; a
 * refusal takes nothing. user and api are C strings of up to 65,535 bytes; "" is a
 * name like any other.
 *
 * The call does not allocate. It reads the clock once, and once more whenever another
 * thread changes a counter in between. It makes no other system call, unless a thread
 * that is writing to the same small part of the table has lost the processor, or others
 * are faster time and again: then it yields, and after some turns naps for up to 1 ms at
 * a time. Any threads may call it at the same time.
 *
 * Returns
 *   RL_OK            the answer is in *out, be it yes or no
 *   RL_ERR_ARGUMENT  service, user, api or out is NULL, or a name is too long;
 *                    nothing is taken, and *out (if any) is a refusal
 *   RL_ERR_INTERNAL  a bug in the library; *out is a refusal
 */
rl_status rl_check(rl_service *service,
                   const char *user,
                   const char *api,
                   rl_decision *out);

/**
 * The same for names of any bytes and for any cost. If the answer is yes, cost units
 * are taken at once; if it is no, none.
 *
 * user and api are names as in rl_request: up to 65,535 bytes, RL_NUL for a C string,
 * length 0 for the empty name. cost is at least 1. A cost above what the limit ever
 * gives is refused with retry_after_ms == RL_NEVER.
 *
 * The call does not allocate, and reads the clock and waits as rl_check does. Any
 * threads may call it at the same time.
 *
 * Returns
 *   RL_OK            the answer is in *out, be it yes or no
 *   RL_ERR_ARGUMENT  service or out is NULL, a name is NULL and its length not 0,
 *                    a name is too long, or cost is 0; nothing is taken, and *out
 *                    (if any) is a refusal
 *   RL_ERR_INTERNAL  a bug in the library; *out is a refusal
 */
rl_status rl_check_bytes(rl_service *service,
                         const void *user,
                         size_t user_len,
                         const void *api,
                         size_t api_len,
                         uint64_t cost,
                         rl_decision *out);

/**
 * Answers count requests as if they were made one after the other, all at one reading
 * of the clock: out[i] is the answer to requests[i]. Each is charged on its own; the
 * refusal of one does not touch the others. The clock is read again for a request whose
 * counter somebody else has used since. requests and out must not overlap.
 *
 * All requests are looked at before the first is answered, so that a wrong one among
 * them leaves all uncharged. With count 0 nothing is done, and both pointers may be
 * NULL.
 *
 * The call does not allocate. Any threads may call it at the same time; requests of
 * other threads may come in between those of a batch.
 *
 * Returns
 *   RL_OK            the answers are in out
 *   RL_ERR_ARGUMENT  service is NULL, or requests or out is NULL and count not 0, or
 *                    a request is wrong as described at rl_check_bytes; nothing is
 *                    taken, and every out[i] (if any) is a refusal. Or count is
 *                    larger than any memory, and out is not touched
 *   RL_ERR_INTERNAL  a bug in the library; every out[i] is a refusal
 */
rl_status rl_check_batch(rl_service *service,
                         const rl_request *requests,
                         size_t count,
                         rl_decision *out);

/**
 * Answers up to 8 requests as one decision: every one of them is charged, or none. Such
 * are a client's address, its account and its API key, each with its own cost. Each has
 * the rule for its names; two that meet in one counter add up there.
 *
 * out[i] says what requests[i] met. If all may pass, allowed is true in every one. If
 * not, allowed is false in those that refuse and true in the others, so the answer to
 * the whole is yes when every one says yes. In the statistics each request counts, all of
 * them as allowed or all as refused. requests and out must not overlap.
 *
 * The call does not allocate. Any threads may call it at the same time.
 *
 * Returns
 *   RL_OK            the answers are in out
 *   RL_ERR_ARGUMENT  service, requests or out is NULL, count is not 1 to 8, or a request
 *                    is wrong as described at rl_check_bytes; nothing is taken, and every
 *                    out[i] (if any) is a refusal. Or count is larger than any memory,
 *                    and out is not touched
 *   RL_ERR_INTERNAL  a bug in the library; every out[i] is a refusal
 */
rl_status rl_check_all(rl_service *service,
                       const rl_request *requests,
                       size_t count,
                       rl_decision *out);

/**
 * The shortest form of rl_check: one user, the empty API, yes or no. user is a C string
 * of up to 65,535 bytes.
 *
 * Returns true when the request is allowed, and one unit is taken. Returns false when
 * it is refused, and on any error: service or user is NULL, or the name is too long.
 * Any threads may call it at the same time.
 */
bool rl_allow(rl_service *service, const char *user);

/**
 * What rl_check_bytes would answer now, with the same arguments. Nothing is taken and
 * nothing is counted in the statistics (but errors); remaining is what would be left.
 * Whether there is room for a new counter shows only when one is made.
 *
 * The call does not allocate. Any threads may call it at the same time.
 *
 * Returns
 *   RL_OK            the answer is in *out, be it yes or no
 *   RL_ERR_ARGUMENT  as rl_check_bytes; *out (if any) is a refusal
 *   RL_ERR_INTERNAL  a bug in the library; *out is a refusal
 */
rl_status rl_peek(rl_service *service,
                  const void *user,
                  size_t user_len,
                  const void *api,
                  size_t api_len,
                  uint64_t cost,
                  rl_decision *out);

/**
 * Waits until the request passes, and takes its cost. Where that is sure to take longer
 * than timeout_ms, it says no at once rather than wait in vain, and takes nothing. The
 * other arguments are those of rl_check_bytes. RL_NEVER as timeout_ms sets no limit, and
 * a cost that can never pass is refused at once all the same.
 *
 * Those who wait for the same counter, that of the first limit that applies, are served
 * in the order in which they came. How long those in front will take is not known, so a
 * place in the queue may end with the timeout. With timeout_ms 0 the answer is there at
 * once. Other calls do not queue, and may take what was waited for. After rl_refund,
 * rl_reset and rl_reload the first in each queue looks again. A queue is one process's
 * own: where others share the counters, the first of each queue stands beside theirs, and
 * what they give back is found at the next look.
 *
 * The time is that of the service's clock: a manual clock wakes the waiting when it is
 * set or advanced. A wait is no busy one, and cannot be broken off: rl_service_free has
 * to come after it. The call may allocate. It counts in the statistics as one request.
 *
 * Any threads may call it at the same time.
 *
 * Returns
 *   RL_OK               the answer is in *out, be it yes or no
 *   RL_ERR_ARGUMENT     as rl_check_bytes; *out (if any) is a refusal
 *   RL_ERR_UNSUPPORTED  the service's clock is a function of the caller's, which cannot
 *                       wake anybody; *out is a refusal
 *   RL_ERR_INTERNAL     a bug in the library; *out is a refusal
 */
rl_status rl_acquire(rl_service *service,
                     const void *user,
                     size_t user_len,
                     const void *api,
                     size_t api_len,
                     uint64_t cost,
                     uint64_t timeout_ms,
                     rl_decision *out);

/* --- Charges ----------------------------------------------------------------------- */

/**
 * Takes the cost whatever the answer, for a cost that is known only afterwards, such as
 * the bytes of a response. allowed is what rl_check_bytes would have said: false when the
 * charge went over a limit. The arguments are those of rl_check_bytes.
 *
 * What goes over is owed: a token bucket goes into debt by up to one window's worth, and
 * a window's count goes over its limit. remaining is then 0, and retry_after_ms the time
 * until a cost of 1 passes. A limit in shadow mode is charged too. Where the rule is
 * unlimited or deny there is nothing to charge; with RL_FLAG_UNTRACKED and allowed false
 * there was no room, and nothing was taken. A charge is not counted in the statistics.
 *
 * The call does not allocate. Any threads may call it at the same time.
 *
 * Returns
 *   RL_OK            the cost is taken, but for what is said above; *out says whether it
 *                    was over
 *   RL_ERR_ARGUMENT  as rl_check_bytes; nothing is taken, and *out (if any) is a refusal
 *   RL_ERR_INTERNAL  a bug in the library; *out is a refusal
 */
rl_status rl_charge(rl_service *service,
                    const void *user,
                    size_t user_len,
                    const void *api,
                    size_t api_len,
                    uint64_t cost,
                    rl_decision *out);

/**
 * Gives cost units back to every limit that applies, for a request that was allowed and
 * then came to nothing. They come off what counts now, whoever took it: a limit is never
 * more than full afterwards, and of the log of a sliding window the newest entries go.
 * The arguments are those of rl_check_bytes. Not counted in the statistics (but errors).
 *
 * The call does not allocate. Any threads may call it at the same time.
 *
 * Returns
 *   RL_OK            the cost is given back, as far as it had been taken
 *   RL_ERR_ARGUMENT  service is NULL, a name is NULL and its length not 0, a name is too
 *                    long, or cost is 0; nothing is given back
 *   RL_ERR_INTERNAL  a bug in the library
 */
rl_status rl_refund(rl_service *service,
                    const void *user,
                    size_t user_len,
                    const void *api,
                    size_t api_len,
                    uint64_t cost);

/**
 * Forgets the counters that are this pair's own: its next request meets full limits.
 * Counters that it shares with others (per=user, per=api, per=all) stay as they are.
 * user and api are names as in rl_request.
 *
 * The call does not allocate. Any threads may call it at the same time.
 *
 * Returns
 *   RL_OK            the counters are forgotten, if there were any
 *   RL_ERR_ARGUMENT  service is NULL, a name is NULL and its length not 0, or a name is
 *                    too long
 *   RL_ERR_INTERNAL  a bug in the library
 */
rl_status rl_reset(rl_service *service,
                   const void *user,
                   size_t user_len,
                   const void *api,
                   size_t api_len);

/* --- Zone -------------------------------------------------------------------------- */

/**
 * Removes the zone of this name, that of the setting shared, with all that was counted in
 * it. name is a C string, such as "/shop".
 *
 * This is safe when no process uses the zone, or when all that do are about to be
 * restarted. Those that have it open go on with the old one, and those that come later
 * make a new one: until all have come over, the two together give twice what a limit
 * says. A zone need not be removed, and comes to its end with the machine. It is removed
 * to make a new one of another size, or with another setting clock, or when a new version
 * of the library has another layout: where rl_service_new says RL_ERR_ZONE.
 *
 * Any thread may call it at any time. As a rule it takes the zone's owner or root.
 *
 * Returns
 *   RL_OK            there is no zone of this name any more
 *   RL_ERR_ARGUMENT  name is NULL, or not a / and 1 to 254 bytes without another /, or it
 *                    is "/." or "/.."
 *   RL_ERR_IO        there is none of this name, or this process may not remove it
 *   RL_ERR_INTERNAL  a bug in the library
 */
rl_status rl_zone_unlink(const char *name);

/** How a rl_stats begins: with its size, and everything else 0. */
#define RL_STATS_INIT { sizeof(rl_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/*
 * A short name for rl_service_free. GNU readline exports a function of this name, so the
 * alias is local to each file that includes this one. It is left out when readline.h has
 * been included before. Where readline.h comes later, define RL_NO_RL_FREE first.
 */
#if !defined(_READLINE_H_) && !defined(RL_NO_RL_FREE)
static inline void rl_free(rl_service *service) {
    rl_service_free(service);
}
#endif

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* LIBRL_RL_H */
