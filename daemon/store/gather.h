/* A file system for SQLite that gathers what is written to a write-ahead log, and writes it at once when it must be there.
 *
 * SQLite writes a log in two pieces a page, 24 bytes and the page, some forty calls for a commit of ours: a good part of
 * what a commit costs. All else goes to the usual file system.
 *
 * Right only with `PRAGMA synchronous = FULL`: then a commit is told to other connections, by the log's index, only after the
 * log was flushed, which is when it is written here. A write that fails is then told by the flush. */
#ifndef DAEMON_STORE_GATHER_H
#define DAEMON_STORE_GATHER_H

/* Its name, for sqlite3_open_v2(); NULL, which is the usual one, where there is no memory. */
const char *gather_vfs(void);

#endif
