// The harness of these tests: checks that print what they got and what they wanted, and go
// on. A program ends with `return test::end();`, which prints `N passed, N failed` alone on
// the last line and gives the exit code. It does without exceptions and RTTI.
//
// Checks are for the main thread: workers count, main compares.
#ifndef LIBRL_TEST_HPP
#define LIBRL_TEST_HPP

#include <rl.hpp>

#include <cstdio>
#include <cstdlib>

namespace test {

inline unsigned long passed;
inline unsigned long failed;

inline std::string show(bool value) { return value ? "true" : "false"; }
inline std::string show(std::string_view value) { return '"' + std::string(value) + '"'; }
template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
std::string show(T value) {
    return std::to_string(value);
}
template <class Rep, class Period>
std::string show(std::chrono::duration<Rep, Period> value) {
    return std::to_string(std::chrono::duration<double>(value).count()) + " s";
}
template <class T>
std::string show(const std::optional<T> &value) {
    return value ? show(*value) : "nothing";
}
inline std::string show(const void *value) { return value == nullptr ? "nullptr" : "a pointer"; }

/// Where a check stands, and what it is about.
struct place {
    const char *file;
    int line;
    const char *what;
};

inline bool count(bool ok, place at, const std::string &got, const std::string &want) {
    ++(ok ? passed : failed);
    if (!ok) {
        std::printf("%s:%d: %s: got %s, wanted %s\n", at.file, at.line, at.what, got.c_str(),
                    want.c_str());
    }
    return ok;
}

template <class T>
struct same {
    using type = T;
};

/// What is wanted is of the type of what there is.
template <class T>
void equal(const T &got, const typename same<T>::type &want, place at) {
    count(got == want, at, show(got), show(want));
}

inline void contains(std::string_view got, std::string_view part, place at) {
    const bool ok = got.find(part) != std::string_view::npos;
    count(ok, at, show(got), "something with " + show(part) + " in it");
}

inline int end() {
    std::printf("%lu passed, %lu failed\n", passed, failed);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/// For a preparation without which the rest means nothing: ends the program.
inline void need(bool ok, place at) {
    if (!count(ok, at, "false", "true, to go on")) std::exit(end());
}

#ifdef __cpp_exceptions
/// The rl::error that a call throws, which it must.
template <class Call>
rl::error thrown(Call call, place at) {
    try {
        call();
    } catch (const rl::error &error) {
        return error;
    }
    count(false, at, "no error", "an rl::error");
    return rl::error(rl_error());
}
#endif

} // namespace test

#define PLACE(what) \
    test::place { __FILE__, __LINE__, what }
#define CHECK(condition) test::equal(static_cast<bool>(condition), true, PLACE(#condition))
#define CHECK_EQ(got, want) test::equal((got), (want), PLACE(#got))
#define CHECK_CONTAINS(got, part) test::contains((got), (part), PLACE(#got))
#define NEED(condition) test::need((condition), PLACE(#condition))
#define THROWN(...) test::thrown([&] { static_cast<void>(__VA_ARGS__); }, PLACE(#__VA_ARGS__))
#define CHECK_THROWS(status_, ...) \
    test::equal(THROWN(__VA_ARGS__).status(), (status_), PLACE(#__VA_ARGS__))

#endif
