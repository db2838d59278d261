/* Reads a parameter file from the user's path into a copy of the daemon's own. */
#ifndef DAEMON_SPEC_INGEST_H
#define DAEMON_SPEC_INGEST_H
#include "daemon/spec/rows.h"

#include <stdatomic.h>

/* Reads the file whole, checks it, and copies it to DIR/NAME, flushed to disk. Its suffix says whether it is CSV with
 * a header line (.csv), one JSON object a line (.jsonl, .ndjson) or an archive of NumPy's arrays (.npz). It blocks, and
 * is for a worker thread; a FIFO or a device does not hold it up. Returns NULL, and leaves no files, with code
 * "spec_parameter_file", the reason and the line, or with the code of the copy (rows.h). Once *stop (may be NULL) is
 * true it gives up soon, with code "not_ready". */
struct rows *ingest_file(const char *path, const char *dir, const char *name, const atomic_bool *stop,
                         struct error *err);

/* Returns whether the path has one of the suffixes that ingest_file() reads. */
bool ingest_knows(const char *path);
#endif
