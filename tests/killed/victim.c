/*
 * Makes one call on a shared zone, and stops before and after it, for a tracer that
 * steps it through the call and kills it there:
 *
 *     victim TEXT NOW OPERATION USER COST
 *
 * with the text of the rules, the time of its clock in ns, and what is to be done by
 * whom. `create` makes the service itself between the stops. Ends with 0 if the call
 * was allowed, 1 if it was refused, 2 if it failed, 3 if it never came to it.
 */
#define _DEFAULT_SOURCE
#include <rl.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

static void need(rl_status status, const char *what, const rl_error *error) {
    if (status != RL_OK) {
        fprintf(stderr, "victim: %s: %s\n", what, error == NULL ? rl_status_message(status) : error->message);
        exit(3);
    }
}

static rl_config *configure(const char *text, rl_clock *clock) {
    rl_config *config;
    rl_error error;
    need(rl_config_new(&config), "config", NULL);
    need(rl_config_parse(config, text, RL_NUL, &error), "text", &error);
    need(rl_config_set_clock(config, clock), "clock", NULL);
    return config;
}

static int call(rl_service *service, const char *operation, const char *user, uint64_t cost) {
    rl_decision decision;
    rl_status status;
    memset(&decision, 0, sizeof decision);
    switch (operation[0] == 'r' ? operation[2] : operation[1]) {
    case 'h': /* check, and charge */
        status = operation[2] == 'e'
                     ? rl_check_bytes(service, user, RL_NUL, "", 0, cost, &decision)
                     : rl_charge(service, user, RL_NUL, "", 0, cost, &decision);
        break;
    case 'f':
        decision.allowed = true;
        status = rl_refund(service, user, RL_NUL, "", 0, cost);
        break;
    case 's':
        decision.allowed = true;
        status = rl_reset(service, user, RL_NUL, "", 0);
        break;
    default:
        return 3;
    }
    return status != RL_OK ? 2 : decision.allowed ? 0 : 1;
}

/* All that is done but once in a process is done before the stop. */
static void warm_up(const char *text, rl_clock *clock, const char *operation, const char *user) {
    char *private_text = malloc(strlen(text) + 1);
    if (private_text == NULL) {
        exit(3);
    }
    strcpy(private_text, text);
    char *shared = strstr(private_text, "shared");
    if (shared != NULL) {
        *shared = '\0'; /* it is the last line */
    }
    rl_config *config = configure(private_text, clock);
    rl_service *service;
    rl_error error;
    need(rl_service_new(config, &service, &error), "private service", &error);
    call(service, "check", user, 1);
    call(service, operation, user, 1);
    rl_service_free(service);
    rl_config_free(config);
    free(private_text);
}

static void be_traced(void) {
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
        perror("victim: ptrace");
        exit(3);
    }
}

int main(int argc, char **argv) {
    if (argc != 6) {
        return 3;
    }
    const char *text = argv[1], *operation = argv[3], *user = argv[4];
    uint64_t now = strtoull(argv[2], NULL, 10), cost = strtoull(argv[5], NULL, 10);
    rl_clock *clock;
    rl_service *service;
    rl_error error;
    need(rl_clock_new_manual(now, &clock), "clock", NULL);
    rl_config *config = configure(text, clock);
    if (strcmp(operation, "create") == 0) {
        be_traced();
        raise(SIGSTOP);
        rl_status status = rl_service_new(config, &service, &error);
        raise(SIGSTOP);
        need(status, "service", &error);
        return 0;
    }
    warm_up(text, clock, operation, user);
    need(rl_service_new(config, &service, &error), "service", &error);
    be_traced();
    raise(SIGSTOP);
    int answer = call(service, operation, user, cost);
    raise(SIGSTOP);
    return answer;
}
