/* Records from which copy of a parameter file an ensemble takes its members' parameters (daemon/spec/rows.h). */
#ifndef DAEMON_STORE_PARAMETER_ROWS_H
#define DAEMON_STORE_PARAMETER_ROWS_H
#include "daemon/store/store.h"

#define PARAMETER_ROWS_NAME 33 /* bytes of a name: 32 random hex digits and the NUL */

struct parameter_rows_row {
    char name[PARAMETER_ROWS_NAME];
    int64_t count;
    char *columns; /* to be freed */
};

int store_parameter_rows_insert(struct store *store, int64_t ensemble, const char *name, int64_t count,
                                const char *columns, struct error *err);
/* Returns 1 if the ensemble has one, 0 if not, -1 on error. */
int store_parameter_rows_get(struct store *store, int64_t ensemble, struct parameter_rows_row *row, struct error *err);
/* Returns 1 if an ensemble uses this copy, 0 if none does, -1 on error. */
int store_parameter_rows_known(struct store *store, const char *name, struct error *err);
#endif
