/*
 * A limit in a loop over epoll, with nothing below it but the system.
 *
 *     epoll PORT RULES        on 127.0.0.1; port 0 is a free one
 *
 * The client's address is the user, the path is the API; it answers 200 or 429, with what
 * is left. SIGHUP reads the rules again and keeps the counts, SIGTERM ends it. The HTTP is
 * as little as the example takes: a body is not read, and idle clients may stay.
 */
#define _GNU_SOURCE /* strcasestr */

#include <arpa/inet.h>
#include <errno.h>
#include <rl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define MOST 1000 /* descriptors; a process may usually have 1024 */

static struct client {
    char address[INET_ADDRSTRLEN];
    char in[8192]; /* what has come of the next request, and maybe of more */
    size_t length;
    bool done; /* has had its last answer */
} clients[MOST]; /* by descriptor */

static rl_service *service;
static int loop;

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

/* The limit: the status of the answer, and the fields that go with it. Behind a proxy the
 * address is to be another one: README.md. */
static const char *check(const char *address, const char *path, size_t length, char fields[192]) {
    rl_decision decision;
    rl_status status = rl_check_bytes(service, address, RL_NUL, path, length, 1, &decision);
    rl_decision_headers(&decision, RL_HEADERS_DRAFT, fields, 192);
    if (status != RL_OK) return "500 Internal Server Error";
    return decision.allowed ? "200 OK" : "429 Too Many Requests";
}

/* Answers a request, or "", which is none. False when the client is to go: it has gone, or
 * reads so little that its socket is full of answers. */
static bool answer(int fd, const char *head) {
    const char *path = head + strcspn(head, " \r"), *status = "400 Bad Request";
    char fields[192] = "", text[512];
    path += *path == ' ';
    size_t length = strcspn(path, " ?\r");
    if (length > 0) status = check(clients[fd].address, path, length, fields);
    bool done = strncmp(path + strcspn(path, " \r"), " HTTP/1.1\r", 10) != 0
                || strcasestr(head, "\nConnection: close") || strcasestr(head, "\nContent-Length")
                || strcasestr(head, "\nTransfer-Encoding");
    int size = snprintf(text, sizeof text, "HTTP/1.1 %s\r\n%sContent-Length: 0\r\n%s\r\n", status,
                        fields, done ? "Connection: close\r\n" : "");
    clients[fd].done = done;
    return send(fd, text, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL) == size
           && (!done || shutdown(fd, SHUT_WR) == 0);
}

/* Takes what has come, and answers what is whole of it. False when the client is to go. */
static bool serve(int fd) {
    struct client *client = &clients[fd];
    if (client->done) client->length = 0; /* read all the same, or the answer might get lost */
    size_t room = sizeof client->in - 1 - client->length;
    ssize_t got = recv(fd, client->in + client->length, room, MSG_DONTWAIT);
    if (got <= 0) return got < 0 && (errno == EAGAIN || errno == EINTR);
    if (client->done) return true;
    client->in[client->length += (size_t)got] = '\0';
    char *head = client->in, *end;
    for (; !client->done && (end = strstr(head, "\r\n\r\n")) != NULL; head = end + 4) {
        end[2] = '\0';
        if (!answer(fd, head)) return false;
    }
    client->length -= (size_t)(head - client->in);
    memmove(client->in, head, client->length);
    return client->length < sizeof client->in - 1 || answer(fd, "");
}

static bool watch(int fd) {
    struct epoll_event event = {EPOLLIN, {.fd = fd}};
    return epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void welcome(int listener) {
    struct sockaddr_in peer = {0};
    int fd = accept(listener, (struct sockaddr *)&peer, &(socklen_t){sizeof peer});
    if (fd < 0) return;
    if (fd >= MOST || !watch(fd)) {
        close(fd);
        return;
    }
    clients[fd].length = 0;
    clients[fd].done = false;
    inet_ntop(AF_INET, &peer.sin_addr, clients[fd].address, INET_ADDRSTRLEN);
}

static int listen_on(uint16_t port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, SOMAXCONN) != 0
        || getsockname(listener, (struct sockaddr *)&address, &size) != 0) return -1;
    printf("listening on 127.0.0.1:%u\n", (unsigned)ntohs(address.sin_port));
    return fflush(stdout) == 0 ? listener : -1;
}

int main(int argc, char **argv) {
    if (argc != 3) return fprintf(stderr, "usage: epoll PORT RULES\n"), EXIT_FAILURE;
    if (!load(argv[2])) return EXIT_FAILURE;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int signals = signalfd(-1, &set, 0), listener = listen_on((uint16_t)atoi(argv[1]));
    if (listener < 0 || (loop = epoll_create1(0)) < 0 || !watch(signals) || !watch(listener))
        return perror(argv[1]), EXIT_FAILURE;
    for (;;) {
        struct epoll_event event;
        struct signalfd_siginfo came;
        if (epoll_wait(loop, &event, 1, -1) != 1) continue;
        int fd = event.data.fd;
        if (fd == listener) welcome(listener);
        else if (fd != signals && !serve(fd)) close(fd);
        if (fd != signals || read(signals, &came, sizeof came) != sizeof came) continue;
        if (came.ssi_signo == SIGTERM) break;
        load(argv[2]);
    }
    rl_service_free(service);
    return EXIT_SUCCESS;
}
