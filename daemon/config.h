/* The daemon's configuration: built-in defaults, a JSON file over them, the command line over that. */
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
    char *state_dir; /* absolute once completed; likewise run_dir */
    char *run_dir;
    char **listen;
    size_t n_listen;
    char *tls_certificate, *tls_key; /* NULL: no TLS */
    char **host_names;               /* ended by NULL; NULL: none */
    gid_t *trusted_groups;           /* whose members may replace the run directory */
    size_t n_trusted_groups;
    char *python; /* NULL: look for one */
    enum log_level log_level;
    char *log_to; /* NULL: stderr */
    enum log_format log_format;
    bool allow_network_state;
    int64_t keep_events_ms;
    enum retain keep_output;
    int64_t keep_output_for_ms;
    int64_t heartbeat_ms;
    char *stream_interface; /* NULL: any */
    char *plugin_dir;
    bool plugin_dir_chosen; /* it is not the default */
    int64_t max_connections; /* 0: as descriptors allow */
    json_t *adapters; /* NULL, or an object with a section for each adapter */

    /* Where this daemon's own parts lie, found by config_complete() */
    char *runner;
    char *examples_dir;
    char *python_path;
};

void config_init(struct config *config);
void config_fini(struct config *config);
void config_add_listen(struct config *config, const char *listen);

/* As the keys log_to and log_format. */
int config_log_to(struct config *config, const char *to, struct error *err);
int config_log_format(struct config *config, const char *name, struct error *err);

/* Read a JSON file over what is there; keys that the command line sets are set after it. */
int config_read(struct config *config, const char *path, struct error *err);

/* Fill in what is missing, make paths absolute, make the directories (mode 0700). */
int config_complete(struct config *config, struct error *err);

/* Every key with its default and meaning, for --help-config. */
void config_print_keys(void);
#endif
