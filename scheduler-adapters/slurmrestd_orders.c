/* Orders about jobs, by a request for each. Servers before v0.0.39 pass a signal on to all processes of a job, not to
 * its runner alone. A runner that gets such a signal regards tasks that die at the same time as ended by that order. */
#include "scheduler-adapters/slurmrestd.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rest_deed {
    struct slurmrestd *a;
    batch_deed_cb *cb;
    void *arg;
    size_t left;
    struct error err; /* text "": no error */
};

struct rest_withdrawal {
    struct slurmrestd *a;
    struct batch_order *order;
    char path[100];
};

/* Returns 0 if the order is done, or there is no such job any more. */
static int check_order(const struct slurmrestd *a, const struct rest_result *result, struct error *err)
{
    struct slurmrestd_said said;

    if (slurmrestd_check(a, result, err) == 0)
        return 0;
    if (result->status == 0)
        return -1;
    slurmrestd_read_said(result, &said);
    return batch_says(said.text, slurm_gone) ? 0 : -1;
}

static void rest_deed_done(void *arg, struct rest_result *result)
{
    struct rest_deed *deed = arg;
    struct error err;

    if (check_order(deed->a, result, &err) < 0)
        deed->err = err;
    if (--deed->left > 0)
        return;
    deed->cb(deed->arg, deed->err.text[0] != '\0' ? &deed->err : NULL);
    free(deed);
}

void slurmrestd_carry_out(struct adapter *a, enum batch_deed what, const char *const *ids, size_t n, batch_deed_cb *cb,
                          void *arg)
{
    static const char *const signals[] = {[BATCH_TAKE_OUT] = NULL,
                                          [BATCH_TERM] = "TERM",
                                          [BATCH_USR1] = "USR1",
                                          [BATCH_USR2] = "USR2",
                                          [BATCH_KILL] = NULL};
    struct rest_deed *deed = xcalloc(1, sizeof *deed);
    char path[160];

    *deed = (struct rest_deed){.a = slurmrestd_of(a), .cb = cb, .arg = arg, .left = n};
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "/job/%s%s%s%s", ids[i], signals[what] != NULL ? "?signal=" : "",
                 signals[what] != NULL ? signals[what] : "",
                 signals[what] != NULL && deed->a->version >= SLURMRESTD_OBJECTS ? "&flags=BATCH_JOB" : "");
        slurmrestd_ask(deed->a, "DELETE", path, NULL, SLURMRESTD_WORDS_MAX, rest_deed_done, deed);
    }
}

static void finish_rest_withdrawal(struct rest_withdrawal *w, const struct error *err)
{
    batch_order_done(w->order, err != NULL ? ADAPTER_UNSURE : ADAPTER_OK, err != NULL ? err->code : NULL,
                     err != NULL ? err->text : NULL);
    free(w);
}

static void rest_job_ended(void *arg, struct rest_result *result)
{
    struct rest_withdrawal *w = arg;
    struct error err;

    finish_rest_withdrawal(w, check_order(w->a, result, &err) < 0 ? &err : NULL);
}

static void released(void *arg, struct rest_result *result)
{
    finish_rest_withdrawal(arg, NULL);
}

static const struct batch_row *find_row_by_id(const struct batch_rows *rows, const char *id)
{
    for (size_t i = 0; i < rows->n; i++)
        if (strcmp(rows->row[i].id, id) == 0)
            return &rows->row[i];
    return NULL;
}

/* Deletes the held job if it has not begun: then it cannot begin any more. A job that has begun is released and left
 * alone. */
static void held_job_looked_up(void *arg, struct rest_result *result)
{
    struct rest_withdrawal *w = arg;
    struct batch_rows rows = {.kind = w->a->uid, .user = w->a->user};
    const struct batch_row *row;
    struct error err;
    int rc = slurmrestd_check(w->a, result, &err) < 0 ? -1 : slurmrestd_parse(&rows, result->body, result->size, &err);

    row = rc == 0 ? find_row_by_id(&rows, batch_order_id(w->order)) : NULL;
    if (rc < 0)
        finish_rest_withdrawal(w, &err);
    else if (row == NULL || row->phase == BATCH_OVER)
        finish_rest_withdrawal(w, NULL);
    else if (row->phase == BATCH_WAITS)
        slurmrestd_ask(w->a, "DELETE", w->path, NULL, SLURMRESTD_WORDS_MAX, rest_job_ended, w);
    else
        slurmrestd_ask(w->a, "POST", w->path, "{\"hold\":false}", SLURMRESTD_WORDS_MAX, released, w);
    batch_rows_free(&rows);
}

static void rest_held(void *arg, struct rest_result *result)
{
    struct rest_withdrawal *w = arg;
    struct error err;

    if (check_order(w->a, result, &err) == 0)
        slurmrestd_ask(w->a, "GET", w->path, NULL, SLURMRESTD_WORDS_MAX, held_job_looked_up, w);
    else if (result->status == 500 && strstr(err.text, "ontact") == NULL && strstr(err.text, "timed out") == NULL)
        finish_rest_withdrawal(w, NULL); /* the job is left alone */
    else
        finish_rest_withdrawal(w, &err);
}

/* Holds the job first and looks at it then: the server also holds a running job, without any effect on it. */
void slurmrestd_withdraw(struct batch_order *order, const struct batch_row *row)
{
    struct rest_withdrawal *w = xcalloc(1, sizeof *w);

    *w = (struct rest_withdrawal){.a = slurmrestd_of(batch_order_adapter(order)), .order = order};
    snprintf(w->path, sizeof w->path, "/job/%s", row->id);
    slurmrestd_ask(w->a, "POST", w->path, "{\"hold\":true}", SLURMRESTD_WORDS_MAX, rest_held, w);
}
