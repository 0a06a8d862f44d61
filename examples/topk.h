/*
 * The most frequent names of a stream, in memory that does not grow: the
 * Space-Saving sketch of Metwally, Agrawal and El Abbadi, "Efficient Computation
 * of Frequent and Top-k Elements in Data Streams", ICDT 2005.
 *
 * A fixed number of names is counted. A name that finds no place takes that of the
 * least counted, and its count with it: that is by how much the new count may be
 * too high. So counts are never too low, and a name that is not among the counted
 * has come at most as often as the least of them. Until the first name has been
 * pushed out, all counts are exact.
 *
 * Names count by their first TOPK_NAME bytes.
 */
#ifndef TOPK_H
#define TOPK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define TOPK_PLACES 1024
#define TOPK_NAME 255

struct topk_place {
    uint64_t count;
    uint64_t too_high; /* at most */
    unsigned char length;
    char name[TOPK_NAME];
};

struct topk {
    struct topk_place places[TOPK_PLACES];
    uint32_t hashes[TOPK_PLACES]; /* of the names: a quick look before they are compared */
    size_t used;
    bool is_exact;
};

static inline void topk_init(struct topk *top) {
    top->used = 0;
    top->is_exact = true;
}

/* FNV-1a. Names that collide cost a comparison, and nothing else. */
static inline uint32_t topk_hash(const char *name, size_t length) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    }
    return hash;
}

static inline struct topk_place *topk_find(struct topk *top, uint32_t hash, const char *name,
                                           size_t length) {
    for (size_t i = 0; i < top->used; i++) {
        struct topk_place *place = &top->places[i];
        if (top->hashes[i] == hash && place->length == length &&
            memcmp(place->name, name, length) == 0) {
            return place;
        }
    }
    return NULL;
}

static inline struct topk_place *topk_least(struct topk *top) {
    struct topk_place *least = top->places;
    for (size_t i = 1; i < top->used; i++) {
        if (top->places[i].count < least->count) {
            least = &top->places[i];
        }
    }
    return least;
}

/* A place for a new name: a free one, or that of the least counted. */
static inline struct topk_place *topk_place_for_new(struct topk *top) {
    struct topk_place *place;
    if (top->used < TOPK_PLACES) {
        place = &top->places[top->used++];
        place->count = 0;
    } else {
        place = topk_least(top);
        top->is_exact = false;
    }
    place->too_high = place->count;
    return place;
}

static inline void topk_add(struct topk *top, const char *name, size_t length) {
    length = length < TOPK_NAME ? length : TOPK_NAME;
    uint32_t hash = topk_hash(name, length);
    struct topk_place *place = topk_find(top, hash, name, length);
    if (place == NULL) {
        place = topk_place_for_new(top);
        place->length = (unsigned char)length;
        memcpy(place->name, name, length);
        top->hashes[place - top->places] = hash;
    }
    place->count++;
}

/* How often a name that is not among the counted can have come, at most. */
static inline uint64_t topk_missed(struct topk *top) {
    return top->is_exact ? 0 : topk_least(top)->count;
}

/* The most frequent first, equals in the order of their bytes. */
static inline int topk_compare(const void *left, const void *right) {
    const struct topk_place *a = left;
    const struct topk_place *b = right;
    if (a->count != b->count) {
        return a->count > b->count ? -1 : 1;
    }
    size_t common = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->name, b->name, common);
    return order != 0 ? order : (int)a->length - (int)b->length;
}

/* Sorts the places, which ends the counting. */
static inline void topk_sort(struct topk *top) {
    qsort(top->places, top->used, sizeof *top->places, topk_compare);
}

#endif
