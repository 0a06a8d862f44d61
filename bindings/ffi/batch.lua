-- Eight requests for the price of one call, and the statistics: rl_request, rl_decision and
-- rl_stats as LuaJIT has them. Every program called batch here prints the same.
local ffi = require("ffi")

ffi.cdef [[
typedef struct {
  const char *user; size_t user_len; const char *api; size_t api_len; uint64_t cost;
} rl_request;
typedef struct {
  bool allowed; uint8_t flags, limit_count, limit_index, denied_by, reserved[3];
  uint64_t limit, remaining, retry_after_ms, reset_after_ms, window_ms; char name[16];
} rl_decision;
typedef struct {
  size_t size;
  uint64_t allowed, denied, errors, keys, capacity, evicted_idle, evicted_live,
    refused_full, recovered_locks, memory_bytes, log_entries, log_capacity;
} rl_stats;
int32_t rl_config_new(void **out);
int32_t rl_config_set(void *config, const char *name, const char *value, void *error);
void rl_config_free(void *config);
int32_t rl_service_new(void *config, void **out, void *error);
int32_t rl_check_batch(void *service, const rl_request *requests, size_t count, rl_decision *out);
int32_t rl_service_stats(void *service, rl_stats *out);
void rl_service_free(void *service);
]]
local rl = ffi.load("librl.so.0")
local RL_NEVER = 0xffffffffffffffffULL

local function ok(status)
  assert(status == 0, "status " .. status)
end

local function in_words(answer)
  local name = ffi.string(answer.name)
  if answer.allowed then return ("%s: %d left"):format(name, tonumber(answer.remaining)) end
  return name .. ": refused" .. (answer.retry_after_ms == RL_NEVER and " for ever" or "")
end

local out = ffi.new("void *[1]")
ok(rl.rl_config_new(out))
local config = out[0]
ok(rl.rl_config_set(config, "default", "token-bucket,5,1000d,name=daily", nil))
ok(rl.rl_config_set(config, "memory", "1m", nil))
ok(rl.rl_service_new(config, out, nil))
local service = out[0]
rl.rl_config_free(config)

-- The strings must be kept until the call has come back: the structs have only addresses.
local users = { "a\0b", "a\0b", "a\0b", "a\0b", "a\0b", "a\0b", "a\0c", "" }
local requests, answers = ffi.new("rl_request[8]"), ffi.new("rl_decision[8]")
for i, user in ipairs(users) do
  requests[i - 1] = { user = user, user_len = #user, cost = user == "" and 6 or 1 }
end
ok(rl.rl_check_batch(service, requests, #users, answers))
for i = 0, #users - 1 do print(in_words(answers[i])) end

local stats = ffi.new("rl_stats", { size = ffi.sizeof("rl_stats") })
ok(rl.rl_service_stats(service, stats))
print(("%d allowed, %d refused, %d counters, %d bytes, %d bytes filled"):format(
  tonumber(stats.allowed), tonumber(stats.denied), tonumber(stats.keys),
  tonumber(stats.memory_bytes), tonumber(stats.size)))
rl.rl_service_free(service)
