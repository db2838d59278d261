/* What keeps a log from being flooded: of one line, and of one place in the program, only so many a minute are let
 * through; how many were not is told when the minute is over. */
#ifndef COMMON_LOG_LIMIT_H
#define COMMON_LOG_LIMIT_H
#include "common/log.h"

#define LOG_LIMIT_WINDOW_MS 60000
#define LOG_LIMIT_SAME 3   /* of the very same line */
#define LOG_LIMIT_SITE 100 /* of one place, whatever its lines say */
#define LOG_LIMIT_SLOTS 256
#define LOG_LIMIT_SAMPLE 160

struct log_limit {
    struct log_limit_slot {
        uint64_t key;     /* 0: free */
        int64_t since_ms; /* monotonic */
        unsigned count, silent;
        enum log_level level;
        char sample[LOG_LIMIT_SAMPLE]; /* the last line that was left out */
    } slots[LOG_LIMIT_SLOTS];
};

/* One more line: true where it is to be written. `site` tells the place apart from others: its format string. */
bool log_limit_pass(struct log_limit *limit, const void *site, enum log_level level, const char *message,
                    int64_t now_ms);

/* What was left out in a minute that is over (`all`: or is not yet): into *out, whose key is 0 where there is nothing
 * more. */
void log_limit_take(struct log_limit *limit, int64_t now_ms, bool all, struct log_limit_slot *out);
#endif
