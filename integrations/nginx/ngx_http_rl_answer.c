
/*
 * The answer that a request has got, in variables and in fields of the
 * response.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */


#include "ngx_http_rl_module.h"


static ngx_int_t ngx_http_rl_no_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_rl_status_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_rl_number_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_rl_rule_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static void ngx_http_rl_join_lines(u_char *text);
static void ngx_http_rl_set(ngx_http_variable_value_t *v, u_char *data,
    size_t len);


/* a line of the rules as rl_explain() writes it: names in it may be quoted */

#define NGX_HTTP_RL_RULE      1024
#define NGX_HTTP_RL_MAX_RULE  (1024 * 1024)

/* rl_decision_headers() never needs more */

#define NGX_HTTP_RL_FIELDS    192


/* no configuration can spell this name */

static ngx_str_t  ngx_http_rl_answer_name = ngx_string("rl answer");


static ngx_http_variable_t  ngx_http_rl_variables[] = {

    { ngx_string("rl_status"), NULL,
      ngx_http_rl_status_variable, 0,
      NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("rl_limit"), NULL,
      ngx_http_rl_number_variable, offsetof(rl_decision, limit),
      NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("rl_remaining"), NULL,
      ngx_http_rl_number_variable, offsetof(rl_decision, remaining),
      NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("rl_retry_after"), NULL,
      ngx_http_rl_number_variable, offsetof(rl_decision, retry_after_ms),
      NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("rl_rule"), NULL,
      ngx_http_rl_rule_variable, 0,
      NGX_HTTP_VAR_NOCACHEABLE, 0 },

      ngx_http_null_variable
};


static ngx_str_t  ngx_http_rl_outcomes[] = {
    ngx_string("PASSED"),
    ngx_string("REJECTED"),
    ngx_string("REJECTED_DRY_RUN"),
    ngx_string("UNTRACKED"),
    ngx_string("ERROR")
};


ngx_int_t
ngx_http_rl_add_variables(ngx_conf_t *cf)
{
    ngx_http_variable_t      *var, *v;
    ngx_http_rl_main_conf_t  *rmcf;

    for (v = ngx_http_rl_variables; v->name.len; v++) {
        var = ngx_http_add_variable(cf, &v->name, v->flags);
        if (var == NULL) {
            return NGX_ERROR;
        }

        var->get_handler = v->get_handler;
        var->data = v->data;
    }

    var = ngx_http_add_variable(cf, &ngx_http_rl_answer_name,
                                NGX_HTTP_VAR_NOHASH);
    if (var == NULL) {
        return NGX_ERROR;
    }

    var->get_handler = ngx_http_rl_no_variable;

    rmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_rl_module);

    rmcf->answer = ngx_http_get_variable_index(cf, &ngx_http_rl_answer_name);

    return rmcf->answer == NGX_ERROR ? NGX_ERROR : NGX_OK;
}


static ngx_int_t
ngx_http_rl_no_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    uintptr_t data)
{
    v->not_found = 1;

    return NGX_OK;
}


static ngx_int_t
ngx_http_rl_status_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_str_t             *name;
    ngx_http_rl_answer_t  *answer;

    answer = ngx_http_rl_answer(r);

    if (answer == NULL) {
        v->not_found = 1;
        return NGX_OK;
    }

    name = &ngx_http_rl_outcomes[answer->outcome];

    ngx_http_rl_set(v, name->data, name->len);

    return NGX_OK;
}


/* a rule without limits has no numbers */

static ngx_int_t
ngx_http_rl_number_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    u_char                *p;
    uint64_t               number;
    ngx_http_rl_answer_t  *answer;

    answer = ngx_http_rl_answer(r);

    if (answer == NULL || answer->outcome == NGX_HTTP_RL_ERROR) {
        v->not_found = 1;
        return NGX_OK;
    }

    number = *(uint64_t *) ((u_char *) &answer->decision + data);

    if (data == offsetof(rl_decision, retry_after_ms)) {

        if (number == RL_NEVER) {
            ngx_http_rl_set(v, (u_char *) "never", sizeof("never") - 1);
            return NGX_OK;
        }

    } else if (answer->decision.limit_count == 0) {
        v->not_found = 1;
        return NGX_OK;
    }

    p = ngx_pnalloc(r->pool, NGX_INT64_LEN);
    if (p == NULL) {
        return NGX_ERROR;
    }

    ngx_http_rl_set(v, p, ngx_sprintf(p, "%uL", number) - p);

    return NGX_OK;
}


static ngx_int_t
ngx_http_rl_rule_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    u_char                *p;
    size_t                 size;
    rl_status              rc;
    ngx_http_rl_answer_t  *answer;

    answer = ngx_http_rl_answer(r);

    if (answer == NULL || answer->outcome == NGX_HTTP_RL_ERROR) {
        v->not_found = 1;
        return NGX_OK;
    }

    for (size = NGX_HTTP_RL_RULE; size <= NGX_HTTP_RL_MAX_RULE; size *= 4) {

        p = ngx_pnalloc(r->pool, size);
        if (p == NULL) {
            return NGX_ERROR;
        }

        rc = rl_explain(answer->zone->service,
                        answer->request.user, answer->request.user_len,
                        answer->request.api, answer->request.api_len,
                        (char *) p, size);

        if (rc == RL_OK) {
            ngx_http_rl_set(v, p, ngx_strlen(p));
            ngx_http_rl_join_lines(p);
            return NGX_OK;
        }

        if (rc != RL_ERR_MEMORY) {
            break;
        }
    }

    v->not_found = 1;

    return NGX_OK;
}


/* several rules are several lines; a field of a response must be one */

static void
ngx_http_rl_join_lines(u_char *text)
{
    for ( /* void */ ; *text; text++) {
        if (*text == LF) {
            *text = ';';
        }
    }
}


static void
ngx_http_rl_set(ngx_http_variable_value_t *v, u_char *data, size_t len)
{
    v->data = data;
    v->len = len;
    v->valid = 1;
    v->no_cacheable = 0;
    v->not_found = 0;
}


/* each line of what librl writes becomes one field */

ngx_int_t
ngx_http_rl_add_fields(ngx_http_request_t *r, ngx_http_rl_answer_t *answer,
    uint32_t style)
{
    size_t            len;
    u_char           *text, *end, *colon, *eol;
    ngx_table_elt_t  *h;

    text = ngx_pnalloc(r->pool, NGX_HTTP_RL_FIELDS);
    if (text == NULL) {
        return NGX_ERROR;
    }

    len = rl_decision_headers(&answer->decision, style, (char *) text,
                              NGX_HTTP_RL_FIELDS);

    for (end = text + len; text < end; text = eol + 2) {

        colon = memchr(text, ':', end - text);
        eol = memchr(text, CR, end - text);

        h = ngx_list_push(&r->headers_out.headers);
        if (h == NULL) {
            return NGX_ERROR;
        }

        h->hash = 1;
        h->key.data = text;
        h->key.len = colon - text;
        h->value.data = colon + 2;
        h->value.len = eol - h->value.data;
        h->lowcase_key = NULL;
#if (nginx_version >= 1023000)
        h->next = NULL;
#endif
    }

    return NGX_OK;
}
