// Every call in the form that does not throw. Built without exceptions and RTTI too.
// `results` checks what a success and a failure look like, of each call.

#include "test.hpp"

#include <array>

using namespace std::chrono_literals;

namespace {

const std::string too_long(65536, 'x');

rl::service make(std::string_view rules) {
    auto config = rl::config::try_make();
    NEED(config.has_value());
    NEED(config->try_parse(rules).has_value());
    auto clock = rl::clock::try_manual(1h);
    NEED(clock.has_value() && config->try_set_clock(*clock).has_value());
    auto service = rl::service::try_make(*config);
    NEED(service.has_value());
    return *std::move(service);
}

/// A check that is an error reads as a refusal, whoever does not look.
void answers() {
    rl::service service = make("default = fixed-window,2,1000d");
    const auto yes = service.try_check("alice", "/a");
    CHECK(yes.has_value() && yes->allowed());
    CHECK_EQ(yes.status(), RL_OK);
    const auto wrong = service.try_check(too_long, "/a");
    CHECK(!wrong.has_value() && !wrong->allowed());
    CHECK_EQ(wrong.status(), RL_ERR_ARGUMENT);
    CHECK_EQ(std::string_view(wrong.error().message), rl::status_message(RL_ERR_ARGUMENT));
    CHECK_EQ(service.try_peek("alice", "/a")->remaining(), 0);
    CHECK_EQ(service.try_peek("alice", "/a", 0).status(), RL_ERR_ARGUMENT);
    CHECK(service.try_acquire("alice", "/a", 1s)->allowed());
    CHECK_EQ(service.try_acquire("alice", "/a", 1s, 0).status(), RL_ERR_ARGUMENT);
    CHECK_EQ(service.try_charge("alice", "/a")->remaining(), 0);
    CHECK(!service.try_charge("alice", "/a", 0)->allowed());
    CHECK(service.try_refund("alice", "/a").has_value());
    CHECK_EQ(service.try_refund("alice", "/a", 0).status(), RL_ERR_ARGUMENT);
    CHECK(service.try_reset("alice", "/a").has_value());
    CHECK_EQ(service.try_reset("alice", too_long).status(), RL_ERR_ARGUMENT);
    CHECK(service.allow("alice", "/a", 2) && !service.allow("alice", "/a"));
}

void many_answers() {
    rl::service service = make("default = fixed-window,2,1000d");
    std::array<rl::decision, 1> out;
    CHECK(service.try_check_batch({{"alice", "/a"}}, out.data()).has_value());
    CHECK(out[0].allowed());
    CHECK_EQ(service.try_check_batch({{"alice", "/a", 0}}, out.data()).status(), RL_ERR_ARGUMENT);
    CHECK(!out[0].allowed());
    CHECK_EQ(service.try_check_batch({{"alice", "/a"}})->size(), 1);
    const auto wrong = service.try_check_batch({{"alice", "/a", 0}});
    CHECK(!wrong.has_value() && wrong->empty());
    CHECK(service.try_check_all({{"bob", "/a"}, {"carol", "/a"}})->allowed());
    CHECK_EQ(service.try_check_all({}).status(), RL_ERR_ARGUMENT);
}

void reports() {
    rl::service service = make("default = fixed-window,2,1000d");
    CHECK_EQ(*service.try_explain("alice", "/a"), "default = fixed-window,2,86400000");
    const auto wrong = service.try_explain(too_long, "/a");
    CHECK_EQ(wrong.status(), RL_ERR_ARGUMENT);
    CHECK_EQ(*wrong, "");
    CHECK_EQ(service.try_stats()->size, sizeof(rl_stats));
    CHECK_EQ(rl::service(nullptr).try_stats().status(), RL_ERR_ARGUMENT);
    CHECK_CONTAINS(*service.try_prometheus(), "# TYPE librl_requests_total counter\n");
    CHECK_EQ(rl::service(nullptr).try_prometheus().status(), RL_ERR_ARGUMENT);
}

void configurations() {
    auto config = rl::config::try_make();
    NEED(config.has_value());
    const auto wrong = config->try_parse("\nuser.bob = token-buckle,5,10");
    CHECK_EQ(wrong.status(), RL_ERR_CONFIG);
    CHECK_EQ(wrong.error().line, 2);
    CHECK_EQ(wrong.error().column, 12);
    CHECK_CONTAINS(wrong.error().message, "token-buckle");
    CHECK_EQ(config->try_load("no/such/file").status(), RL_ERR_IO);
    CHECK_EQ(config->try_set("default", "nonsense").status(), RL_ERR_CONFIG);
    CHECK_EQ(config->try_set_rule("bob", std::nullopt, "nonsense").status(), RL_ERR_CONFIG);
    CHECK_EQ(config->try_set_memory(nullptr, 1).status(), RL_ERR_ARGUMENT);
    CHECK_EQ(config->try_set_clock(rl::clock(nullptr)).status(), RL_ERR_ARGUMENT);
    auto none = rl::service::try_make(*config);
    CHECK_EQ(none.status(), RL_ERR_CONFIG);
    CHECK(none->get() == nullptr && !none->allow("alice"));
    CHECK(config->try_set("default", "deny").has_value());
    CHECK(config->try_set_rule("bob", std::nullopt, "unlimited").has_value());
    rl::service service = make("default = deny");
    CHECK(service.try_reload(*config).has_value());
    CHECK(service.allow("bob"));
    CHECK_EQ(service.try_reload(rl::config(nullptr)).status(), RL_ERR_ARGUMENT);
    CHECK_EQ(rl::try_zone_unlink("no slash").status(), RL_ERR_ARGUMENT);
}

void clocks() {
    auto manual = rl::clock::try_manual();
    NEED(manual.has_value());
    CHECK(manual->try_set(1h).has_value() && manual->try_advance(1h).has_value());
    CHECK_EQ(manual->try_set(-1s).status(), RL_ERR_ARGUMENT);
    CHECK_EQ(rl::clock::try_manual(-1s).status(), RL_ERR_ARGUMENT);
    auto callable = rl::clock::try_callback([] { return 1h; });
    NEED(callable.has_value());
    CHECK_EQ(callable->try_advance(1s).status(), RL_ERR_UNSUPPORTED);
}

void results_are_values() {
    rl::service service = make("default = fixed-window,2,1000d");
    const auto stats = service.try_stats();
    auto copy = stats;
    CHECK(copy.has_value());
    copy = service.try_stats();
    CHECK_EQ(copy->allowed, 0);
    const auto wrong = service.try_reset(too_long, "/a");
    const auto again = wrong;
    CHECK_EQ(again.status(), RL_ERR_ARGUMENT);
    auto done = service.try_reset("alice", "/a");
    CHECK(done.has_value());
    done = wrong;
    CHECK(!done.has_value());
    auto moved = service.try_check("alice", "/a");
    const auto taken = std::move(moved);
    CHECK(taken->allowed());
}

#ifdef __cpp_exceptions
void value_throws_the_error() {
    rl::service service = make("default = fixed-window,2,1000d");
    auto right = service.try_check("alice", "/a");
    const auto &same = right;
    CHECK(right.value().allowed() && same.value().allowed());
    CHECK_EQ(service.try_explain("alice", "/a").value(), "default = fixed-window,2,86400000");
    service.try_reset("alice", "/a").value();
    auto wrong = service.try_check(too_long, "/a");
    CHECK_THROWS(RL_ERR_ARGUMENT, wrong.value());
    CHECK_THROWS(RL_ERR_ARGUMENT, service.try_reset(too_long, "/a").value());
    CHECK_THROWS(RL_ERR_ARGUMENT, service.try_explain(too_long, "/a").value());
}
#endif

} // namespace

int main() {
    answers();
    many_answers();
    reports();
    configurations();
    clocks();
    results_are_values();
#ifdef __cpp_exceptions
    value_throws_the_error();
#endif
    return test::end();
}
