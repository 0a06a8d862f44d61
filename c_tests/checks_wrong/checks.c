/* One check of each kind that passes, and one that fails: what the harness makes of them. */
#include "../test.h"

int main(void) {
    const char *nothing = NULL;
    CHECK(1 == 1);
    CHECK(1 == 2);
    CHECK_INT(-1, -1);
    CHECK_INT(-1, 1);
    CHECK_UINT(UINT64_MAX, UINT64_MAX);
    CHECK_UINT(UINT64_MAX, 0);
    CHECK_AT_MOST(2, 2);
    CHECK_AT_MOST(3, 2);
    CHECK_TEXT("one", "one");
    CHECK_TEXT("one", "two");
    CHECK_TEXT(nothing, "two");
    CHECK_CONTAINS("one", "ne");
    CHECK_CONTAINS("one", "no");
    CHECK_BYTES("abc", "abd", 2);
    CHECK_BYTES("abc", "abd", 3);
    NEED(1 == 1);
    NEED(1 == 2);
    CHECK(!"what follows an unmet need is not reached");
    return test_end();
}
