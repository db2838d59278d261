/* The progress of the database: its highest ids. The run directory has a copy of this, by which an older copy of the
 * database is recognised (daemon/run_mark.h). */
#ifndef DAEMON_STORE_EXTENT_H
#define DAEMON_STORE_EXTENT_H
#include "daemon/store/store.h"

struct store_extent {
    int64_t commits;       /* transactions that were ever committed */
    int64_t ensemble, job; /* the highest ids that were ever given */
};
int store_extent_get(struct store *store, struct store_extent *extent, struct error *err);
/* Makes sure that no ensemble and no job gets an id up to these. */
int store_extent_skip(struct store *store, const struct store_extent *extent, struct error *err);

/* The run directory that the database belongs to, as it was last found; NULL, or to be freed. */
int store_run_dir_get(struct store *store, char **run_dir, struct error *err);
int store_run_dir_put(struct store *store, const char *run_dir, struct error *err);

/* Returns 1 if there is such a job, 0 if not, -1 on error. */
int store_job_known(struct store *store, int64_t ensemble, const char *name, struct error *err);

#endif
