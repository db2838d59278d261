/* Checkpoints that an attempt left: into the store, and whether the member got any further by them. */
#include "daemon/engine/members/progress.h"

#include "common/timefmt.h"
#include "common/xalloc.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/paths.h"
#include "daemon/engine/memory/slot.h"
#include "daemon/store/member_checkpoint.h"
#include "tasks/proto/ckptdir.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* Returns whether the names are the same except for the numbers in them, of which there are some. */
static bool same_but_numbers(const char *a, const char *b)
{
    bool numbers = false;

    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            a += strspn(a, "0123456789");
            b += strspn(b, "0123456789");
            numbers = true;
        } else if (*a++ != *b++) {
            return false;
        }
    }
    return *a == *b && numbers;
}

/* Steps that the program itself reported are compared as such. Otherwise names that differ by numbers only say which is
 * further, and if they say nothing, it is enough that it is not the same again. */
static bool is_further(const struct ckpt *newest, const struct ckpt *base)
{
    if (strcmp(newest->digest, base->digest) == 0 && newest->size == base->size)
        return false;
    if (newest->reported && newest->step >= 0 && base->step >= 0)
        return newest->step > base->step;
    return !same_but_numbers(newest->path, base->path) || strverscmp(newest->path, base->path) > 0;
}

static bool checkpoint_counts(const struct live_job *job, const struct slot *slot,
                              const struct member_checkpoint_row *row)
{
    struct ckpt_chain chain = slot_chain(job, slot);

    return ckpt_counts(&chain, row->ensemble, row->attempt);
}

/* Finds the checkpoint with which the attempt began. Its record names it; an attempt without a record began with the
 * one that was known. Returns 1, 0 if there is none, or -1. */
static int find_base(struct engine *engine, const struct live_job *job, const struct slot *slot,
                     const struct attempt_end *out, struct ckpt *base, struct error *err)
{
    struct member_checkpoint_row row;
    int rc;

    if (out->recorded)
        return ckpt_parse(out->resumed, base);
    rc = store_member_checkpoint_newest(engine->store, engine_checkpoint_home(job->ensemble), slot->index, &row, err);
    if (rc == 1 && !checkpoint_counts(job, slot, &row))
        rc = 0;
    if (rc == 1) {
        *base = (struct ckpt){.step = row.step, .size = row.size, .path = xstrdup(row.path)};
        snprintf(base->digest, sizeof base->digest, "%s", row.digest);
    }
    return rc;
}

static int put_checkpoint(struct engine *engine, int64_t home, int64_t index, const struct ckpt *ckpt,
                          struct error *err)
{
    struct member_checkpoint_row row = {
        .home = home,
        .index = index,
        .number = ckpt->number,
        .ensemble = ckpt->ensemble,
        .attempt = ckpt->attempt,
        .step = ckpt->step,
        .size = ckpt->size,
        .time_ms = time_ms_of(ckpt->time),
    };

    snprintf(row.path, sizeof row.path, "%s", ckpt->path);
    snprintf(row.digest, sizeof row.digest, "%s", ckpt->digest);
    return store_member_checkpoint_put(engine->store, &row, err);
}

void progress_note_purged(struct engine *engine, const struct live_job *job, const struct slot *slot,
                          const struct attempt_end *out, char *notice, size_t size)
{
    size_t len = strlen(notice);
    struct member_checkpoint_row row;
    struct error err;

    if (!out->recorded || !out->measured || out->resumed != NULL || out->checkpoints == NULL)
        return;
    if (store_member_checkpoint_newest(engine->store, engine_checkpoint_home(job->ensemble), slot->index, &row, &err) ==
            1 &&
        checkpoint_counts(job, slot, &row))
        snprintf(notice + len, size - len,
                 "%sit began at its start, since its checkpoint %.100s was not there any more, or is damaged",
                 len > 0 ? "; " : "", row.path);
}

int progress_take(struct engine *engine, const struct live_job *job, const struct slot *slot,
                  const struct attempt_end *out, struct progress *progress, struct error *err)
{
    int64_t home = engine_checkpoint_home(job->ensemble);
    struct ckpt ckpt, base = {0};
    const json_t *item;
    int known, rc;
    size_t i;

    *progress = (struct progress){0};
    if (out->checkpoints == NULL)
        return 0;
    known = find_base(engine, job, slot, out, &base, err);
    if (known < 0)
        return store_doom(engine->store, err);
    rc = store_member_checkpoint_clear(engine->store, home, slot->index, err);
    json_array_foreach ((json_t *)out->checkpoints, i, item) {
        if (rc < 0 || !ckpt_parse(item, &ckpt))
            continue;
        rc = put_checkpoint(engine, home, slot->index, &ckpt, err);
        if (progress->newest[0] == '\0') {
            snprintf(progress->newest, sizeof progress->newest, "%.200s", ckpt.path);
            progress->made = ckpt.ensemble == job->row.ensemble && ckpt.attempt == slot->number &&
                             (known == 0 || is_further(&ckpt, &base));
        }
        ckpt_fini(&ckpt);
    }
    ckpt_fini(&base);
    return rc;
}
