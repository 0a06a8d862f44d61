
/*
 * Directives and their inheritance, and what happens when nginx starts.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */


#include "ngx_http_rl_module.h"


static void *ngx_http_rl_create_main_conf(ngx_conf_t *cf);
static void *ngx_http_rl_create_loc_conf(ngx_conf_t *cf);
static char *ngx_http_rl_merge_loc_conf(ngx_conf_t *cf, void *parent,
    void *child);
static ngx_int_t ngx_http_rl_init(ngx_conf_t *cf);


#define NGX_HTTP_RL_ANYWHERE                                                  \
    NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF


static ngx_conf_enum_t  ngx_http_rl_log_levels[] = {
    { ngx_string("info"), NGX_LOG_INFO },
    { ngx_string("notice"), NGX_LOG_NOTICE },
    { ngx_string("warn"), NGX_LOG_WARN },
    { ngx_string("error"), NGX_LOG_ERR },
    { ngx_null_string, 0 }
};


static ngx_conf_enum_t  ngx_http_rl_headers[] = {
    { ngx_string("off"), NGX_HTTP_RL_NO_HEADERS },
    { ngx_string("draft"), RL_HEADERS_DRAFT },
    { ngx_string("legacy"), RL_HEADERS_LEGACY },
    { ngx_null_string, 0 }
};


static ngx_conf_enum_t  ngx_http_rl_on_error[] = {
    { ngx_string("allow"), 0 },
    { ngx_string("deny"), 1 },
    { ngx_null_string, 0 }
};


static ngx_conf_num_bounds_t  ngx_http_rl_status_bounds = {
    ngx_conf_check_num_bounds, 400, 599
};


static ngx_command_t  ngx_http_rl_commands[] = {

    { ngx_string("rl_zone"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE3,
      ngx_http_rl_zone,
      0,
      0,
      NULL },

    { ngx_string("rl_limit"),
      NGX_HTTP_RL_ANYWHERE|NGX_CONF_TAKE3|NGX_CONF_TAKE4,
      ngx_http_rl_limit,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("rl_skip_empty"),
      NGX_HTTP_RL_ANYWHERE|NGX_CONF_FLAG,
      ngx_conf_set_flag_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_rl_loc_conf_t, skip_empty),
      NULL },

    { ngx_string("rl_status"),
      NGX_HTTP_RL_ANYWHERE|NGX_CONF_TAKE1,
      ngx_conf_set_num_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_rl_loc_conf_t, status),
      &ngx_http_rl_status_bounds },

    { ngx_string("rl_log_level"),
      NGX_HTTP_RL_ANYWHERE|NGX_CONF_TAKE1,
      ngx_conf_set_enum_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_rl_loc_conf_t, log_level),
      &ngx_http_rl_log_levels },

    { ngx_string("rl_dry_run"),
      NGX_HTTP_RL_ANYWHERE|NGX_CONF_FLAG,
      ngx_conf_set_flag_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_rl_loc_conf_t, dry_run),
      NULL },

    { ngx_string("rl_headers"),
      NGX_HTTP_RL_ANYWHERE|NGX_CONF_TAKE1,
      ngx_conf_set_enum_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_rl_loc_conf_t, headers),
      &ngx_http_rl_headers },

    { ngx_string("rl_on_error"),
      NGX_HTTP_RL_ANYWHERE|NGX_CONF_TAKE1,
      ngx_conf_set_enum_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_rl_loc_conf_t, deny_on_error),
      &ngx_http_rl_on_error },

    { ngx_string("rl_status_page"),
      NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_http_rl_page,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

      ngx_null_command
};


static ngx_http_module_t  ngx_http_rl_module_ctx = {
    ngx_http_rl_add_variables,             /* preconfiguration */
    ngx_http_rl_init,                      /* postconfiguration */

    ngx_http_rl_create_main_conf,          /* create main configuration */
    NULL,                                  /* init main configuration */

    NULL,                                  /* create server configuration */
    NULL,                                  /* merge server configuration */

    ngx_http_rl_create_loc_conf,           /* create location configuration */
    ngx_http_rl_merge_loc_conf             /* merge location configuration */
};


ngx_module_t  ngx_http_rl_module = {
    NGX_MODULE_V1,
    &ngx_http_rl_module_ctx,               /* module context */
    ngx_http_rl_commands,                  /* module directives */
    NGX_HTTP_MODULE,                       /* module type */
    NULL,                                  /* init master */
    NULL,                                  /* init module */
    NULL,                                  /* init process */
    NULL,                                  /* init thread */
    NULL,                                  /* exit thread */
    NULL,                                  /* exit process */
    NULL,                                  /* exit master */
    NGX_MODULE_V1_PADDING
};


static void *
ngx_http_rl_create_main_conf(ngx_conf_t *cf)
{
    ngx_http_rl_main_conf_t  *rmcf;

    rmcf = ngx_pcalloc(cf->pool, sizeof(ngx_http_rl_main_conf_t));
    if (rmcf == NULL) {
        return NULL;
    }

    if (ngx_array_init(&rmcf->namings, cf->pool, 4,
                       sizeof(ngx_http_rl_naming_t))
        != NGX_OK)
    {
        return NULL;
    }

    return rmcf;
}


static void *
ngx_http_rl_create_loc_conf(ngx_conf_t *cf)
{
    ngx_http_rl_loc_conf_t  *rlcf;

    rlcf = ngx_pcalloc(cf->pool, sizeof(ngx_http_rl_loc_conf_t));
    if (rlcf == NULL) {
        return NULL;
    }

    /*
     * set by ngx_pcalloc():
     *
     *     rlcf->limits = NULL;
     *     rlcf->page = NULL;
     */

    rlcf->skip_empty = NGX_CONF_UNSET;
    rlcf->dry_run = NGX_CONF_UNSET;
    rlcf->deny_on_error = NGX_CONF_UNSET_UINT;
    rlcf->status = NGX_CONF_UNSET_UINT;
    rlcf->log_level = NGX_CONF_UNSET_UINT;
    rlcf->headers = NGX_CONF_UNSET_UINT;

    return rlcf;
}


static char *
ngx_http_rl_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child)
{
    ngx_http_rl_loc_conf_t  *prev = parent;
    ngx_http_rl_loc_conf_t  *conf = child;

    ngx_http_rl_main_conf_t  *rmcf;

    rmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_rl_module);

    conf->answer = rmcf->answer;

    if (conf->limits == NULL) {
        conf->limits = prev->limits;
    }

    /* an "if" in a location of the page has its handler, too */

    if (conf->page == NULL) {
        conf->page = prev->page;
    }

    ngx_conf_merge_value(conf->skip_empty, prev->skip_empty, 0);
    ngx_conf_merge_value(conf->dry_run, prev->dry_run, 0);
    ngx_conf_merge_uint_value(conf->deny_on_error, prev->deny_on_error, 1);
    ngx_conf_merge_uint_value(conf->status, prev->status,
                              NGX_HTTP_TOO_MANY_REQUESTS);
    ngx_conf_merge_uint_value(conf->log_level, prev->log_level, NGX_LOG_ERR);
    ngx_conf_merge_uint_value(conf->headers, prev->headers,
                              NGX_HTTP_RL_NO_HEADERS);

    return NGX_CONF_OK;
}


static ngx_int_t
ngx_http_rl_init(ngx_conf_t *cf)
{
    ngx_http_handler_pt        *h;
    ngx_http_core_main_conf_t  *cmcf;

    if (ngx_http_rl_zones_declared(cf) != NGX_OK) {
        return NGX_ERROR;
    }

    cmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);

    h = ngx_array_push(&cmcf->phases[NGX_HTTP_PREACCESS_PHASE].handlers);
    if (h == NULL) {
        return NGX_ERROR;
    }

    *h = ngx_http_rl_handler;

    return NGX_OK;
}
