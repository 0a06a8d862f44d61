// Who owns what: objects move and do not copy, free themselves once, keep alive what they
// need, and do no harm after they were moved from. And the clocks, which is where it matters.

#include "fixture.hpp"

#include <atomic>

namespace {

template <class T>
constexpr bool only_moves = std::is_nothrow_move_constructible_v<T> &&
                            std::is_nothrow_move_assignable_v<T> &&
                            std::is_nothrow_destructible_v<T> &&
                            !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T>;
static_assert(only_moves<rl::clock> && only_moves<rl::config> && only_moves<rl::service>);
static_assert(!std::is_convertible_v<rl::config, rl::service>);
static_assert(!std::is_convertible_v<const char *, rl::config>);
static_assert(!std::is_convertible_v<rl::decision, bool>);
static_assert(!std::is_constructible_v<bool, rl::result<rl::decision>>);
static_assert(std::is_nothrow_copy_constructible_v<rl::error>);
static_assert(noexcept(std::declval<rl::service &>().try_check("", "")));
static_assert(noexcept(std::declval<rl::service &>().allow("")));
static_assert(!noexcept(std::declval<rl::service &>().check("", "")));

void what_was_moved_from_fails() {
    rl::config config("default = fixed-window,5,1000d");
    rl::clock clock = rl::clock::manual();
    rl::service service(config);
    const rl::config config_taken = std::move(config);
    const rl::clock clock_taken = std::move(clock);
    rl::service service_taken = std::move(service);
    CHECK(service.get() == nullptr && config.get() == nullptr && clock.get() == nullptr);
    CHECK_THROWS(RL_ERR_ARGUMENT, service.check("alice", "/a"));
    CHECK_THROWS(RL_ERR_ARGUMENT, service.check_all({{"alice", "/a"}}));
    CHECK_THROWS(RL_ERR_ARGUMENT, service.check_batch({{"alice", "/a"}}));
    CHECK_THROWS(RL_ERR_ARGUMENT, service.explain("alice", "/a"));
    CHECK_THROWS(RL_ERR_ARGUMENT, service.stats());
    CHECK_THROWS(RL_ERR_ARGUMENT, service.prometheus());
    CHECK_THROWS(RL_ERR_ARGUMENT, service.reload(config_taken));
    CHECK_THROWS(RL_ERR_ARGUMENT, service_taken.reload(config));
    CHECK_THROWS(RL_ERR_ARGUMENT, config.parse("memory = 32m"));
    CHECK_THROWS(RL_ERR_ARGUMENT, config.set_clock(clock_taken));
    CHECK_THROWS(RL_ERR_ARGUMENT, rl::service(config));
    CHECK_THROWS(RL_ERR_ARGUMENT, clock.advance(1s));
    CHECK(!service.allow("alice"));
    CHECK(service_taken.allow("alice"));
}

void it_may_be_assigned_to() {
    rl::service service(nullptr);
    CHECK(!service.allow("alice"));
    service = rl::service(rl::config("default = fixed-window,1,1000d"));
    CHECK(service.allow("alice") && !service.allow("alice"));
    service = rl::service(rl::config("default = fixed-window,1,1000d"));
    CHECK(service.allow("alice"));
    rl::service other(nullptr);
    std::swap(service, other);
    CHECK(service.get() == nullptr && !other.allow("alice"));
    CHECK(rl::config(nullptr).get() == nullptr && rl::clock(nullptr).get() == nullptr);
}

void a_manual_clock_is_set_and_advanced() {
    rl::clock clock = rl::clock::manual(10s);
    rl::service service = fixture("default = token-bucket,1,10", clock);
    CHECK(service.allow("alice") && !service.allow("alice"));
    clock.advance(9999ms);
    CHECK(!service.allow("alice"));
    clock.advance(1ms);
    CHECK(service.allow("alice"));
    clock.set(1h);
    CHECK(service.allow("alice"));
    CHECK_THROWS(RL_ERR_ARGUMENT, clock.set(-1ns));
    CHECK_THROWS(RL_ERR_ARGUMENT, clock.advance(-1ns));
    CHECK_THROWS(RL_ERR_ARGUMENT, rl::clock::manual(-1ns));
    CHECK(!service.allow("alice"));
}

void a_clock_outlives_its_object() {
    rl::service service(nullptr);
    {
        rl::clock clock = rl::clock::manual(1h);
        service = fixture("default = fixed-window,1,1000d", clock);
    }
    CHECK(service.allow("alice") && !service.allow("alice"));
}

/// A callable that is counted, and says what time it is.
struct counted {
    static inline int living = 0;
    const std::atomic<int> *seconds;

    explicit counted(const std::atomic<int> *of) : seconds(of) { living++; }
    counted(const counted &other) : seconds(other.seconds) { living++; }
    counted &operator=(const counted &) = delete;
    ~counted() { living--; }
    std::chrono::seconds operator()() const { return std::chrono::seconds(*seconds); }
};

void a_callable_lives_as_long_as_it_is_asked() {
    std::atomic<int> seconds{100};
    {
        rl::service service(nullptr);
        rl::config config("default = token-bucket,1,10");
        {
            const rl::clock clock = rl::clock::callback(counted(&seconds));
            CHECK_EQ(counted::living, 1);
            config.set_clock(clock);
            service = rl::service(config);
        }
        rl::service second(config);
        config = rl::config("default = deny");
        CHECK_EQ(counted::living, 1);
        CHECK(service.allow("alice") && !service.allow("alice"));
        seconds = 110;
        CHECK(service.allow("alice"));
        service = std::move(second);
        CHECK_EQ(counted::living, 1);
        CHECK(service.allow("alice"));
        service.reload(rl::config("default = token-bucket,2,10"));
        seconds = 120;
        CHECK(service.allow("alice") && service.allow("alice") && !service.allow("alice"));
        service = rl::service(rl::config("default = deny"));
        CHECK_EQ(counted::living, 0);
    }
    CHECK_EQ(counted::living, 0);
}

void another_clock_takes_the_place_of_a_callable() {
    const std::atomic<int> seconds{100};
    rl::config config("default = token-bucket,1,10");
    config.set_clock(rl::clock::callback(counted(&seconds)));
    CHECK_EQ(counted::living, 1);
    CHECK_THROWS(RL_ERR_ARGUMENT, config.set_clock(rl::clock(nullptr)));
    CHECK_EQ(counted::living, 1);
    config.set_clock(rl::clock::manual());
    CHECK_EQ(counted::living, 0);
    CHECK(rl::service(config).allow("alice"));
}

/// A time before the beginning is the beginning: it neither refills nor locks out.
void a_negative_time_counts_as_0() {
    std::atomic<int> seconds{-5};
    rl::service service =
        fixture("default = token-bucket,1,10", rl::clock::callback(counted(&seconds)));
    CHECK(service.allow("alice") && !service.allow("alice"));
    seconds = 9;
    CHECK(!service.allow("alice"));
    seconds = 10;
    CHECK(service.allow("alice"));
}

std::chrono::nanoseconds at_noon() { return 12h; }

void what_a_callable_clock_cannot_do() {
    rl::clock clock = rl::clock::callback(at_noon);
    rl::service service = fixture("default = fixed-window,1,1000d", clock);
    CHECK(service.allow("alice"));
    CHECK_THROWS(RL_ERR_UNSUPPORTED, service.acquire("alice", "/a", 1s));
    CHECK_THROWS(RL_ERR_UNSUPPORTED, clock.set(1h));
    CHECK_THROWS(RL_ERR_UNSUPPORTED, clock.advance(1h));
}

/// What C makes of an object is the same object.
void c_may_use_it_too() {
    rl::service service(rl::config("default = fixed-window,2,1000d"));
    CHECK(rl_allow(service.get(), "alice"));
    CHECK_EQ(service.peek("alice", "").remaining(), 0);
}

} // namespace

int main() {
    what_was_moved_from_fails();
    it_may_be_assigned_to();
    a_manual_clock_is_set_and_advanced();
    a_clock_outlives_its_object();
    a_callable_lives_as_long_as_it_is_asked();
    another_clock_takes_the_place_of_a_callable();
    a_negative_time_counts_as_0();
    what_a_callable_clock_cannot_do();
    c_may_use_it_too();
    return test::end();
}
