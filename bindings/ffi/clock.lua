-- A clock that is a function of Lua's. The library calls it within each check; the function
-- that checks is not compiled, as LuaJIT's manual asks where C calls back into Lua.
local ffi = require("ffi")

ffi.cdef [[
typedef uint64_t (*rl_clock_fn)(void *context);
int32_t rl_clock_new_callback(rl_clock_fn now, void *context, void **out);
void rl_clock_free(void *clock);
int32_t rl_config_new(void **out);
int32_t rl_config_set(void *config, const char *name, const char *value, void *error);
int32_t rl_config_set_clock(void *config, void *clock);
void rl_config_free(void *config);
int32_t rl_service_new(void *config, void **out, void *error);
bool rl_allow(void *service, const char *user);
void rl_service_free(void *service);
]]
local rl = ffi.load("librl.so.0")

local function ok(status)
  assert(status == 0, "status " .. status)
end

local seconds, asked = 0, 0
local now = ffi.cast("rl_clock_fn", function()
  asked = asked + 1
  return seconds * 1000000000ULL
end)

local out = ffi.new("void *[1]")
ok(rl.rl_clock_new_callback(now, nil, out))
local clock = out[0]
ok(rl.rl_config_new(out))
local config = out[0]
ok(rl.rl_config_set(config, "default", "token-bucket,1,2", nil))
ok(rl.rl_config_set_clock(config, clock))
ok(rl.rl_service_new(config, out, nil))
local service = out[0]
rl.rl_config_free(config)
rl.rl_clock_free(clock)

local function passed_in(checks)
  local passed = 0
  for _ = 1, checks do
    if rl.rl_allow(service, "alice") then passed = passed + 1 end
    seconds = seconds + 1
  end
  return passed
end
jit.off(passed_in)

print(("%d of 1000 passed, and the clock was asked %d times"):format(passed_in(1000), asked))
rl.rl_service_free(service)
now:free()
