// A decision: the fields of rl_decision in C++, and as fields of HTTP.

#include "fixture.hpp"

#include <cstring>

namespace {

const rl::clock hour = rl::clock::manual(1h);

void it_is_a_refusal_where_nothing_was_asked() {
    const rl::decision none;
    CHECK(!none.allowed());
    CHECK_EQ(none.retry_after(), 0ms);
    CHECK_EQ(none.limit(), 0);
    CHECK_EQ(none.name(), "");
    CHECK_EQ(none.headers(), "");
}

void it_has_what_c_has() {
    rl::service service = fixture("default = token-bucket,5,10,burst=7,name=orders", hour);
    const rl::decision answer = service.check("alice", "/orders", 7);
    CHECK_EQ(answer.limit(), 7);
    CHECK_EQ(answer.remaining(), 0);
    CHECK_EQ(answer.retry_after(), 0ms);
    CHECK_EQ(answer.reset_after(), 14s);
    CHECK_EQ(answer.window(), 10s);
    CHECK_EQ(answer.name(), "orders");
    CHECK_EQ(answer.limit_count(), 1);
    CHECK_EQ(answer.limit_index(), 0);
    const rl::decision copy(*answer.get());
    CHECK_EQ(std::memcmp(copy.get(), answer.get(), sizeof(rl_decision)), 0);
}

void it_says_which_limit_refuses() {
    rl::service service =
        fixture("default = fixed-window,9,1000d + fixed-window,1,1000d,per=user", hour);
    CHECK(service.check("alice", "/a"));
    const rl::decision refused = service.check("alice", "/b");
    CHECK(!refused);
    CHECK_EQ(refused.limit_count(), 2);
    CHECK_EQ(refused.limit_index(), 1);
    CHECK_EQ(refused.name(), "limit-2");
    CHECK(!refused.denied_by(0));
    CHECK(refused.denied_by(1));
    CHECK(!refused.denied_by(8) && !refused.denied_by(1000));
}

/// No time is right to wait for what never comes.
void never_is_no_duration() {
    rl::service service = fixture("default = fixed-window,5,1000d\nuser.mallory = deny", hour);
    CHECK_EQ(service.check("alice", "/a", 6).retry_after(), std::nullopt);
    CHECK_EQ(service.check("mallory", "/a").retry_after(), std::nullopt);
    CHECK_EQ(service.check("alice", "/a", 5).retry_after(), 0ms);
    CHECK(service.check("alice", "/a").retry_after() > 0ms);
}

void times_that_chrono_has_not_are_its_longest() {
    rl_decision raw{};
    raw.retry_after_ms = RL_NEVER - 1;
    raw.reset_after_ms = UINT64_MAX;
    const rl::decision answer(raw);
    CHECK_EQ(answer.retry_after(), std::chrono::milliseconds::max());
    CHECK_EQ(answer.reset_after(), std::chrono::milliseconds::max());
}

void its_flags_are_calls() {
    rl::service service = fixture("default = fixed-window,1,1000d,shadow\n"
                                  "user.root = unlimited",
                                  hour);
    CHECK(!service.check("alice", "/a").shadow());
    const rl::decision shadowed = service.check("alice", "/a");
    CHECK(shadowed.allowed() && shadowed.shadow() && shadowed.denied_by(0));
    CHECK(!shadowed.unlimited() && !shadowed.untracked());
    const rl::decision unlimited = service.check("root", "/a");
    CHECK(unlimited.unlimited() && !unlimited.shadow());
    CHECK_EQ(unlimited.remaining(), UINT64_MAX);
    rl_decision raw{};
    raw.flags = RL_FLAG_UNTRACKED;
    CHECK(rl::decision(raw).untracked());
}

void it_is_written_as_header_fields() {
    rl::service service = fixture("default = token-bucket,5,10", hour);
    const rl::decision refused = service.check("alice", "/a", 5).allowed()
                                     ? service.check("alice", "/a")
                                     : rl::decision();
    const std::string_view draft = "RateLimit-Policy: \"default\";q=5;w=10\r\n"
                                   "RateLimit: \"default\";r=0;t=2\r\n"
                                   "Retry-After: 2\r\n";
    CHECK_EQ(refused.headers(), std::string(draft));
    CHECK_EQ(refused.headers(rl::header_style::legacy), "X-RateLimit-Limit: 5\r\n"
                                                        "X-RateLimit-Remaining: 0\r\n"
                                                        "X-RateLimit-Reset: 10\r\n"
                                                        "Retry-After: 2\r\n");
    char buffer[192];
    CHECK_EQ(refused.headers(rl::header_style::draft, buffer, sizeof buffer), draft.size());
    CHECK_EQ(std::string_view(buffer), draft);
    char small[10];
    CHECK_EQ(refused.headers(rl::header_style::draft, small, sizeof small), draft.size());
    CHECK_EQ(std::string_view(small), draft.substr(0, 9));
    CHECK_EQ(refused.headers(rl::header_style::draft, nullptr, 0), draft.size());
}

} // namespace

int main() {
    it_is_a_refusal_where_nothing_was_asked();
    it_has_what_c_has();
    it_says_which_limit_refuses();
    never_is_no_duration();
    times_that_chrono_has_not_are_its_longest();
    its_flags_are_calls();
    it_is_written_as_header_fields();
    return test::end();
}
