/* Reports why attempts failed, by cause, with the end of the stderr of an example. That file is on a file system that
 * may hang, so it is read on a worker thread. */
#include "api/find.h"
#include "api/handlers.h"
#include "api/value.h"
#include "common/below.h"
#include "common/xalloc.h"
#include "daemon/store/cause.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAIL_BYTES 2048 /* bytes of stderr that are shown at most */
#define TAIL_LINES 10   /* lines of stderr that are shown at most */

struct failure {
    struct cause_row cause;
    struct attempt_row example; /* number is 0 if there is no such attempt */
    char *path;                 /* the path of its stderr, or of its merged output */
    char tail[TAIL_BYTES + 1];
    bool has_tail;
};

struct failures_reply {
    uv_work_t work;
    struct request *r;
    char *run_dir;
    int64_t ensemble, total;
    size_t n;
    struct failure failures[]; /* at most the number that was asked for */
};

/* Keeps the last lines of a text. If it was `cut`, it begins with a part of a line, which is dropped. */
static void keep_last_lines(char *text, size_t size, bool cut)
{
    char *begin = text;
    size_t hole = 0; /* before what was printed */
    int lines = 0;

    while (hole < size && text[hole] == '\0')
        hole++;
    size -= hole;
    memmove(text, text + hole, size);
    for (size_t i = 0; i < size; i++)
        if (text[i] == '\0')
            text[i] = '?';
    while (size > 0 && text[size - 1] == '\n')
        size--;
    text[size] = '\0';
    for (char *c = text + size; c > text && lines < TAIL_LINES; c--) {
        if (c[-1] == '\n') {
            lines++;
            begin = c;
        }
    }
    if (lines < TAIL_LINES && !cut)
        begin = text;
    memmove(text, begin, strlen(begin) + 1);
}

/* Reads the end of a file with care: it belongs to the member, which may have replaced it, or a directory above, by
 * anything. */
static void read_tail(const char *run_dir, struct failure *failure)
{
    int fd = below_open_whole(run_dir, failure->path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    off_t from;
    ssize_t n;

    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        from = st.st_size > TAIL_BYTES ? st.st_size - TAIL_BYTES : 0;
        n = pread(fd, failure->tail, TAIL_BYTES, from);
        failure->has_tail = n >= 0;
        keep_last_lines(failure->tail, n > 0 ? (size_t)n : 0, from > 0);
    }
    close(fd);
}

static void read_tails(uv_work_t *work)
{
    struct failures_reply *asking = work->data;

    for (size_t i = 0; i < asking->n; i++)
        if (asking->failures[i].path != NULL)
            read_tail(asking->run_dir, &asking->failures[i]);
}

static json_t *example_json(const struct failure *failure)
{
    const struct attempt_row *example = &failure->example;

    if (example->number == 0)
        return json_null();
    return json_pack("{s:I, s:I, s:o, s:o, s:o, s:o}", "member", (json_int_t)example->index, "attempt",
                     (json_int_t)example->number, "reason", value_text_or_null(example->end.reason), "host",
                     value_text_or_null(example->end.host), "ended", value_time(example->end.ended_ms), "stderr",
                     failure->has_tail ? value_text(failure->tail) : json_null());
}

static json_t *failure_json(const struct failure *failure)
{
    return json_pack("{s:o, s:s, s:I, s:I, s:o}", "cause", value_text(failure->cause.text), "outcome",
                     failure->cause.outcome, "members", (json_int_t)failure->cause.members, "attempts",
                     (json_int_t)failure->cause.attempts, "example", example_json(failure));
}

static void asking_destroy(struct failures_reply *asking)
{
    for (size_t i = 0; i < asking->n; i++)
        free(asking->failures[i].path);
    free(asking->run_dir);
    free(asking);
}

static void reply_failures(uv_work_t *work, int status)
{
    struct failures_reply *asking = work->data;
    json_t *failures = json_array();

    for (size_t i = 0; i < asking->n; i++)
        json_array_append_new(failures, failure_json(&asking->failures[i]));
    request_reply_json(asking->r, 200,
                       json_pack("{s:I, s:I, s:o}", "ensemble", (json_int_t)asking->ensemble, "total",
                                 (json_int_t)asking->total, "failures", failures));
    asking_destroy(asking);
}

static int add_cause(void *arg, const struct cause_row *row)
{
    struct failures_reply *asking = arg;

    asking->failures[asking->n++].cause = *row;
    return 0;
}

static int find_failures(struct failures_reply *asking, int limit, struct error *err)
{
    struct store *store = request_store(asking->r);
    int merged = find_merged(asking->r, asking->ensemble, false, err);

    if (merged < 0 || store_cause_total(store, asking->ensemble, &asking->total, err) < 0 ||
        store_cause_each(store, asking->ensemble, limit, add_cause, asking, err) < 0)
        return -1;
    for (size_t i = 0; i < asking->n; i++) {
        struct failure *failure = &asking->failures[i];
        char *dir;

        if (store_attempt_get(store, asking->ensemble, failure->cause.index, failure->cause.number, &failure->example,
                              err) < 0)
            return -1;
        if (failure->example.number == 0 || failure->example.released_ms != 0)
            continue;
        dir = engine_attempt_dir(request_config(asking->r)->engine, asking->ensemble, failure->cause.index,
                                 failure->cause.number);
        failure->path = xasprintf("%s/%s", dir, merged ? "stdout" : "stderr");
        free(dir);
    }
    return 0;
}

void ensemble_failures_get(struct request *r)
{
    struct ensemble_row ensemble;
    struct failures_reply *asking;
    int64_t limit = 10;
    struct error err;

    if (find_ensemble(r, &ensemble) < 0)
        return;
    if (request_query_int(r, "limit", 1, 100, &limit, &err) < 0) {
        request_reply_problem(r, &err);
        return;
    }
    asking = xcalloc(1, sizeof *asking + (size_t)limit * sizeof *asking->failures);
    asking->r = r;
    asking->run_dir = xstrdup(engine_run_dir(request_config(r)->engine));
    asking->ensemble = ensemble.id;
    asking->work.data = asking;
    request_hold(r);
    if (find_failures(asking, (int)limit, &err) == 0) {
        uv_queue_work(request_config(r)->loop, &asking->work, read_tails, reply_failures);
        return;
    }
    asking_destroy(asking);
    request_reply_problem(r, &err);
}
