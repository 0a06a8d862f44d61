
/*
 * The memory of zones: counters in a block of nginx's own or in an object that
 * other programs share, and services that use them.
 *
 * Each configuration has services of its own, made by the master before it
 * forks, so that old workers go on by old rules while new ones have the new.
 * The counters are one block of the zone's slab pool, and the same ones for
 * all of them. The pool's header is left alone: the master looks at its mutex
 * whenever a worker ends.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */


#include "ngx_http_rl_module.h"


static ngx_int_t ngx_http_rl_share(ngx_shm_zone_t *shm_zone,
    ngx_http_rl_zone_t *zone, ngx_uint_t anew);
static ngx_int_t ngx_http_rl_make_service(ngx_shm_zone_t *shm_zone,
    ngx_http_rl_zone_t *zone);
static void ngx_http_rl_tell_anew(ngx_shm_zone_t *shm_zone);


/* seconds from one line about a full zone to the next */

#define NGX_HTTP_RL_FULL_TOLD_EVERY  60


/* called once the whole configuration has been read; data is that of before */

ngx_int_t
ngx_http_rl_init_zone(ngx_shm_zone_t *shm_zone, void *data)
{
    ngx_http_rl_zone_t  *zone = shm_zone->data;

    if (ngx_http_rl_share(shm_zone, zone, data == NULL) != NGX_OK) {
        return NGX_ERROR;
    }

    if (zone->object.data && ngx_test_config) {
        return NGX_OK;
    }

    return ngx_http_rl_make_service(shm_zone, zone);
}


static ngx_int_t
ngx_http_rl_share(ngx_shm_zone_t *shm_zone, ngx_http_rl_zone_t *zone,
    ngx_uint_t anew)
{
    ngx_slab_pool_t  *shpool;

    shpool = (ngx_slab_pool_t *) shm_zone->shm.addr;

    if (anew && !shm_zone->shm.exists) {
        shpool->data = ngx_slab_calloc(shpool, sizeof(ngx_http_rl_shared_t));
    }

    zone->shared = shpool->data;

    if (zone->shared == NULL) {
        return NGX_ERROR;
    }

    if (zone->object.data || zone->shared->counters) {
        return NGX_OK;
    }

    ngx_http_rl_tell_anew(shm_zone);

    /* all that is left, which is one run of pages that nobody has touched */

    zone->shared->size = shpool->pfree * ngx_pagesize;
    zone->shared->counters = ngx_slab_alloc(shpool, zone->shared->size);

    if (zone->shared->counters == NULL) {
        return NGX_ERROR;
    }

    /* an nginx that debugs its memory fills with junk what the system zeroes */

    if (zone->shared->counters[0] != 0) {
        ngx_memzero(zone->shared->counters, zone->shared->size);
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_rl_make_service(ngx_shm_zone_t *shm_zone, ngx_http_rl_zone_t *zone)
{
    rl_error   error;
    rl_status  rc;

    rc = zone->object.data
             ? RL_OK
             : rl_config_set_memory(zone->config, zone->shared->counters,
                                    zone->shared->size);

    if (rc == RL_OK) {
        rc = rl_service_new(zone->config, &zone->service, &error);
        if (rc == RL_OK) {
            return NGX_OK;
        }

    } else {
        ngx_cpystrn((u_char *) error.message,
                    (u_char *) rl_status_message(rc), sizeof(error.message));
    }

    ngx_log_error(NGX_LOG_EMERG, shm_zone->shm.log, 0,
                  "the zone \"%V\" with %V: %s%s",
                  &zone->name, &zone->file, error.message,
                  rc == RL_ERR_ZONE && zone->object.data == NULL
                      ? "; another SIZE makes it anew" : "");

    return NGX_ERROR;
}


/*
 * A zone that was there before loses its counters. ngx_cycle is that of before
 * until the new one is complete.
 */

static void
ngx_http_rl_tell_anew(ngx_shm_zone_t *shm_zone)
{
    ngx_uint_t        i;
    ngx_str_t        *name, *own;
    ngx_shm_zone_t   *old;
    ngx_list_part_t  *part;

    own = &shm_zone->shm.name;

    for (part = (ngx_list_part_t *) &ngx_cycle->shared_memory.part;
         part;
         part = part->next)
    {
        old = part->elts;

        for (i = 0; i < part->nelts; i++) {
            name = &old[i].shm.name;

            if (old[i].tag == shm_zone->tag
                && name->len == own->len
                && ngx_memcmp(name->data, own->data, own->len) == 0)
            {
                ngx_log_error(NGX_LOG_ERR, shm_zone->shm.log, 0,
                              "the zone \"%V\" starts empty, in new memory of "
                              "%uz bytes", own, shm_zone->shm.size);
                return;
            }
        }
    }
}


/* one line a minute, of all workers together */

void
ngx_http_rl_tell_full(ngx_http_rl_zone_t *zone, ngx_log_t *log)
{
    ngx_atomic_uint_t  now, told;

    now = (ngx_atomic_uint_t) ngx_time();
    told = zone->shared->full_told;

    if (now - told < NGX_HTTP_RL_FULL_TOLD_EVERY
        || !ngx_atomic_cmp_set(&zone->shared->full_told, told, now))
    {
        return;
    }

    ngx_log_error(NGX_LOG_ERR, log, 0,
                  "the zone \"%V\" is full, its setting on-full decides: give "
                  "it more memory (said once a minute)", &zone->name);
}
