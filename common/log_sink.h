/* The file, pipe, journal or syslog that lines of the log go to. Nothing here blocks or fails: lines that cannot be
 * written are counted. */
#ifndef COMMON_LOG_SINK_H
#define COMMON_LOG_SINK_H
#include "common/log_format.h"

enum log_sink_kind { LOG_SINK_STDERR, LOG_SINK_FILE, LOG_SINK_SYSLOG };

struct log_sink {
    enum log_sink_kind kind;
    int fd;          /* -1 while there is none */
    char path[1024]; /* of the file, or of syslog's socket */
    bool torn;       /* only a part of the last line was written */
    uint64_t lost;   /* lines that were lost since the last one that was written */
    int64_t tried_ms;
};

/* Opens the sink that `to` names as in log_open(). */
int log_sink_open(struct log_sink *sink, const char *to, struct error *err);
void log_sink_close(struct log_sink *sink);

/* Opens the file anew by its path. Returns -1 if it cannot be made, and then keeps the old one. */
int log_sink_reopen(struct log_sink *sink, struct error *err);

enum log_frame log_sink_frame(const struct log_sink *sink);

/* Writes one line, or counts it as lost. */
void log_sink_write(struct log_sink *sink, const char *line, size_t size, int64_t now_ms);
#endif
