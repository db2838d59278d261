#include "common/log_format.h"

#include "common/timefmt.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define FACILITY_DAEMON (3 << 3)
#define TAIL 4 /* bytes kept free for the end of a line: a quote, a brace, a newline */

struct out {
    char *text;
    size_t n;
};

static const char *const names[] = {"error", "warning", "info", "debug"};
static const int priorities[] = {3, 4, 6, 7}; /* syslog(3)'s number for each log_level */

static void out_format(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void out_format(struct out *o, const char *fmt, ...)
{
    size_t room = LOG_LINE_MAX - TAIL - o->n;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(o->text + o->n, room, fmt, ap);
    va_end(ap);
    if (n > 0)
        o->n += (size_t)n < room ? (size_t)n : room - 1;
}

/* Returns how many bytes the UTF-8 character at `p` has, 0 if there is none. */
static size_t utf8_size(const unsigned char *p)
{
    size_t size = p[0] < 0x80                   ? 1
                  : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
                  : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
                  : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
                                                : 0;

    for (size_t i = 1; i < size; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
        (p[0] == 0xf4 && p[1] > 0x8f))
        return 0; /* an overlong form, a surrogate, or beyond Unicode */
    return size;
}

/* Adds text that came from elsewhere. Control characters are replaced, so that nobody can forge a line of the log. */
static void out_text(struct out *o, const char *text, bool json)
{
    const unsigned char *p = (const unsigned char *)text;
    char piece[8];

    while (*p) {
        size_t size = utf8_size(p), n;

        if (size == 0 || (json && *p == 0x7f)) {
            n = (size_t)snprintf(piece, sizeof piece, "\xef\xbf\xbd");
        } else if (json && *p < ' ' && *p != '\n') {
            n = (size_t)snprintf(piece, sizeof piece, "\\u%04x", *p);
        } else if (*p < ' ' || *p == 0x7f) {
            n = (size_t)snprintf(piece, sizeof piece, " ");
        } else if (json && (*p == '"' || *p == '\\')) {
            n = (size_t)snprintf(piece, sizeof piece, "\\%c", *p);
        } else {
            memcpy(piece, p, size);
            n = size;
        }
        if (o->n + n > LOG_LINE_MAX - TAIL)
            return;
        memcpy(o->text + o->n, piece, n);
        o->n += n;
        p += size ? size : 1;
    }
}

static void put_string(struct out *o, const char *key, const char *value)
{
    out_format(o, ",\"%s\":\"", key);
    out_text(o, value, true);
    out_format(o, "\"");
}

static void put_ids(struct out *o, const struct log_ids *ids)
{
    if (ids->request != 0)
        out_format(o, ",\"request\":%" PRIu64, ids->request);
    if (ids->ensemble != 0)
        out_format(o, ",\"ensemble\":%" PRId64, ids->ensemble);
    if (ids->member >= 0)
        out_format(o, ",\"member\":%" PRId64, ids->member);
    if (ids->attempt != 0)
        out_format(o, ",\"attempt\":%" PRId64, ids->attempt);
    if (ids->training != 0)
        out_format(o, ",\"training\":%" PRId64, ids->training);
    if (ids->job != NULL)
        put_string(o, "job", ids->job);
    if (ids->adapter != NULL)
        put_string(o, "adapter", ids->adapter);
}

static void out_json_record(struct out *o, const struct log_record *record)
{
    char when[TIMEFMT_SIZE];

    out_format(o, "{\"time\":\"%s\",\"level\":\"%s\",\"program\":\"%s\",\"pid\":%d", timefmt_iso(when, record->time_ms),
               names[record->level], record->program, record->pid);
    if (record->ids != NULL)
        put_ids(o, record->ids);
    out_format(o, ",\"message\":\"");
    out_text(o, record->message, true);
    o->text[o->n++] = '"';
    o->text[o->n++] = '}';
}

static void put_frame(struct out *o, const struct log_record *record, enum log_frame frame)
{
    time_t seconds = (time_t)(record->time_ms / 1000);
    char when[16];
    struct tm tm;

    if (frame == LOG_PLAIN)
        return;
    out_format(o, "<%d>", priorities[record->level] | (frame == LOG_SYSLOG ? FACILITY_DAEMON : 0));
    if (frame == LOG_SYSLOG) {
        strftime(when, sizeof when, "%b %e %H:%M:%S", localtime_r(&seconds, &tm));
        out_format(o, "%s %s[%d]: ", when, record->program, record->pid);
    }
}

bool log_is_notice(const char *line)
{
    int at = 0;

    if (sscanf(line, "%*4d-%*2d-%*2dT%*2d:%*2d:%*fZ %*[^[ ][%*d] %n", &at) < 0 || at == 0)
        return false;
    return strncmp(line + at, "info: ", 6) == 0 || strncmp(line + at, "debug: ", 7) == 0;
}

size_t log_format(char out[LOG_LINE_MAX], const struct log_record *record, enum log_format format, enum log_frame frame)
{
    struct out o = {out, 0};
    char when[TIMEFMT_SIZE];

    put_frame(&o, record, frame);
    if (format == LOG_JSON) {
        out_json_record(&o, record);
    } else {
        if (frame == LOG_PLAIN)
            out_format(&o, "%s %s[%d] %s: ", timefmt_iso(when, record->time_ms), record->program, record->pid,
                       names[record->level]);
        out_text(&o, record->message, false);
    }
    if (frame != LOG_SYSLOG)
        out[o.n++] = '\n';
    return o.n;
}
