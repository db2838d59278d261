#include "common/log_changes.h"

#include "common/timefmt.h"
#include "common/xalloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct kept_line {
    enum log_level level;
    int64_t time_ms;
    struct log_ids ids; /* its strings are copies that belong to this line */
    bool about;
    const char *site;
    char *message;
};

static struct {
    bool keep;
    struct kept_line *lines;
    size_t n, room;
} kept;

static char *copy_or_null(const char *text)
{
    return text != NULL ? xstrdup(text) : NULL;
}

static void forget_kept_lines(void)
{
    for (size_t i = 0; i < kept.n; i++) {
        free((char *)kept.lines[i].ids.job);
        free((char *)kept.lines[i].ids.adapter);
        free(kept.lines[i].message);
    }
    kept.n = 0;
}

void log_change(enum log_level level, const struct log_ids *ids, const char *fmt, ...)
{
    char message[LOG_MESSAGE_MAX];
    struct kept_line *line;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    if (!kept.keep) {
        log_message(level, time_now_ms(), ids, fmt, message);
        return;
    }
    if (kept.n == kept.room) {
        kept.room = kept.room ? 2 * kept.room : 16;
        kept.lines = xrealloc(kept.lines, kept.room, sizeof *kept.lines);
    }
    line = &kept.lines[kept.n++];
    *line = (struct kept_line){
        .level = level, .time_ms = time_now_ms(), .about = ids != NULL, .site = fmt, .message = xstrdup(message)};
    if (ids == NULL)
        return;
    line->ids = *ids;
    line->ids.job = copy_or_null(ids->job);
    line->ids.adapter = copy_or_null(ids->adapter);
}

void log_changes_write(void)
{
    for (size_t i = 0; i < kept.n; i++) {
        const struct kept_line *line = &kept.lines[i];

        log_message(line->level, line->time_ms, line->about ? &line->ids : NULL, line->site, line->message);
    }
    forget_kept_lines();
}

void log_changes_drop(void)
{
    forget_kept_lines();
}

void log_changes_keep(bool keep)
{
    log_changes_write();
    kept.keep = keep;
    if (keep)
        return;
    free(kept.lines);
    kept.lines = NULL;
    kept.room = 0;
}
