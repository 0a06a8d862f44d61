// Eight requests for the price of one call, and the statistics: rl_request, rl_decision and
// rl_stats as koffi has them. Every program called batch here prints the same.
'use strict'
const koffi = require('koffi')

const librl = koffi.load('librl.so.0')
koffi.struct('rl_request', {
  user: 'const void *', user_len: 'size_t', api: 'const void *', api_len: 'size_t',
  cost: 'uint64_t',
})
koffi.struct('rl_decision', {
  allowed: 'bool', flags: 'uint8_t', limit_count: 'uint8_t', limit_index: 'uint8_t',
  denied_by: 'uint8_t', reserved: 'uint8_t [3]', limit: 'uint64_t', remaining: 'uint64_t',
  retry_after_ms: 'uint64_t', reset_after_ms: 'uint64_t', window_ms: 'uint64_t', name: 'char [16]',
})
koffi.struct('rl_stats', {
  size: 'size_t', allowed: 'uint64_t', denied: 'uint64_t', errors: 'uint64_t', keys: 'uint64_t',
  capacity: 'uint64_t', evicted_idle: 'uint64_t', evicted_live: 'uint64_t',
  refused_full: 'uint64_t', recovered_locks: 'uint64_t', memory_bytes: 'uint64_t',
  log_entries: 'uint64_t', log_capacity: 'uint64_t',
})
const configNew = librl.func('int32_t rl_config_new(_Out_ void **out)')
const configSet = librl.func('int32_t rl_config_set(void *, const char *, const char *, void *)')
const configFree = librl.func('void rl_config_free(void *)')
const serviceNew = librl.func('int32_t rl_service_new(void *, _Out_ void **out, void *)')
const checkBatch = librl.func(
  'int32_t rl_check_batch(void *, const rl_request *, size_t, _Out_ rl_decision *)')
const serviceStats = librl.func('int32_t rl_service_stats(void *, _Inout_ rl_stats *)')
const serviceFree = librl.func('void rl_service_free(void *)')

const RL_NEVER = 2n ** 64n - 1n
const ok = (status) => { if (status !== 0) throw new Error(`status ${status}`) }
const [config, service] = [[null], [null]]
ok(configNew(config))
ok(configSet(config[0], 'default', 'token-bucket,5,1000d,name=daily', null))
ok(configSet(config[0], 'memory', '1m', null))
ok(serviceNew(config[0], service, null))
configFree(config[0])

function request(user, cost) {
  const bytes = Buffer.from(user)
  return { user: bytes, user_len: bytes.length, api: null, api_len: 0, cost }
}
function inWords({ name, allowed, remaining, retry_after_ms: retry }) {
  if (allowed) return `${name}: ${remaining} left`
  return `${name}: refused` + (BigInt(retry) === RL_NEVER ? ' for ever' : '')
}
const requests = [...Array(6).fill(request('a\0b', 1)), request('a\0c', 1), request('', 6)]
const answers = requests.map(() => ({}))
ok(checkBatch(service[0], requests, requests.length, answers))
for (const answer of answers) console.log(inWords(answer))

const stats = { size: koffi.sizeof('rl_stats') }
ok(serviceStats(service[0], stats))
console.log(`${stats.allowed} allowed, ${stats.denied} refused, ${stats.keys} counters, `
  + `${stats.memory_bytes} bytes, ${stats.size} bytes filled`)
serviceFree(service[0])
