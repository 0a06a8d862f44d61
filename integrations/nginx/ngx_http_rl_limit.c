
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


/* what several limits of a location ask for, those of a zone side by side */

typedef struct {
    rl_request                *requests;
    ngx_http_rl_zone_t       **zones;       /* of each request */
    ngx_uint_t                 count;
} ngx_http_rl_asking_t;


static ngx_int_t ngx_http_rl_ask(ngx_http_request_t *r,
    ngx_http_rl_loc_conf_t *rlcf, ngx_http_rl_answer_t *answer);
static ngx_int_t ngx_http_rl_ask_several(ngx_http_request_t *r,
    ngx_http_rl_loc_conf_t *rlcf, ngx_http_rl_answer_t *answer);
static ngx_int_t ngx_http_rl_cost(ngx_http_request_t *r,
    ngx_http_rl_value_t *value, uint64_t *cost);
static rl_status ngx_http_rl_check(ngx_http_request_t *r,
    ngx_http_rl_zone_t *zone, rl_request *request,
    ngx_http_rl_answer_t *answer);
static rl_status ngx_http_rl_check_joint(ngx_http_request_t *r,
    ngx_http_rl_zone_t *zone, rl_request *requests, ngx_uint_t count,
    ngx_http_rl_answer_t *answer);
static ngx_int_t ngx_http_rl_check_zones(ngx_http_request_t *r,
    ngx_http_rl_asking_t *asking, ngx_http_rl_answer_t *answer);
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
static void ngx_http_rl_log(ngx_http_request_t *r,
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


/* the value of a text; a constant or a single variable is just looked up */

static ngx_inline ngx_int_t
ngx_http_rl_value(ngx_http_request_t *r, ngx_http_rl_value_t *value,
    ngx_str_t *text)
{
    ngx_http_variable_value_t  *vv;

    if (value->variable == NGX_ERROR) {

        if (value->text.lengths) {
            return ngx_http_complex_value(r, &value->text, text);
        }

        *text = value->text.value;
        return NGX_OK;
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


/* NGX_DECLINED if the limit does not apply, NGX_ABORT if the cost is none */

static ngx_inline ngx_int_t
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


/* NGX_DECLINED if no limit applies */

static ngx_int_t
ngx_http_rl_ask(ngx_http_request_t *r, ngx_http_rl_loc_conf_t *rlcf,
    ngx_http_rl_answer_t *answer)
{
    ngx_int_t             rc;
    ngx_http_rl_limit_t  *limit;

    if (rlcf->limits->nelts > 1) {
        return ngx_http_rl_ask_several(r, rlcf, answer);
    }

    limit = rlcf->limits->elts;

    rc = ngx_http_rl_request(r, rlcf, limit, &answer->request);

    if (rc == NGX_OK
        && ngx_http_rl_check(r, limit->shm_zone->data, &answer->request,
                             answer)
           == RL_OK)
    {
        answer->outcome = ngx_http_rl_outcome(&answer->decision);
        return NGX_OK;
    }

    if (rc == NGX_ABORT || rc == NGX_OK) {
        answer->outcome = NGX_HTTP_RL_ERROR;
        return NGX_OK;
    }

    return rc;
}


static ngx_int_t
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


static rl_status
ngx_http_rl_check(ngx_http_request_t *r, ngx_http_rl_zone_t *zone,
    rl_request *request, ngx_http_rl_answer_t *answer)
{
    rl_status  rc;

    answer->zone = zone;

    rc = rl_check_bytes(zone->service, request->user, request->user_len,
                        request->api, request->api_len, request->cost,
                        &answer->decision);

    if (rc != RL_OK) {
        ngx_http_rl_log_error(r, zone, request, 1, rc);
    }

    return rc;
}


/* one decision, of which the answer holds what tells most */

static rl_status
ngx_http_rl_check_joint(ngx_http_request_t *r, ngx_http_rl_zone_t *zone,
    rl_request *requests, ngx_uint_t count, ngx_http_rl_answer_t *answer)
{
    rl_status    rc;
    ngx_uint_t   i, most;
    rl_decision  decisions[NGX_HTTP_RL_MAX_JOINT];

    rc = rl_check_all(zone->service, requests, count, decisions);

    if (rc != RL_OK) {
        ngx_http_rl_log_error(r, zone, requests, count, rc);
        return rc;
    }

    most = 0;

    for (i = 1; i < count; i++) {
        if (ngx_http_rl_tells_more(&decisions[i], &decisions[most])) {
            most = i;
        }
    }

    answer->decision = decisions[most];
    answer->request = requests[most];
    answer->zone = zone;

    return RL_OK;
}


/* asks one zone after the other until one refuses */

static ngx_int_t
ngx_http_rl_check_zones(ngx_http_request_t *r, ngx_http_rl_asking_t *asking,
    ngx_http_rl_answer_t *answer)
{
    rl_status             rc;
    ngx_uint_t            i, n;
    ngx_http_rl_answer_t  part;

    for (i = 0; i < asking->count; i += n) {

        for (n = 1; i + n < asking->count; n++) {
            if (asking->zones[i + n] != asking->zones[i]) {
                break;
            }
        }

        rc = n == 1 ? ngx_http_rl_check(r, asking->zones[i],
                                        &asking->requests[i], &part)
                    : ngx_http_rl_check_joint(r, asking->zones[i],
                                              &asking->requests[i], n, &part);

        if (rc != RL_OK) {
            answer->outcome = NGX_HTTP_RL_ERROR;
            ngx_http_rl_give_back(asking, i);
            return NGX_OK;
        }

        if (n == 1) {
            part.request = asking->requests[i];
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

    answer->outcome = ngx_http_rl_outcome(&answer->decision);

    return NGX_OK;
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
    u_char       *p, retry[sizeof("retry after ms") + NGX_INT64_LEN];
    rl_decision  *decision = &answer->decision;

    if (answer->outcome == NGX_HTTP_RL_UNTRACKED) {
        ngx_http_rl_tell_full(answer->zone, r->connection->log);
        return;
    }

    if (decision->allowed) {
        ngx_log_error(rlcf->log_level, r->connection->log, 0,
                      "limiting requests, shadow, zone \"%V\"",
                      &answer->zone->name);
        return;
    }

    p = decision->retry_after_ms == RL_NEVER
        ? ngx_cpymem(retry, "can never pass", sizeof("can never pass") - 1)
        : ngx_sprintf(retry, "retry after %uLms", decision->retry_after_ms);

    ngx_log_error(rlcf->log_level, r->connection->log, 0,
                  "limiting requests%s, zone \"%V\", limit \"%s\", %*s",
                  rlcf->dry_run ? ", dry run" : "", &answer->zone->name,
                  decision->name, p - retry, retry);
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
