/*
 * A pre-forking HTTP server whose workers share one limit: four processes accept on the
 * same socket, and a user gets what the rules say from all of them together.
 *
 *     prefork [RULES [PORT [ZONE]]]     on 127.0.0.1; port 0 is a free one
 *
 * The user is what the header X-User says, else the client's address; the API is the path.
 * (A real server believes a name only after it has checked a password or a token.) It
 * answers 200 or 429, with fields that say what is left. SIGTERM ends all of it.
 */
#define _POSIX_C_SOURCE 200809L

#include <arpa/inet.h>
#include <netinet/in.h>
#include <rl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS 4
#define LONGEST_HEAD 8192 /* bytes of a request before its body */

static void need(bool ok, const char *system_call) {
    if (!ok) {
        perror(system_call);
        exit(EXIT_FAILURE);
    }
}

/* ---- the limit ---------------------------------------------------------------------- */

/*
 * The setting shared makes the difference: with it the counters stand in shared memory and
 * all workers use the same ones. Without it each worker would get a copy at the fork, and
 * four workers would let four times the limit pass.
 */
static rl_service *open_service(const char *rules, const char *zone) {
    rl_config *config = NULL;
    rl_service *service = NULL;
    rl_error error = {0};
    if (rl_config_new(&config) != RL_OK || rl_config_load(config, rules, &error) != RL_OK
        || rl_config_set(config, "shared", zone, &error) != RL_OK
        || rl_service_new(config, &service, &error) != RL_OK) {
        fprintf(stderr, "%s:%u: %s\n", rules, (unsigned)error.line, error.message);
        exit(EXIT_FAILURE);
    }
    rl_config_free(config);
    return service;
}

/* ---- one request -------------------------------------------------------------------- */

struct text {
    const char *bytes;
    size_t length;
};

/* Reads until the blank line; false where it does not come in time, or not in this much. */
static bool read_head(int client, char *head) {
    size_t length = 0;
    ssize_t got;
    while ((got = recv(client, head + length, LONGEST_HEAD - 1 - length, 0)) > 0) {
        length += (size_t)got;
        head[length] = '\0';
        if (strstr(head, "\r\n\r\n") != NULL) {
            return true;
        }
    }
    return false;
}

/* What stands between the method and the query; empty where the line has no path. */
static struct text path_of(const char *head) {
    struct text path = {head + strcspn(head, " \r"), 0};
    path.bytes += *path.bytes == ' ';
    path.length = strcspn(path.bytes, " ?\r");
    return path;
}

static struct text user_of(const char *head, const char *address) {
    struct text user = {address, strlen(address)};
    for (const char *line = head; (line = strstr(line, "\r\n")) != NULL;) {
        line += 2;
        if (strncasecmp(line, "X-User:", 7) == 0) {
            user.bytes = line + 7 + strspn(line + 7, " \t");
            user.length = strcspn(user.bytes, "\r");
            while (user.length > 0 && user.bytes[user.length - 1] == ' ') user.length--;
        }
    }
    return user;
}

static void answer(int client, int worker, const char *status, const char *fields) {
    char response[1024];
    int length = snprintf(response, sizeof response,
                          "HTTP/1.1 %s\r\n%sX-Worker: %d\r\nContent-Length: 0\r\n"
                          "Connection: close\r\n\r\n",
                          status, fields, worker);
    /* A client that has gone away must not end the worker, hence no SIGPIPE. */
    (void)send(client, response, (size_t)length, MSG_NOSIGNAL);
}

static void serve(rl_service *service, int client, const char *address, int worker) {
    const char *status = "400 Bad Request";
    char head[LONGEST_HEAD], fields[192] = "";
    if (read_head(client, head)) {
        struct text user = user_of(head, address), path = path_of(head);
        rl_decision decision;
        rl_status checked = rl_check_bytes(service, user.bytes, user.length, path.bytes,
                                           path.length, 1, &decision);
        rl_decision_headers(&decision, RL_HEADERS_DRAFT, fields, sizeof fields);
        status = checked != RL_OK   ? "500 Internal Server Error"
                 : decision.allowed ? "200 OK"
                                    : "429 Too Many Requests";
    }
    answer(client, worker, status, fields);
}

/* ---- processes ---------------------------------------------------------------------- */

/* The kernel hands each connection to one of those who wait in accept(). */
static void work(rl_service *service, int listener, int worker) {
    const struct timeval patience = {5, 0}; /* s that a client may keep a worker waiting */
    for (;;) {
        struct sockaddr_in peer = {0};
        socklen_t size = sizeof peer;
        char address[INET_ADDRSTRLEN] = "";
        int client = accept(listener, (struct sockaddr *)&peer, &size);
        if (client < 0) {
            continue; /* the client was faster, or the system has to catch its breath */
        }
        setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        inet_ntop(AF_INET, &peer.sin_addr, address, sizeof address);
        serve(service, client, address, worker);
        close(client);
    }
}

static int listen_on(const char *port) {
    struct sockaddr_in address = {0};
    socklen_t size = sizeof address;
    const int yes = 1;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    need(listener >= 0, "socket");
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    address.sin_family = AF_INET;
    address.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    need(bind(listener, (struct sockaddr *)&address, size) == 0, "bind");
    need(listen(listener, SOMAXCONN) == 0, "listen");
    need(getsockname(listener, (struct sockaddr *)&address, &size) == 0, "getsockname");
    printf("http://127.0.0.1:%u workers", (unsigned)ntohs(address.sin_port));
    fflush(stdout); /* or every child would inherit what is not written yet */
    return listener;
}

int main(int argc, char **argv) {
    char own_zone[32];
    pid_t workers[WORKERS];
    sigset_t ends;
    int which;
    snprintf(own_zone, sizeof own_zone, "/librl-prefork-%ld", (long)getpid());
    const char *zone = argc > 3 ? argv[3] : own_zone;
    rl_service *service = open_service(argc > 1 ? argv[1] : "examples/prefork.conf", zone);
    int listener = listen_on(argc > 2 ? argv[2] : "0");

    sigemptyset(&ends); /* they wait for sigwait below; a worker gets them as usual */
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = fork();
        need(workers[i] >= 0, "fork");
        if (workers[i] == 0) {
            sigprocmask(SIG_UNBLOCK, &ends, NULL);
            work(service, listener, i + 1); /* a child goes on using the parent's service */
        }
    }
    for (int i = 0; i < WORKERS; i++) {
        printf(i < WORKERS - 1 ? " %ld" : " %ld\n", (long)workers[i]);
    }
    fflush(stdout);

    /* Should a worker die, the others go on counting. A real server would fork a new one. */
    sigwait(&ends, &which);
    for (int i = 0; i < WORKERS; i++) {
        kill(workers[i], SIGTERM);
    }
    while (wait(NULL) > 0) continue;
    rl_service_free(service);
    rl_zone_unlink(zone); /* leave it, and the counts outlive a restart */
    return EXIT_SUCCESS;
}
