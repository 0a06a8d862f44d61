/*
 * A limit in libevent's HTTP server: one thread, one loop.
 *
 *     evhttp PORT RULES       on 127.0.0.1; port 0 is a free one
 *
 * The client's address is the user, the path is the API; it answers 200 or 429, with what
 * is left. SIGHUP reads the rules again and keeps the counts, SIGTERM ends it.
 */
#define _POSIX_C_SOURCE 200809L

#include <arpa/inet.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <rl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rl_service *service;

/* Makes the service from a file of rules, or gives new ones to the service that runs. Where
 * the file is wrong, that keeps the old ones. */
static bool load(const char *rules) {
    rl_config *config = NULL;
    rl_error error = {0};
    bool good = rl_config_new(&config) == RL_OK && rl_config_load(config, rules, &error) == RL_OK
                && (service != NULL ? rl_reload(service, config, &error)
                                    : rl_service_new(config, &service, &error)) == RL_OK;
    if (!good) fprintf(stderr, "%s:%u: %s\n", rules, (unsigned)error.line, error.message);
    rl_config_free(config);
    return good;
}

/* Behind a proxy the address is to be another one: README.md. */
static const char *address_of(struct evhttp_request *request) {
    char *address = NULL;
    uint16_t port;
    evhttp_connection_get_peer(evhttp_request_get_connection(request), &address, &port);
    return address;
}

/* The path without the query and with %41 as A, so that each has one name. */
static char *path_of(struct evhttp_request *request, size_t *length) {
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
    const char *path = uri != NULL ? evhttp_uri_get_path(uri) : NULL;
    return path != NULL ? evhttp_uridecode(path, 0, length) : NULL;
}

/* Puts what is left into the answer: rl_decision_headers writes lines, evhttp takes pairs. */
static void add_fields(struct evhttp_request *request, const rl_decision *decision) {
    char lines[192];
    rl_decision_headers(decision, RL_HEADERS_DRAFT, lines, sizeof lines);
    for (char *line = lines, *end; (end = strstr(line, "\r\n")) != NULL; line = end + 2) {
        char *value = strstr(line, ": ");
        *value = *end = '\0';
        evhttp_add_header(evhttp_request_get_output_headers(request), line, value + 2);
    }
}

static void answer(struct evhttp_request *request, void *unused) {
    (void)unused;
    size_t length = 0;
    rl_decision decision;
    char *path = path_of(request, &length);
    rl_status status = rl_check_bytes(service, address_of(request), RL_NUL, path, length, 1,
                                      &decision);
    free(path);
    add_fields(request, &decision);
    if (status != RL_OK) evhttp_send_reply(request, 500, "Internal Server Error", NULL);
    else if (!decision.allowed) evhttp_send_reply(request, 429, "Too Many Requests", NULL);
    else evhttp_send_reply(request, 200, "OK", NULL); /* here the work would be done */
}

static void reload(evutil_socket_t signal, short events, void *rules) {
    (void)signal, (void)events;
    load(rules);
}

static void end(evutil_socket_t signal, short events, void *base) {
    (void)signal, (void)events;
    event_base_loopbreak(base);
}

static bool listen_on(struct evhttp *http, uint16_t port) {
    struct evhttp_bound_socket *bound = evhttp_bind_socket_with_handle(http, "127.0.0.1", port);
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    if (bound == NULL
        || getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&address, &size) != 0)
        return false;
    printf("listening on 127.0.0.1:%u\n", (unsigned)ntohs(address.sin_port));
    return fflush(stdout) == 0;
}

int main(int argc, char **argv) {
    if (argc != 3) return fprintf(stderr, "usage: evhttp PORT RULES\n"), EXIT_FAILURE;
    if (!load(argv[2])) return EXIT_FAILURE;
    signal(SIGPIPE, SIG_IGN); /* a client that has gone must not end the server */
    struct event_base *base = event_base_new();
    struct evhttp *http = evhttp_new(base);
    struct event *hup = evsignal_new(base, SIGHUP, reload, argv[2]);
    struct event *term = evsignal_new(base, SIGTERM, end, base);
    event_add(hup, NULL);
    event_add(term, NULL);
    evhttp_set_gencb(http, answer, NULL);
    evhttp_set_timeout(http, 60);             /* s that a client may be idle */
    evhttp_set_max_headers_size(http, 16384); /* bytes, and so no name is too long */
    evhttp_set_max_body_size(http, 1 << 20);  /* bytes, which are read before we are asked */
    bool good = listen_on(http, (uint16_t)atoi(argv[1]));
    if (good) event_base_dispatch(base);
    else perror(argv[1]);
    event_free(hup);
    event_free(term);
    evhttp_free(http);
    event_base_free(base);
    libevent_global_shutdown();
    rl_service_free(service);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
