/* Where lines of the log go. Nothing here blocks, and nothing fails: what cannot be written is counted. */
#ifndef COMMON_LOG_SINK_H
#define COMMON_LOG_SINK_H
#include "common/log_format.h"

enum log_sink_kind { LOG_SINK_STDERR, LOG_SINK_FILE, LOG_SINK_SYSLOG };

struct log_sink {
    enum log_sink_kind kind;
    int fd;          /* -1: none now */
    char path[1024]; /* of the file, or of syslog's socket */
    bool torn;       /* the last line was written in part only */
    uint64_t lost;   /* lines since one was written */
    int64_t tried_ms;
};

/* `to` as log_open() takes it. */
int log_sink_open(struct log_sink *sink, const char *to, struct error *err);
void log_sink_close(struct log_sink *sink);

/* The file anew, by its path. -1: it cannot be made, and the old one is kept. */
int log_sink_reopen(struct log_sink *sink, struct error *err);

enum log_frame log_sink_frame(const struct log_sink *sink);

/* Write one line, or count it as lost. */
void log_sink_write(struct log_sink *sink, const char *line, size_t size, int64_t now_ms);
#endif
