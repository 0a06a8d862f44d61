# frozen_string_literal: true

# A thread of Ruby's that waits in rl_acquire leaves the others their turn: this one here
# moves the clock that the other waits for.
require 'fiddle/import'

module RL
  extend Fiddle::Importer
  dlload 'librl.so.0'
  NEVER = 2**64 - 1
  extern 'int32_t rl_clock_new_manual(uint64_t, void *)'
  extern 'int32_t rl_clock_advance_ns(void *, uint64_t)'
  extern 'void rl_clock_free(void *)'
  extern 'int32_t rl_config_new(void *)'
  extern 'int32_t rl_config_set(void *, char *, char *, void *)'
  extern 'int32_t rl_config_set_clock(void *, void *)'
  extern 'void rl_config_free(void *)'
  extern 'int32_t rl_service_new(void *, void *, void *)'
  extern 'int32_t rl_acquire(void *, char *, size_t, char *, size_t, uint64_t, uint64_t, void *)'
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

clock = made { |out| RL.rl_clock_new_manual(0, out) }
config = made { |out| RL.rl_config_new(out) }
ok RL.rl_config_set(config, 'default', 'token-bucket,1,1000d', nil)
ok RL.rl_config_set_clock(config, clock)
service = made { |out| RL.rl_service_new(config, out, nil) }

acquire = lambda do
  decision = Fiddle::Pointer.malloc(64, Fiddle::RUBY_FREE)
  ok RL.rl_acquire(service, 'alice', 5, nil, 0, 1, RL::NEVER, decision)
  decision[0] == 1
end
puts "the first passes: #{acquire.call}"
waiting = Thread.new(&acquire)
puts "the second waits: #{waiting.join(0.3).nil?}"
ok RL.rl_clock_advance_ns(clock, 1000 * 86_400 * 1_000_000_000)
puts "a thousand days later it passes: #{waiting.value}"

RL.rl_service_free(service)
RL.rl_config_free(config)
RL.rl_clock_free(clock)
