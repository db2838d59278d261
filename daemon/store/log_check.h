/* Checks the write-ahead log that the last process left, before SQLite opens it. SQLite treats the first frame with a
 * wrong checksum as the end of the log, and silently drops the rest. That is right after a crash in the middle of a
 * commit, and wrong if the log was damaged. */
#ifndef DAEMON_STORE_LOG_CHECK_H
#define DAEMON_STORE_LOG_CHECK_H

enum log_state {
    LOG_SOUND,
    LOG_CUT,    /* it is shorter than its header, which no daemon leaves */
    LOG_TORN,   /* it ends within a transaction: the last one was not finished, or its end was damaged */
    LOG_DAMAGED /* transactions follow that were flushed, or its header is wrong */
};

enum log_state log_check(const char *path);

#endif
