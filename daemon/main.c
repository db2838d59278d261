/* strettod: reads the options and runs the daemon. */
#include "common/output.h"
#include "common/timefmt.h"
#include <config.h>
#include "daemon/app.h"

#include <argp.h>
#include <jansson.h>
#include <malloc.h>
#include <signal.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX 8192 /* programs that are started here inherit the limit, and some cannot bear more */

enum { OPTION_HELP_CONFIG = 256, OPTION_LOG_FORMAT, OPTION_LOG_TO, OPTION_NEW_RUN_DIR, OPTION_PYTHON };

struct daemon_options {
    const char *config_file, *state_dir, *run_dir, *python, *log_to, *log_format;
    const char *listen[16];
    size_t n_listen;
    bool verbose, new_run_dir;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct daemon_options *o = state->input;

    switch (key) {
    case 'c': o->config_file = arg; break;
    case 's': o->state_dir = arg; break;
    case 'r': o->run_dir = arg; break;
    case 'l':
        if (o->n_listen == sizeof o->listen / sizeof *o->listen)
            argp_error(state, "too many --listen");
        o->listen[o->n_listen++] = arg;
        break;
    case 'v': o->verbose = true; break;
    case OPTION_LOG_TO: o->log_to = arg; break;
    case OPTION_LOG_FORMAT: o->log_format = arg; break;
    case OPTION_NEW_RUN_DIR: o->new_run_dir = true; break;
    case OPTION_PYTHON: o->python = arg; break;
    case OPTION_HELP_CONFIG: config_print_keys(); exit(0);
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument: %s", arg); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp_option option_list[] = {
    {"config", 'c', "FILE", 0, "Read settings from a JSON file (see --help-config)", 0},
    {"state-dir", 's', "DIR", 0, "Database and sockets; default $XDG_STATE_HOME/stretto", 0},
    {"run-dir", 'r', "DIR", 0, "Jobs and their output; default the one of before, or run, below the state directory",
     0},
    {"new-run-dir", OPTION_NEW_RUN_DIR, NULL, 0,
     "Give up the run directory of before, with all that is in it and under way", 0},
    {"listen", 'l', "unix:PATH|tcp:HOST:PORT", 0,
     "Where to answer HTTP; may be repeated; default unix:STATE_DIR/stretto.sock, which is there besides TCP", 0},
    {"python", OPTION_PYTHON, "PATH", 0, "What \"python3\" means in a training's command", 0},
    {"log-to", OPTION_LOG_TO, "stderr|syslog|FILE", 0, "Where the log goes; default stderr", 0},
    {"log-format", OPTION_LOG_FORMAT, "text|json", 0, "One sentence a line, or one object; default text", 0},
    {"verbose", 'v', NULL, 0, "Log more", 0},
    {"help-config", OPTION_HELP_CONFIG, NULL, 0, "Print every setting with its default and meaning", 0},
    {0},
};

/* Raises the limit of descriptors, since thousands of clients may listen for events at once. */
static void allow_files(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= FILES_MAX)
        return;
    limit.rlim_cur = limit.rlim_max < FILES_MAX ? limit.rlim_max : FILES_MAX;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static int configure(struct config *config, const struct daemon_options *o, struct error *err)
{
    if (o->config_file != NULL && config_read(config, o->config_file, err) < 0)
        return -1;
    if (o->state_dir != NULL) {
        free(config->state_dir);
        config->state_dir = strdup(o->state_dir);
    }
    if (o->run_dir != NULL) {
        free(config->run_dir);
        config->run_dir = strdup(o->run_dir);
    }
    if (o->python != NULL) {
        free(config->python);
        config->python = strdup(o->python);
    }
    if ((o->log_to != NULL && config_log_to(config, o->log_to, err) < 0) ||
        (o->log_format != NULL && config_log_format(config, o->log_format, err) < 0))
        return -1;
    for (size_t i = 0; i < o->n_listen; i++)
        config_add_listen(config, o->listen[i]);
    config->new_run_dir = o->new_run_dir;
    if (o->verbose)
        config->log_level = LOG_LEVEL_DEBUG;
    return config_complete(config, err);
}

/* Says something if a library calls abort() without a word, as libuv does if it gets no thread. abort() goes on
 * after that. */
static void on_abort(int signal)
{
    static const char text[] = "strettod: aborted. If no line above says why, there was too little memory or address "
                               "space (ulimit -v), or there were too many processes (ulimit -u)\n";

    if (write(STDERR_FILENO, text, sizeof text - 1) < 0) { /* nobody can be told */
    }
}

static void tell_aborts(void)
{
    struct sigaction action = {.sa_handler = on_abort, .sa_flags = (int)SA_RESETHAND};

    sigaction(SIGABRT, &action, NULL);
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        option_list, parse_option, NULL, "strettod -- runs ensembles of simulations that stream into trainings",
        NULL,        NULL,         NULL};
    struct daemon_options options = {0};
    struct config config;
    struct error err;
    bool elsewhere;
    int rc;

    argp_program_version = PACKAGE_STRING;
    output_check_at_exit("strettod", 1); /* concerns --help and --version */
    if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0)
        return 2;
    umask(077);
    signal(SIGPIPE, SIG_IGN);
    tell_aborts();
    allow_files();
    /* enough workers that a parallel file system that hangs does not take them all */
    setenv("UV_THREADPOOL_SIZE", "16", 0);
    mallopt(M_ARENA_MAX, 1); /* otherwise each worker would keep the most memory that it ever had for itself */
    log_init("strettod", LOG_LEVEL_INFO);
    json_object_seed(0);
    if (sodium_init() < 0) {
        log_error("no source of randomness");
        return 1;
    }
    config_init(&config);
    rc = configure(&config, &options, &err);
    log_init("strettod", config.log_level);
    if (rc == 0)
        rc = log_open(config.log_to != NULL ? config.log_to : "stderr", config.log_format, &err);
    elsewhere = rc == 0 && config.log_to != NULL && strcmp(config.log_to, "stderr") != 0;
    if (rc == 0)
        rc = app_run(&config, &err);
    if (rc < 0) {
        log_error("%s (%s)", err.text, err.code);
        log_close();
        if (elsewhere)
            log_error("%s (%s)", err.text, err.code); /* on stderr again, where the user who started it looks */
    }
    log_close();
    config_fini(&config);
    return rc < 0 ? 1 : 0;
}
