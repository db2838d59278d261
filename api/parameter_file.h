/* Reading a spec's file of parameters while its request waits. */
#ifndef API_PARAMETER_FILE_H
#define API_PARAMETER_FILE_H
#include "api/request.h"

/* The copy of one file, until it is known whether its ensemble is there to stay. */
struct parameter_file;

/* Hold the request, and check and copy the file at `path` on a worker thread; then, on the loop, cb(arg, file, rows, err),
 * once, whatever becomes of the request: rows (given over) or, where it is refused, NULL and err. cb ends `file` by one
 * of the calls below. Only so many are read at once, so that workers are left for the jobs' own files: -1 with code
 * "busy" beyond, and the request is not held. */
int parameter_file_read(struct request *r, const char *path,
                        void (*cb)(void *arg, struct parameter_file *file, struct rows *rows, const struct error *err),
                        void *arg, struct error *err);

/* The daemon ends: what is being read is given up soon. */
void parameter_file_stop_all(void);

/* Remove the copy, if there is one. */
void parameter_file_drop(struct parameter_file *file);
/* Keep the copy, unless this turn's commit fails. */
void parameter_file_keep_if_committed(struct parameter_file *file, struct turn *turn);
#endif
