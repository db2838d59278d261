/* Artefacts: files that the latest successful attempt of a member left, with their size and digest at that time. */
#ifndef DAEMON_STORE_ARTEFACT_H
#define DAEMON_STORE_ARTEFACT_H
#include "daemon/store/store.h"

struct artefact_row {
    int64_t ensemble, index;
    char path[512]; /* in the attempt's directory */
    int64_t size;
    char sha256[65];
    int64_t attempt;
};

int store_artefact_put(struct store *store, const struct artefact_row *row, struct error *err);
/* Removes all rows of a member. */
int store_artefact_clear(struct store *store, int64_t ensemble, int64_t index, struct error *err);
/* Reads those of a member, by path. */
int store_artefact_each(struct store *store, int64_t ensemble, int64_t index,
                        int (*each)(void *arg, const struct artefact_row *row), void *arg, struct error *err);
#endif
