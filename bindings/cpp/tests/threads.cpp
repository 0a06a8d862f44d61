// Many threads with the same objects: the sums are exact. `threads CALLS` (of each thread).

#include "fixture.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

namespace {

constexpr int THREADS = 4;

template <class Work>
void by_all_threads(Work work) {
    std::vector<std::thread> threads;
    for (int i = 0; i < THREADS; i++) threads.emplace_back(work, i);
    for (std::thread &thread : threads) thread.join();
}

void a_limit_is_given_once(int calls) {
    const auto limit = static_cast<std::uint64_t>(calls) * THREADS / 2;
    rl::service service(rl::config("default = fixed-window," + std::to_string(limit) + ",1000d"));
    std::atomic<std::uint64_t> allowed{0};
    by_all_threads([&](int) {
        for (int i = 0; i < calls; i++) allowed += service.check("alice", "/a").allowed();
    });
    CHECK_EQ(allowed.load(), limit);
    CHECK_EQ(service.stats().denied, limit);
}

/// Others reload, explain and count meanwhile.
void so_it_is_while_rules_come_and_go(int calls) {
    const rl::config config("default = fixed-window,100,1000d");
    rl::service service(config);
    std::atomic<int> allowed{0}, failed{0};
    by_all_threads([&](int which) {
        for (int i = 0; i < calls; i++) {
            if (which == 0 && !service.try_reload(config).has_value()) failed++;
            if (which == 1 && service.explain("alice", "").empty()) failed++;
            allowed += service.allow("alice");
        }
    });
    CHECK_EQ(allowed.load(), std::min(100, calls * THREADS));
    CHECK_EQ(failed.load(), 0);
}

/// A callable is asked by several threads at once, and each advance of a clock counts.
void clocks_are_for_all_threads(int calls) {
    std::atomic<int> asked{0};
    const auto now = [&asked] {
        asked++;
        return 1h;
    };
    rl::service service = fixture("default = fixed-window,10,1000d", rl::clock::callback(now));
    rl::clock manual = rl::clock::manual();
    rl::service slow = fixture("default = token-bucket,1,1000d", manual);
    CHECK(slow.allow("alice") && !slow.allow("alice"));
    const auto step = 24h * 1000 / (calls * THREADS);
    by_all_threads([&](int) {
        for (int i = 0; i < calls; i++) {
            static_cast<void>(service.allow("alice"));
            manual.advance(step);
        }
    });
    CHECK(asked >= calls * THREADS);
    CHECK_EQ(service.stats().allowed, 10);
    const auto left = slow.peek("alice", "").retry_after();
    CHECK_EQ(left, 1000 * 24h - step * calls * THREADS);
}

/// Everybody adds to one configuration.
void a_configuration_is_for_all_threads(int calls) {
    rl::config config("default = deny");
    by_all_threads([&](int which) {
        for (int i = 0; i < calls; i++) {
            config.set_rule(std::to_string(which * calls + i), std::nullopt, "unlimited");
        }
    });
    rl::service service(config);
    int allowed = 0;
    for (int i = 0; i < calls * THREADS; i++) allowed += service.allow(std::to_string(i));
    CHECK_EQ(allowed, calls * THREADS);
}

} // namespace

int main(int count, char **arguments) {
    const int calls = count == 2 ? std::atoi(arguments[1]) : 0;
    NEED(calls > 0);
    a_limit_is_given_once(calls);
    so_it_is_while_rules_come_and_go(calls);
    clocks_are_for_all_threads(calls);
    a_configuration_is_for_all_threads(calls);
    return test::end();
}
