// Checks that fail, so that the harness is known to notice.

#include "test.hpp"

using namespace std::chrono_literals;

int main() {
    CHECK(1 + 1 == 2);
    CHECK(1 + 1 == 3);
    CHECK_EQ(std::string_view("left"), "right");
    CHECK_EQ(2ms, 3ms);
    CHECK_EQ(std::optional(2ms), std::nullopt);
    CHECK_CONTAINS("alice", "bob");
    CHECK_THROWS(RL_ERR_IO, 1 + 1);
    NEED(1 + 1 == 4);
    CHECK(1 + 1 == 5);
    return test::end();
}
