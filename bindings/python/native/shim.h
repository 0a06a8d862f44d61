/* What Python sees of librl: read by cffi, and checked against rl.h by the C compiler. */

#define RL_NEVER ...
#define RL_FLAG_SHADOW ...
#define RL_FLAG_UNTRACKED ...
#define RL_FLAG_UNLIMITED ...
#define RL_HEADERS_DRAFT ...
#define RL_HEADERS_LEGACY ...
#define RL_ERR_ARGUMENT ...
#define RL_ERR_CONFIG ...
#define RL_ERR_MEMORY ...
#define RL_ERR_IO ...
#define RL_ERR_ZONE ...
#define RL_ERR_STORE ...
#define RL_ERR_UNSUPPORTED ...
#define RL_ERR_INTERNAL ...

typedef int32_t rl_status;
typedef struct rl_clock rl_clock;
typedef struct rl_config rl_config;
typedef struct rl_service rl_service;

typedef struct {
    rl_status status;
    uint32_t line;
    uint32_t column;
    char message[244];
} rl_error;

typedef struct {
    const void *user;
    size_t user_len;
    const void *api;
    size_t api_len;
    uint64_t cost;
} rl_request;

typedef struct {
    size_t size;
    uint64_t allowed, denied, errors, keys, capacity, evicted_idle, evicted_live, refused_full,
        recovered_locks, memory_bytes, log_entries, log_capacity;
} rl_stats;

typedef struct {
    bool allowed;
    uint8_t flags, limit_count, limit_index, denied_by;
    int8_t verdict;
    uint8_t reserved[2];
    uint64_t limit, remaining, retry_after_ms, reset_after_ms, window_ms;
    char name[16];
} answer;

const char *rl_version(void);
const char *rl_status_message(rl_status status);

rl_status rl_clock_new_manual(uint64_t now_ns, rl_clock **out);
rl_status rl_clock_set_ns(rl_clock *clock, uint64_t now_ns);
rl_status rl_clock_advance_ns(rl_clock *clock, uint64_t by_ns);
void rl_clock_free(rl_clock *clock);

rl_status rl_config_new(rl_config **out);
rl_status rl_config_parse(rl_config *config, const char *text, size_t len, rl_error *error);
rl_status rl_config_load(rl_config *config, const char *path, rl_error *error);
rl_status rl_config_set_clock(rl_config *config, rl_clock *clock);
void rl_config_free(rl_config *config);

rl_status rl_service_new(const rl_config *config, rl_service **out, rl_error *error);
rl_status rl_reload(rl_service *service, const rl_config *config, rl_error *error);
rl_status rl_explain(rl_service *service, const void *user, size_t user_len, const void *api,
                     size_t api_len, char *buf, size_t size);
rl_status rl_service_stats(rl_service *service, rl_stats *out);
rl_status rl_stats_prometheus(rl_service *service, char *buf, size_t size, size_t *needed);
void rl_service_free(rl_service *service);
rl_status rl_reset(rl_service *service, const void *user, size_t user_len, const void *api,
                   size_t api_len);
rl_status rl_zone_unlink(const char *name);

answer py_check(rl_service *service, const void *user, size_t user_len, const void *api,
                size_t api_len, int64_t cost);
int py_allow(rl_service *service, const void *user, size_t user_len, const void *api,
             size_t api_len, int64_t cost);
answer py_peek(rl_service *service, const void *user, size_t user_len, const void *api,
               size_t api_len, int64_t cost);
answer py_charge(rl_service *service, const void *user, size_t user_len, const void *api,
                 size_t api_len, int64_t cost);
rl_status py_refund(rl_service *service, const void *user, size_t user_len, const void *api,
                    size_t api_len, int64_t cost);
answer py_acquire(rl_service *service, const void *user, size_t user_len, const void *api,
                  size_t api_len, int64_t cost, uint64_t timeout_ms);
rl_status py_check_many(rl_service *service, rl_request *requests, const char *names,
                        const uint64_t *lengths, const int64_t *costs, size_t count,
                        answer *out);
rl_status py_check_all(rl_service *service, rl_request *requests, const char *names,
                       const uint64_t *lengths, const int64_t *costs, size_t count, answer *out);
size_t py_headers(const answer *decision, uint32_t style, char *buf, size_t size);
