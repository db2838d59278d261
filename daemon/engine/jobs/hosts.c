/* Lists the hosts that members and trainings run on now, and how many processes each host is for. Launchers that bring
 * their own elasticity ask for them again and again. A host leaves the list when its processes are to end, before they
 * get the signal. */
#include "daemon/engine/jobs/hosts.h"

#include "common/text.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/slot.h"
#include "daemon/engine/memory/training.h"

#include <stdlib.h>
#include <string.h>

/* Adds slots of a host, which often is the same as the one before. */
static void hosts_add(json_t *list, const char *host, size_t len, int64_t slots)
{
    if (len == 0 || slots <= 0)
        return;
    for (size_t i = json_array_size(list); i-- > 0;) {
        json_t *item = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(item, "host"));

        if (strncmp(name, host, len) != 0 || name[len] != '\0')
            continue;
        json_object_set_new(item, "slots", json_integer(json_integer_value(json_object_get(item, "slots")) + slots));
        return;
    }
    json_array_append_new(list, json_pack("{s:o, s:I}", "host", json_stringn(host, len), "slots", (json_int_t)slots));
}

/* Adds what the claim of a job on several nodes says: "a:2,b:1". */
static void add_claimed(json_t *list, const char *text)
{
    while (text != NULL && *text != '\0') {
        size_t n = strcspn(text, ","), name = n;

        while (name > 0 && text[name - 1] != ':')
            name--;
        if (name > 1)
            hosts_add(list, text, name - 1, strtoll(text + name, NULL, 10));
        text += n + (text[n] == ',');
    }
}

static bool is_on_several_nodes(const struct live_job *job)
{
    return job->row.kind == JOB_MEMBERS && job_resources(job)->nodes > 1;
}

bool job_lacks_hosts(const struct live_job *job)
{
    return job->found.started && (job->found.host[0] == '\0' || (is_on_several_nodes(job) && job->found.hosts == NULL));
}

static bool job_runs(const struct live_job *job)
{
    return job != NULL && job->found.started && !job->row.cancel && !job->ending.over && !job_is_gone(job) &&
           !ensemble_is_stopped(&job->ensemble->row);
}

static bool slot_runs(const struct live_job *job, int64_t index)
{
    for (size_t i = 0; i < job->n_slots; i++)
        if (job->slots[i].index == index)
            return job->slots[i].open && job->slots[i].order == SLOT_TO_ITS_END;
    return false;
}

json_t *engine_member_hosts(struct engine *engine, int64_t id, int64_t index)
{
    const struct live_job *job = engine_find_job(engine, id);
    json_t *list = json_array();

    if (!job_runs(job) || job->row.kind != JOB_MEMBERS || !slot_runs(job, index))
        return list;
    if (is_on_several_nodes(job))
        add_claimed(list, job->found.hosts);
    else
        hosts_add(list, job->found.host, strlen(job->found.host), job_resources(job)->tasks);
    return list;
}

/* Returns the host of a rank: that on which it says that it can be reached, or else its job's. */
static const char *host_of_rank(const struct training *training, int64_t rank)
{
    const struct rank_hosts *hosts = &training->hosts;

    if (hosts->generation == training->row.generation && rank < hosts->n && hosts->of[rank].name[0] != '\0')
        return hosts->of[rank].name;
    return training->job->found.host;
}

json_t *engine_training_hosts(struct engine *engine, int64_t ensemble)
{
    const struct live_ensemble *ens = engine_find_ensemble(engine, ensemble);
    const struct training *training = ens != NULL ? ens->training : NULL;
    json_t *list = json_array();
    int64_t ranks;

    if (training == NULL || training_is_over(&training->row) || !job_runs(training->job))
        return list;
    ranks = training->row.ranks;
    if (training->row.wanted > 0 && training->row.wanted < ranks) /* those that are to leave do not count any more */
        ranks = training->row.wanted;
    for (int64_t rank = 0; rank < ranks; rank++) {
        const char *host = host_of_rank(training, rank);

        hosts_add(list, host, strlen(host), 1);
    }
    return list;
}
