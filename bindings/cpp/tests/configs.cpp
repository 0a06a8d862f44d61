// A configuration: what adds to it, and where it says that something is wrong.

#include "fixture.hpp"

#include <cstdint>

namespace {

void text_and_entries_add_up() {
    rl::config config;
    config.parse("default = fixed-window,1,1000d");
    config.parse("");
    config.parse(std::string_view("user.bob = fixed-window,2,1000d\0", 31));
    config.set("user.carol", std::string("fixed-window,3,1000d"));
    const rl::service service(config);
    CHECK_EQ(service.peek("alice", "/").limit(), 1);
    CHECK_EQ(service.peek("bob", "/").limit(), 2);
    CHECK_EQ(service.peek("carol", "/").limit(), 3);
}

void a_file_is_loaded() {
    std::FILE *file = std::fopen("configs.rules", "w");
    NEED(file != nullptr);
    NEED(std::fputs("default = fixed-window,4,1000d\n\nuser.bob = nonsense\n", file) >= 0);
    NEED(std::fclose(file) == 0);
    rl::config config;
    const rl::error error = THROWN(config.load("configs.rules"));
    CHECK_EQ(error.status(), RL_ERR_CONFIG);
    CHECK_EQ(error.line(), 3);
    NEED(std::remove("configs.rules") == 0);
    CHECK_THROWS(RL_ERR_IO, config.load(std::string("configs.rules")));
    CHECK_THROWS(RL_ERR_ARGUMENT, config.load(nullptr));
}

/// An empty name is a name, whatever its pointer; a name left out is any.
void a_rule_has_names_of_any_bytes_or_none() {
    using namespace std::string_view_literals;
    rl::config config;
    config.set_rule(std::nullopt, std::nullopt, "fixed-window,1,1000d");
    config.set_rule("a\0b"sv, std::nullopt, "fixed-window,2,1000d");
    config.set_rule(std::nullopt, "/x*\xff"sv, "fixed-window,3,1000d");
    config.set_rule("bob", "/y", std::string("fixed-window,4,1000d"));
    config.set_rule(std::string_view(), std::nullopt, "fixed-window,5,1000d");
    const rl::service service(config);
    CHECK_EQ(service.peek("a", "/").limit(), 1);
    CHECK_EQ(service.peek("a\0b"sv, "/").limit(), 2);
    CHECK_EQ(service.peek("a", "/x*\xff"sv).limit(), 3);
    CHECK_EQ(service.peek("bob", "/y").limit(), 4);
    CHECK_EQ(service.peek("", "/").limit(), 5);
    CHECK_THROWS(RL_ERR_CONFIG, config.set_rule("bob", "/y", "deny"));
    CHECK_THROWS(RL_ERR_CONFIG, config.set_rule(std::nullopt, std::nullopt, "deny"));
    CHECK_THROWS(RL_ERR_ARGUMENT, config.set_rule(std::string(65536, 'x'), "/y", "deny"));
    CHECK_THROWS(RL_ERR_ARGUMENT, config.set_rule("bob", "/z", nullptr));
}

void an_error_names_the_place() {
    const rl::error text = THROWN(rl::config("# two lines\nuser.bob = token-buckle,5,10"));
    CHECK_EQ(text.status(), RL_ERR_CONFIG);
    CHECK_EQ(text.line(), 2);
    CHECK_EQ(text.column(), 12);
    CHECK_CONTAINS(text.message(), "unknown algorithm `token-buckle`");
    CHECK_EQ(std::string(text.what()), "line 2, column 12: " + std::string(text.message()));

    rl::config config;
    const rl::error entry = THROWN(config.set("default", "token-bucket,0,10"));
    CHECK_EQ(entry.status(), RL_ERR_CONFIG);
    CHECK_EQ(entry.line(), 0);
    CHECK_EQ(std::string(entry.what()).find("column "), 0);

    const rl::error whole = THROWN(rl::service(config));
    CHECK_EQ(whole.status(), RL_ERR_CONFIG);
    CHECK_EQ(std::string(whole.what()), whole.message());
    CHECK_CONTAINS(whole.message(), "default");

    const std::runtime_error &base = whole;
    CHECK_EQ(std::string(base.what()), whole.message());
}

void what_fails_adds_nothing() {
    rl::config config("default = fixed-window,1,1000d");
    CHECK_THROWS(RL_ERR_CONFIG, config.parse("user.bob = deny\nuser.carol = nonsense"));
    CHECK(rl::service(config).allow("bob"));
}

void counters_may_stand_in_memory_of_the_callers() {
    alignas(128) static std::uint64_t memory[1 << 13];
    rl::config config("default = fixed-window,2,1000d");
    config.set_memory(memory, sizeof memory);
    {
        rl::service service(config);
        CHECK(service.allow("alice"));
    }
    rl::service again(config);
    CHECK_EQ(again.stats().allowed, 1);
    CHECK(again.allow("alice"));
    CHECK(!again.allow("alice"));
    CHECK_THROWS(RL_ERR_ARGUMENT, config.set_memory(nullptr, 1 << 16));
    CHECK_THROWS(RL_ERR_ARGUMENT, config.set_memory(reinterpret_cast<char *>(memory) + 1, 1));
    config.set_memory(memory, 64);
    CHECK_THROWS(RL_ERR_MEMORY, rl::service(config));
}

/// The caller gives the name, and sees to it that nothing stays.
void a_zone_is_shared_until_it_is_unlinked(const std::string &name) {
    rl::config config("default = fixed-window,2,1000d\nmemory = 64k");
    config.set("shared", name);
    rl::service one(config), other(config);
    CHECK(one.allow("alice") && other.allow("alice") && !one.allow("alice"));
    rl::zone_unlink(name);
    CHECK_THROWS(RL_ERR_IO, rl::zone_unlink(name));
    CHECK_THROWS(RL_ERR_ARGUMENT, rl::zone_unlink("no slash"));
    CHECK(!other.allow("alice"));
}

} // namespace

int main(int count, char **arguments) {
    NEED(count == 2);
    text_and_entries_add_up();
    a_file_is_loaded();
    a_rule_has_names_of_any_bytes_or_none();
    an_error_names_the_place();
    what_fails_adds_nothing();
    counters_may_stand_in_memory_of_the_callers();
    a_zone_is_shared_until_it_is_unlinked(arguments[1]);
    return test::end();
}
