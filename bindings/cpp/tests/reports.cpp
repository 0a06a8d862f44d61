// What a service tells of itself, and how it gets new rules.

#include "fixture.hpp"

#include <algorithm>

namespace {

const rl::clock hour = rl::clock::manual(1h);

void it_explains_the_rule() {
    const rl::service service =
        fixture("default = token-bucket,5,10\nuser.bob api./a = deny", hour);
    CHECK_EQ(service.explain("alice", "/a"), "default = token-bucket,5,10");
    CHECK_EQ(service.explain("bob", "/a"), "user.bob api./a = deny");
    CHECK_THROWS(RL_ERR_ARGUMENT, service.explain(std::string(65536, 'x'), "/a"));
}

/// The longest text that there is: names in quotes, with four bytes for each.
void it_explains_rules_of_any_length() {
    const std::string longest = ' ' + std::string(65534, '\xff');
    rl::config config("match = all\ndefault = unlimited");
    config.set_rule(longest, longest, "unlimited");
    config.set_rule(longest, std::nullopt, "unlimited");
    config.set_rule(std::nullopt, longest, "unlimited");
    const std::string text = rl::service(config).explain(longest, longest);
    CHECK_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), 3);
    CHECK(text.size() > 4 * 4 * 65534);
    CHECK_EQ(text.substr(text.rfind('\n')), "\ndefault = unlimited");
}

void it_counts() {
    rl::service service = fixture("default = fixed-window,1,1000d", hour);
    CHECK(service.allow("alice") && !service.allow("alice") && service.allow("bob"));
    const rl_stats stats = service.stats();
    CHECK_EQ(stats.size, sizeof(rl_stats));
    CHECK_EQ(stats.allowed, 2);
    CHECK_EQ(stats.denied, 1);
    CHECK_EQ(stats.keys, 2);
    const std::string text = service.prometheus();
    CHECK_CONTAINS(text, "\nlibrl_requests_total{decision=\"allowed\"} 2\n");
    CHECK_EQ(text.back(), '\n');
    CHECK_EQ(text.find('\0'), std::string::npos);
}

void it_takes_new_rules() {
    rl::service service = fixture("default = fixed-window,1,1000d", hour);
    CHECK(service.allow("alice") && !service.allow("alice"));
    service.reload(rl::config("default = fixed-window,2,1000d"));
    CHECK(service.allow("alice") && !service.allow("alice"));
    const rl::error error = THROWN(service.reload(rl::config()));
    CHECK_EQ(error.status(), RL_ERR_CONFIG);
    CHECK_CONTAINS(error.message(), "default");
    CHECK_EQ(service.explain("alice", ""), "default = fixed-window,2,86400000");
}

void it_has_a_version_and_words() {
    CHECK_EQ(std::string_view(rl::version()), LIBRL_VERSION);
    CHECK_EQ(std::string_view(rl::status_message(RL_ERR_INTERNAL)), "bug in the library");
}

} // namespace

int main() {
    it_explains_the_rule();
    it_explains_rules_of_any_length();
    it_counts();
    it_takes_new_rules();
    it_has_a_version_and_words();
    return test::end();
}
