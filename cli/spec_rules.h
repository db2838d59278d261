/* The files that the rules of a spec name: the daemon may not see them, so that `stretto submit` reads them. */
#ifndef CLI_SPEC_RULES_H
#define CLI_SPEC_RULES_H
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>

/* Puts the spec that the file /rules/reference has in its place, and the SHA-256 beside each name in /rules/files, of
 * the reference, too. Relative names start from `folder`, or from the folder of the reference. *changed is set if
 * anything was replaced. Returns -1 with err, which has the place. */
int spec_rules_settle(json_t *spec, const char *folder, bool *changed, struct error *err);
#endif
