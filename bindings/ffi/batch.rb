# frozen_string_literal: true

# Eight requests for the price of one call, and the statistics: rl_request, rl_decision and
# rl_stats as Fiddle has them. Every program called batch here prints the same.
require 'fiddle/import'

module RL
  extend Fiddle::Importer
  dlload 'librl.so.0'
  NEVER = 2**64 - 1
  Request = struct [
    'void *user', 'size_t user_len', 'void *api', 'size_t api_len', 'uint64_t cost'
  ]
  Decision = struct [
    'uint8_t allowed', 'uint8_t flags', 'uint8_t limit_count', 'uint8_t limit_index',
    'uint8_t denied_by', 'uint8_t reserved[3]', 'uint64_t limit', 'uint64_t remaining',
    'uint64_t retry_after_ms', 'uint64_t reset_after_ms', 'uint64_t window_ms', 'char name[16]'
  ]
  Stats = struct [
    'size_t size', 'uint64_t allowed', 'uint64_t denied', 'uint64_t errors', 'uint64_t keys',
    'uint64_t capacity', 'uint64_t evicted_idle', 'uint64_t evicted_live',
    'uint64_t refused_full', 'uint64_t recovered_locks', 'uint64_t memory_bytes',
    'uint64_t log_entries', 'uint64_t log_capacity'
  ]
  extern 'int32_t rl_config_new(void *)'
  extern 'int32_t rl_config_set(void *, char *, char *, void *)'
  extern 'void rl_config_free(void *)'
  extern 'int32_t rl_service_new(void *, void *, void *)'
  extern 'int32_t rl_check_batch(void *, void *, size_t, void *)'
  extern 'int32_t rl_service_stats(void *, void *)'
  extern 'void rl_service_free(void *)'
end

def ok(status)
  status.zero? or raise "status #{status}"
end

def made
  out = Fiddle::Pointer.malloc(Fiddle::SIZEOF_VOIDP, Fiddle::RUBY_FREE)
  ok yield(out)
  out.ptr
end

def in_words(decision)
  name = decision.name.pack('c*').unpack1('Z*')
  return "#{name}: #{decision.remaining} left" if decision.allowed == 1

  "#{name}: refused#{' for ever' if decision.retry_after_ms == RL::NEVER}"
end

config = made { |out| RL.rl_config_new(out) }
ok RL.rl_config_set(config, 'default', 'token-bucket,5,1000d,name=daily', nil)
ok RL.rl_config_set(config, 'memory', '1m', nil)
service = made { |out| RL.rl_service_new(config, out, nil) }
RL.rl_config_free(config)

# The strings must be kept until the call has come back: the structs have only addresses.
asked = [*[["a\0b", 1]] * 6, ["a\0c", 1], ['', 6]]
requests = asked.map { |user, cost| [Fiddle::Pointer[user].to_i, user.bytesize, 0, 0, cost] }
answers = Fiddle::Pointer.malloc(asked.size * RL::Decision.size, Fiddle::RUBY_FREE)
ok RL.rl_check_batch(service, requests.flatten.pack('Q*'), asked.size, answers)
asked.each_index { |i| puts in_words(RL::Decision.new(answers + i * RL::Decision.size)) }

stats = RL::Stats.malloc(Fiddle::RUBY_FREE)
stats.size = RL::Stats.size
ok RL.rl_service_stats(service, stats)
puts "#{stats.allowed} allowed, #{stats.denied} refused, #{stats.keys} counters, " \
     "#{stats.memory_bytes} bytes, #{stats.size} bytes filled"
RL.rl_service_free(service)
