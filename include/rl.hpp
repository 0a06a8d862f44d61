// librl for C++17: rl.h as objects that free themselves.
//
// This is all of it: there is no C++ library, only librl itself (-lrl), and a call costs
// what the C call costs. rl.h remains the manual: what rules and settings mean, and what is
// said there of threads, forks and many processes, holds here. This file says what differs.
//
//     rl::service service(rl::config("default = token-bucket,5,10"));
//     if (service.check("alice", "/orders")) serve();
//
// Names are std::string_view and may hold any bytes, up to 65,535. Times are std::chrono.
//
// Every call that can fail has two forms. The plain one throws rl::error. The one that
// begins with try_ returns a rl::result with the same value, or with the error. Without
// exceptions (-fno-exceptions) only the second is there. Both may throw std::bad_alloc
// where they make a std::string or std::vector, or copy a callable; all others are noexcept.
//
// Objects move and do not copy. One that was moved from may be destroyed or assigned to;
// its get() is nullptr, and all calls with it fail with RL_ERR_ARGUMENT. The functions of
// one object may run on any threads at the same time, but for moves, assignments, the
// destructor and config::set_clock, which must have it for themselves.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef LIBRL_RL_HPP
#define LIBRL_RL_HPP

// A service frees itself; without rl_free, readline.h may come before or after.
#ifndef RL_NO_RL_FREE
#define RL_NO_RL_FREE
#endif
#include <rl.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#ifdef __cpp_exceptions
#include <stdexcept>
#endif

namespace rl {

/// The version of the library that is loaded, such as "0.1.0".
[[nodiscard]] inline const char *version() noexcept { return rl_version(); }

/// A status in words, such as "bug in the library".
[[nodiscard]] inline const char *status_message(rl_status status) noexcept {
    return rl_status_message(status);
}

// --- Errors ------------------------------------------------------------------------------

namespace detail {

/// Leaves what it makes for a C function to fill.
struct unset {};

/// The error of a call that tells no more than its status.
[[nodiscard, gnu::cold]] inline rl_error explained(rl_status status) noexcept {
    rl_error why{};
    why.status = status;
    std::string_view(rl_status_message(status)).copy(why.message, sizeof why.message - 1);
    return why;
}

} // namespace detail

#ifdef __cpp_exceptions

/// Why a call failed. what() is the message, after its place where it has one:
/// "line 2, column 7: ...".
class error : public std::runtime_error {
  public:
    explicit error(const rl_error &why) : std::runtime_error(placed(why)), why_(why) {}

    /// One of the RL_ERR_ numbers.
    [[nodiscard]] rl_status status() const noexcept { return why_.status; }
    /// The line of the text, counted from 1; 0 where the failure lies in no text.
    [[nodiscard]] std::uint32_t line() const noexcept { return why_.line; }
    /// The column in bytes, counted from 1; 0 where there is none.
    [[nodiscard]] std::uint32_t column() const noexcept { return why_.column; }
    /// What was found and what would be right, in UTF-8, without the place.
    [[nodiscard]] const char *message() const noexcept { return why_.message; }

  private:
    static std::string placed(const rl_error &why) {
        std::string text;
        if (why.line != 0) text += "line " + std::to_string(why.line) + ", ";
        if (why.column != 0) text += "column " + std::to_string(why.column) + ", ";
        if (!text.empty()) text.replace(text.size() - 2, 2, ": ");
        return text + why.message;
    }

    rl_error why_;
};

namespace detail {

[[noreturn, gnu::cold]] inline void fail(const rl_error &why) { throw error(why); }
[[noreturn, gnu::cold]] inline void fail(rl_status status) { fail(explained(status)); }

template <class Result>
void ensure(const Result &result) {
    if (!result.has_value()) fail(result.error());
}

} // namespace detail

#endif

template <class T>
class result;

/// Whether a call that returns nothing went well, and if not, why.
template <>
class [[nodiscard]] result<void> {
  public:
    result() noexcept { why_.status = RL_OK; }
    result(const rl_error &why) noexcept : why_(why) {}
    explicit result(rl_status status) noexcept { set(status); }

    [[nodiscard]] bool has_value() const noexcept { return why_.status == RL_OK; }
    /// What the call returned.
    [[nodiscard]] rl_status status() const noexcept { return why_.status; }
    /// The error. There must be one: !has_value().
    [[nodiscard]] const rl_error &error() const noexcept { return why_; }

#ifdef __cpp_exceptions
    /// @throws rl::error where the call failed.
    void value() const { detail::ensure(*this); }
#endif

  protected:
    explicit result(detail::unset) noexcept {}

    void set(rl_status status) noexcept {
        why_.status = status;
        if (status != RL_OK) why_ = detail::explained(status);
    }

  private:
    rl_error why_; // of a success, nothing but the status is set
};

/// A value, or why there is none: much as std::expected<T, rl_error> from C++23 on.
///
/// In place of a missing value stands one that does no harm: a refusal, an object as if
/// moved from, an empty text. So `service.try_check(user, api)->allowed()` takes an error
/// for a refusal. There is no conversion to bool, since `if (service.try_check(...))` would
/// ask whether the call went well, and look as if it asked for the answer.
template <class T>
class [[nodiscard]] result : public result<void> {
  public:
    result(T value) noexcept(std::is_nothrow_move_constructible_v<T>) : value_(std::move(value)) {}
    result(const rl_error &why) noexcept : result<void>(why), value_(none()) {}

    [[nodiscard]] T &operator*() & noexcept { return value_; }
    [[nodiscard]] const T &operator*() const & noexcept { return value_; }
    [[nodiscard]] T &&operator*() && noexcept { return std::move(value_); }
    [[nodiscard]] T *operator->() noexcept { return &value_; }
    [[nodiscard]] const T *operator->() const noexcept { return &value_; }

#ifdef __cpp_exceptions
    /// The value. @throws rl::error where there is none.
    [[nodiscard]] T &value() & { return detail::ensure(*this), value_; }
    [[nodiscard]] const T &value() const & { return detail::ensure(*this), value_; }
    [[nodiscard]] T &&value() && { return detail::ensure(*this), std::move(value_); }
#endif

  private:
    friend class service;

    explicit result(detail::unset unset) noexcept : result<void>(unset), value_(unset) {}

    static T none() noexcept {
        if constexpr (std::is_copy_constructible_v<T>) return T();
        else return T(nullptr);
    }

    T value_;
};

// --- Arguments ---------------------------------------------------------------------------

/// A text that ends at its first NUL, where C takes no length: a literal, or a std::string.
class c_string {
  public:
    c_string(const char *text) noexcept : text_(text) {}
    c_string(const std::string &text) noexcept : text_(text.c_str()) {}
    [[nodiscard]] const char *get() const noexcept { return text_; }

  private:
    const char *text_;
};

/// One request, for service::check_batch and service::check_all. It keeps no copy of its
/// names: they must be there until the call is over.
struct request : rl_request {
    request(std::string_view who, std::string_view what, std::uint64_t units = 1) noexcept
        : rl_request{who.data(), who.size(), what.data(), what.size(), units} {}
};
static_assert(sizeof(request) == sizeof(rl_request));

/// The requests of a call: a std::vector, std::array or array of them, a pointer and a
/// count, or a list in braces. It keeps no copy.
class request_list {
  public:
    request_list(const request *first, std::size_t count) noexcept : first_(first), count_(count) {}
    request_list(std::initializer_list<request> list) noexcept
        : request_list(list.begin(), list.size()) {}
    template <class Requests, class = std::enable_if_t<std::is_convertible_v<
                                  decltype(std::data(std::declval<const Requests &>())),
                                  const request *>>>
    request_list(const Requests &requests) noexcept
        : request_list(std::data(requests), std::size(requests)) {}

    [[nodiscard]] const request *data() const noexcept { return first_; }
    [[nodiscard]] std::size_t size() const noexcept { return count_; }

  private:
    const request *first_;
    std::size_t count_;
};

/// As the timeout of service::acquire: as long as it takes. So is any longer one.
inline constexpr std::chrono::milliseconds no_timeout = std::chrono::milliseconds::max();

namespace detail {

/// In floating point, since the longest std::chrono::hours overflow a count of milliseconds.
template <class Rep, class Period>
[[nodiscard]] std::uint64_t timeout_ms(std::chrono::duration<Rep, Period> timeout) noexcept {
    using fine = std::chrono::duration<long double, std::milli>;
    const long double ms = std::ceil(std::chrono::duration_cast<fine>(timeout).count());
    if (ms >= static_cast<long double>(no_timeout.count())) return RL_NEVER;
    return ms > 0 ? static_cast<std::uint64_t>(ms) : 0;
}

} // namespace detail

// --- Decision ----------------------------------------------------------------------------

/// The header fields that decision::headers writes: see rl_decision_headers.
enum class header_style : std::uint32_t {
    draft = RL_HEADERS_DRAFT,   ///< RateLimit-Policy and RateLimit, as the IETF has drafted them
    legacy = RL_HEADERS_LEGACY, ///< X-RateLimit-Limit, -Remaining and -Reset
};

/// The answer to a request: a rl_decision, and nothing beside it.
class decision {
  public:
    /// A refusal, with everything else 0.
    decision() noexcept : raw_{} {}
    explicit decision(const rl_decision &raw) noexcept : raw_(raw) {}
    explicit decision(detail::unset) noexcept {}

    /// Whether the request may go on.
    [[nodiscard]] bool allowed() const noexcept { return raw_.allowed; }
    [[nodiscard]] explicit operator bool() const noexcept { return raw_.allowed; }

    /// The time after which the same request passes if nobody else asks; a millisecond less
    /// would not do. 0 when allowed. Nothing when it can never pass: no duration would be a
    /// safe one to wait for. Of service::charge, the time after which a cost of 1 passes.
    [[nodiscard]] std::optional<std::chrono::milliseconds> retry_after() const noexcept {
        if (raw_.retry_after_ms == RL_NEVER) return std::nullopt;
        return milliseconds(raw_.retry_after_ms);
    }
    /// The time until the counter is as if never used.
    [[nodiscard]] std::chrono::milliseconds reset_after() const noexcept {
        return milliseconds(raw_.reset_after_ms);
    }
    /// The length of the limit's window.
    [[nodiscard]] std::chrono::milliseconds window() const noexcept {
        return milliseconds(raw_.window_ms);
    }

    /// The limit's quota, or its burst where it has one; UINT64_MAX where it is unlimited().
    [[nodiscard]] std::uint64_t limit() const noexcept { return raw_.limit; }
    /// What is left of it after this request, in whole units.
    [[nodiscard]] std::uint64_t remaining() const noexcept { return raw_.remaining; }
    /// The limit's name. Its bytes are in the decision, and go with it.
    [[nodiscard]] std::string_view name() const noexcept { return raw_.name; }

    /// How many limits apply, 0 to 8.
    [[nodiscard]] std::size_t limit_count() const noexcept { return raw_.limit_count; }
    /// Which of them the numbers and the name describe, from 0.
    [[nodiscard]] std::size_t limit_index() const noexcept { return raw_.limit_index; }
    /// Whether the limit of this index (from 0) refuses; in shadow mode, whether it would.
    [[nodiscard]] bool denied_by(std::size_t index) const noexcept {
        return index < 8 && (raw_.denied_by >> index & 1) != 0;
    }

    /// Whether a limit in shadow mode would have refused: denied_by says which.
    [[nodiscard]] bool shadow() const noexcept { return has(RL_FLAG_SHADOW); }
    /// Whether there was no room for a counter: see RL_FLAG_UNTRACKED.
    [[nodiscard]] bool untracked() const noexcept { return has(RL_FLAG_UNTRACKED); }
    /// Whether the rule says unlimited.
    [[nodiscard]] bool unlimited() const noexcept { return has(RL_FLAG_UNLIMITED); }

    /// The fields of an HTTP response, with CRLF after each: see rl_decision_headers.
    /// @throws std::bad_alloc
    [[nodiscard]] std::string headers(header_style style = header_style::draft) const {
        char text[192]; // always enough, says rl.h
        return std::string(text, headers(style, text, sizeof text));
    }
    /// The same into a buffer, with a NUL at the end. Returns, as snprintf does, the length
    /// of the whole text; it is cut where that is size or more.
    std::size_t headers(header_style style, char *buffer, std::size_t size) const noexcept {
        return rl_decision_headers(&raw_, static_cast<std::uint32_t>(style), buffer, size);
    }

    /// The same in C.
    [[nodiscard]] const rl_decision *get() const noexcept { return &raw_; }
    [[nodiscard]] rl_decision *get() noexcept { return &raw_; }

  private:
    [[nodiscard]] bool has(int flag) const noexcept { return (raw_.flags & flag) != 0; }

    /// Longer times than std::chrono has become its longest.
    static std::chrono::milliseconds milliseconds(std::uint64_t ms) noexcept {
        using rep = std::chrono::milliseconds::rep;
        constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<rep>::max());
        return std::chrono::milliseconds(static_cast<rep>(ms < most ? ms : most));
    }

    rl_decision raw_;
};
static_assert(sizeof(decision) == sizeof(rl_decision) && std::is_standard_layout_v<decision>);
static_assert(std::is_trivially_copyable_v<decision>);

/// The answer of service::check_all: one decision for each of up to 8 requests.
class joint_decision {
  public:
    /// For no request: a refusal.
    joint_decision() noexcept : raw_{}, count_(0) {}
    explicit joint_decision(detail::unset) noexcept : count_(0) {}

    /// Whether the whole may go on: it is not empty, and every decision allows it.
    [[nodiscard]] bool allowed() const noexcept {
        for (const decision &each : *this) {
            if (!each.allowed()) return false;
        }
        return count_ != 0;
    }
    [[nodiscard]] explicit operator bool() const noexcept { return allowed(); }

    [[nodiscard]] std::size_t size() const noexcept { return count_; }
    [[nodiscard]] const decision *begin() const noexcept {
        return reinterpret_cast<const decision *>(raw_);
    }
    [[nodiscard]] const decision *end() const noexcept { return begin() + count_; }
    /// The decision on the request of this index: less than size().
    [[nodiscard]] const decision &operator[](std::size_t index) const noexcept {
        return begin()[index];
    }

  private:
    friend class service;

    rl_decision raw_[8];
    std::size_t count_;
};

// --- Clock -------------------------------------------------------------------------------

namespace detail {

/// Frees with one of the functions of rl.h, and only then lets go of the callable that the
/// freed object may have asked for the time.
template <auto Free>
struct deleter {
    std::shared_ptr<const void> callable;

    template <class T>
    void operator()(T *object) const noexcept {
        Free(object);
    }
};

/// What C calls for a callable; if it throws, the program ends.
template <class Now>
std::uint64_t read_clock(void *context) noexcept {
    const std::chrono::nanoseconds now = (*static_cast<const Now *>(context))();
    return now.count() < 0 ? 0 : static_cast<std::uint64_t>(now.count());
}

} // namespace detail

/// A source of time of the caller's: see rl_clock. Times are since any fixed instant, and
/// not negative. Configurations and services keep what they need of it: it may be
/// destroyed before them.
class clock {
  public:
    /// One as if moved from, to be assigned to later.
    explicit clock(std::nullptr_t) noexcept {}

    /// Makes a clock that shows this time until it is set or advanced.
    /// @return the clock; RL_ERR_ARGUMENT the time is negative; RL_ERR_INTERNAL
    static result<clock> try_manual(std::chrono::nanoseconds now = {}) noexcept {
        rl_clock *made = nullptr;
        const rl_status status = now.count() < 0 ? RL_ERR_ARGUMENT
                                                 : rl_clock_new_manual(count(now), &made);
        if (status != RL_OK) return detail::explained(status);
        return clock(made, nullptr);
    }

    /// Makes a clock that asks a callable for the time: a lambda, a function or an object
    /// that takes nothing and returns a duration. It is moved into memory of its own, and
    /// kept there until the clock, all configurations that were given it and all services
    /// made of these are gone.
    ///
    /// It is called as const, on any thread that checks and on several at once; it must not
    /// call the service that asks. If it throws, the program ends (std::terminate). A
    /// negative time counts as 0.
    ///
    /// @return the clock; RL_ERR_INTERNAL
    /// @throws std::bad_alloc, and what the callable's move throws
    template <class Now>
    static result<clock> try_callback(Now now) {
        static_assert(std::is_invocable_r_v<std::chrono::nanoseconds, const Now &>,
                      "a clock is called as const, without arguments, and returns a duration "
                      "that std::chrono::nanoseconds can hold");
        auto callable = std::make_shared<Now>(std::move(now));
        rl_clock *made = nullptr;
        const rl_status status =
            rl_clock_new_callback(detail::read_clock<Now>, callable.get(), &made);
        if (status != RL_OK) return detail::explained(status);
        return clock(made, std::move(callable));
    }

    /// Sets a manual clock, forwards or backwards.
    /// @return RL_ERR_ARGUMENT the time is negative, or the clock was moved from;
    ///         RL_ERR_UNSUPPORTED it is not a manual one; RL_ERR_INTERNAL
    result<void> try_set(std::chrono::nanoseconds now) noexcept {
        if (now.count() < 0) return result<void>(RL_ERR_ARGUMENT);
        return result<void>(rl_clock_set_ns(get(), count(now)));
    }

    /// Moves a manual clock forwards. Of several threads that do so, each counts.
    /// @return as try_set
    result<void> try_advance(std::chrono::nanoseconds by) noexcept {
        if (by.count() < 0) return result<void>(RL_ERR_ARGUMENT);
        return result<void>(rl_clock_advance_ns(get(), count(by)));
    }

#ifdef __cpp_exceptions
    /// try_manual. @throws rl::error
    [[nodiscard]] static clock manual(std::chrono::nanoseconds now = {}) {
        return try_manual(now).value();
    }
    /// try_callback. @throws rl::error, std::bad_alloc, and what the callable's move throws
    template <class Now>
    [[nodiscard]] static clock callback(Now now) {
        return try_callback(std::move(now)).value();
    }
    /// try_set. @throws rl::error
    void set(std::chrono::nanoseconds now) { try_set(now).value(); }
    /// try_advance. @throws rl::error
    void advance(std::chrono::nanoseconds by) { try_advance(by).value(); }
#endif

    /// The same in C; it remains this object's.
    [[nodiscard]] rl_clock *get() const noexcept { return handle_.get(); }

  private:
    friend class config;

    clock(rl_clock *made, std::shared_ptr<const void> callable) noexcept
        : handle_(made, {std::move(callable)}) {}

    static std::uint64_t count(std::chrono::nanoseconds time) noexcept {
        return static_cast<std::uint64_t>(time.count());
    }

    std::unique_ptr<rl_clock, detail::deleter<rl_clock_free>> handle_;
};

// --- Configuration -----------------------------------------------------------------------

/// Rules, settings and a clock, gathered before services are made of them: see rl_config.
/// Each call adds to what is there; one that fails leaves it as it was.
class config {
  public:
    /// One as if moved from, to be assigned to later.
    explicit config(std::nullptr_t) noexcept {}

    /// Makes an empty configuration. It needs a default rule before a service is made.
    /// @return the configuration; RL_ERR_INTERNAL
    static result<config> try_make() noexcept {
        rl_config *made = nullptr;
        const rl_status status = rl_config_new(&made);
        if (status != RL_OK) return detail::explained(status);
        return config(made);
    }

    /// Adds a text of lines "name = value": all of them, or none.
    /// @return RL_ERR_CONFIG a line is wrong, and the error says which; RL_ERR_ARGUMENT;
    ///         RL_ERR_INTERNAL
    result<void> try_parse(std::string_view text) noexcept {
        return added(rl_config_parse, text.data(), text.size());
    }

    /// Adds the text of a file.
    /// @return RL_ERR_IO the file could not be read; else as try_parse
    result<void> try_load(c_string path) noexcept { return added(rl_config_load, path.get()); }

    /// Adds one entry: set("user.vip-1", "token-bucket,8,10").
    /// @return RL_ERR_CONFIG the entry is wrong, or there already; RL_ERR_ARGUMENT;
    ///         RL_ERR_INTERNAL
    result<void> try_set(c_string name, c_string value) noexcept {
        return added(rl_config_set, name.get(), value.get());
    }

    /// Adds one rule for a user and an API of any bytes, which need no quotes and may not
    /// be prefixes. std::nullopt is any user, or any API; both make the default rule.
    /// @return RL_ERR_ARGUMENT a name is too long; RL_ERR_CONFIG the rule is wrong, or
    ///         there is one for these names; RL_ERR_INTERNAL
    result<void> try_set_rule(std::optional<std::string_view> user,
                              std::optional<std::string_view> api, c_string rule) noexcept {
        return added(rl_config_set_rule, pointer(user), user ? user->size() : 0, pointer(api),
                     api ? api->size() : 0, rule.get());
    }

    /// Makes services of this configuration take their time from a clock, whatever the
    /// setting clock says. Another call replaces it. Nothing else may be done with the
    /// configuration at the same time.
    /// @return RL_ERR_ARGUMENT one of the two was moved from; RL_ERR_INTERNAL
    result<void> try_set_clock(const clock &clock) noexcept {
        const rl_status status = rl_config_set_clock(get(), clock.get());
        if (status == RL_OK) handle_.get_deleter() = {clock.handle_.get_deleter().callable};
        return result<void>(status);
    }

    /// Puts the counters of services of this configuration into memory of the caller's,
    /// which must stay there until the last of them is gone: see rl_config_set_memory.
    /// @return RL_ERR_ARGUMENT the address is nullptr or not a multiple of 8;
    ///         RL_ERR_INTERNAL
    result<void> try_set_memory(void *address, std::size_t size) noexcept {
        return result<void>(rl_config_set_memory(get(), address, size));
    }

#ifdef __cpp_exceptions
    /// try_make. @throws rl::error
    config() : config(try_make().value()) {}
    /// A configuration of this text. @throws rl::error as try_parse
    explicit config(std::string_view text) : config() { parse(text); }

    /// try_parse. @throws rl::error
    void parse(std::string_view text) { try_parse(text).value(); }
    /// try_load. @throws rl::error
    void load(c_string path) { try_load(path).value(); }
    /// try_set. @throws rl::error
    void set(c_string name, c_string value) { try_set(name, value).value(); }
    /// try_set_rule. @throws rl::error
    void set_rule(std::optional<std::string_view> user, std::optional<std::string_view> api,
                  c_string rule) {
        try_set_rule(user, api, rule).value();
    }
    /// try_set_clock. @throws rl::error
    void set_clock(const clock &clock) { try_set_clock(clock).value(); }
    /// try_set_memory. @throws rl::error
    void set_memory(void *address, std::size_t size) { try_set_memory(address, size).value(); }
#endif

    /// The same in C; it remains this object's.
    [[nodiscard]] rl_config *get() const noexcept { return handle_.get(); }

  private:
    friend class service;

    explicit config(rl_config *made) noexcept : handle_(made) {}

    /// Calls a function that fills an error, and only when it fails.
    template <class Call, class... Arguments>
    result<void> added(Call call, Arguments... arguments) noexcept {
        rl_error why;
        if (call(get(), arguments..., &why) != RL_OK) return why;
        return {};
    }

    /// An empty name is one, even where its string_view points nowhere.
    static const char *pointer(std::optional<std::string_view> name) noexcept {
        if (!name) return nullptr;
        return name->data() == nullptr ? "" : name->data();
    }

    std::unique_ptr<rl_config, detail::deleter<rl_config_free>> handle_;
};

// --- Service -----------------------------------------------------------------------------

/// A rate limiter: rules, and the counters of all who have asked. See rl_service.
class service {
  public:
    /// One as if moved from, to be assigned to later.
    explicit service(std::nullptr_t) noexcept {}

    /// Makes a service of a configuration, which may be changed or destroyed afterwards.
    /// @return the service; RL_ERR_ARGUMENT the configuration was moved from;
    ///         RL_ERR_CONFIG its rules or settings do not go together, or there is no
    ///         default; RL_ERR_MEMORY; RL_ERR_IO; RL_ERR_ZONE; RL_ERR_INTERNAL: see
    ///         rl_service_new
    static result<service> try_make(const config &config) noexcept {
        rl_service *made = nullptr;
        rl_error why;
        if (rl_service_new(config.get(), &made, &why) != RL_OK) return why;
        return service(made, config.handle_.get_deleter().callable);
    }

    /// May this user call this API now? If so, cost units (at least 1) are taken; a refusal
    /// takes nothing. Does not allocate.
    /// @return the answer; RL_ERR_ARGUMENT a name is too long, the cost is 0 or the service
    ///         was moved from, and nothing is taken; RL_ERR_INTERNAL
    result<decision> try_check(std::string_view user, std::string_view api,
                               std::uint64_t cost = 1) noexcept {
        return try_ask(rl_check_bytes, user, api, cost);
    }

    /// What try_check would answer now; takes nothing.
    /// @return as try_check
    result<decision> try_peek(std::string_view user, std::string_view api,
                              std::uint64_t cost = 1) const noexcept {
        return try_ask(rl_peek, user, api, cost);
    }

    /// Takes the cost whatever the answer, for one that is known only afterwards. allowed()
    /// is false when it went over a limit: see rl_charge.
    /// @return as try_check
    result<decision> try_charge(std::string_view user, std::string_view api,
                                std::uint64_t cost = 1) noexcept {
        return try_ask(rl_charge, user, api, cost);
    }

    /// Waits until the request passes, and takes its cost; says no at once where that is
    /// sure to take longer than the timeout. Parts of a millisecond count as a whole one,
    /// a negative timeout as 0, and rl::no_timeout sets none. A wait cannot be broken off.
    /// See rl_acquire.
    /// @return as try_check; RL_ERR_UNSUPPORTED the service's clock is a callable
    template <class Rep, class Period>
    result<decision> try_acquire(std::string_view user, std::string_view api,
                                 std::chrono::duration<Rep, Period> timeout,
                                 std::uint64_t cost = 1) noexcept {
        return try_ask(rl_acquire, user, api, cost, detail::timeout_ms(timeout));
    }

    /// Answers requests as if they were made one after the other, each by itself: out[i] is
    /// the answer to the i-th. out has room for as many. Does not allocate.
    /// @return RL_ERR_ARGUMENT a request is wrong as for try_check, or the service was
    ///         moved from, and nothing is taken; RL_ERR_INTERNAL. Of an error, every out[i]
    ///         is a refusal
    result<void> try_check_batch(request_list requests, decision *out) noexcept {
        rl_decision *raw = reinterpret_cast<rl_decision *>(out);
        return result<void>(rl_check_batch(get(), requests.data(), requests.size(), raw));
    }

    /// The same into a vector.
    /// @return the answers; else as above
    /// @throws std::bad_alloc
    result<std::vector<decision>> try_check_batch(request_list requests) {
        std::vector<decision> out(requests.size());
        const result<void> done = try_check_batch(requests, out.data());
        if (!done.has_value()) return done.error();
        return out;
    }

    /// Answers 1 to 8 requests as one decision: every one of them is charged, or none.
    /// Does not allocate.
    /// @return the answer; RL_ERR_ARGUMENT there are none or more than 8, or as
    ///         try_check_batch; RL_ERR_INTERNAL
    result<joint_decision> try_check_all(request_list requests) noexcept {
        result<joint_decision> out{detail::unset()};
        out.set(ask_all(requests, *out));
        return out;
    }

    /// Yes or no; an error is a no. The shortest form of try_check.
    [[nodiscard]] bool allow(std::string_view user, std::string_view api = {},
                             std::uint64_t cost = 1) noexcept {
        decision out{detail::unset()};
        return ask(rl_check_bytes, user, api, cost, out.get()) == RL_OK && out.allowed();
    }

    /// Gives cost units back to every limit that applies.
    /// @return as try_check
    result<void> try_refund(std::string_view user, std::string_view api,
                            std::uint64_t cost = 1) noexcept {
        return result<void>(ask(rl_refund, user, api, cost));
    }

    /// Forgets the counters that are this pair's own.
    /// @return RL_ERR_ARGUMENT a name is too long, or the service was moved from;
    ///         RL_ERR_INTERNAL
    result<void> try_reset(std::string_view user, std::string_view api) noexcept {
        return result<void>(ask(rl_reset, user, api));
    }

    /// Gives the service the rules of a configuration in place of those that it has, while
    /// others check. Memory and clock stay as they were. See rl_reload.
    /// @return RL_ERR_CONFIG the rules do not go together or there is no default, and the
    ///         old ones stay; RL_ERR_ARGUMENT one of the two was moved from; RL_ERR_INTERNAL
    result<void> try_reload(const config &config) noexcept {
        rl_error why;
        if (rl_reload(get(), config.get(), &why) != RL_OK) return why;
        return {};
    }

    /// The rule that applies to a user and an API, as the line of text that makes it; with
    /// match = all, a line for each.
    /// @return the text; RL_ERR_ARGUMENT a name is too long, or the service was moved from;
    ///         RL_ERR_MEMORY it takes more than 16 MiB; RL_ERR_INTERNAL
    /// @throws std::bad_alloc
    result<std::string> try_explain(std::string_view user, std::string_view api) const {
        std::string text;
        rl_status status = RL_ERR_MEMORY;
        for (std::size_t size = 1024; status == RL_ERR_MEMORY && size <= 16 << 20; size *= 2) {
            text.resize(size);
            status = ask(rl_explain, user, api, text.data(), size);
        }
        if (status != RL_OK) return detail::explained(status);
        text.resize(std::char_traits<char>::length(text.data()));
        return text;
    }

    /// What the service has done and holds: see rl_stats. With a zone, it is the zone's.
    /// @return the numbers; RL_ERR_ARGUMENT the service was moved from; RL_ERR_INTERNAL
    result<rl_stats> try_stats() const noexcept {
        result<rl_stats> out{rl_stats RL_STATS_INIT};
        out.set(rl_service_stats(get(), &*out));
        return out;
    }

    /// The same as text for Prometheus, to be sent as "text/plain; version=0.0.4".
    /// @return as try_stats
    /// @throws std::bad_alloc
    result<std::string> try_prometheus() const {
        std::string text;
        rl_status status = RL_ERR_MEMORY;
        for (std::size_t needed = 4096; status == RL_ERR_MEMORY;) {
            text.resize(needed);
            status = rl_stats_prometheus(get(), text.data(), text.size(), &needed);
            if (status == RL_OK) text.resize(needed - 1);
        }
        if (status != RL_OK) return detail::explained(status);
        return text;
    }

#ifdef __cpp_exceptions
    /// try_make. @throws rl::error
    explicit service(const config &config) : service(try_make(config).value()) {}

    /// try_check. @throws rl::error
    [[nodiscard]] decision check(std::string_view user, std::string_view api,
                                 std::uint64_t cost = 1) {
        return ask_or_throw(rl_check_bytes, user, api, cost);
    }
    /// try_peek. @throws rl::error
    [[nodiscard]] decision peek(std::string_view user, std::string_view api,
                                std::uint64_t cost = 1) const {
        return ask_or_throw(rl_peek, user, api, cost);
    }
    /// try_charge. @throws rl::error
    decision charge(std::string_view user, std::string_view api, std::uint64_t cost = 1) {
        return ask_or_throw(rl_charge, user, api, cost);
    }
    /// try_acquire. @throws rl::error
    template <class Rep, class Period>
    [[nodiscard]] decision acquire(std::string_view user, std::string_view api,
                                   std::chrono::duration<Rep, Period> timeout,
                                   std::uint64_t cost = 1) {
        return ask_or_throw(rl_acquire, user, api, cost, detail::timeout_ms(timeout));
    }
    /// try_check_batch. @throws rl::error
    void check_batch(request_list requests, decision *out) {
        try_check_batch(requests, out).value();
    }
    /// try_check_batch. @throws rl::error, std::bad_alloc
    [[nodiscard]] std::vector<decision> check_batch(request_list requests) {
        return try_check_batch(requests).value();
    }
    /// try_check_all. @throws rl::error
    [[nodiscard]] joint_decision check_all(request_list requests) {
        joint_decision out{detail::unset()};
        const rl_status status = ask_all(requests, out);
        if (status != RL_OK) detail::fail(status);
        return out;
    }
    /// try_refund. @throws rl::error
    void refund(std::string_view user, std::string_view api, std::uint64_t cost = 1) {
        try_refund(user, api, cost).value();
    }
    /// try_reset. @throws rl::error
    void reset(std::string_view user, std::string_view api) { try_reset(user, api).value(); }
    /// try_reload. @throws rl::error
    void reload(const config &config) { try_reload(config).value(); }
    /// try_explain. @throws rl::error, std::bad_alloc
    [[nodiscard]] std::string explain(std::string_view user, std::string_view api) const {
        return try_explain(user, api).value();
    }
    /// try_stats. @throws rl::error
    [[nodiscard]] rl_stats stats() const { return try_stats().value(); }
    /// try_prometheus. @throws rl::error, std::bad_alloc
    [[nodiscard]] std::string prometheus() const { return try_prometheus().value(); }
#endif

    /// The same in C; it remains this object's.
    [[nodiscard]] rl_service *get() const noexcept { return handle_.get(); }

  private:
    service(rl_service *made, std::shared_ptr<const void> callable) noexcept
        : handle_(made, {std::move(callable)}) {}

    template <class Call, class... More>
    rl_status ask(Call call, std::string_view user, std::string_view api,
                  More... more) const noexcept {
        return call(get(), user.data(), user.size(), api.data(), api.size(), more...);
    }

    template <class Call, class... More>
    result<decision> try_ask(Call call, std::string_view user, std::string_view api,
                             More... more) const noexcept {
        result<decision> out{detail::unset()};
        out.set(ask(call, user, api, more..., out->get()));
        return out;
    }

#ifdef __cpp_exceptions
    /// Not by way of try_ask: the answer is written where the caller wants it.
    template <class Call, class... More>
    decision ask_or_throw(Call call, std::string_view user, std::string_view api,
                          More... more) const {
        decision out{detail::unset()};
        const rl_status status = ask(call, user, api, more..., out.get());
        if (status != RL_OK) detail::fail(status);
        return out;
    }
#endif

    /// More than C takes is more than the answer has room for.
    rl_status ask_all(request_list requests, joint_decision &out) noexcept {
        const std::size_t count = requests.size();
        if (count > std::size(out.raw_)) return RL_ERR_ARGUMENT;
        out.count_ = count;
        return rl_check_all(get(), requests.data(), count, out.raw_);
    }

    std::unique_ptr<rl_service, detail::deleter<rl_service_free>> handle_;
};

// --- Zone --------------------------------------------------------------------------------

/// Removes the zone of this name, such as "/shop", with all that was counted in it: see
/// rl_zone_unlink for when that is safe.
/// @return RL_ERR_ARGUMENT the name is none of a zone; RL_ERR_IO there is none of this name,
///         or this process may not remove it; RL_ERR_INTERNAL
inline result<void> try_zone_unlink(c_string name) noexcept {
    return result<void>(rl_zone_unlink(name.get()));
}

#ifdef __cpp_exceptions
/// try_zone_unlink. @throws rl::error
inline void zone_unlink(c_string name) { try_zone_unlink(name).value(); }
#endif

} // namespace rl

#endif // LIBRL_RL_HPP
