/* The part of a member's JSON that is about early stopping. */
#ifndef API_RUNGS_H
#define API_RUNGS_H
#include "daemon/spec/spec.h"
#include "daemon/store/store.h"

/* Adds "rung", the highest one that the member has reached or null, if its spec has early stopping. Returns 0 or
 * -1. */
int rungs_add(json_t *member, struct store *store, const struct spec *spec, int64_t ensemble, int64_t index,
              struct error *err);
#endif
