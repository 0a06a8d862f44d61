# frozen_string_literal: true

# Four forked children share one limit: a service made before fork, on a zone whose name is
# the argument. Each asks 10 times, and 25 pass.
require 'fiddle/import'

module RL
  extend Fiddle::Importer
  dlload 'librl.so.0'
  extern 'int32_t rl_config_new(void *)'
  extern 'int32_t rl_config_set(void *, char *, char *, void *)'
  extern 'void rl_config_free(void *)'
  extern 'int32_t rl_service_new(void *, void *, void *)'
  extern 'char rl_allow(void *, char *)'
  extern 'void rl_service_free(void *)'
  extern 'int32_t rl_zone_unlink(char *)'
end

def ok(status)
  status.zero? or raise "status #{status}"
end

def made
  out = Fiddle::Pointer.malloc(Fiddle::SIZEOF_VOIDP, Fiddle::RUBY_FREE)
  ok yield(out)
  out.ptr
end

zone = ARGV.fetch(0)
config = made { |out| RL.rl_config_new(out) }
{ 'default' => 'token-bucket,25,1000d', 'shared' => zone, 'memory' => '64k' }
  .each { |name, value| ok RL.rl_config_set(config, name, value, nil) }
service = made { |out| RL.rl_service_new(config, out, nil) }
RL.rl_config_free(config)

begin
  children = Array.new(4) do
    IO.popen('-') || begin
      puts Array.new(10) { RL.rl_allow(service, 'alice') }.sum
      $stdout.flush
      RL.rl_service_free(service)
      exit!
    end
  end
  puts "passed: #{children.sum { |child| child.read.to_i }}"
  children.each(&:close)
ensure
  RL.rl_service_free(service)
  ok RL.rl_zone_unlink(zone)
end
