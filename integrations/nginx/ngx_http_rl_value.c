
/*
 * Values of rl_limit that are more than a constant or a single variable, and
 * costs that are not known beforehand.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */


#include "ngx_http_rl_module.h"


ngx_int_t
ngx_http_rl_run(ngx_http_request_t *r, ngx_http_rl_value_t *value,
    const void **data, size_t *len)
{
    ngx_str_t  text;

    if (ngx_http_complex_value(r, &value->text, &text) != NGX_OK) {
        return NGX_ERROR;
    }

    *data = text.data;
    *len = text.len;

    return NGX_OK;
}


/* NGX_ABORT if the value is none */

ngx_int_t
ngx_http_rl_cost(ngx_http_request_t *r, ngx_http_rl_value_t *value,
    uint64_t *cost)
{
    size_t       len;
    ngx_int_t    n;
    const void  *data;

    if (ngx_http_rl_value(r, value, &data, &len) != NGX_OK) {
        return NGX_ERROR;
    }

    n = ngx_atoi((u_char *) data, len);

    if (n < 1) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "rl_limit: the cost \"%*s\" is not a number from 1",
                      len, data);
        return NGX_ABORT;
    }

    *cost = n;

    return NGX_OK;
}
