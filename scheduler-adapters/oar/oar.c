/* The OAR adapter: create, settings, listings, and its struct batch_system. */
#include "oar.h"

#include <stretto/jsonx.h>
#include <stretto/xalloc.h>

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIST_MAX (64 << 20)
#define NEWEST "job_id = (SELECT MAX(job_id) FROM jobs)"
#define UNDER_WAY                                                                                                      \
    "state IN ('Waiting', 'Hold', 'toLaunch', 'toAckReservation', 'Launching', 'Running', 'Suspended', "               \
    "'Resuming', 'Finishing')"

static const char *const programs[] = {"oarsub", "oarstat", "oardel", "oarhold", NULL};
static const char *const for_commands[] = {"PATH",   "HOME",     "USER", "LOGNAME",         "SHELL", "LANG",
                                           "LC_ALL", "LC_CTYPE", "TZ",   "LD_LIBRARY_PATH", NULL};
static const char *const for_jobs[] = {"PATH",       "LANG",          "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH",
                                       "MODULEPATH", "LOADEDMODULES", NULL};
static const char *const gone[] = {"This job was already killed", NULL};

static void ask_oarstat(struct batch_listing *listing, enum oar_rows kind, const char *sql, bool in_full)
{
    const struct oar *oar = oar_of(batch_listing_adapter(listing));
    struct batch_rows *rows = batch_listing_rows(listing);
    const char *const args[] = {"-J", "--sql", sql, in_full ? "-f" : NULL, NULL};

    rows->kind = kind;
    rows->user = oar->user;
    batch_listing_run(listing, OAR_OARSTAT, args);
}

/* Lists the jobs, but not in full (-f): that would cost OAR some ten database queries for each job. */
static void oar_list(struct adapter *a, struct batch_listing *listing)
{
    const struct oar *oar = oar_of(a);

    ask_oarstat(listing, oar->has_jobs || a->looks.known != NULL ? OAR_ROWS_SOME : OAR_ROWS_MAY_BE_NONE, oar->listing,
                false);
}

/* Looks jobs up by their ids: OAR keeps all jobs that it ever had. */
static void past(struct adapter *a, const char *const *ids, size_t n, int64_t since, batch_look_cb *cb, void *arg)
{
    struct batch_listing *listing = batch_listing_new(a, cb, arg);
    char *sql = xstrdup(NEWEST " OR job_id IN (0"), *longer;

    oar_of(a)->has_jobs = true;
    for (size_t i = 0; i < n; i++) {
        if (ids[i][0] == '\0' || ids[i][strspn(ids[i], "0123456789")] != '\0')
            continue;
        longer = xasprintf("%s, %s", sql, ids[i]);
        free(sql);
        sql = longer;
    }
    longer = xasprintf("%s)", sql);
    ask_oarstat(listing, OAR_ROWS_SOME, longer, true);
    free(longer);
    free(sql);
}

static void oar_fini(struct adapter *a)
{
    free(oar_of(a)->user);
    free(oar_of(a)->listing);
}

static const struct batch_system system_oar = {
    .word = "OAR",
    .options = &oar_options,
    .programs = programs,
    .programs_needed = 4,
    .for_commands = for_commands,
    .for_jobs = for_jobs,
    .timeout_ms = 60000,
    .remembered_ms = 900000,
    .list_max = LIST_MAX,
    .ids_max = 20, /* a signal goes to them by one ssh after another */
    .endings_most = 4,
    .gone = gone,
    .carry_out = oar_carry_out,
    .list = oar_list,
    .parse = oar_parse,
    .status = oar_status,
    .past = past,
    .send = oar_send,
    .task_id = oar_task_id,
    .withdraw = oar_withdraw,
    .fini = oar_fini,
};

/* Reads OAR's name of a resource, which becomes part of a database query, and must not need quotes. */
static int read_name(const json_t *config, const char *key, const char **name, struct error *err)
{
    char pointer[64];

    if (config == NULL)
        return 0;
    if (jsonx_string(config, "", key, JSONX_OPTIONAL, name, err) < 0)
        return -1;
    if (*name == NULL ||
        ((*name)[0] != '\0' &&
         (*name)[strspn(*name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == '\0'))
        return 0;
    snprintf(pointer, sizeof pointer, "/%s", key);
    return error_at(err, "config_value", pointer,
                    "must be the name of a property of OAR's resources: letters, digits and _");
}

/* Selects the user's jobs in the query if the name needs no quotes; parse() leaves others' jobs out in any case. */
static void find_oar_user(struct oar *oar)
{
    const struct passwd *entry = getpwuid(geteuid());
    bool is_plain = entry != NULL && strpbrk(entry->pw_name, "'\"\\") == NULL;

    oar->user = is_plain ? xstrdup(entry->pw_name) : NULL;
    oar->listing = is_plain ? xasprintf("(job_user = '%s' AND " UNDER_WAY ") OR " NEWEST, oar->user)
                            : xstrdup(UNDER_WAY " OR " NEWEST);
}

static struct adapter *oar_create(const struct adapter_host *host, struct error *err)
{
    struct oar *oar = xcalloc(1, sizeof *oar);

    oar->core = "core";
    oar->gpu = "gpu";
    if (read_name(host->config, "core", &oar->core, err) < 0 || read_name(host->config, "gpu", &oar->gpu, err) < 0 ||
        read_name(host->config, "memory", &oar->memory, err) < 0 ||
        batch_init(&oar->batch, &system_oar, host, NULL, NULL, err) < 0) {
        free(oar);
        return NULL;
    }
    find_oar_user(oar);
    oar->batch.gathering.no_gaps = true; /* --array takes a number of jobs */
    oar_orders_init(oar);
    return &oar->batch;
}

static void oar_destroy(struct adapter *a, void (*done)(void *arg), void *arg)
{
    batch_destroy(a, done, arg);
    oar_orders_stop(oar_of(a));
}

static const struct adapter_setting settings[] = {
    {"poll", "15s", "between questions about jobs; there is one for all of them, by oarstat"},
    {"timeout", "60s", "how long one command of OAR's may take; nothing is concluded from one that takes longer"},
    {"gather", "2s",
     "how long a job may wait for others like it, with which it goes as one job array; 0s: each goes by an oarsub of "
     "its own"},
    {"extra", "[]",
     "options for every oarsub, before those of an ensemble's resources.extra, e.g. [\"-t\", \"exotic\"]"},
    {"environment", "[]",
     "names of the daemon's variables that jobs see besides PATH, LANG and others alike, which hold no secrets"},
    {"core", "core", "what the site's OAR calls a CPU"},
    {"gpu", "gpu", "what it calls a GPU"},
    {"memory", "none: no job asks for memory",
     "the property of its resources that says how much memory a node has, in MiB, e.g. memnode"},
    {"oarsub", "oarsub", "the command, or its path; likewise the following"},
    {"oarstat", "oarstat", "the same"},
    {"oardel", "oardel", "the same"},
    {"oarhold", "oarhold", "the same"},
    {0},
};

const struct adapter_ops stretto_adapter = {
    .abi = ADAPTER_ABI,
    .name = "oar",
    .settings = settings,
    .create = oar_create,
    .destroy = oar_destroy,
    .ready = batch_ready,
    .check = batch_check_one_node,
    .slots = batch_no_slots,
    .interval_ms = batch_interval_ms,
    .submit = batch_submit,
    .poll = batch_poll,
    .find = batch_find,
    .cancel = batch_cancel,
    .withdraw = batch_withdraw,
    .signal = batch_signal,
};
