
/*
 * rl_zone: where the counters of a zone are, and the rules that they go by.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */


#include "ngx_http_rl_module.h"


static char *ngx_http_rl_zone_memory(ngx_conf_t *cf, ngx_str_t *value,
    ngx_http_rl_zone_t *zone, off_t *size);
static char *ngx_http_rl_zone_rules(ngx_conf_t *cf, ngx_http_rl_zone_t *zone);
static char *ngx_http_rl_wrong_rules(ngx_conf_t *cf, ngx_http_rl_zone_t *zone,
    rl_error *error);
static rl_status ngx_http_rl_check_rules(rl_config *config, rl_error *error);
static void ngx_http_rl_cleanup_zone(void *data);


/* there are pages for a header, for what is shared beside, and for a service */

#define NGX_HTTP_RL_MIN_SIZE  (8 * ngx_pagesize)


char *
ngx_http_rl_zone(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    char                *rv;
    off_t                size;
    ngx_str_t           *value;
    ngx_shm_zone_t      *shm_zone;
    ngx_pool_cleanup_t  *cln;
    ngx_http_rl_zone_t  *zone;

    value = cf->args->elts;

    if (value[1].len == 0) {
        return "has an empty name";
    }

    cln = ngx_pool_cleanup_add(cf->pool, sizeof(ngx_http_rl_zone_t));
    if (cln == NULL) {
        return NGX_CONF_ERROR;
    }

    zone = cln->data;
    ngx_memzero(zone, sizeof(ngx_http_rl_zone_t));
    cln->handler = ngx_http_rl_cleanup_zone;

    rv = ngx_http_rl_zone_memory(cf, &value[2], zone, &size);
    if (rv != NGX_CONF_OK) {
        return rv;
    }

    shm_zone = ngx_shared_memory_add(cf, &value[1], size, &ngx_http_rl_module);
    if (shm_zone == NULL) {
        return NGX_CONF_ERROR;
    }

    if (shm_zone->data) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "the zone \"%V\" is already declared", &value[1]);
        return NGX_CONF_ERROR;
    }

    shm_zone->init = ngx_http_rl_init_zone;
    shm_zone->data = zone;

    zone->name = value[1];
    zone->file = value[3];

    if (ngx_conf_full_name(cf->cycle, &zone->file, 1) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    return ngx_http_rl_zone_rules(cf, zone);
}


static char *
ngx_http_rl_zone_memory(ngx_conf_t *cf, ngx_str_t *value,
    ngx_http_rl_zone_t *zone, off_t *size)
{
    if (ngx_strncmp(value->data, "shared=", 7) == 0) {
        zone->object.len = value->len - 7;
        zone->object.data = value->data + 7;

        /* the pool then holds no counters */
        *size = NGX_HTTP_RL_MIN_SIZE;

        return NGX_CONF_OK;
    }

    *size = ngx_parse_offset(value);

    if (*size == NGX_ERROR) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid size \"%V\", expected a size such as "
                           "\"16m\", or \"shared=/NAME\"", value);
        return NGX_CONF_ERROR;
    }

    if (*size < (off_t) NGX_HTTP_RL_MIN_SIZE) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "the size \"%V\" is too small, at least %uzk are "
                           "needed", value, NGX_HTTP_RL_MIN_SIZE / 1024);
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


static char *
ngx_http_rl_zone_rules(ngx_conf_t *cf, ngx_http_rl_zone_t *zone)
{
    rl_error   error;
    rl_status  rc;

    ngx_memzero(&error, sizeof(rl_error));

    if (rl_config_new(&zone->config) != RL_OK) {
        return NGX_CONF_ERROR;
    }

    rc = rl_config_load(zone->config, (char *) zone->file.data, &error);

    if (rc != RL_OK) {
        return ngx_http_rl_wrong_rules(cf, zone, &error);
    }

    /*
     * If FILE says nothing else. A request takes longer than the clock's time
     * between two readings of the processor's counter is worth.
     */

    (void) rl_config_set(zone->config, "clock", "monotonic-vdso", NULL);

    if (zone->object.data) {
        rc = rl_config_set(zone->config, "shared", (char *) zone->object.data,
                           &error);

        if (rc != RL_OK) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "\"shared=%V\", expected \"shared=/NAME\", with "
                               "%V: %s", &zone->object, &zone->file,
                               error.message);
            return NGX_CONF_ERROR;
        }
    }

    rc = ngx_http_rl_check_rules(zone->config, &error);

    return rc == RL_OK ? NGX_CONF_OK
                       : ngx_http_rl_wrong_rules(cf, zone, &error);
}


static char *
ngx_http_rl_wrong_rules(ngx_conf_t *cf, ngx_http_rl_zone_t *zone,
    rl_error *error)
{
    if (error->line) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "%V:%uD:%uD: %s",
                           &zone->file, error->line, error->column,
                           error->message);
    } else {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "%V: %s",
                           &zone->file, error->message);
    }

    return NGX_CONF_ERROR;
}


/*
 * Whether the rules go together is what rl_reload() says, without opening
 * anything: a service of no worth is there to be asked.
 */

static rl_status
ngx_http_rl_check_rules(rl_config *config, rl_error *error)
{
    rl_config   *none = NULL;
    rl_status    rc;
    rl_service  *service = NULL;

    rc = rl_config_new(&none);

    if (rc == RL_OK) {
        rc = rl_config_parse(none, "default = deny\nmemory = 16k", RL_NUL,
                             error);
    }

    if (rc == RL_OK) {
        rc = rl_service_new(none, &service, error);
    }

    if (rc == RL_OK) {
        rc = rl_reload(service, config, error);
    }

    rl_service_free(service);
    rl_config_free(none);

    return rc;
}


static void
ngx_http_rl_cleanup_zone(void *data)
{
    ngx_http_rl_zone_t  *zone = data;

    rl_service_free(zone->service);
    rl_config_free(zone->config);
}


/* the zone of this name, to be declared before or after */

ngx_shm_zone_t *
ngx_http_rl_name_zone(ngx_conf_t *cf, ngx_str_t *name)
{
    ngx_shm_zone_t           *shm_zone;
    ngx_http_rl_naming_t     *naming;
    ngx_http_rl_main_conf_t  *rmcf;

    shm_zone = ngx_shared_memory_add(cf, name, 0, &ngx_http_rl_module);
    if (shm_zone == NULL) {
        return NULL;
    }

    rmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_rl_module);

    naming = ngx_array_push(&rmcf->namings);
    if (naming == NULL) {
        return NULL;
    }

    naming->shm_zone = shm_zone;
    naming->file = cf->conf_file->file.name;
    naming->line = cf->conf_file->line;

    return shm_zone;
}


ngx_int_t
ngx_http_rl_zones_declared(ngx_conf_t *cf)
{
    ngx_uint_t                i;
    ngx_http_rl_naming_t     *naming;
    ngx_http_rl_main_conf_t  *rmcf;

    rmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_rl_module);
    naming = rmcf->namings.elts;

    for (i = 0; i < rmcf->namings.nelts; i++) {

        if (naming[i].shm_zone->data == NULL) {
            ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                          "no rl_zone declares the zone \"%V\", named in "
                          "%V:%ui", &naming[i].shm_zone->shm.name,
                          &naming[i].file, naming[i].line);
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}
