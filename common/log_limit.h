/* Keeps a log from being flooded: only so many lines a minute are let through of the same text, and of the same place
 * in the program. When the minute is over, the log says how many were left out. */
#ifndef COMMON_LOG_LIMIT_H
#define COMMON_LOG_LIMIT_H
#include "common/log.h"

#define LOG_LIMIT_WINDOW_MS 60000
#define LOG_LIMIT_SAME 3   /* lines a minute of the very same text */
#define LOG_LIMIT_SITE 100 /* lines a minute of one place in the program, whatever their text */
#define LOG_LIMIT_SLOTS 256
#define LOG_LIMIT_SAMPLE 160

struct log_limit {
    struct log_limit_slot {
        uint64_t key;     /* 0 if the slot is free */
        int64_t since_ms; /* beginning of its minute, by the monotonic clock */
        unsigned count, silent;
        enum log_level level;
        char sample[LOG_LIMIT_SAMPLE]; /* the last line that was left out */
    } slots[LOG_LIMIT_SLOTS];
};

/* Counts one more line, and returns whether it is to be written. `site` is its format string, which identifies the
 * place in the program. */
bool log_limit_pass(struct log_limit *limit, const void *site, enum log_level level, const char *message,
                    int64_t now_ms);

/* Removes a slot with lines that were left out in a minute that is over (with `all`: in any minute). *out has the key 0
 * when there are no more. */
void log_limit_take(struct log_limit *limit, int64_t now_ms, bool all, struct log_limit_slot *out);
#endif
