/* The journal of a pilot: lines of JSON, which are only appended, many by one write. */
#include "tasks/runner/pilot.h"

#include "common/files.h"
#include "common/log.h"
#include "common/timefmt.h"
#include "common/xalloc.h"
#include "tasks/proto/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AGAIN_MS 500
/* a node that crashes loses at most the journal of this time; no job runs twice at once because of that */
#define SYNC_MS 100

int pilot_journal_open(struct node_pilot *p, struct error *err)
{
    char *path = xasprintf("%s/journal.jsonl", p->node_dir);

    p->journal.fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);
    if (p->journal.fd < 0)
        error_errno(err, "journal", "%s", path);
    else
        file_flush_name(path);
    free(path);
    return p->journal.fd < 0 ? -1 : 0;
}

static void journal_line_begin(struct node_pilot *p, const char *what)
{
    text_add(&p->journal.lines, "{\"what\":\"%s\",\"time\":%.3f", what, (double)time_now_ms() / 1000);
}

static void journal_line_string(struct node_pilot *p, const char *key, const char *value)
{
    text_add(&p->journal.lines, ",\"%s\":", key);
    text_json_string(&p->journal.lines, value);
}

static void journal_line_end(struct node_pilot *p)
{
    text_put(&p->journal.lines, "}\n", 2);
}

void pilot_say_ready(struct node_pilot *p)
{
    char host[64] = "";

    gethostname(host, sizeof host - 1);
    journal_line_begin(p, "ready");
    journal_line_string(p, "host", host);
    text_add(&p->journal.lines, ",\"pid\":%d,\"cpus\":%lld,\"gpus\":%lld,\"memory\":%lld", (int)getpid(),
             (long long)p->room.cpus, (long long)p->room.n_gpus, (long long)p->room.memory);
    if (p->deadline_ms != INT64_MAX)
        text_add(&p->journal.lines, ",\"deadline\":%lld", (long long)(p->deadline_ms / 1000));
    journal_line_end(p);
}

void pilot_say_start(struct node_pilot *p, const struct pilot_job *job)
{
    journal_line_begin(p, "start");
    journal_line_string(p, "job", job->name);
    journal_line_end(p);
}

void pilot_say_end(struct node_pilot *p, const struct pilot_job *job, const char *records, int status)
{
    journal_line_begin(p, "end");
    journal_line_string(p, "job", job->name);
    text_add(&p->journal.lines, ",\"status\":%d", status);
    if (records != NULL)
        text_add(&p->journal.lines, ",\"records\":%s", records);
    journal_line_end(p);
}

void pilot_say_return(struct node_pilot *p, const char *job, const char *why)
{
    journal_line_begin(p, "return");
    journal_line_string(p, "job", job);
    journal_line_string(p, "why", why);
    journal_line_end(p);
}

void pilot_say_over(struct node_pilot *p, const char *why)
{
    journal_line_begin(p, "over");
    journal_line_string(p, "why", why);
    journal_line_end(p);
}

bool pilot_journal_pending(const struct node_pilot *p)
{
    return p->journal.written < p->journal.lines.size;
}

int64_t pilot_journal_due(const struct node_pilot *p)
{
    return pilot_journal_pending(p) ? p->journal.again_at : p->journal.sync_at;
}

/* Flushes the journal, so that other hosts see it. This is not done after each line, since a slow disk must not delay
 * the start of jobs. */
static void sync_journal(struct node_pilot *p)
{
    if (fdatasync(p->journal.fd) < 0) { /* lines that could not be flushed are in exit records as well */
    }
    p->journal.sync_at = INT64_MAX;
    control_nudge(p->config.control, p->config.name, CONTROL_EXIT);
}

static void journal_trouble(struct node_pilot *p, int64_t now)
{
    if (!p->journal.told_trouble)
        log_error("the journal cannot be written: %s; trying again", strerror(errno));
    p->journal.told_trouble = true;
    p->journal.again_at = now + AGAIN_MS;
}

void pilot_journal_flush(struct node_pilot *p, int64_t now)
{
    if (now >= p->journal.sync_at)
        sync_journal(p);
    if (!pilot_journal_pending(p) || now < p->journal.again_at)
        return;
    while (pilot_journal_pending(p)) {
        ssize_t n = write(p->journal.fd, p->journal.lines.data + p->journal.written,
                          p->journal.lines.size - p->journal.written);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            journal_trouble(p, now);
            return;
        }
        p->journal.written += (size_t)n;
    }
    if (p->config.flush && p->journal.sync_at == INT64_MAX)
        p->journal.sync_at = now + SYNC_MS;
    p->journal.told_trouble = false;
    p->journal.lines.size = p->journal.written = 0;
    control_nudge(p->config.control, p->config.name, CONTROL_EXIT);
}
