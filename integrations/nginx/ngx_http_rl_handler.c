
/*
 * What a request asks for: once a request, before access is checked. This is
 * the way that every request goes, and no step is in it that most do without.
 * Those without a limit leave it before registers are saved for the others.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */


#include "ngx_http_rl_module.h"


static ngx_int_t ngx_http_rl_decide(ngx_http_request_t *r,
    ngx_http_rl_loc_conf_t *rlcf);
static ngx_int_t ngx_http_rl_ask(ngx_http_request_t *r,
    ngx_http_rl_loc_conf_t *rlcf, ngx_http_rl_answer_t *answer);


ngx_int_t
ngx_http_rl_handler(ngx_http_request_t *r)
{
    ngx_http_rl_loc_conf_t  *rlcf;

    rlcf = ngx_http_get_module_loc_conf(r, ngx_http_rl_module);

    if (rlcf->limits == NULL || r != r->main
        || r->variables[rlcf->answer].valid)
    {
        return NGX_DECLINED;
    }

    return ngx_http_rl_decide(r, rlcf);
}


__attribute__((noinline)) static ngx_int_t
ngx_http_rl_decide(ngx_http_request_t *r, ngx_http_rl_loc_conf_t *rlcf)
{
    ngx_int_t                   rc;
    ngx_http_rl_answer_t       *answer;
    ngx_http_variable_value_t  *place;

    answer = ngx_palloc(r->pool, sizeof(ngx_http_rl_answer_t));
    if (answer == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    rc = rlcf->limits->nelts == 1 ? ngx_http_rl_ask(r, rlcf, answer)
                                  : ngx_http_rl_ask_several(r, rlcf, answer);

    if (rc == NGX_DECLINED) {
        return NGX_DECLINED;
    }

    if (rc == NGX_ERROR) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    place = &r->variables[rlcf->answer];
    place->data = (u_char *) answer;
    place->valid = 1;

    if (answer->outcome == NGX_HTTP_RL_PASSED
        && rlcf->headers == NGX_HTTP_RL_NO_HEADERS)
    {
        return NGX_DECLINED;
    }

    return ngx_http_rl_conclude(r, rlcf, answer);
}


/* NGX_OK with an answer, or NGX_DECLINED if the limit does not apply */

static ngx_int_t
ngx_http_rl_ask(ngx_http_request_t *r, ngx_http_rl_loc_conf_t *rlcf,
    ngx_http_rl_answer_t *answer)
{
    ngx_int_t             rc;
    rl_status             status;
    ngx_http_rl_limit_t  *limit;

    limit = rlcf->limits->elts;
    answer->zone = limit->shm_zone->data;

    rc = ngx_http_rl_request(r, rlcf, limit, &answer->request);

    if (rc != NGX_OK) {
        answer->outcome = NGX_HTTP_RL_ERROR;
        return rc == NGX_ABORT ? NGX_OK : rc;
    }

    status = rl_check_bytes(answer->zone->service,
                            answer->request.user, answer->request.user_len,
                            answer->request.api, answer->request.api_len,
                            answer->request.cost, &answer->decision);

    if (status == RL_OK) {
        answer->outcome = ngx_http_rl_outcome(&answer->decision);
        return NGX_OK;
    }

    ngx_http_rl_log_error(r, answer->zone, &answer->request, 1, status);
    answer->outcome = NGX_HTTP_RL_ERROR;

    return NGX_OK;
}
