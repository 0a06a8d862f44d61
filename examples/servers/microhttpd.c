/*
 * A limit in libmicrohttpd: four threads, which share one service without a lock.
 *
 *     microhttpd PORT RULES   on 127.0.0.1; port 0 is a free one
 *
 * The client's address is the user, the path is the API; it answers 200 or 429, with what
 * is left. SIGHUP reads the rules again and keeps the counts, SIGTERM ends it.
 */
#define _POSIX_C_SOURCE 200809L

#include <arpa/inet.h>
#include <microhttpd.h>
#include <rl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rl_service *service;

/* Makes the service from a file of rules, or gives new ones to the service that runs, under
 * running checks. Where the file is wrong, that keeps the old ones. */
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
static void address_of(struct MHD_Connection *connection, char address[INET_ADDRSTRLEN]) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr_in *peer = (const struct sockaddr_in *)(const void *)info->client_addr;
    inet_ntop(AF_INET, &peer->sin_addr, address, INET_ADDRSTRLEN);
}

/* Puts what is left into the answer: rl_decision_headers writes lines, MHD takes pairs. */
static void add_fields(struct MHD_Response *response, const rl_decision *decision) {
    char lines[192];
    rl_decision_headers(decision, RL_HEADERS_DRAFT, lines, sizeof lines);
    for (char *line = lines, *end; (end = strstr(line, "\r\n")) != NULL; line = end + 2) {
        char *value = strstr(line, ": ");
        *value = *end = '\0';
        MHD_add_response_header(response, line, value + 2);
    }
}

/* MHD has taken the query off the path, and made an A of %41, so that each has one name. */
static enum MHD_Result decide(struct MHD_Connection *connection, const char *path) {
    char address[INET_ADDRSTRLEN] = "";
    rl_decision decision;
    address_of(connection, address);
    unsigned code = rl_check(service, address, path, &decision) != RL_OK ? 500
                    : decision.allowed ? 200 /* here the work would be done */
                                       : 429;
    struct MHD_Response *response = MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
    add_fields(response, &decision);
    enum MHD_Result queued = MHD_queue_response(connection, code, response);
    MHD_destroy_response(response);
    return queued;
}

/* MHD calls when the head is there, for each part of a body, and at the end. Answered at the
 * end, the connection can be kept; to refuse large bodies unread, decide in the first call. */
static enum MHD_Result answer(void *unused, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *body,
                              size_t *body_size, void **seen) {
    (void)unused, (void)method, (void)version, (void)body;
    bool last = *seen != NULL && *body_size == 0;
    *seen = &service;
    *body_size = 0;
    return last ? decide(connection, path) : MHD_YES;
}

static struct MHD_Daemon *listen_on(uint16_t port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG, port, NULL, NULL, answer, NULL,
        MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address, MHD_OPTION_THREAD_POOL_SIZE, 4u,
        MHD_OPTION_CONNECTION_TIMEOUT, 60u /* s that a client may be idle */, MHD_OPTION_END);
    if (daemon == NULL) return NULL;
    port = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
    printf("listening on 127.0.0.1:%u\n", (unsigned)port);
    fflush(stdout);
    return daemon;
}

int main(int argc, char **argv) {
    if (argc != 3) return fprintf(stderr, "usage: microhttpd PORT RULES\n"), EXIT_FAILURE;
    if (!load(argv[2])) return EXIT_FAILURE;
    sigset_t set; /* blocked before there are threads: only sigwait gets them */
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    struct MHD_Daemon *daemon = listen_on((uint16_t)atoi(argv[1]));
    if (daemon == NULL) return EXIT_FAILURE;
    int which;
    while (sigwait(&set, &which) == 0 && which == SIGHUP) load(argv[2]);
    MHD_stop_daemon(daemon);
    rl_service_free(service);
    return EXIT_SUCCESS;
}
