#include "daemon/config.h"

#include "common/files.h"
#include "common/jsonx.h"
#include "common/safe_path.h"
#include "common/units.h"
#include "common/xalloc.h"
#include "scheduler-adapters/registry.h"

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum key {
    KEY_STATE_DIR,
    KEY_RUN_DIR,
    KEY_LISTEN,
    KEY_TLS_CERTIFICATE,
    KEY_TLS_KEY,
    KEY_HOST_NAMES,
    KEY_TRUSTED_GROUPS,
    KEY_PYTHON,
    KEY_LOG_LEVEL,
    KEY_LOG_TO,
    KEY_LOG_FORMAT,
    KEY_KEEP_EVENTS,
    KEY_KEEP_OUTPUT,
    KEY_KEEP_OUTPUT_FOR,
    KEY_ARCHIVE_AFTER,
    KEY_HEARTBEAT,
    KEY_MAX_CONNECTIONS,
    KEY_STREAM_INTERFACE,
    KEY_ADAPTERS,
    KEY_PLUGIN_DIR,
    KEY_ALLOW_NETWORK_STATE,
    KEY_COUNT
};

static const struct {
    const char *name, *fallback, *meaning;
} keys[KEY_COUNT] = {
    [KEY_STATE_DIR] = {"state_dir", "$XDG_STATE_HOME/stretto, or ~/.local/state/stretto",
                       "directory of the database and the sockets; on a local disk"},
    [KEY_RUN_DIR] = {"run_dir", "the one that the database has used before, or run, below the state directory",
                     "directory of jobs and their output; on a file system that compute nodes see"},
    [KEY_LISTEN] = {"listen", "[\"unix:STATE_DIR/stretto.sock\"]",
                    "where HTTP is answered, a list of unix:PATH and tcp:HOST:PORT; the default socket is there "
                    "besides where the list has no unix:PATH"},
    [KEY_TLS_CERTIFICATE] = {"tls_certificate", "none",
                             "PEM file of the certificate chain of the TCP listeners, which then speak TLS; needed for "
                             "any but a loopback address"},
    [KEY_TLS_KEY] = {"tls_key", "none", "PEM file of its private key, closed to all other users"},
    [KEY_HOST_NAMES] = {"host_names", "[]",
                        "names by which clients may call any listener (their Host header), besides localhost and its "
                        "own address"},
    [KEY_TRUSTED_GROUPS] = {"trusted_groups", "[]",
                            "groups whose members may own, and write to, directories above the run directory: they can "
                            "then act as you"},
    [KEY_PYTHON] = {"python", "the first python3 that has torch and numpy",
                    "what \"python3\" means in the command of a training"},
    [KEY_LOG_LEVEL] = {"log_level", "info", "error, warning, info or debug"},
    [KEY_LOG_TO] = {"log_to", "stderr",
                    "stderr, syslog, syslog:SOCKET or a file's absolute path, which is begun anew on SIGHUP"},
    [KEY_LOG_FORMAT] = {"log_format", "text", "text, or json: an object a line"},
    [KEY_KEEP_EVENTS] = {"keep_events", "30d", "how long events are kept"},
    [KEY_KEEP_OUTPUT] = {"keep_output", "all",
                         "whose captured output is kept for good: all, failed (members that did not succeed) or none; "
                         "other files that members wrote are never removed"},
    [KEY_KEEP_OUTPUT_FOR] = {"keep_output_for", "30d", "how long after the end of its ensemble any output is kept"},
    [KEY_ARCHIVE_AFTER] =
        {"archive_after", "10m",
         "how long after its job's end an attempt's output is moved into the archives of its ensemble; "
         "sooner where more than 10000 jobs wait for that"},
    [KEY_HEARTBEAT] = {"heartbeat", "15s", "an open event stream is never silent for longer"},
    [KEY_MAX_CONNECTIONS] = {"max_connections", "as many as descriptors allow, at most 2768",
                             "clients of one listener at once; a quarter of them, at most 256, for those who have not "
                             "been let in yet"},
    [KEY_STREAM_INTERFACE] = {"stream_interface", "all of them, those named hsn or ib first",
                              "the network interface of a training's nodes that members on other nodes stream to"},
    [KEY_ADAPTERS] = {"adapters", "{}",
                      "a section for each adapter, e.g. {\"local\": {\"slots\": 8}}; max_jobs in any of them is the "
                      "most jobs of members in flight there, by default without limit"},
    [KEY_PLUGIN_DIR] = {"plugin_dir", STRETTO_PLUGINDIR,
                        "directory of further adapters, shared objects *.so; none of it may be writable by others"},
    [KEY_ALLOW_NETWORK_STATE] = {"allow_network_state", "false",
                                 "whether the state directory may be on a network file system: slower, and never for "
                                 "two daemons"},
};

#define KEEP_EVENTS_MS (INT64_C(30) * 86400 * 1000)
#define KEEP_OUTPUT_FOR_MS KEEP_EVENTS_MS
#define ARCHIVE_AFTER_MS (INT64_C(10) * 60 * 1000)
#define HEARTBEAT_MS (INT64_C(15) * 1000)

static const char *const format_names[] = {"text", "json"};
static const char *const level_names[] = {"error", "warning", "info", "debug"};

void config_print_keys(void)
{
    for (size_t i = 0; i < KEY_COUNT; i++)
        printf("%s\n    %s\n    default: %s\n", keys[i].name, keys[i].meaning, keys[i].fallback);
    for (size_t i = 0; adapter_registry[i] != NULL; i++)
        for (const struct adapter_setting *s = adapter_registry[i]->settings; s != NULL && s->name != NULL; s++)
            printf("adapters.%s.%s\n    %s\n    default: %s\n", adapter_registry[i]->name, s->name, s->meaning,
                   s->fallback);
}

void config_init(struct config *config)
{
    *config = (struct config){.log_level = LOG_LEVEL_INFO,
                              .keep_events_ms = KEEP_EVENTS_MS,
                              .keep_output_for_ms = KEEP_OUTPUT_FOR_MS,
                              .archive_after_ms = ARCHIVE_AFTER_MS,
                              .heartbeat_ms = HEARTBEAT_MS};
}

static void clear_listen(struct config *config)
{
    for (size_t i = 0; i < config->n_listen; i++)
        free(config->listen[i]);
    free(config->listen);
    config->listen = NULL;
    config->n_listen = 0;
}

static void clear_host_names(struct config *config)
{
    for (char **name = config->host_names; name != NULL && *name != NULL; name++)
        free(*name);
    free(config->host_names);
    config->host_names = NULL;
}

void config_fini(struct config *config)
{
    clear_listen(config);
    clear_host_names(config);
    free(config->trusted_groups);
    free(config->tls_certificate);
    free(config->tls_key);
    free(config->state_dir);
    free(config->run_dir);
    free(config->python);
    free(config->log_to);
    free(config->stream_interface);
    free(config->plugin_dir);
    free(config->runner);
    free(config->examples_dir);
    free(config->python_path);
    json_decref(config->adapters);
}

void config_add_listen(struct config *config, const char *listen)
{
    config->listen = xrealloc(config->listen, config->n_listen + 1, sizeof *config->listen);
    config->listen[config->n_listen++] = xstrdup(listen);
}

static void replace(char **where, const char *text)
{
    if (text == NULL)
        return;
    free(*where);
    *where = xstrdup(text);
}

static int take_log_level(struct config *config, const char *name, struct error *err)
{
    for (size_t i = 0; i < sizeof level_names / sizeof *level_names; i++) {
        if (strcmp(name, level_names[i]) == 0) {
            config->log_level = (enum log_level)i;
            return 0;
        }
    }
    return error_at(err, "config_value", "/log_level", "\"%.40s\" is not one of error, warning, info, debug", name);
}

int config_log_format(struct config *config, const char *name, struct error *err)
{
    for (size_t i = 0; i < sizeof format_names / sizeof *format_names; i++) {
        if (strcmp(name, format_names[i]) == 0) {
            config->log_format = (enum log_format)i;
            return 0;
        }
    }
    return error_at(err, "config_value", "/log_format", "\"%.40s\" is not one of text, json", name);
}

int config_log_to(struct config *config, const char *to, struct error *err)
{
    if (!log_to_valid(to))
        return error_at(err, "config_value", "/log_to",
                        "\"%.100s\" is neither stderr nor syslog, syslog:/SOCKET or a file's absolute path", to);
    replace(&config->log_to, to);
    return 0;
}

static int take_keep_output(struct config *config, const char *word, struct error *err)
{
    static const char *const words[] = {[RETAIN_ALL] = "all", [RETAIN_FAILED] = "failed", [RETAIN_NONE] = "none"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(word, words[i]) == 0) {
            config->keep_output = (enum retain)i;
            return 0;
        }
    }
    return error_at(err, "config_value", "/keep_output", "\"%.40s\" is not one of all, failed, none", word);
}

static int take_duration(const json_t *json, enum key key, int64_t min_ms, int64_t *ms, struct error *err)
{
    const char *text = NULL;
    char place[32];

    if (jsonx_string(json, "", keys[key].name, JSONX_OPTIONAL, &text, err) < 0)
        return -1;
    if (text == NULL)
        return 0;
    snprintf(place, sizeof place, "/%s", keys[key].name);
    if (duration_parse(text, ms) < 0)
        return error_at(err, "config_value", place, "\"%.40s\" is no duration such as \"15s\" or \"30d\"", text);
    if (*ms < min_ms)
        return error_at(err, "config_value", place, "\"%.40s\" is too short: at least %llds", text,
                        (long long)min_ms / 1000);
    return 0;
}

static int take_groups(struct config *config, const json_t *names, struct error *err)
{
    const json_t *name;
    char place[80];
    size_t i;

    free(config->trusted_groups);
    config->trusted_groups = xcalloc(json_array_size(names) + 1, sizeof *config->trusted_groups);
    config->n_trusted_groups = 0;
    json_array_foreach (names, i, name) {
        const struct group *group = getgrnam(json_string_value(name));

        snprintf(place, sizeof place, "/%s/%zu", keys[KEY_TRUSTED_GROUPS].name, i);
        if (group == NULL)
            return error_at(err, "config_value", place, "there is no group \"%.40s\" here", json_string_value(name));
        config->trusted_groups[config->n_trusted_groups++] = group->gr_gid;
    }
    return 0;
}

static int take_settings(struct config *config, const json_t *json, struct error *err)
{
    const char *known[KEY_COUNT + 1] = {NULL};
    const char *state_dir = NULL, *run_dir = NULL, *python = NULL, *level = NULL, *keep = NULL;
    const char *log_to = NULL, *log_format = NULL, *plugin_dir = NULL, *interface = NULL;
    const char *certificate = NULL, *tls_key = NULL;
    const json_t *listen = NULL, *host_names = NULL, *groups = NULL, *adapters = NULL, *item;
    size_t i;

    for (i = 0; i < KEY_COUNT; i++)
        known[i] = keys[i].name;
    if (jsonx_only(json, "", known, err) < 0 ||
        jsonx_string(json, "", keys[KEY_STATE_DIR].name, JSONX_OPTIONAL, &state_dir, err) < 0 ||
        jsonx_string(json, "", keys[KEY_RUN_DIR].name, JSONX_OPTIONAL, &run_dir, err) < 0 ||
        jsonx_strings(json, "", keys[KEY_LISTEN].name, JSONX_OPTIONAL, 1, &listen, err) < 0 ||
        jsonx_string(json, "", keys[KEY_TLS_CERTIFICATE].name, JSONX_OPTIONAL, &certificate, err) < 0 ||
        jsonx_string(json, "", keys[KEY_TLS_KEY].name, JSONX_OPTIONAL, &tls_key, err) < 0 ||
        jsonx_strings(json, "", keys[KEY_HOST_NAMES].name, JSONX_OPTIONAL, 0, &host_names, err) < 0 ||
        jsonx_strings(json, "", keys[KEY_TRUSTED_GROUPS].name, JSONX_OPTIONAL, 0, &groups, err) < 0 ||
        (groups != NULL && take_groups(config, groups, err) < 0) ||
        jsonx_string(json, "", keys[KEY_PYTHON].name, JSONX_OPTIONAL, &python, err) < 0 ||
        jsonx_string(json, "", keys[KEY_LOG_LEVEL].name, JSONX_OPTIONAL, &level, err) < 0 ||
        jsonx_string(json, "", keys[KEY_LOG_TO].name, JSONX_OPTIONAL, &log_to, err) < 0 ||
        jsonx_string(json, "", keys[KEY_LOG_FORMAT].name, JSONX_OPTIONAL, &log_format, err) < 0 ||
        take_duration(json, KEY_KEEP_EVENTS, 1000, &config->keep_events_ms, err) < 0 ||
        jsonx_string(json, "", keys[KEY_KEEP_OUTPUT].name, JSONX_OPTIONAL, &keep, err) < 0 ||
        (keep != NULL && take_keep_output(config, keep, err) < 0) ||
        take_duration(json, KEY_KEEP_OUTPUT_FOR, 1000, &config->keep_output_for_ms, err) < 0 ||
        take_duration(json, KEY_ARCHIVE_AFTER, 0, &config->archive_after_ms, err) < 0 ||
        take_duration(json, KEY_HEARTBEAT, 1000, &config->heartbeat_ms, err) < 0 ||
        jsonx_int(json, "", keys[KEY_MAX_CONNECTIONS].name, JSONX_OPTIONAL, 8, 100000, &config->max_connections, err) <
            0 ||
        jsonx_object(json, "", keys[KEY_ADAPTERS].name, JSONX_OPTIONAL, &adapters, err) < 0 ||
        jsonx_string(json, "", keys[KEY_STREAM_INTERFACE].name, JSONX_OPTIONAL, &interface, err) < 0 ||
        jsonx_string(json, "", keys[KEY_PLUGIN_DIR].name, JSONX_OPTIONAL, &plugin_dir, err) < 0 ||
        jsonx_bool(json, "", keys[KEY_ALLOW_NETWORK_STATE].name, JSONX_OPTIONAL, &config->allow_network_state, err) <
            0 ||
        (level != NULL && take_log_level(config, level, err) < 0) ||
        (log_to != NULL && config_log_to(config, log_to, err) < 0) ||
        (log_format != NULL && config_log_format(config, log_format, err) < 0))
        return -1;
    replace(&config->state_dir, state_dir);
    replace(&config->run_dir, run_dir);
    replace(&config->python, python);
    replace(&config->stream_interface, interface);
    replace(&config->plugin_dir, plugin_dir);
    config->plugin_dir_chosen = config->plugin_dir != NULL;
    replace(&config->tls_certificate, certificate);
    replace(&config->tls_key, tls_key);
    if (listen != NULL) {
        clear_listen(config);
        json_array_foreach (listen, i, item)
            config_add_listen(config, json_string_value(item));
    }
    if (host_names != NULL) {
        clear_host_names(config);
        config->host_names = xcalloc(json_array_size(host_names) + 1, sizeof *config->host_names);
        json_array_foreach (host_names, i, item)
            config->host_names[i] = xstrdup(json_string_value(item));
    }
    if (adapters != NULL)
        config->adapters = json_deep_copy(adapters);
    return 0;
}

int config_read(struct config *config, const char *path, struct error *err)
{
    json_t *json = safe_path(path, err) == 0 ? file_read_json(path, err) : NULL;
    int rc;

    if (json == NULL)
        return -1;
    rc = take_settings(config, json, err);
    json_decref(json);
    if (rc < 0)
        return error_at(err, err->code, err->pointer, "%s: %s (at %s)", path, err->text,
                        err->pointer[0] ? err->pointer : "the top");
    return 0;
}

static char *default_state_dir(void)
{
    const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

    if (xdg != NULL && xdg[0] == '/')
        return xasprintf("%s/stretto", xdg);
    return home != NULL && home[0] == '/' ? xasprintf("%s/.local/state/stretto", home) : NULL;
}

static bool is_empty_directory(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry = NULL;
    size_t n = 0;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (dir != NULL)
        closedir(dir);
    return dir != NULL && n == 0;
}

/* Closes a directory to others, who would otherwise learn names, output and keys. A directory that they could write to
 * is refused unless it is empty, since it may hold files that they have put there. */
static int keep_private(const char *dir, struct error *err)
{
    struct stat st;

    if (stat(dir, &st) < 0)
        return error_errno(err, "config_value", "%s", dir);
    if (st.st_uid != geteuid() || (st.st_mode & 077) == 0)
        return 0;
    if ((st.st_mode & 022) != 0 && !is_empty_directory(dir))
        return error_set(err, "path_not_safe",
                         "%.200s is not empty, and other users can write to it (mode %04o): see whose files are in it, "
                         "then chmod 700 it",
                         dir, (unsigned)st.st_mode & 07777);
    if (chmod(dir, 0700) < 0)
        return error_errno(err, "config_value", "%s is open to others, and cannot be closed", dir);
    return 0;
}

/* Makes the directory if it is missing, closes it to others, and makes its path absolute. Nobody else may be able to
 * replace it. */
static int make_private(char **dir, const struct safe_groups *trusted, struct error *err)
{
    struct stat st;
    char *absolute;
    size_t n = strlen(*dir);

    while (n > 1 && (*dir)[n - 1] == '/')
        (*dir)[--n] = '\0';
    if (safe_path_parent_among(*dir, trusted, err) < 0 || dir_make(*dir, err) < 0 || keep_private(*dir, err) < 0 ||
        safe_path_among(*dir, trusted, err) < 0)
        return -1;
    absolute = realpath(*dir, NULL);
    if (absolute == NULL || stat(absolute, &st) < 0) {
        free(absolute);
        return error_errno(err, "config_value", "%s", *dir);
    }
    free(*dir);
    *dir = absolute;
    if (st.st_uid != geteuid())
        return error_set(err, "path_not_safe", "%s belongs to another user, root: choose a directory of your own",
                         *dir);
    return 0;
}

/* Finds the runner and the examples: around the program in a build tree, else below the prefix. */
static int find_parts(struct config *config, struct error *err)
{
    char exe[PATH_MAX], *slash, *probe;
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    bool build_tree;

    if (n < 0)
        return error_errno(err, "config_value", "cannot find this program's own path");
    exe[n] = '\0';
    slash = strrchr(exe, '/');
    *slash = '\0';
    probe = xasprintf("%s/config.status", exe);
    build_tree = access(probe, F_OK) == 0;
    free(probe);
    config->runner = build_tree ? xasprintf("%s/stretto-run", exe) : xasprintf("%s/stretto-run", STRETTO_BINDIR);
    config->examples_dir = build_tree ? xasprintf("%s/examples/heat", exe) : xstrdup(STRETTO_EXAMPLEDIR);
    config->python_path = build_tree ? xasprintf("%s/python", exe) : xstrdup(STRETTO_PYTHONDIR);
    if (access(config->runner, X_OK) < 0)
        return error_errno(err, "config_value", "the runner %s", config->runner);
    return 0;
}

/* Adds the default socket to a list without a Unix socket: through it a user without a token makes the first one. */
static void listen_on_a_socket(struct config *config)
{
    char *listen;

    for (size_t i = 0; i < config->n_listen; i++) {
        if (strncmp(config->listen[i], "unix:", 5) == 0)
            return;
    }
    listen = xasprintf("unix:%s/stretto.sock", config->state_dir);
    config_add_listen(config, listen);
    free(listen);
}

int config_use_run_dir(struct config *config, const char *run_dir, struct error *err)
{
    const struct safe_groups trusted = {config->trusted_groups, config->n_trusted_groups};

    if (access(run_dir, F_OK) < 0)
        return error_set(err, "run_dir_other",
                         "the run directory of this database, %.300s, is not there: mount its file system, or give "
                         "--run-dir, if it was moved (strettod(8), RUN DIRECTORY)",
                         run_dir);
    replace(&config->run_dir, run_dir);
    return make_private(&config->run_dir, &trusted, err);
}

int config_complete(struct config *config, struct error *err)
{
    const struct safe_groups none = {0}, trusted = {config->trusted_groups, config->n_trusted_groups};

    if (config->state_dir == NULL)
        config->state_dir = default_state_dir();
    if (config->state_dir == NULL)
        return error_set(err, "config_value", "neither XDG_STATE_HOME nor HOME is set: give --state-dir");
    if (make_private(&config->state_dir, &none, err) < 0)
        return -1;
    config->run_dir_chosen = config->run_dir != NULL;
    if (config->run_dir == NULL)
        config->run_dir = xasprintf("%s/run", config->state_dir);
    if (make_private(&config->run_dir, &trusted, err) < 0)
        return -1;
    listen_on_a_socket(config);
    if (config->plugin_dir == NULL)
        config->plugin_dir = xstrdup(STRETTO_PLUGINDIR);
    return find_parts(config, err);
}
