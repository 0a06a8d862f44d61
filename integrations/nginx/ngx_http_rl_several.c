
/*
 * Several limits of a location. Those of one zone are one decision; zones are
 * asked one after the other, and if one refuses, the others get back what the
 * request took there.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */


#include "ngx_http_rl_module.h"


/* what the limits ask for, those of a zone side by side */

typedef struct {
    rl_request                *requests;
    ngx_http_rl_zone_t       **zones;       /* of each request */
    ngx_uint_t                 count;
    ngx_uint_t                 untracked;   /* one was not counted */
} ngx_http_rl_asking_t;


static ngx_int_t ngx_http_rl_check_zones(ngx_http_request_t *r,
    ngx_http_rl_asking_t *asking, ngx_http_rl_answer_t *answer);
static rl_status ngx_http_rl_check_zone(ngx_http_request_t *r,
    ngx_http_rl_asking_t *asking, ngx_uint_t first, ngx_uint_t n,
    ngx_http_rl_answer_t *answer);
static ngx_uint_t ngx_http_rl_tells_more(const rl_decision *one,
    const rl_decision *other);
static void ngx_http_rl_give_back(ngx_http_rl_asking_t *asking,
    ngx_uint_t count);


ngx_int_t
ngx_http_rl_ask_several(ngx_http_request_t *r, ngx_http_rl_loc_conf_t *rlcf,
    ngx_http_rl_answer_t *answer)
{
    ngx_int_t              rc;
    ngx_uint_t             i, n;
    ngx_http_rl_limit_t   *limits;
    ngx_http_rl_asking_t   asking;

    limits = rlcf->limits->elts;
    n = rlcf->limits->nelts;

    asking.requests = ngx_palloc(r->pool, n * (sizeof(rl_request)
                                              + sizeof(ngx_http_rl_zone_t *)));
    if (asking.requests == NULL) {
        return NGX_ERROR;
    }

    asking.zones = (ngx_http_rl_zone_t **) (asking.requests + n);
    asking.count = 0;
    asking.untracked = 0;

    for (i = 0; i < n; i++) {

        rc = ngx_http_rl_request(r, rlcf, &limits[i],
                                 &asking.requests[asking.count]);

        if (rc == NGX_OK) {
            asking.zones[asking.count++] = limits[i].shm_zone->data;

        } else if (rc == NGX_ABORT) {
            answer->outcome = NGX_HTTP_RL_ERROR;
            return NGX_OK;

        } else if (rc == NGX_ERROR) {
            return NGX_ERROR;
        }
    }

    return asking.count ? ngx_http_rl_check_zones(r, &asking, answer)
                        : NGX_DECLINED;
}


/* asks one zone after the other until one refuses */

static ngx_int_t
ngx_http_rl_check_zones(ngx_http_request_t *r, ngx_http_rl_asking_t *asking,
    ngx_http_rl_answer_t *answer)
{
    ngx_uint_t            i, n;
    ngx_http_rl_answer_t  part;

    for (i = 0; i < asking->count; i += n) {

        for (n = 1; i + n < asking->count; n++) {
            if (asking->zones[i + n] != asking->zones[i]) {
                break;
            }
        }

        part.zone = asking->zones[i];

        if (ngx_http_rl_check_zone(r, asking, i, n, &part) != RL_OK) {
            answer->outcome = NGX_HTTP_RL_ERROR;
            ngx_http_rl_give_back(asking, i);
            return NGX_OK;
        }

        if (i == 0
            || ngx_http_rl_tells_more(&part.decision, &answer->decision))
        {
            *answer = part;
        }

        if (!part.decision.allowed) {
            ngx_http_rl_give_back(asking, i);
            break;
        }
    }

    if (asking->untracked && answer->decision.allowed) {
        answer->outcome = NGX_HTTP_RL_UNTRACKED;
    }

    return NGX_OK;
}


/* one decision, of which the answer holds what tells most */

static rl_status
ngx_http_rl_check_zone(ngx_http_request_t *r, ngx_http_rl_asking_t *asking,
    ngx_uint_t first, ngx_uint_t n, ngx_http_rl_answer_t *answer)
{
    rl_status     rc;
    ngx_uint_t    i, most;
    rl_request   *requests;
    rl_service   *service;
    rl_decision   decisions[NGX_HTTP_RL_MAX_JOINT];

    requests = &asking->requests[first];
    service = answer->zone->service;

    rc = n > 1 ? rl_check_all(service, requests, n, decisions)
               : rl_check_bytes(service, requests->user, requests->user_len,
                                requests->api, requests->api_len,
                                requests->cost, decisions);

    if (rc != RL_OK) {
        ngx_http_rl_log_error(r, answer->zone, requests, n, rc);
        return rc;
    }

    most = 0;

    for (i = 1; i < n; i++) {
        if (ngx_http_rl_tells_more(&decisions[i], &decisions[most])) {
            most = i;
        }
    }

    answer->decision = decisions[most];
    answer->request = requests[most];
    answer->outcome = ngx_http_rl_outcome(&decisions[most]);

    for (i = 0; i < n; i++) {
        if (decisions[i].flags & RL_FLAG_UNTRACKED) {
            ngx_http_rl_tell_full(answer->zone, r->connection->log);
            asking->untracked = 1;

            /* what was not counted is not to be given back */
            requests[i].cost = 0;
        }
    }

    return RL_OK;
}


/*
 * A refusal before a permission, the longest before others; of permissions one
 * that a limit in shadow mode would refuse, then the one with the least left.
 */

static ngx_uint_t
ngx_http_rl_tells_more(const rl_decision *one, const rl_decision *other)
{
    if (one->allowed != other->allowed) {
        return other->allowed;
    }

    if (!one->allowed) {
        return one->retry_after_ms > other->retry_after_ms;
    }

    if ((one->flags ^ other->flags) & RL_FLAG_SHADOW) {
        return one->flags & RL_FLAG_SHADOW;
    }

    return one->remaining < other->remaining;
}


static void
ngx_http_rl_give_back(ngx_http_rl_asking_t *asking, ngx_uint_t count)
{
    ngx_uint_t   i;
    rl_request  *request;

    for (i = 0; i < count; i++) {
        request = &asking->requests[i];

        if (request->cost == 0) {
            continue;
        }

        (void) rl_refund(asking->zones[i]->service,
                         request->user, request->user_len,
                         request->api, request->api_len, request->cost);
    }
}
