/* Adapters from shared objects. Each exports a `const struct adapter_ops stretto_adapter`; see docs/adapters.md. */
#ifndef SCHEDULER_ADAPTERS_PLUGIN_H
#define SCHEDULER_ADAPTERS_PLUGIN_H
#include "scheduler-adapters/adapter.h"

/* Opens a plugin, which stays loaded for as long as the program runs. Returns NULL with err if it is refused:
 *
 * - "plugin_not_safe": somebody else could have put it there, or can change it
 * - "plugin_unusable": it cannot be loaded, is no adapter, or lacks a method
 * - "plugin_wrong_version" */
const struct adapter_ops *plugin_open(const char *path, struct error *err);

/* Lists the paths of the files *.so in a directory, in alphabetical order; the list is ended by NULL, and the caller
 * frees it with its strings. NULL with err if the directory cannot be read ("plugin_unusable"), or others can write
 * to it ("plugin_not_safe"). */
char **plugin_list(const char *dir, struct error *err);

#endif
