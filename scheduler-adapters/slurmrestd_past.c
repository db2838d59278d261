/* Looks up jobs that the listing lacks in the accounts, if the server has them: the same as sacct, over REST. The
 * question is by ids, and the answer is compared by names, since ids are used again. It only helps to give a reason for
 * an end: a job's own records report what it did. */
#include "scheduler-adapters/slurmrestd.h"

#include "common/xalloc.h"

#include <stdlib.h>

#define NOTHING_FOUND 9003 /* slurmrestd's error number for an empty result */

struct accounts_question {
    struct slurmrestd *a;
    batch_look_cb *cb;
    void *arg;
};

static void looked_back(void *arg, const struct batch_rows *rows, const struct error *err)
{
    struct accounts_question *past = arg;

    if (rows == NULL)
        slurm_past_unanswered(&past->a->batch, &past->a->silence, err->text);
    else
        slurm_past_answered(&past->a->silence);
    past->cb(past->arg, rows, err);
    free(past);
}

static void accounts_answered(void *arg, struct rest_result *result)
{
    struct batch_listing *listing = arg;
    struct slurmrestd *a = slurmrestd_of(batch_listing_adapter(listing));
    struct slurmrestd_said said = {0};
    struct error err;

    if (slurmrestd_check(a, result, &err) == 0) {
        batch_listing_rows(listing)->user = a->user;
        batch_listing_read(listing, result->body, result->size);
        return;
    }
    if (result->status != 0)
        slurmrestd_read_said(result, &said);
    if (said.number == NOTHING_FOUND)
        batch_listing_none(listing);
    else
        batch_listing_fail(listing, &err);
}

void slurmrestd_past(struct adapter *adapter, const char *const *ids, size_t n, int64_t since, batch_look_cb *cb,
                     void *arg)
{
    struct slurmrestd *a = slurmrestd_of(adapter);
    struct error none = {0};
    struct accounts_question *past;
    char *list, *path;

    /* the caller gave a callback, so an answer from inside the call is accepted */
    if (!a->has_accounts || uv_now(adapter->host.loop) < a->silence.until) {
        cb(arg, NULL, &none);
        return;
    }
    past = xcalloc(1, sizeof *past);
    *past = (struct accounts_question){a, cb, arg};
    list = slurm_past_ids(ids, n, "%2C");
    path = xasprintf("/jobs?step=%s&skip_steps=true&start_time=uts%lld", list, (long long)slurm_past_from(since));
    slurmrestd_ask_accounts(a, path, accounts_answered, batch_listing_new(adapter, looked_back, past));
    free(path);
    free(list);
}
