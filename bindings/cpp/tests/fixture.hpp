// What most of the tests begin with: a service of these rules, whose clock is set by hand.
#ifndef LIBRL_FIXTURE_HPP
#define LIBRL_FIXTURE_HPP

#include "test.hpp"

using namespace std::chrono_literals;

inline rl::service fixture(std::string_view rules, const rl::clock &clock) {
    rl::config config(rules);
    config.set_clock(clock);
    return rl::service(config);
}

#endif
