/* The slurmrestd adapter: create, settings, and its struct batch_system. */
#include "scheduler-adapters/slurmrestd.h"

#include "common/jsonx.h"
#include "common/url.h"
#include "common/xalloc.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REQUESTS_MAX 4 /* at once */

extern const struct adapter_ops adapter_slurmrestd;

static const char *const no_programs[] = {NULL};
static const char *const nothing[] = {NULL};

static void slurmrestd_listed(void *arg, struct rest_result *result)
{
    struct batch_listing *listing = arg;
    struct slurmrestd *a = slurmrestd_of(batch_listing_adapter(listing));
    struct error err;

    if (slurmrestd_check(a, result, &err) < 0)
        batch_listing_fail(listing, &err);
    else
        batch_listing_read(listing, result->body, result->size);
}

/* Lists everybody's jobs: the server cannot be asked for one user's. */
static void slurmrestd_list(struct adapter *a, struct batch_listing *listing)
{
    struct batch_rows *rows = batch_listing_rows(listing);

    rows->user = slurmrestd_of(a)->user;
    rows->kind = slurmrestd_of(a)->uid;
    slurmrestd_ask(slurmrestd_of(a), "GET", "/jobs", NULL, SLURM_LIST_MAX, slurmrestd_listed, listing);
}

static void slurmrestd_fini(struct adapter *adapter)
{
    struct slurmrestd *a = slurmrestd_of(adapter);

    slurm_times_clear(&a->times);
    free(a->user);
    free(a->token_file);
}

static const struct batch_system system_slurmrestd = {
    .word = "Slurm",
    .programs = no_programs,
    .for_commands = nothing,
    .for_jobs = slurm_environment,
    .timeout_ms = 30000,
    .list_max = SLURM_LIST_MAX,
    .ids_max = 500,
    .endings_most = 1,
    .gone = slurm_gone,
    .carry_out = slurmrestd_carry_out,
    .list = slurmrestd_list,
    .parse = slurmrestd_parse,
    .status = slurm_status,
    .waits = slurm_waits,
    .past = slurmrestd_past,
    .ready = slurmrestd_ready,
    .send = slurmrestd_send,
    .task_id = slurm_task_id,
    .withdraw = slurmrestd_withdraw,
    .fini = slurmrestd_fini,
};

/* Replaces "~/" by the daemon's home directory. */
static char *expand_home(const char *path)
{
    const char *home = getenv("HOME");

    return strncmp(path, "~/", 2) == 0 && home != NULL ? xasprintf("%s/%s", home, path + 2) : xstrdup(path);
}

static bool is_header(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == 127)
            return false;
    return true;
}

static int read_user(struct slurmrestd *a, const char *user, struct error *err)
{
    const struct passwd *entry = user != NULL ? getpwnam(user) : getpwuid(geteuid());

    if (user != NULL && !is_header(user))
        return error_at(err, "config_value", "/user", "it has control characters");
    if (user == NULL && entry == NULL)
        return error_at(err, "config_value", "/user", "this user has no name here: say which one Slurm knows");
    a->uid = entry != NULL ? (int)entry->pw_uid : -1;
    a->user = xstrdup(user != NULL ? user : entry->pw_name);
    return 0;
}

static void warn_if_in_the_clear(const struct slurmrestd *a, const char *text)
{
    char sentence[300];
    struct error err;
    struct url url;

    if (a->token_file == NULL || url_parse(&url, text, &err) < 0)
        return;
    snprintf(sentence, sizeof sentence, "the token travels unencrypted to %.200s: who can listen there can use it",
             url.base);
    if (!url.is_private)
        a->batch.host.log(a->batch.host.arg, ADAPTER_LOG_WARN, NULL, sentence);
    url_fini(&url);
}

static int read_place(struct slurmrestd *a, const struct adapter_host *host, struct error *err)
{
    const char *user = NULL, *token_file = NULL;
    struct rest_place place = {.user_header = "X-SLURM-USER-NAME", .token_header = "X-SLURM-USER-TOKEN"};
    const json_t *config = host->config, *extra = NULL;

    if (config == NULL)
        return 0;
    if (jsonx_string(config, "", "url", JSONX_OPTIONAL, &place.url, err) < 0 ||
        jsonx_string(config, "", "ca_file", JSONX_OPTIONAL, &place.ca_file, err) < 0 ||
        jsonx_string(config, "", "token_file", JSONX_OPTIONAL, &token_file, err) < 0 ||
        jsonx_string(config, "", "user", JSONX_OPTIONAL, &user, err) < 0 ||
        jsonx_strings(config, "", "extra", JSONX_OPTIONAL, 0, &extra, err) < 0 ||
        slurmrestd_options(extra, "/extra", 0, NULL, err) < 0)
        return -1;
    if (place.url == NULL)
        return 0;
    if (read_user(a, user, err) < 0)
        return -1;
    if (token_file != NULL)
        a->token_file = expand_home(token_file);
    place.token_file = a->token_file;
    place.user = a->user;
    a->rest = rest_create(host->loop, &place, REQUESTS_MAX, err);
    return a->rest != NULL ? 0 : -1;
}

static void rest_gone(void *arg)
{
}

static struct adapter *slurmrestd_create(const struct adapter_host *host, struct error *err)
{
    struct slurmrestd *a = xcalloc(1, sizeof *a);

    if (read_place(a, host, err) < 0 || batch_init(&a->batch, &system_slurmrestd, host, NULL, NULL, err) < 0) {
        if (a->rest != NULL)
            rest_destroy(a->rest, rest_gone, NULL);
        slurmrestd_fini(&a->batch);
        free(a);
        return NULL;
    }
    a->batch.gathering.no_gaps = true;
    if (a->rest != NULL)
        warn_if_in_the_clear(a, json_string_value(json_object_get(host->config, "url")));
    return &a->batch;
}

static void slurmrestd_destroy(struct adapter *a, void (*done)(void *arg), void *arg)
{
    batch_destroy(a, done, arg);
    if (slurmrestd_of(a)->rest == NULL)
        return;
    batch_closing(a);
    rest_destroy(slurmrestd_of(a)->rest, batch_part_gone, a);
}

static int slurmrestd_url_ready(struct adapter *a, struct error *err)
{
    if (slurmrestd_of(a)->rest == NULL)
        return error_set(err, "url_missing", "the setting adapters.slurmrestd.url does not say where slurmrestd is");
    return 0;
}

/* Checks only the options, which need a counterpart in the API: Slurm itself knows the site's limits. */
static int slurmrestd_check_job(struct adapter *a, const struct adapter_resources *want, struct error *err)
{
    if (slurmrestd_url_ready(a, err) < 0)
        return error_set(err, "resources_impossible",
                         "the setting adapters.slurmrestd.url does not say where slurmrestd is");
    return slurmrestd_options(want->extra, "/extra", 0, NULL, err);
}

static const struct adapter_setting settings[] = {
    {"url", "none, and no job can go there", "where slurmrestd is: unix:/PATH, http://HOST:PORT or https://HOST:PORT"},
    {"token_file", "none: slurmrestd knows us by the Unix socket",
     "a file of mode 0600 with a token (JWT), as scontrol token prints it; read for each request, so it may be renewed "
     "at any time"},
    {"user", "the daemon's", "the user that the token is for, and the jobs belong to"},
    {"ca_file", "what this machine trusts", "with https: certificates to check the server by"},
    {"poll", "15s", "between questions about jobs; there is one for all of them"},
    {"timeout", "30s", "how long one request may take; nothing is concluded from one that takes longer"},
    {"gather", "2s",
     "how long a job may wait for others like it, with which it goes as one job array; 0s: each goes by a request of "
     "its own"},
    {"extra", "[]",
     "options for every job, before those of an ensemble's resources.extra, in sbatch's words, e.g. [\"--qos=debug\"]"},
    {"environment", "[]",
     "names of the daemon's variables that jobs see besides PATH, HOME, LANG and others alike, which hold no secrets"},
    {0},
};

const struct adapter_ops adapter_slurmrestd = {
    .abi = ADAPTER_ABI,
    .name = "slurmrestd",
    .settings = settings,
    .create = slurmrestd_create,
    .destroy = slurmrestd_destroy,
    .ready = slurmrestd_url_ready,
    .check = slurmrestd_check_job,
    BATCH_METHODS,
};
