
/*
 * rl_limit: what a request asks for, and what becomes of it.
 *
 * A request is looked at once. Its limits of one zone are one decision; zones
 * are asked one after the other, and if one refuses, the others get back what
 * the request took there.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */


#include "ngx_http_rl_module.h"


/* what the limits of a location come to */

typedef struct {
    rl_request               *requests;
    ngx_http_rl_zone_t      **zones;        /* of each request */
    ngx_uint_t                count;
} ngx_http_rl_asking_t;


static ngx_int_t ngx_http_rl_ask(ngx_http_request_t *r,
    ngx_http_rl_loc_conf_t *rlcf, ngx_http_rl_answer_t *answer);
static ngx_int_t ngx_http_rl_request(ngx_http_request_t *r,
    ngx_http_rl_loc_conf_t *rlcf, ngx_http_rl_limit_t *limit,
    rl_request *request);
static ngx_int_t ngx_http_rl_value(ngx_http_request_t *r,
    ngx_http_rl_value_t *value, ngx_str_t *text);
static ngx_int_t ngx_http_rl_cost(ngx_http_request_t *r,
    ngx_http_rl_value_t *value, uint64_t *cost);
static ngx_int_t ngx_http_rl_check(ngx_http_request_t *r,
    ngx_http_rl_asking_t *asking, ngx_http_rl_answer_t *answer);
static rl_status ngx_http_rl_check_zone(ngx_http_request_t *r,
    ngx_http_rl_asking_t *asking, ngx_uint_t first, ngx_uint_t count,
    ngx_http_rl_answer_t *answer);
static ngx_http_rl_outcome_e ngx_http_rl_outcome(const rl_decision *decision);
static ngx_uint_t ngx_http_rl_tells_more(const rl_decision *one,
    const rl_decision *other);
static void ngx_http_rl_give_back(ngx_http_rl_asking_t *asking,
    ngx_uint_t count);
static void ngx_http_rl_log_error(ngx_http_request_t *r,
    ngx_http_rl_zone_t *zone, rl_request *request, ngx_uint_t count,
    rl_status rc);
static ngx_int_t ngx_http_rl_conclude(ngx_http_request_t *r,
    ngx_http_rl_loc_conf_t *rlcf, ngx_http_rl_answer_t *answer);
static void ngx_http_rl_log_refusal(ngx_http_request_t *r,
    ngx_http_rl_loc_conf_t *rlcf, ngx_http_rl_answer_t *answer);

static char *ngx_http_rl_limit_values(ngx_conf_t *cf,
    ngx_http_rl_limit_t *limit);
static ngx_int_t ngx_http_rl_compile(ngx_conf_t *cf, ngx_str_t *text,
    ngx_http_rl_value_t *value);
static ngx_uint_t ngx_http_rl_is_variable(ngx_str_t *text, ngx_str_t *name);
static char *ngx_http_rl_fix_cost(ngx_conf_t *cf, ngx_http_rl_limit_t *limit);
static ngx_http_rl_limit_t *ngx_http_rl_insert(ngx_array_t *limits,
    ngx_shm_zone_t *shm_zone, ngx_uint_t *same_zone);


ngx_int_t
ngx_http_rl_handler(ngx_http_request_t *r)
{
    ngx_int_t                   rc;
    ngx_http_rl_answer_t       *answer;
    ngx_http_rl_loc_conf_t     *rlcf;
    ngx_http_variable_value_t  *place;

    rlcf = ngx_http_get_module_loc_conf(r, ngx_http_rl_module);

    if (rlcf->limits == NULL || r != r->main) {
        return NGX_DECLINED;
    }

    place = ngx_http_rl_answer_place(r);

    if (place->valid) {
        return NGX_DECLINED;
    }

    answer = ngx_palloc(r->pool, sizeof(ngx_http_rl_answer_t));
    if (answer == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    rc = ngx_http_rl_ask(r, rlcf, answer);

    if (rc == NGX_DECLINED) {
        return NGX_DECLINED;
    }

    if (rc == NGX_ERROR) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    place->data = (u_char *) answer;
    place->len = sizeof(ngx_http_rl_answer_t);
    place->valid = 1;

    return ngx_http_rl_conclude(r, rlcf, answer);
}


/* NGX_DECLINED if no limit applies; of a single limit, nothing is allocated */

static ngx_int_t
ngx_http_rl_ask(ngx_http_request_t *r, ngx_http_rl_loc_conf_t *rlcf,
    ngx_http_rl_answer_t *answer)
{
    ngx_int_t              rc;
    ngx_uint_t             i, n;
    ngx_http_rl_zone_t    *zone;
    ngx_http_rl_limit_t   *limits;
    ngx_http_rl_asking_t   asking;

    limits = rlcf->limits->elts;
    n = rlcf->limits->nelts;

    asking.requests = &answer->request;
    asking.zones = &zone;
    asking.count = 0;

    if (n > 1) {
        asking.requests = ngx_palloc(r->pool, n * (sizeof(rl_request)
                                              + sizeof(ngx_http_rl_zone_t *)));
        if (asking.requests == NULL) {
            return NGX_ERROR;
        }

        asking.zones = (ngx_http_rl_zone_t **) (asking.requests + n);
    }

    for (i = 0; i < n; i++) {
        asking.zones[asking.count] = limits[i].shm_zone->data;

        rc = ngx_http_rl_request(r, rlcf, &limits[i],
                                 &asking.requests[asking.count]);

        if (rc == NGX_OK) {
            asking.count++;

        } else if (rc == NGX_ABORT) {
            answer->outcome = NGX_HTTP_RL_ERROR;
            return NGX_OK;

        } else if (rc == NGX_ERROR) {
            return NGX_ERROR;
        }
    }

    return asking.count ? ngx_http_rl_check(r, &asking, answer) : NGX_DECLINED;
}


/* NGX_DECLINED if the limit does not apply, NGX_ABORT if the cost is none */

static ngx_int_t
ngx_http_rl_request(ngx_http_request_t *r, ngx_http_rl_loc_conf_t *rlcf,
    ngx_http_rl_limit_t *limit, rl_request *request)
{
    ngx_str_t  user, api;

    if (ngx_http_rl_value(r, &limit->user, &user) != NGX_OK) {
        return NGX_ERROR;
    }

    if (user.len == 0 && rlcf->skip_empty) {
        return NGX_DECLINED;
    }

    if (ngx_http_rl_value(r, &limit->api, &api) != NGX_OK) {
        return NGX_ERROR;
    }

    request->user = user.data;
    request->user_len = user.len;
    request->api = api.data;
    request->api_len = api.len;
    request->cost = limit->fixed_cost;

    return limit->fixed_cost ? NGX_OK
                             : ngx_http_rl_cost(r, &limit->cost,
                                                &request->cost);
}


static ngx_int_t
ngx_http_rl_value(ngx_http_request_t *r, ngx_http_rl_value_t *value,
    ngx_str_t *text)
{
    ngx_http_variable_value_t  *vv;

    if (value->variable == NGX_ERROR) {
        return ngx_http_complex_value(r, &value->text, text);
    }

    vv = ngx_http_get_flushed_variable(r, value->variable);

    if (vv == NULL || vv->not_found) {
        ngx_str_null(text);
        return NGX_OK;
    }

    text->len = vv->len;
    text->data = vv->data;

    return NGX_OK;
}


static ngx_int_t
ngx_http_rl_cost(ngx_http_request_t *r, ngx_http_rl_value_t *value,
    uint64_t *cost)
{
    ngx_int_t  n;
    ngx_str_t  text;

    if (ngx_http_rl_value(r, value, &text) != NGX_OK) {
        return NGX_ERROR;
    }

    n = ngx_atoi(text.data, text.len);

    if (n < 1) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "rl_limit: the cost \"%V\" is not a number from 1",
                      &text);
        return NGX_ABORT;
    }

    *cost = n;

    return NGX_OK;
}


/* asks one zone after the other until one refuses */

static ngx_int_t
ngx_http_rl_check(ngx_http_request_t *r, ngx_http_rl_asking_t *asking,
    ngx_http_rl_answer_t *answer)
{
    rl_status             rc;
    ngx_uint_t            first, end;
    ngx_http_rl_answer_t  part;

    for (first = 0; first < asking->count; first = end) {

        end = first + 1;

        while (end < asking->count
               && asking->zones[end] == asking->zones[first])
        {
            end++;
        }

        if (first == 0) {
            rc = ngx_http_rl_check_zone(r, asking, first, end - first, answer);

        } else {
            rc = ngx_http_rl_check_zone(r, asking, first, end - first, &part);

            if (ngx_http_rl_tells_more(&part.decision, &answer->decision)) {
                *answer = part;
            }
        }

        if (rc != RL_OK) {
            answer->outcome = NGX_HTTP_RL_ERROR;
            ngx_http_rl_give_back(asking, first);
            return NGX_OK;
        }

        if (!answer->decision.allowed) {
            ngx_http_rl_give_back(asking, first);
            break;
        }
    }

    answer->outcome = ngx_http_rl_outcome(&answer->decision);

    return NGX_OK;
}


static ngx_http_rl_outcome_e
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


/* one decision, of which the answer holds what tells most */

static rl_status
ngx_http_rl_check_zone(ngx_http_request_t *r, ngx_http_rl_asking_t *asking,
    ngx_uint_t first, ngx_uint_t count, ngx_http_rl_answer_t *answer)
{
    rl_status            rc;
    ngx_uint_t           i, most;
    rl_request          *requests;
    rl_decision          decisions[NGX_HTTP_RL_MAX_JOINT];
    ngx_http_rl_zone_t  *zone;

    requests = &asking->requests[first];
    zone = asking->zones[first];

    most = 0;

    if (count == 1) {
        rc = rl_check_bytes(zone->service, requests->user, requests->user_len,
                            requests->api, requests->api_len, requests->cost,
                            &answer->decision);

    } else {
        rc = rl_check_all(zone->service, requests, count, decisions);

        for (i = 1; i < count; i++) {
            if (ngx_http_rl_tells_more(&decisions[i], &decisions[most])) {
                most = i;
            }
        }

        answer->decision = decisions[most];
    }

    answer->request = requests[most];
    answer->zone = zone;

    if (rc != RL_OK) {
        ngx_http_rl_log_error(r, zone, requests, count, rc);
    }

    return rc;
}


/* a refusal before a permission, then the longest, and the least left */

static ngx_uint_t
ngx_http_rl_tells_more(const rl_decision *one, const rl_decision *other)
{
    if (one->allowed != other->allowed) {
        return other->allowed;
    }

    return one->allowed ? one->remaining < other->remaining
                        : one->retry_after_ms > other->retry_after_ms;
}


static void
ngx_http_rl_give_back(ngx_http_rl_asking_t *asking, ngx_uint_t count)
{
    ngx_uint_t   i;
    rl_request  *request;

    for (i = 0; i < count; i++) {
        request = &asking->requests[i];

        (void) rl_refund(asking->zones[i]->service,
                         request->user, request->user_len,
                         request->api, request->api_len, request->cost);
    }
}


static void
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


static ngx_int_t
ngx_http_rl_conclude(ngx_http_request_t *r, ngx_http_rl_loc_conf_t *rlcf,
    ngx_http_rl_answer_t *answer)
{
    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "rl_limit: outcome %d, allowed %d",
                   (int) answer->outcome, (int) answer->decision.allowed);

    if (answer->outcome == NGX_HTTP_RL_ERROR) {
        return rlcf->deny_on_error && !rlcf->dry_run ? (ngx_int_t) rlcf->status
                                                     : NGX_DECLINED;
    }

    if (answer->outcome == NGX_HTTP_RL_UNTRACKED) {
        ngx_http_rl_tell_full(answer->zone, r->connection->log);

    } else if (answer->outcome != NGX_HTTP_RL_PASSED) {
        ngx_http_rl_log_refusal(r, rlcf, answer);
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
ngx_http_rl_log_refusal(ngx_http_request_t *r, ngx_http_rl_loc_conf_t *rlcf,
    ngx_http_rl_answer_t *answer)
{
    rl_decision  *decision = &answer->decision;

    if (decision->allowed) {
        ngx_log_error(rlcf->log_level, r->connection->log, 0,
                      "limiting requests, shadow, zone \"%V\"",
                      &answer->zone->name);

    } else if (decision->retry_after_ms == RL_NEVER) {
        ngx_log_error(rlcf->log_level, r->connection->log, 0,
                      "limiting requests%s, zone \"%V\", limit \"%s\", "
                      "can never pass", rlcf->dry_run ? ", dry run" : "",
                      &answer->zone->name, decision->name);

    } else {
        ngx_log_error(rlcf->log_level, r->connection->log, 0,
                      "limiting requests%s, zone \"%V\", limit \"%s\", "
                      "retry after %uLms", rlcf->dry_run ? ", dry run" : "",
                      &answer->zone->name, decision->name,
                      decision->retry_after_ms);
    }
}


char *
ngx_http_rl_limit(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_rl_loc_conf_t  *rlcf = conf;

    char                 *rv;
    ngx_str_t            *value;
    ngx_uint_t            same_zone;
    ngx_shm_zone_t       *shm_zone;
    ngx_http_rl_limit_t   limit, *place;

    value = cf->args->elts;

    ngx_memzero(&limit, sizeof(ngx_http_rl_limit_t));

    rv = ngx_http_rl_limit_values(cf, &limit);
    if (rv != NGX_CONF_OK) {
        return rv;
    }

    shm_zone = ngx_http_rl_name_zone(cf, &value[1]);
    if (shm_zone == NULL) {
        return NGX_CONF_ERROR;
    }

    limit.shm_zone = shm_zone;

    if (rlcf->limits == NULL) {
        rlcf->limits = ngx_array_create(cf->pool, 2,
                                        sizeof(ngx_http_rl_limit_t));
        if (rlcf->limits == NULL) {
            return NGX_CONF_ERROR;
        }
    }

    place = ngx_http_rl_insert(rlcf->limits, shm_zone, &same_zone);
    if (place == NULL) {
        return NGX_CONF_ERROR;
    }

    if (same_zone == NGX_HTTP_RL_MAX_JOINT) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "more than %d rl_limit of the zone \"%V\"",
                           NGX_HTTP_RL_MAX_JOINT, &value[1]);
        return NGX_CONF_ERROR;
    }

    *place = limit;

    return NGX_CONF_OK;
}


/* room for one more, behind those of the same zone */

static ngx_http_rl_limit_t *
ngx_http_rl_insert(ngx_array_t *limits, ngx_shm_zone_t *shm_zone,
    ngx_uint_t *same_zone)
{
    ngx_uint_t            i, at;
    ngx_http_rl_limit_t  *limit;

    if (ngx_array_push(limits) == NULL) {
        return NULL;
    }

    limit = limits->elts;
    at = limits->nelts - 1;
    *same_zone = 0;

    for (i = 0; i < limits->nelts - 1; i++) {
        if (limit[i].shm_zone == shm_zone) {
            at = i + 1;
            (*same_zone)++;
        }
    }

    ngx_memmove(&limit[at + 1], &limit[at],
                (limits->nelts - 1 - at) * sizeof(ngx_http_rl_limit_t));

    return &limit[at];
}


static char *
ngx_http_rl_limit_values(ngx_conf_t *cf, ngx_http_rl_limit_t *limit)
{
    ngx_str_t            *arg, text;
    ngx_uint_t            i, n;
    ngx_http_rl_value_t  *values[] = { &limit->user, &limit->api,
                                       &limit->cost };

    static ngx_str_t  names[] = { ngx_string("user="), ngx_string("api="),
                                  ngx_string("cost=") };

    for (i = 2; i < cf->args->nelts; i++) {

        arg = (ngx_str_t *) cf->args->elts + i;

        for (n = 0; n < 3; n++) {
            if (ngx_strncmp(arg->data, names[n].data, names[n].len) == 0) {
                break;
            }
        }

        if (n == 3 || values[n]->given) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "%s parameter \"%V\", expected user=, api= and "
                               "perhaps cost=",
                               n == 3 ? "unknown" : "duplicate", arg);
            return NGX_CONF_ERROR;
        }

        text.data = arg->data + names[n].len;
        text.len = arg->len - names[n].len;

        if (ngx_http_rl_compile(cf, &text, values[n]) != NGX_OK) {
            return NGX_CONF_ERROR;
        }
    }

    if (!limit->user.given) {
        return "has no user=";
    }

    if (!limit->api.given) {
        return "has no api=";
    }

    return ngx_http_rl_fix_cost(cf, limit);
}


static ngx_int_t
ngx_http_rl_compile(ngx_conf_t *cf, ngx_str_t *text,
    ngx_http_rl_value_t *value)
{
    ngx_str_t                         name;
    ngx_http_compile_complex_value_t  ccv;

    value->given = 1;

    if (ngx_http_rl_is_variable(text, &name)) {
        value->variable = ngx_http_get_variable_index(cf, &name);

        return value->variable == NGX_ERROR ? NGX_ERROR : NGX_OK;
    }

    value->variable = NGX_ERROR;

    ngx_memzero(&ccv, sizeof(ngx_http_compile_complex_value_t));

    ccv.cf = cf;
    ccv.value = text;
    ccv.complex_value = &value->text;

    return ngx_http_compile_complex_value(&ccv);
}


/* $name or ${name}, and nothing else; what $1 is, a script alone knows */

static ngx_uint_t
ngx_http_rl_is_variable(ngx_str_t *text, ngx_str_t *name)
{
    size_t  i;

    *name = *text;

    if (name->len < 2 || name->data[0] != '$') {
        return 0;
    }

    name->data++;
    name->len--;

    if (name->data[0] == '{' && name->data[name->len - 1] == '}') {
        name->data++;
        name->len -= 2;
    }

    for (i = 0; i < name->len; i++) {
        if (!isalnum(name->data[i]) && name->data[i] != '_') {
            return 0;
        }
    }

    return name->len && !isdigit(name->data[0]);
}


static char *
ngx_http_rl_fix_cost(ngx_conf_t *cf, ngx_http_rl_limit_t *limit)
{
    ngx_int_t   n;
    ngx_str_t  *text;

    if (!limit->cost.given) {
        limit->fixed_cost = 1;
        return NGX_CONF_OK;
    }

    if (limit->cost.variable != NGX_ERROR || limit->cost.text.lengths) {
        return NGX_CONF_OK;
    }

    text = &limit->cost.text.value;
    n = ngx_atoi(text->data, text->len);

    if (n < 1) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "the cost \"%V\" is not a number from 1", text);
        return NGX_CONF_ERROR;
    }

    limit->fixed_cost = n;

    return NGX_CONF_OK;
}
