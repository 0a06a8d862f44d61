// The same hot loops by way of C and of C++, for callgrind to count: `instructions FORM`,
// where FORM is the name of one of the functions below without its `hot_`. Those in C look
// at the status too, as the calls of C++ do. Prints how many requests were allowed: of each
// loop, some are and some are not.

#include <rl.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>

/// Not to be inlined: callgrind collects from where it is entered to where it is left.
#define HOT extern "C" __attribute__((noinline)) int

namespace {

constexpr int CALLS = 1000;
constexpr std::size_t TOGETHER = 8;

} // namespace

HOT hot_c(rl::service &owner, std::string_view user, std::string_view api) {
    rl_service *service = owner.get();
    int allowed = 0;
    for (int i = 0; i < CALLS; i++) {
        rl_decision answer;
        if (rl_check_bytes(service, user.data(), user.size(), api.data(), api.size(), 1,
                           &answer) != RL_OK) {
            std::abort();
        }
        allowed += answer.allowed;
    }
    return allowed;
}

HOT hot_check(rl::service &service, std::string_view user, std::string_view api) {
    int allowed = 0;
    for (int i = 0; i < CALLS; i++) allowed += service.check(user, api).allowed();
    return allowed;
}

HOT hot_try_check(rl::service &service, std::string_view user, std::string_view api) {
    int allowed = 0;
    for (int i = 0; i < CALLS; i++) {
        const auto answer = service.try_check(user, api);
        if (!answer.has_value()) std::abort();
        allowed += answer->allowed();
    }
    return allowed;
}

HOT hot_allow(rl::service &service, std::string_view user, std::string_view api) {
    int allowed = 0;
    for (int i = 0; i < CALLS; i++) allowed += service.allow(user, api);
    return allowed;
}

HOT hot_c_batch(rl::service &owner, const rl::request *requests) {
    rl_service *service = owner.get();
    rl_decision answers[TOGETHER];
    int allowed = 0;
    for (int i = 0; i < CALLS; i++) {
        if (rl_check_batch(service, requests, TOGETHER, answers) != RL_OK) std::abort();
        allowed += answers[0].allowed;
    }
    return allowed;
}

HOT hot_check_batch(rl::service &service, const rl::request *requests) {
    std::array<rl::decision, TOGETHER> answers;
    int allowed = 0;
    for (int i = 0; i < CALLS; i++) {
        service.check_batch({requests, TOGETHER}, answers.data());
        allowed += answers[0].allowed();
    }
    return allowed;
}

int main(int count, char **arguments) {
    rl::config config("default = token-bucket,500,1000d");
    config.set_clock(rl::clock::manual());
    rl::service service(config);
    const std::string_view form = count == 2 ? arguments[1] : "";
    const rl::request alice("alice", "/orders"), bob("bob", "/orders");
    const rl::request requests[TOGETHER] = {alice, bob, bob, bob, bob, bob, bob, bob};
    // The loader's work on a first call is not to be counted.
    rl_decision warm;
    if (!service.allow("warm")) return EXIT_FAILURE;
    if (rl_check_batch(service.get(), &alice, 1, &warm) != RL_OK) return EXIT_FAILURE;
    int allowed = -1;
    if (form == "c") allowed = hot_c(service, "alice", "/orders");
    if (form == "check") allowed = hot_check(service, "alice", "/orders");
    if (form == "try_check") allowed = hot_try_check(service, "alice", "/orders");
    if (form == "allow") allowed = hot_allow(service, "alice", "/orders");
    if (form == "c_batch") allowed = hot_c_batch(service, requests);
    if (form == "check_batch") allowed = hot_check_batch(service, requests);
    std::printf("%d allowed\n", allowed);
    return EXIT_SUCCESS;
}
