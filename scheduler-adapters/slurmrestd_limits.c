/* Handles the error "Job violates accounting/QOS policy". sbatch learns which limit it is, but a REST client does not.
 * If this user has too many jobs, the job waits until there are fewer. If the job is too large or too long, and Slurm
 * refuses such jobs instead of letting them wait (DenyOnLimit), it never runs. So the adapter finds out whether any
 * limit on the number of jobs can have been reached. If none can, the job is refused; if that cannot be known, it
 * waits. (Older API versions do not report a QOS's GrpSubmitJobs.) */
#include "scheduler-adapters/slurmrestd.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OLDEST 38 /* v0.0.38; earlier versions report only how many jobs of a QOS may run, not how many there may be */
#define AGAIN_MS 60000 /* waiting jobs are tried again and again, and not each time are three questions justified */
#define CLOCKS_S 300   /* the difference that is allowed between Slurm's clock and this one */

struct doubt {
    struct slurmrestd *a;
    struct batch_group *group;
    struct error words;
    int64_t since;
    struct slurmrestd_limits limits;
};

static int64_t number_at_path(const json_t *value, const char *a, const char *b, const char *c, const char *d)
{
    const char *const keys[] = {a, b, c, d};

    for (size_t i = 0; i < sizeof keys / sizeof *keys && keys[i] != NULL; i++)
        value = json_object_get(value, keys[i]);
    return slurmrestd_number(value);
}

static void set_most(struct slurmrestd_limits *limits, int64_t most)
{
    if (most >= 0 && most < limits->most)
        limits->most = most;
}

static void read_qos(struct slurmrestd_limits *limits, const json_t *qos)
{
    const json_t *max = json_object_get(json_object_get(qos, "limits"), "max"), *flag;
    size_t i;

    json_array_foreach (json_object_get(qos, "flags"), i, flag)
        limits->denies = limits->denies || (json_is_string(flag) && strcmp(json_string_value(flag), "DENY_LIMIT") == 0);
    set_most(limits, number_at_path(max, "jobs", "per", "user", NULL));
    if (number_at_path(max, "jobs", "per", "account", NULL) >= 0 ||
        number_at_path(max, "jobs", "count", NULL, NULL) >= 0)
        limits->is_shared = true;
}

/* Reads an association of this user or of an account, which the user's inherit; other users' are ignored. */
static void read_association(struct slurmrestd_limits *limits, const char *user, const json_t *association)
{
    const char *whose = json_string_value(json_object_get(association, "user"));
    int64_t together = number_at_path(json_object_get(association, "max"), "jobs", "per", "submitted", NULL);
    bool is_account = whose == NULL || whose[0] == '\0';

    if (!is_account && strcmp(whose, user) != 0)
        return;
    set_most(limits, number_at_path(json_object_get(association, "max"), "jobs", "total", NULL, NULL));
    if (is_account)
        limits->is_shared = limits->is_shared || together >= 0;
    else
        set_most(limits, together);
}

void slurmrestd_limits_read(struct slurmrestd_limits *limits, const char *user, const json_t *answer)
{
    const json_t *each, *qos = json_object_get(answer, "QOS");
    size_t i;

    json_array_foreach (qos != NULL ? qos : json_object_get(answer, "qos"), i, each)
        read_qos(limits, each);
    json_array_foreach (json_object_get(answer, "associations"), i, each)
        read_association(limits, user, each);
}

static void decide_doubt(struct doubt *doubt, bool is_refused)
{
    struct slurmrestd *a = doubt->a;

    if (is_refused)
        snprintf(doubt->words.code, sizeof doubt->words.code, "job_refused");
    else
        a->limits_next = uv_now(a->batch.host.loop) + AGAIN_MS;
    batch_group_answered(doubt->group, is_refused ? ADAPTER_UNCLEAR : ADAPTER_UNSURE, true, NULL, &doubt->words);
    free(doubt);
}

/* Compares the number of jobs with the limit. Jobs that have ended just now may have counted when the job was
 * refused. */
static void jobs_counted(void *arg, struct rest_result *result)
{
    struct doubt *doubt = arg;
    struct batch_rows rows = {.user = doubt->a->user, .kind = doubt->a->uid};
    struct error err;
    int64_t n = slurmrestd_check(doubt->a, result, &err) == 0
                    ? slurmrestd_count(&rows, result->body, result->size, doubt->since, &err)
                    : -1;

    batch_rows_free(&rows);
    decide_doubt(doubt, n >= 0 && n < doubt->limits.most);
}

/* Returns whether there is an answer, and it is whole. */
static bool read_limits(struct doubt *doubt, struct rest_result *result, const char *what)
{
    json_t *doc = result->status == 200 ? json_loadb(result->body, result->size, 0, NULL) : NULL;
    bool is_whole =
        json_array_size(json_object_get(doc, "errors")) == 0 && json_array_size(json_object_get(doc, what)) > 0;

    slurmrestd_limits_read(&doubt->limits, doubt->a->user, doc);
    json_decref(doc);
    return is_whole;
}

static void associations_told(void *arg, struct rest_result *result)
{
    struct doubt *doubt = arg;

    if (!read_limits(doubt, result, "associations") || doubt->limits.is_shared || doubt->limits.most == 0)
        decide_doubt(doubt, false);
    else
        slurmrestd_ask(doubt->a, "GET", "/jobs", NULL, SLURM_LIST_MAX, jobs_counted, doubt);
}

static void qos_told(void *arg, struct rest_result *result)
{
    struct doubt *doubt = arg;
    bool is_whole = read_limits(doubt, result, doubt->a->version < SLURMRESTD_OBJECTS ? "QOS" : "qos");

    if (!is_whole || !doubt->limits.denies || doubt->limits.is_shared)
        decide_doubt(doubt, false);
    else
        slurmrestd_ask_accounts(doubt->a, "/associations", associations_told, doubt);
}

void slurmrestd_look_for_limit(struct batch_group *group, const char *words)
{
    struct slurmrestd *a = slurmrestd_of(group->a);
    struct doubt *doubt = xcalloc(1, sizeof *doubt);
    uint64_t now = uv_now(a->batch.host.loop);

    *doubt = (struct doubt){.a = a, .group = group, .since = time(NULL) - CLOCKS_S, .limits.most = INT64_MAX};
    error_set(&doubt->words, "batch_system_unsure", "%s", words);
    if (a->version < OLDEST || !a->has_accounts || now < a->silence.until || now < a->limits_next)
        decide_doubt(doubt, false);
    else
        slurmrestd_ask_accounts(a, "/qos", qos_told, doubt);
}
