/* Reads a spec's file of parameters while its request waits. */
#ifndef API_PARAMETER_FILE_H
#define API_PARAMETER_FILE_H
#include "api/request.h"

/* The copy of one file, until it is known whether its ensemble is committed. */
struct parameter_file;

/* Holds the request, and checks and copies the file at `path` on a worker thread. Then cb(arg, file, rows, err) is
 * called once on the loop, even if the request is gone. It gets rows, which cb takes over, or NULL and err if the file
 * is refused. cb must end `file` by one of the calls below. Only a few files are read at once, so that workers are left
 * for the jobs' own files. Beyond that it returns -1 with code "busy", and the request is not held. */
int parameter_file_read(struct request *r, const char *path,
                        void (*cb)(void *arg, struct parameter_file *file, struct rows *rows, const struct error *err),
                        void *arg, struct error *err);

/* Called when the daemon ends: files that are being read are given up soon. */
void parameter_file_stop_all(void);

/* Removes the copy, if there is one. */
void parameter_file_drop(struct parameter_file *file);
/* Keeps the copy, unless this turn's commit fails. */
void parameter_file_keep_if_committed(struct parameter_file *file, struct turn *turn);
#endif
