/* Paths of files that members leave in their directories: success.file, metrics.file, artefacts and checkpoint.glob. */
#ifndef DAEMON_SPEC_PATHS_H
#define DAEMON_SPEC_PATHS_H
#include "daemon/spec/spec.h"
#include "daemon/spec/template.h"

/* Checks a path or pattern that may have the placeholders of a command, and stays below a directory, which the error
 * calls `what`. */
int spec_check_path(const struct spec *spec, const char *path, const char *pointer, const char *what,
                    struct error *err);

/* Returns whether the path is another one for each member. */
bool spec_path_varies(const char *path);

/* Fills a checked path for a member; a value is itself, also if it has a character of patterns. To be freed. Returns
 * NULL with err if nothing fills a placeholder, or the path leaves its directory. */
char *spec_fill_path(const char *path, const struct template_word *words, const json_t *values, struct error *err);
#endif
