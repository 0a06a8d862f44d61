
/*
 * A limiter for nginx by the rules of librl.
 *
 *   ngx_http_rl_module.c     directives and their inheritance, what happens at start-up
 *   ngx_http_rl_zone.c       rl_zone: where counters are, and their rules
 *   ngx_http_rl_memory.c     the memory of zones, and services that use it
 *   ngx_http_rl_limit.c      rl_limit, as the configuration has it
 *   ngx_http_rl_handler.c    what a request asks for
 *   ngx_http_rl_value.c      values with several variables in them, and costs
 *   ngx_http_rl_several.c    several limits: of one zone, and of several
 *   ngx_http_rl_conclude.c   what becomes of it
 *   ngx_http_rl_answer.c     the answer in variables and in fields of the response
 *   ngx_http_rl_page.c       rl_status_page: statistics
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */


#ifndef _NGX_HTTP_RL_MODULE_H_INCLUDED_
#define _NGX_HTTP_RL_MODULE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#define RL_NO_RL_FREE
#include <rl.h>


/* at most so many requests are one decision, says rl_check_all() */
#define NGX_HTTP_RL_MAX_JOINT  8

/* at most so many bytes are a name of librl */
#define NGX_HTTP_RL_MAX_NAME   65535


/* rl_headers off; the others are the styles of librl */

#define NGX_HTTP_RL_NO_HEADERS  (RL_HEADERS_LEGACY + 1)


/* of $rl_status */

typedef enum {
    NGX_HTTP_RL_PASSED = 0,
    NGX_HTTP_RL_REJECTED,
    NGX_HTTP_RL_REJECTED_DRY_RUN,
    NGX_HTTP_RL_UNTRACKED,
    NGX_HTTP_RL_ERROR
} ngx_http_rl_outcome_e;


/* what all workers have of a zone beside its counters */

typedef struct {
    u_char                    *counters;    /* NULL with shared= */
    size_t                     size;
    ngx_atomic_t               full_told;   /* second of the last line about that */
} ngx_http_rl_shared_t;


/* shm_zone->data */

typedef struct {
    ngx_str_t                  name;
    ngx_str_t                  file;
    ngx_str_t                  object;      /* of shared=, if given */
    rl_config                 *config;
    rl_service                *service;     /* NULL while testing shared= */
    ngx_http_rl_shared_t      *shared;
} ngx_http_rl_zone_t;


/* a text with variables; one alone needs no script to be run */

typedef struct {
    ngx_http_complex_value_t   text;
    ngx_int_t                  variable;    /* NGX_ERROR if there is more to it */
    ngx_uint_t                 given;
} ngx_http_rl_value_t;


typedef struct {
    ngx_shm_zone_t            *shm_zone;
    ngx_http_rl_value_t        user;
    ngx_http_rl_value_t        api;
    ngx_http_rl_value_t        cost;
    uint64_t                   fixed_cost;  /* 0 if a value has to be asked */
} ngx_http_rl_limit_t;


typedef struct {
    ngx_array_t               *limits;      /* those of a zone side by side, or NULL */
    ngx_flag_t                 skip_empty;
    ngx_flag_t                 dry_run;
    ngx_uint_t                 deny_on_error;
    ngx_uint_t                 status;
    ngx_uint_t                 log_level;
    ngx_uint_t                 headers;
    ngx_uint_t                 answer;      /* as in the main configuration */
    ngx_shm_zone_t            *page;
} ngx_http_rl_loc_conf_t;


/* where a zone is named, in case that it is never declared */

typedef struct {
    ngx_shm_zone_t            *shm_zone;
    ngx_str_t                  file;
    ngx_uint_t                 line;
} ngx_http_rl_naming_t;


typedef struct {
    ngx_array_t                namings;
    ngx_int_t                  answer;      /* index of the variable that holds it */
} ngx_http_rl_main_conf_t;


/* what became of a request: the decision that counts, and what it was about */

typedef struct {
    rl_decision                decision;
    rl_request                 request;
    ngx_http_rl_zone_t        *zone;
    ngx_http_rl_outcome_e      outcome;
} ngx_http_rl_answer_t;


extern ngx_module_t  ngx_http_rl_module;


/* nothing but the module is for nginx to see */

#pragma GCC visibility push(hidden)

char *ngx_http_rl_zone(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
ngx_shm_zone_t *ngx_http_rl_name_zone(ngx_conf_t *cf, ngx_str_t *name);
ngx_int_t ngx_http_rl_zones_declared(ngx_conf_t *cf);

ngx_int_t ngx_http_rl_init_zone(ngx_shm_zone_t *shm_zone, void *data);
void ngx_http_rl_tell_full(ngx_http_rl_zone_t *zone, ngx_log_t *log);

char *ngx_http_rl_limit(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);

ngx_int_t ngx_http_rl_handler(ngx_http_request_t *r);
ngx_int_t ngx_http_rl_run(ngx_http_request_t *r, ngx_http_rl_value_t *value,
    const void **data, size_t *len);
ngx_int_t ngx_http_rl_cost(ngx_http_request_t *r, ngx_http_rl_value_t *value,
    uint64_t *cost);
ngx_int_t ngx_http_rl_conclude(ngx_http_request_t *r,
    ngx_http_rl_loc_conf_t *rlcf, ngx_http_rl_answer_t *answer);
void ngx_http_rl_log_error(ngx_http_request_t *r, ngx_http_rl_zone_t *zone,
    rl_request *requests, ngx_uint_t n, rl_status rc);
ngx_int_t ngx_http_rl_ask_several(ngx_http_request_t *r,
    ngx_http_rl_loc_conf_t *rlcf, ngx_http_rl_answer_t *answer);

ngx_int_t ngx_http_rl_add_variables(ngx_conf_t *cf);
ngx_int_t ngx_http_rl_add_fields(ngx_http_request_t *r,
    ngx_http_rl_answer_t *answer, uint32_t style);

char *ngx_http_rl_page(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);

#pragma GCC visibility pop


/*
 * The answer that a request has got. It is not kept in r->ctx, which an
 * internal redirect clears, but where the values of variables are, which
 * stay as long as the request and are those of its subrequests, too.
 */

static ngx_inline ngx_http_rl_answer_t *
ngx_http_rl_answer(ngx_http_request_t *r)
{
    ngx_http_rl_main_conf_t    *rmcf;
    ngx_http_variable_value_t  *vv;

    rmcf = ngx_http_get_module_main_conf(r, ngx_http_rl_module);
    vv = &r->variables[rmcf->answer];

    return vv->valid ? (ngx_http_rl_answer_t *) vv->data : NULL;
}


/*
 * ngx_http_get_flushed_variable(), in fewer steps where there is no value yet,
 * by what the configuration has made sure of. What a variable is made of, nginx
 * looks up, which ends those that are made of themselves.
 */

static ngx_inline ngx_http_variable_value_t *
ngx_http_rl_variable(ngx_http_request_t *r, ngx_uint_t index)
{
    ngx_http_variable_t        *v;
    ngx_http_variable_value_t  *vv;
    ngx_http_core_main_conf_t  *cmcf;

    vv = &r->variables[index];

    if (vv->valid || vv->not_found) {
        return ngx_http_get_flushed_variable(r, index);
    }

    cmcf = ngx_http_get_module_main_conf(r, ngx_http_core_module);
    v = (ngx_http_variable_t *) cmcf->variables.elts + index;

    if (v->get_handler(r, vv, v->data) != NGX_OK) {
        vv->valid = 0;
        vv->not_found = 1;
        return NULL;
    }

    if (v->flags & NGX_HTTP_VAR_NOCACHEABLE) {
        vv->no_cacheable = 1;
    }

    return vv;
}


/* a constant or a single variable is looked up here, and no script is run */

static ngx_inline ngx_int_t
ngx_http_rl_value(ngx_http_request_t *r, ngx_http_rl_value_t *value,
    const void **data, size_t *len)
{
    ngx_http_variable_value_t  *vv;

    if (value->variable == NGX_ERROR) {

        if (value->text.lengths) {
            return ngx_http_rl_run(r, value, data, len);
        }

        *data = value->text.value.data;
        *len = value->text.value.len;

        return NGX_OK;
    }

    vv = ngx_http_rl_variable(r, value->variable);

    if (vv == NULL) {
        return NGX_ERROR;
    }

    if (vv->not_found) {
        *data = NULL;
        *len = 0;

        return NGX_OK;
    }

    *data = vv->data;
    *len = vv->len;

    return NGX_OK;
}


/* NGX_DECLINED if the limit does not apply, NGX_ABORT if the cost is none */

static ngx_inline ngx_int_t
ngx_http_rl_request(ngx_http_request_t *r, ngx_http_rl_loc_conf_t *rlcf,
    ngx_http_rl_limit_t *limit, rl_request *request)
{
    if (ngx_http_rl_value(r, &limit->user, &request->user, &request->user_len)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (request->user_len == 0 && rlcf->skip_empty) {
        return NGX_DECLINED;
    }

    if (ngx_http_rl_value(r, &limit->api, &request->api, &request->api_len)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    request->cost = limit->fixed_cost;

    return request->cost ? NGX_OK
                         : ngx_http_rl_cost(r, &limit->cost, &request->cost);
}


static ngx_inline ngx_http_rl_outcome_e
ngx_http_rl_outcome(const rl_decision *decision)
{
    if (decision->flags & RL_FLAG_UNTRACKED) {
        return NGX_HTTP_RL_UNTRACKED;
    }

    if (!decision->allowed) {
        return NGX_HTTP_RL_REJECTED;
    }

    return decision->flags & RL_FLAG_SHADOW ? NGX_HTTP_RL_REJECTED_DRY_RUN
                                            : NGX_HTTP_RL_PASSED;
}


#endif /* _NGX_HTTP_RL_MODULE_H_INCLUDED_ */
