/* Describes which ensembles have the places of an adapter, for those that wait for some. */
#include "daemon/engine/ensembles/takers.h"

#include "common/stretto_assert.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/places.h"
#include "daemon/engine/memory/training.h"

#include <stdio.h>
#include <string.h>

#define TAKERS_TOLD 3

struct taker {
    int64_t ensemble, n;
};

struct takers {
    struct taker first[TAKERS_TOLD + 1]; /* those that take the most; the last place is for sorting */
    int64_t others, of_others;           /* how many more there are, and what they take */
};

static void takers_add(struct takers *takers, int64_t ensemble, int64_t n)
{
    struct taker *last = &takers->first[TAKERS_TOLD];

    if (n <= 0)
        return;
    stretto_assert(last->n == 0);
    *last = (struct taker){ensemble, n};
    for (struct taker *t = last; t > takers->first && t[0].n > t[-1].n; t--) {
        struct taker less = t[-1];

        t[-1] = t[0];
        t[0] = less;
    }
    if (last->n > 0) {
        takers->others++;
        takers->of_others += last->n;
    }
    last->n = 0;
}

static int64_t count_jobs(const struct live_ensemble *ens)
{
    int64_t n = 0;

    for (const struct live_job *job = ens->jobs; job != NULL; job = job->ens_next)
        n += job->row.kind != JOB_TRAINING && !job_is_inside(job);
    return n;
}

static int64_t taken_by(const struct live_ensemble *ens, const struct known_adapter *adapter, enum takers_of what)
{
    const struct live_job *training =
        ens->training != NULL && ens->training->adapter == adapter ? ens->training->job : NULL;
    int64_t n = training != NULL && what != TAKERS_OF_JOBS ? places_cpus_of(training) : 0;

    if (ens->adapter == adapter && what != TAKERS_OF_TRAININGS)
        n += what == TAKERS_OF_JOBS ? count_jobs(ens) : ens->slots.cpus;
    return n;
}

bool takers_tell(const struct engine *engine, const struct known_adapter *adapter, const struct live_ensemble *except,
                 enum takers_of what, char *out, size_t size)
{
    const char *unit = what == TAKERS_OF_JOBS ? "job" : "slot";
    struct takers takers = {0};
    size_t at = 0;

    out[0] = '\0';
    for (const struct live_ensemble *ens = engine->ensembles; ens != NULL; ens = ens->hh.next)
        if (ens != except)
            takers_add(&takers, ens->row.id, taken_by(ens, adapter, what));
    for (const struct taker *t = takers.first; t < takers.first + TAKERS_TOLD && t->n > 0 && at < size; t++)
        at += (size_t)snprintf(out + at, size - at, "%sensemble %lld takes %lld%s%s%s", at > 0 ? ", " : "",
                               (long long)t->ensemble, (long long)t->n, at > 0 ? "" : " ", at > 0 ? "" : unit,
                               at > 0 || t->n == 1 ? "" : "s");
    if (takers.others > 0 && at < size)
        snprintf(out + at, size - at, ", %lld more take %lld", (long long)takers.others, (long long)takers.of_others);
    return out[0] != '\0';
}
