
/*
 * What becomes of a request that has an answer: a line in the log, fields of
 * the response, and its status if it is refused.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */


#include "ngx_http_rl_module.h"


static void ngx_http_rl_log(ngx_http_request_t *r,
    ngx_http_rl_loc_conf_t *rlcf, ngx_http_rl_answer_t *answer);


ngx_int_t
ngx_http_rl_conclude(ngx_http_request_t *r, ngx_http_rl_loc_conf_t *rlcf,
    ngx_http_rl_answer_t *answer)
{
    if (answer->outcome == NGX_HTTP_RL_ERROR) {
        return rlcf->deny_on_error && !rlcf->dry_run ? (ngx_int_t) rlcf->status
                                                     : NGX_DECLINED;
    }

    if (answer->outcome != NGX_HTTP_RL_PASSED) {
        ngx_http_rl_log(r, rlcf, answer);
    }

    if (rlcf->dry_run) {
        if (answer->outcome == NGX_HTTP_RL_REJECTED) {
            answer->outcome = NGX_HTTP_RL_REJECTED_DRY_RUN;
        }

        return NGX_DECLINED;
    }

    if (rlcf->headers != NGX_HTTP_RL_NO_HEADERS
        && ngx_http_rl_add_fields(r, answer, rlcf->headers) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return answer->decision.allowed ? NGX_DECLINED : (ngx_int_t) rlcf->status;
}


static void
ngx_http_rl_log(ngx_http_request_t *r, ngx_http_rl_loc_conf_t *rlcf,
    ngx_http_rl_answer_t *answer)
{
    char         *dry_run = rlcf->dry_run ? ", dry run" : "";
    ngx_str_t    *zone = &answer->zone->name;
    rl_decision  *decision = &answer->decision;

    if (answer->outcome == NGX_HTTP_RL_UNTRACKED) {
        ngx_http_rl_tell_full(answer->zone, r->connection->log);

    } else if (decision->allowed) {
        ngx_log_error(rlcf->log_level, r->connection->log, 0,
                      "limiting requests, shadow, by zone \"%V\"", zone);

    } else if (decision->retry_after_ms == RL_NEVER) {
        ngx_log_error(rlcf->log_level, r->connection->log, 0,
                      "limiting requests%s, for ever, by \"%s\" of zone \"%V\"",
                      dry_run, decision->name, zone);

    } else {
        ngx_log_error(rlcf->log_level, r->connection->log, 0,
                      "limiting requests%s, for %uLms, by \"%s\" of zone \"%V\"",
                      dry_run, decision->retry_after_ms, decision->name, zone);
    }
}


void
ngx_http_rl_log_error(ngx_http_request_t *r, ngx_http_rl_zone_t *zone,
    rl_request *request, ngx_uint_t count, rl_status rc)
{
    size_t      len;
    ngx_uint_t  i;

    for (i = 0; i < count; i++) {
        len = ngx_max(request[i].user_len, request[i].api_len);

        if (len > NGX_HTTP_RL_MAX_NAME) {
            ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                          "rl_limit: a name has %uz bytes, the most are %d, "
                          "zone \"%V\"", len, NGX_HTTP_RL_MAX_NAME,
                          &zone->name);
            return;
        }
    }

    ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                  "rl_limit: %s, zone \"%V\"", rl_status_message(rc),
                  &zone->name);
}
