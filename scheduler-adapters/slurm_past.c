/* Looks up jobs that squeue has forgotten: by sacct if the site keeps accounts, else in the job completion log if
 * that is a file that can be read here. Both only help to give a reason for an end: a job's own records report what it
 * did. */
#include "scheduler-adapters/slurm.h"

#include "common/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define IDS_MAX 200 /* ids in one question: squeue rarely loses more, and the rest is asked for again */
/* the search begins earlier by this, since clocks differ and a name may have been submitted before */
#define SINCE_S 3600
#define SINCE_LAST_S INT64_C(253370764800) /* the year 9999: a damaged database may have any time */
#define AGAIN_MS 60000                     /* between questions that get no answer */
#define FILE_TAIL (8 << 20)                /* bytes read from the end of the log, which has the newest jobs */

struct slurm_past {
    uv_work_t work;
    struct slurm *a;
    char *ids; /* separated by commas */
    int64_t since;
    batch_look_cb *cb;
    void *arg;
    char *path; /* of the log */
    struct batch_rows rows;
    int error;
};

static void finish_past(struct slurm_past *past)
{
    struct adapter *a = &past->a->batch;
    struct error none = {0};

    past->cb(past->arg, &past->rows, &none);
    batch_rows_free(&past->rows);
    free(past->ids);
    free(past->path);
    free(past);
    batch_idle(a);
}

void slurm_past_answered(struct slurm_silence *silence)
{
    silence->told = false;
}

void slurm_past_unanswered(struct adapter *a, struct slurm_silence *silence, const char *why)
{
    char sentence[512];

    if (!silence->told && !a->closing) {
        snprintf(sentence, sizeof sentence, "what became of jobs that Slurm has forgotten cannot be looked up: %.400s",
                 why);
        a->host.log(a->host.arg, ADAPTER_LOG_WARN, NULL, sentence);
    }
    silence->told = true;
    silence->until = uv_now(a->host.loop) + AGAIN_MS;
}

static void no_answer(struct slurm_past *past, const char *why)
{
    slurm_past_unanswered(&past->a->batch, &past->a->silence, why);
    finish_past(past);
}

static void read_record_file(uv_work_t *work)
{
    struct slurm_past *past = work->data;
    int fd = open(past->path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    ssize_t n;

    if (fd < 0 || fstat(fd, &st) < 0) {
        past->error = errno;
    } else {
        off_t from = st.st_size > FILE_TAIL ? st.st_size - FILE_TAIL : 0;
        char *text = xcalloc((size_t)(st.st_size - from) + 1, 1);

        n = pread(fd, text, (size_t)(st.st_size - from), from);
        past->error = n < 0 ? errno : 0;
        slurm_parse_record(&past->rows, text, n < 0 ? 0 : (size_t)n);
        batch_rows_sort(&past->rows);
        free(text);
    }
    if (fd >= 0)
        close(fd);
}

static void record_file_read(uv_work_t *work, int status)
{
    struct slurm_past *past = work->data;

    if (past->error != 0) {
        char why[300];

        snprintf(why, sizeof why, "%.200s: %s", past->path, strerror(past->error));
        no_answer(past, why);
        return;
    }
    slurm_past_answered(&past->a->silence);
    finish_past(past);
}

static void start_reading_record(struct slurm_past *past)
{
    past->path = xstrdup(past->a->record_file);
    past->work.data = past;
    uv_queue_work(past->a->batch.host.loop, &past->work, read_record_file, record_file_read);
}

static void sacct_ended(void *arg, struct command_result *result)
{
    struct slurm_past *past = arg;
    struct error err;

    past->rows.kind = SLURM_ROWS_SACCT;
    if (batch_check(result, "sacct", &err) < 0 || slurm_parse(&past->rows, result->out, result->out_size, &err) < 0) {
        no_answer(past, err.text);
        return;
    }
    batch_rows_sort(&past->rows);
    slurm_past_answered(&past->a->silence);
    finish_past(past);
}

int64_t slurm_past_from(int64_t since)
{
    return since > SINCE_LAST_S ? SINCE_LAST_S : since > SINCE_S ? since - SINCE_S : 0;
}

static void ask_sacct(struct slurm_past *past)
{
    char since[32];
    time_t from = (time_t)slurm_past_from(past->since);
    struct tm tm;
    const char *const args[] = {"-n", "-X", "-D", "-P", "-S", since, "-j", past->ids, "-o", slurm_sacct_format, NULL};

    localtime_r(&from, &tm);
    strftime(since, sizeof since, "%Y-%m-%dT%H:%M:%S", &tm);
    batch_run(&past->a->batch, past->a->batch.questions, SLURM_SACCT, args, NULL, SLURM_LIST_MAX, sacct_ended, past);
}

static void ask_record(struct slurm_past *past)
{
    if (past->a->record == SLURM_RECORD_SACCT)
        ask_sacct(past);
    else if (past->a->record == SLURM_RECORD_FILE)
        start_reading_record(past);
    else
        finish_past(past);
}

static void ask_if_known(void *arg)
{
    struct slurm_past *past = arg;

    if (past->a->record == SLURM_RECORD_UNASKED)
        no_answer(past, past->a->site_unknown.text);
    else
        ask_record(past);
}

char *slurm_past_ids(const char *const *ids, size_t n, const char *between)
{
    size_t size = 1, at = 0;
    char *list;

    n = n < IDS_MAX ? n : IDS_MAX;
    for (size_t i = 0; i < n; i++)
        size += strlen(ids[i]) + strlen(between);
    list = xcalloc(size, 1);
    for (size_t i = 0; i < n; i++)
        at += (size_t)sprintf(list + at, "%s%s", i > 0 ? between : "", ids[i]);
    return list;
}

void slurm_past(struct adapter *adapter, const char *const *ids, size_t n, int64_t since, batch_look_cb *cb, void *arg)
{
    struct slurm *a = slurm_of(adapter);
    struct slurm_past *past = xcalloc(1, sizeof *past);

    past->ids = slurm_past_ids(ids, n, ",");
    past->a = a;
    past->since = since;
    past->cb = cb;
    past->arg = arg;
    batch_busy(adapter);
    /* the caller gave a callback, so an answer from inside the call is expected */
    if (uv_now(adapter->host.loop) < a->silence.until || a->record == SLURM_RECORD_NONE)
        finish_past(past);
    else if (a->record == SLURM_RECORD_UNASKED)
        slurm_site_ready(a, ask_if_known, past);
    else
        ask_record(past);
}
