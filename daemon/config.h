/* The daemon's configuration: built-in defaults, overridden by a JSON file, overridden by the command line. */
#ifndef DAEMON_CONFIG_H
#define DAEMON_CONFIG_H
#include "common/error.h"
#include "common/log.h"
#include "daemon/store/retain.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct config {
    char *state_dir;     /* absolute after config_complete() */
    char *run_dir;       /* absolute after config_complete() */
    bool run_dir_chosen; /* run_dir is not the default */
    bool new_run_dir;    /* the run directory that the database remembers is given up */
    char **listen;
    size_t n_listen;
    char *tls_certificate, *tls_key; /* NULL if there is no TLS */
    char **host_names;               /* ended by NULL; NULL if there are none */
    gid_t *trusted_groups;           /* their members can write to directories above run_dir, and replace it */
    size_t n_trusted_groups;
    char *python; /* NULL to look for one */
    enum log_level log_level;
    char *log_to; /* NULL for stderr */
    enum log_format log_format;
    bool allow_network_state;
    int64_t keep_events_ms;
    enum retain keep_output;
    int64_t keep_output_for_ms;
    int64_t archive_after_ms;
    int64_t heartbeat_ms;
    char *stream_interface; /* NULL for any */
    char *plugin_dir;
    bool plugin_dir_chosen;  /* plugin_dir is not the default */
    int64_t max_connections; /* 0 for as many as descriptors allow */
    json_t *adapters;        /* NULL, or an object with a section for each adapter */

    /* The paths of this daemon's own parts, which config_complete() finds */
    char *runner;
    char *examples_dir;
    char *python_path;
};

void config_init(struct config *config);
void config_fini(struct config *config);
void config_add_listen(struct config *config, const char *listen);

/* Both set a key to a text, which is checked, as the configuration file does. */
int config_log_to(struct config *config, const char *to, struct error *err);
int config_log_format(struct config *config, const char *name, struct error *err);

/* Reads a JSON file and overrides the values that are set. Keys that the command line gives are set after it. */
int config_read(struct config *config, const char *path, struct error *err);

/* Fills in missing values, makes paths absolute, and makes the directories (mode 0700). */
int config_complete(struct config *config, struct error *err);

/* Has a run directory that was used before, and must be there, in place of the default one. */
int config_use_run_dir(struct config *config, const char *run_dir, struct error *err);

/* Prints every key with its default and meaning, for --help-config. */
void config_print_keys(void);
#endif
