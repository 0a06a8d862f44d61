
/*
 * rl_status_page: the statistics of a zone, as text for Prometheus.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */


#include "ngx_http_rl_module.h"


static ngx_int_t ngx_http_rl_page_handler(ngx_http_request_t *r);
static ngx_buf_t *ngx_http_rl_page_text(ngx_http_request_t *r,
    rl_service *service);


/* always enough, says rl_stats_prometheus() */

#define NGX_HTTP_RL_PAGE  4096


static ngx_int_t
ngx_http_rl_page_handler(ngx_http_request_t *r)
{
    ngx_int_t                rc;
    ngx_buf_t               *b;
    ngx_chain_t              out;
    ngx_http_rl_zone_t      *zone;
    ngx_http_rl_loc_conf_t  *rlcf;

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))) {
        return NGX_HTTP_NOT_ALLOWED;
    }

    rc = ngx_http_discard_request_body(r);

    if (rc != NGX_OK) {
        return rc;
    }

    rlcf = ngx_http_get_module_loc_conf(r, ngx_http_rl_module);
    zone = rlcf->page->data;

    b = ngx_http_rl_page_text(r, zone->service);
    if (b == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    r->headers_out.status = NGX_HTTP_OK;
    r->headers_out.content_length_n = b->last - b->pos;

    ngx_str_set(&r->headers_out.content_type, "text/plain; version=0.0.4");
    r->headers_out.content_type_len = r->headers_out.content_type.len;

    rc = ngx_http_send_header(r);

    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        return rc;
    }

    out.buf = b;
    out.next = NULL;

    return ngx_http_output_filter(r, &out);
}


static ngx_buf_t *
ngx_http_rl_page_text(ngx_http_request_t *r, rl_service *service)
{
    size_t      needed;
    ngx_buf_t  *b;

    b = ngx_create_temp_buf(r->pool, NGX_HTTP_RL_PAGE);
    if (b == NULL) {
        return NULL;
    }

    if (rl_stats_prometheus(service, (char *) b->pos, NGX_HTTP_RL_PAGE,
                            &needed)
        != RL_OK)
    {
        return NULL;
    }

    b->last = b->pos + needed - 1;
    b->last_buf = (r == r->main);
    b->last_in_chain = 1;

    return b;
}


char *
ngx_http_rl_page(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_rl_loc_conf_t  *rlcf = conf;

    ngx_str_t                 *value;
    ngx_http_core_loc_conf_t  *clcf;

    if (rlcf->page) {
        return "is duplicate";
    }

    value = cf->args->elts;

    rlcf->page = ngx_http_rl_name_zone(cf, &value[1]);
    if (rlcf->page == NULL) {
        return NGX_CONF_ERROR;
    }

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
    clcf->handler = ngx_http_rl_page_handler;

    return NGX_CONF_OK;
}
