// Waiting on an event loop: ask, sleep for retry_after_ms by the loop's own timer, ask again.
// The loop goes on meanwhile, as ticks show.
'use strict'
const koffi = require('koffi')
const { setTimeout: sleep } = require('timers/promises')

const librl = koffi.load('librl.so.0')
koffi.struct('rl_decision', {
  allowed: 'bool', flags: 'uint8_t', limit_count: 'uint8_t', limit_index: 'uint8_t',
  denied_by: 'uint8_t', reserved: 'uint8_t [3]', limit: 'uint64_t', remaining: 'uint64_t',
  retry_after_ms: 'uint64_t', reset_after_ms: 'uint64_t', window_ms: 'uint64_t', name: 'char [16]',
})
const configNew = librl.func('int32_t rl_config_new(_Out_ void **out)')
const configSet = librl.func('int32_t rl_config_set(void *, const char *, const char *, void *)')
const configFree = librl.func('void rl_config_free(void *)')
const serviceNew = librl.func('int32_t rl_service_new(void *, _Out_ void **out, void *)')
const check = librl.func(
  'int32_t rl_check(void *, const char *, const char *, _Out_ rl_decision *)')
const serviceFree = librl.func('void rl_service_free(void *)')

const ok = (status) => { if (status !== 0) throw new Error(`status ${status}`) }
const [config, service] = [[null], [null]]
ok(configNew(config))
ok(configSet(config[0], 'default', 'token-bucket,1,1s', null))
ok(serviceNew(config[0], service, null))
configFree(config[0])

/** Whether it passed within patience milliseconds; false at once where it cannot. */
async function pass(user, patience) {
  const deadline = performance.now() + patience
  for (;;) {
    const answer = {}
    ok(check(service[0], user, '', answer))
    const wait = Number(answer.retry_after_ms)
    if (answer.allowed || performance.now() + wait > deadline) return answer.allowed
    await sleep(wait)
  }
}

async function main() {
  let ticks = 0
  const ticking = setInterval(() => { ticks += 1 }, 5)
  console.log('the first passes:', await pass('alice', 0))
  console.log('the second passes within no time:', await pass('alice', 0))
  console.log('the second passes within an hour:', await pass('alice', 3600e3))
  console.log('the loop has gone on:', ticks > 1)
  clearInterval(ticking)
  serviceFree(service[0])
}
main()
