// The calls that ask: what they take, what they say, and how they fail.

#include "fixture.hpp"

#include <array>

namespace {

const rl::clock hour = rl::clock::manual(1h);

void a_check_takes_what_it_costs() {
    rl::service service = fixture("default = token-bucket,5,10", hour);
    const rl::decision first = service.check("alice", "/orders");
    CHECK(first);
    CHECK_EQ(first.remaining(), 4);
    CHECK_EQ(service.check("alice", "/orders", 4).remaining(), 0);
    const rl::decision refused = service.check("alice", "/orders");
    CHECK(!refused);
    CHECK_EQ(refused.retry_after(), 2s);
    CHECK(service.check("bob", "/orders").allowed());
}

void a_peek_takes_nothing() {
    const rl::service service = fixture("default = token-bucket,5,10", hour);
    CHECK_EQ(service.peek("alice", "/orders").remaining(), 4);
    CHECK_EQ(service.peek("alice", "/orders", 5).remaining(), 0);
    CHECK(!service.peek("alice", "/orders", 6));
}

void allow_is_yes_or_no() {
    rl::service service = fixture("default = fixed-window,2,1000d", hour);
    CHECK(service.allow("alice"));
    CHECK_EQ(service.peek("alice", "").remaining(), 0);
    CHECK(service.allow("alice"));
    CHECK(!service.allow("alice"));
    CHECK(service.allow("alice", "/orders", 2));
    CHECK(!service.allow("alice", "/orders"));
    CHECK(!service.allow("bob", "/orders", 0));
    CHECK(!service.allow(std::string(65536, 'x')));
}

void charges_and_refunds() {
    rl::service service = fixture("default = fixed-window,5,1000d", hour);
    CHECK(!service.charge("alice", "/up", 7).allowed());
    CHECK(!service.check("alice", "/up"));
    service.refund("alice", "/up", 4);
    CHECK_EQ(service.check("alice", "/up").remaining(), 1);
    service.refund("alice", "/up");
    CHECK_EQ(service.peek("alice", "/up").remaining(), 1);
    service.reset("alice", "/up");
    CHECK_EQ(service.check("alice", "/up").remaining(), 4);
}

/// The second and third of a batch are the same pair, and the third finds it used up.
void a_batch_is_many_checks() {
    rl::service service = fixture("default = fixed-window,1,1000d", hour);
    const std::vector<rl::request> requests{{"alice", "/a"}, {"bob", "/a"}, {"bob", "/a"}};
    const std::vector<rl::decision> answers = service.check_batch(requests);
    CHECK_EQ(answers.size(), 3);
    CHECK(answers[0].allowed() && answers[1].allowed() && !answers[2].allowed());

    std::array<rl::decision, 2> out;
    service.check_batch({{"alice", "/a"}, {"alice", "/b"}}, out.data());
    CHECK(!out[0].allowed() && out[1].allowed());
    service.check_batch({requests.data(), 0}, nullptr);
    CHECK(service.check_batch({}).empty());
}

void a_wrong_batch_is_refused_as_a_whole() {
    rl::service service = fixture("default = fixed-window,1,1000d", hour);
    std::array<rl::decision, 2> out{rl::decision(service.check("x", "/"))};
    const rl::request wrong[] = {{"alice", "/a"}, {"bob", "/a", 0}};
    CHECK_THROWS(RL_ERR_ARGUMENT, service.check_batch(wrong, out.data()));
    CHECK(!out[0].allowed() && !out[1].allowed());
    CHECK_THROWS(RL_ERR_ARGUMENT, service.check_batch(wrong));
    CHECK(service.check("alice", "/a").allowed());
}

void check_all_takes_of_all_or_none() {
    rl::service service = fixture("default = fixed-window,2,1000d", hour);
    const rl::joint_decision first = service.check_all({{"alice", "/a"}, {"key", "/a", 2}});
    CHECK(first);
    CHECK_EQ(first.size(), 2);
    CHECK_EQ(first[0].remaining(), 1);
    CHECK_EQ(first[1].remaining(), 0);
    const std::array<rl::request, 2> again{rl::request("alice", "/a"), rl::request("key", "/a")};
    const rl::joint_decision second = service.check_all(again);
    CHECK(!second.allowed());
    CHECK(second[0].allowed() && !second[1].allowed());
    CHECK_EQ(service.peek("alice", "/a").remaining(), 0);
    std::size_t seen = 0;
    for (const rl::decision &each : second) seen += each.limit_count();
    CHECK_EQ(seen, 2);
    CHECK(service.check_all({{"bob", "/a"}}).allowed());
}

void check_all_takes_one_to_eight() {
    rl::service service = fixture("default = fixed-window,9,1000d", hour);
    const std::vector<rl::request> nine(9, rl::request("alice", "/a"));
    CHECK_EQ(service.check_all({nine.data(), 8}).size(), 8);
    CHECK_THROWS(RL_ERR_ARGUMENT, service.check_all(nine));
    CHECK_THROWS(RL_ERR_ARGUMENT, service.check_all({}));
    CHECK(!rl::joint_decision());
    CHECK(!service.try_check_all(nine)->allowed());
    CHECK(!service.try_check_all({})->allowed());
    CHECK(!service.try_check_all({{"alice", "/a"}, {"alice", "/a", 0}})->allowed());
    // C, which would write nine answers, never gets to see nine requests, nor to count them.
    CHECK_EQ(service.stats().errors, 3);
    CHECK_EQ(service.peek("alice", "/a").remaining(), 0);
}

void acquire_says_no_where_it_would_be_in_vain() {
    rl::service service = fixture("default = fixed-window,1,1000d", hour);
    CHECK(service.acquire("alice", "/a", 0ms));
    CHECK(!service.acquire("alice", "/a", 0ms));
    CHECK(!service.acquire("alice", "/a", -5min));
    CHECK(!service.acquire("alice", "/a", 999 * 24h));
    CHECK(!service.acquire("alice", "/a", rl::no_timeout, 2));
    CHECK(!service.acquire("bob", "/a", std::chrono::hours::max(), 2));
    CHECK(service.acquire("bob", "/a", std::chrono::hours::max(), 1));
}

void acquire_waits_until_it_passes() {
    rl::config config("default = token-bucket,1,30ms");
    rl::service service(config);
    using now = std::chrono::steady_clock;
    const auto begun = now::now();
    for (int i = 0; i < 3; i++) CHECK(service.acquire("alice", "/a", 1min));
    CHECK(now::now() - begun >= 59ms);
    CHECK(service.acquire("alice", "/a", rl::no_timeout));
}

/// What a timeout becomes in C, of any unit and size.
void timeouts_are_whole_milliseconds() {
    using rl::detail::timeout_ms;
    CHECK_EQ(timeout_ms(2s), 2000);
    CHECK_EQ(timeout_ms(1us), 1);
    CHECK_EQ(timeout_ms(1500us), 2);
    CHECK_EQ(timeout_ms(std::chrono::duration<double>(0.25)), 250);
    CHECK_EQ(timeout_ms(-1ns), 0);
    CHECK_EQ(timeout_ms(std::chrono::hours::min()), 0);
    CHECK_EQ(timeout_ms(std::chrono::duration<double>(0.0 / 0.0)), 0);
    CHECK_EQ(timeout_ms(100 * 365 * 24h), 3153600000000);
    CHECK_EQ(timeout_ms(std::chrono::nanoseconds::max()), 9223372036855);
    CHECK_EQ(timeout_ms(rl::no_timeout), RL_NEVER);
    CHECK_EQ(timeout_ms(std::chrono::hours::max()), RL_NEVER);
    CHECK_EQ(timeout_ms(std::chrono::duration<double>(1e300)), RL_NEVER);
}

void names_are_any_bytes() {
    rl::service service = fixture("default = fixed-window,1,1000d", hour);
    using namespace std::string_view_literals;
    CHECK(service.check("a\0b"sv, "/\xff"sv));
    CHECK(service.check("a\0c"sv, "/\xff"sv));
    CHECK(!service.check("a\0b"sv, "/\xff"sv));
    CHECK(service.check(std::string_view(), std::string_view()));
    CHECK(!service.check("", ""));
    CHECK(service.check(std::string(65535, 'x'), "/"));
}

void wrong_arguments_throw_and_take_nothing() {
    rl::service service = fixture("default = fixed-window,5,1000d", hour);
    const std::string longest(65536, 'x');
    CHECK_THROWS(RL_ERR_ARGUMENT, service.check(longest, "/a"));
    CHECK_THROWS(RL_ERR_ARGUMENT, service.check("alice", longest));
    CHECK_THROWS(RL_ERR_ARGUMENT, service.check("alice", "/a", 0));
    CHECK_THROWS(RL_ERR_ARGUMENT, service.peek("alice", "/a", 0));
    CHECK_THROWS(RL_ERR_ARGUMENT, service.charge("alice", "/a", 0));
    CHECK_THROWS(RL_ERR_ARGUMENT, service.acquire("alice", "/a", 0s, 0));
    CHECK_THROWS(RL_ERR_ARGUMENT, service.refund("alice", "/a", 0));
    CHECK_THROWS(RL_ERR_ARGUMENT, service.reset(longest, "/a"));
    CHECK_EQ(service.stats().errors, 8);
    CHECK_EQ(service.peek("alice", "/a").remaining(), 4);
    const rl::error error = THROWN(service.check("alice", "/a", 0));
    CHECK_EQ(std::string(error.what()), rl::status_message(RL_ERR_ARGUMENT));
    CHECK_EQ(error.line(), 0);
}

} // namespace

int main() {
    a_check_takes_what_it_costs();
    a_peek_takes_nothing();
    allow_is_yes_or_no();
    charges_and_refunds();
    a_batch_is_many_checks();
    a_wrong_batch_is_refused_as_a_whole();
    check_all_takes_of_all_or_none();
    check_all_takes_one_to_eight();
    acquire_says_no_where_it_would_be_in_vain();
    acquire_waits_until_it_passes();
    timeouts_are_whole_milliseconds();
    names_are_any_bytes();
    wrong_arguments_throw_and_take_nothing();
    return test::end();
}
