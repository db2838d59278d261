/* A parameter file, from the user's path into a copy of our own. */
#ifndef DAEMON_SPEC_INGEST_H
#define DAEMON_SPEC_INGEST_H
#include "daemon/spec/rows.h"

#include <stdatomic.h>

/* Read the file whole, check it, and copy it to DIR/NAME, flushed to disk. By its suffix it is CSV with a header line
 * (.csv), or one JSON object a line (.jsonl, .ndjson). Blocks, for a worker thread; a FIFO or a device does not hold it.
 * Code "spec_parameter_file" with the reason and the line, or that of the copy (rows.h). NULL leaves nothing behind.
 * Once *stop (which may be NULL) is true it gives up soon, with code "not_ready". */
struct rows *ingest_file(const char *path, const char *dir, const char *name, const atomic_bool *stop,
                         struct error *err);

/* True where the suffix is one of the above. */
bool ingest_knows(const char *path);
#endif
