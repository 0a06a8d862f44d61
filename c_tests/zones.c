/*
 * What stands under the name of a zone and is none that this service can join: the status,
 * a message that says what to do, and not a byte of it changed. And what a dead maker left
 * is made anew, and a zone that was removed goes on for those who have it.
 *
 * Runs as root: it gives files away.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "asks.h"

#define RULES "memory = 32k\ndefault = fixed-window,1000,1h"
#define SOMEBODY 12345 /* a user */
#define HEADER 4096

static char name[64];
static char path[80]; /* of the object */


/* What is in the object. */
struct bytes {
    size_t size;
    unsigned char at[64 * 1024];
};

static struct bytes contents(void) {
    static struct bytes bytes;
    FILE *file = fopen(path, "rb");
    NEED(file != NULL);
    bytes.size = fread(bytes.at, 1, sizeof bytes.at, file);
    fclose(file);
    return bytes;
}

static void write_object(const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    NEED(file != NULL);
    NEED(fwrite(bytes, 1, size, file) == size);
    NEED(fclose(file) == 0 && chmod(path, 0600) == 0);
}

static rl_status open_zone(const char *more, rl_clock *clock, rl_service **out, rl_error *error) {
    char text[512];
    snprintf(text, sizeof text, "shared = %s\n%s\n%s", name, RULES, more);
    rl_config *config = fixture_config(text);
    if (clock != NULL) {
        NEED(rl_config_set_clock(config, clock) == RL_OK);
    }
    rl_status status = rl_service_new(config, out, error);
    rl_config_free(config);
    return status;
}

static uint64_t take(rl_service *service) { return check(service, "alice", "/a", 1).remaining; }

/* Makes the zone, with one request in it. */
static struct bytes make_zone(void) {
    rl_service *service = NULL;
    rl_zone_unlink(name);
    NEED(open_zone("", NULL, &service, NULL) == RL_OK);
    NEED(take(service) == 999);
    rl_service_free(service);
    return contents();
}

static void is_refused(const char *more, rl_clock *clock, rl_status status, const char *says,
                       const char *advises) {
    rl_service *service = NULL;
    rl_error error;
    memset(&error, 0, sizeof error);
    CHECK_INT(open_zone(more, clock, &service, &error), status);
    CHECK(service == NULL);
    CHECK_INT(error.status, status);
    CHECK_UINT(error.line, 0);
    CHECK_CONTAINS(error.message, says);
    CHECK_CONTAINS(error.message, advises);
    rl_service_free(service);
}

/* Refused, and nothing of it is changed. */
static void is_left_alone(const char *says, const char *advises) {
    struct bytes before = contents();
    is_refused("", NULL, RL_ERR_ZONE, says, advises);
    struct bytes after = contents();
    CHECK_UINT(after.size, before.size);
    CHECK_BYTES(after.at, before.at, before.size);
}

static const char anew[] = "remove it with rl_zone_unlink";

/* What a word of the header is turned into, and what is then said. */
static const struct {
    size_t word;
    uint64_t value;
    const char *says;
    const char *advises;
} words[] = {
    {0, 0x1234, "neither zeroed nor a zone", "another name"},
    {0, UINT64_MAX, "neither zeroed nor a zone", "another name"},
    {1, 0, "layout version 0, this library has 2", anew},
    {1, 1, "layout version 1, this library has 2", anew},
    {1, UINT64_MAX, "layout version 18446744073709551615", anew},
    {2, 0, "damaged: it says it has 0 buckets", anew},
    {2, 1 << 20, "cut short", anew},
    {2, UINT64_MAX, "damaged", anew},
    {2, UINT64_MAX / 128, "damaged", anew},
    {3, 1 << 20, "cut short", anew},
    {3, UINT64_MAX, "damaged", anew},
    {3, UINT32_MAX, "cut short", anew},
    {4, 2, "the zone goes by", "same kind of clock"},
    {4, 77, "an unknown clock (77)", "same kind of clock"},
    {5, 1, "made before this machine was started", anew},
    {6, 1, "made before this machine was started", anew},
    {8, 1, "another time namespace", "clock = realtime"},
};

static void a_header_that_does_not_fit(void) {
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct bytes zone = make_zone();
        memcpy(zone.at + 8 * words[i].word, &words[i].value, 8);
        write_object(zone.at, zone.size);
        is_left_alone(words[i].says, words[i].advises);
    }
}

static void another_kind_of_clock(void) {
    rl_clock *clock = fixture_clock(0);
    struct bytes before = make_zone();
    is_refused("", clock, RL_ERR_ZONE, "this service by a manual clock", "same kind of clock");
    is_refused("clock = realtime", NULL, RL_ERR_ZONE, "the zone goes by", "same kind of clock");
    struct bytes after = contents();
    CHECK_BYTES(after.at, before.at, before.size);
    rl_clock_free(clock);
}

static void a_zone_cut_short(void) {
    struct bytes zone = make_zone();
    for (size_t size = 512; size < zone.size; size += 512) {
        char says[64];
        write_object(zone.at, size);
        snprintf(says, sizeof says, "cut short: it has %lu bytes", (unsigned long)size);
        is_left_alone(says, anew);
    }
    write_object(zone.at, zone.size - 1);
    is_left_alone("cut short", anew);
    write_object(zone.at, zone.size);
    rl_service *service = NULL;
    CHECK_INT(open_zone("", NULL, &service, NULL), RL_OK);
    CHECK_UINT(take(service), 998);
    rl_service_free(service);
}

/* Nothing, zeros, or a claim and something behind it: its maker is dead. */
static void what_a_dead_maker_left(void) {
    static unsigned char left[HEADER * 3];
    const uint64_t claim = 0xc1aull << 52 | 0xffffffff, version = 2;
    for (size_t size = 0; size <= sizeof left; size += HEADER) {
        for (int claimed = 0; claimed < (size == 0 ? 1 : 2); claimed++) {
            rl_service *service = NULL;
            memset(left, 0, sizeof left);
            memcpy(left, &claim, claimed ? 8 : 0);
            memcpy(left + 8, &version, claimed ? 8 : 0);
            write_object(left, size);
            CHECK_INT(open_zone("", NULL, &service, NULL), RL_OK);
            CHECK_UINT(take(service), 999);
            CHECK_UINT(contents().size, fixture_stats(service).memory_bytes);
            rl_service_free(service);
        }
    }
}

static void others_may_write_there(void) {
    make_zone();
    NEED(chmod(path, 0666) == 0);
    is_left_alone("has mode 0666, more than shared-mode = 0600", "use the same in all services");
    NEED(chmod(path, 0600) == 0);
    NEED(chown(path, SOMEBODY, (gid_t)-1) == 0);
    is_left_alone("belongs to user 12345, not to 0", "use another name or mode");
    CHECK_INT(rl_zone_unlink(name), RL_OK);
}

static void what_is_no_file(void) {
    rl_zone_unlink(name);
    NEED(mkfifo(path, 0600) == 0);
    is_refused("", NULL, RL_ERR_ZONE, "is no shared memory", "use another name");
    NEED(unlink(path) == 0 && mkdir(path, 0700) == 0);
    is_refused("", NULL, RL_ERR_IO, name, "cannot open");
    NEED(rmdir(path) == 0);
    char target[96];
    snprintf(target, sizeof target, "%s-target", path);
    NEED(symlink(target, path) == 0);
    is_refused("", NULL, RL_ERR_IO, name, "cannot open");
    CHECK(access(target, F_OK) != 0);
    NEED(unlink(path) == 0);
}

static void given_memory_with_something_in_it(void) {
    const size_t size = 32 * 1024;
    unsigned char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                                 -1, 0);
    unsigned char *before = malloc(size);
    NEED(memory != MAP_FAILED && before != NULL);
    for (size_t at = 0; at < HEADER; at = at == 0 ? 8 : at * 2 - 1) {
        rl_service *service = NULL;
        rl_error error;
        rl_config *config = fixture_config(RULES);
        memset(memory, 0, size);
        memory[at] = 'x';
        memcpy(before, memory, size);
        NEED(rl_config_set_memory(config, memory, size) == RL_OK);
        CHECK_INT(rl_service_new(config, &service, &error), RL_ERR_ZONE);
        CHECK_CONTAINS(error.message, "neither zeroed nor a zone; zero all of it");
        CHECK_BYTES(memory, before, size);
        rl_config_free(config);
    }
    free(before);
    NEED(munmap(memory, size) == 0);
}

static void given_memory_may_be_gone_when_the_service_is_freed(void) {
    const size_t size = 32 * 1024;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    rl_service *service = NULL;
    rl_config *config = fixture_config(RULES);
    NEED(memory != MAP_FAILED);
    NEED(rl_config_set_memory(config, memory, size) == RL_OK);
    NEED(rl_service_new(config, &service, NULL) == RL_OK);
    CHECK_UINT(take(service), 999);
    NEED(munmap(memory, size) == 0);
    rl_service_free(service);
    rl_config_free(config);
}

static void a_removed_zone_goes_on_beside_a_new_one(void) {
    rl_service *old = NULL, *new = NULL;
    make_zone();
    NEED(open_zone("", NULL, &old, NULL) == RL_OK);
    CHECK_UINT(take(old), 998);
    CHECK_INT(rl_zone_unlink(name), RL_OK);
    CHECK_INT(rl_zone_unlink(name), RL_ERR_IO);
    NEED(open_zone("", NULL, &new, NULL) == RL_OK);
    CHECK_UINT(take(new), 999);
    CHECK_UINT(take(old), 997);
    CHECK_UINT(take(new), 998);
    CHECK_UINT(fixture_stats(old).allowed, 3);
    CHECK_UINT(fixture_stats(new).allowed, 2);
    rl_service_free(old);
    rl_service_free(new);
    CHECK_INT(rl_zone_unlink(name), RL_OK);
}

int main(void) {
    test_need(geteuid() == 0, __FILE__, __LINE__, "geteuid() == 0", "run this as root");
    snprintf(name, sizeof name, "/librl-zones-%d", (int)getpid());
    snprintf(path, sizeof path, "/dev/shm%s", name);
    a_header_that_does_not_fit();
    another_kind_of_clock();
    a_zone_cut_short();
    what_a_dead_maker_left();
    others_may_write_there();
    what_is_no_file();
    given_memory_with_something_in_it();
    given_memory_may_be_gone_when_the_service_is_freed();
    a_removed_zone_goes_on_beside_a_new_one();
    return test_end();
}
