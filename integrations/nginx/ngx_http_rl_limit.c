
/*
 * rl_limit, as the configuration has it.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */


#include "ngx_http_rl_module.h"


static char *ngx_http_rl_limit_values(ngx_conf_t *cf,
    ngx_http_rl_limit_t *limit);
static ngx_int_t ngx_http_rl_compile(ngx_conf_t *cf, ngx_str_t *text,
    ngx_http_rl_value_t *value);
static ngx_uint_t ngx_http_rl_is_variable(ngx_str_t *text, ngx_str_t *name);
static char *ngx_http_rl_fix_cost(ngx_conf_t *cf, ngx_http_rl_limit_t *limit);
static ngx_http_rl_limit_t *ngx_http_rl_insert(ngx_array_t *limits,
    ngx_shm_zone_t *shm_zone, ngx_uint_t *same_zone);


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
