/* A file system for SQLite that gathers what is written to a write-ahead log, and writes it at once when it must be there.
 *
 * SQLite writes a log in two pieces a page, 24 bytes and the page, some forty calls for a commit of ours: a good part of
 * what a commit costs. All else goes to the usual file system.
 *
 * Right only with `PRAGMA synchronous = FULL`: then a commit is told to other connections, by the log's index, only after the
 * log was flushed, which is when it is written here. A write that fails is then told by the flush.
 *
 * A flush may be left to somebody else, on another thread, so that the one who commits need not wait for the disk: it is then
 * owed. A crash of the machine before it is made good loses that commit, and those after it; nothing else, since every frame of
 * the log vouches for those before it. The flush of a log's header, between two of its lives, is never put off: frames of the
 * new one behind the header of the old one would bring the old ones back. Nor is that of a checkpoint, which comes after a commit
 * and finds nothing new. */
#ifndef DAEMON_STORE_GATHER_H
#define DAEMON_STORE_GATHER_H
#include <sqlite3.h>
#include <stdbool.h>

/* Its name, for sqlite3_open_v2(); NULL, which is the usual one, where there is no memory. */
const char *gather_vfs(void);

/* The log of a connection's main database; NULL where it is none of ours. It stays the same for as long as the connection and its
 * journal mode do, once there is one: after the first write. */
sqlite3_file *gather_log(sqlite3 *db);

void gather_defer(sqlite3_file *log, bool defer); /* from now on, flushes are owed, or made */
bool gather_owes(const sqlite3_file *log);
void gather_settle(sqlite3_file *log); /* what was owed has been made good by gather_flush() */

/* Room on the disk that is the log's own. Its file is given more blocks than it needs, and keeps them when it begins anew and when the
 * database is closed. So there is room for a few changes also where the disk is full, and stays so because other programs take what
 * gets free. */
#define GATHER_KEPT ((sqlite3_int64)2 << 20)
bool gather_has_room(sqlite3_file *log); /* for GATHER_KEPT bytes behind what it holds: asked for where there is not; or nobody can tell */
void gather_spare(sqlite3_file *log, bool spare); /* from now on, what would leave less than that fails with SQLITE_FULL; or no more */
void gather_begin_anew(sqlite3_file *log);        /* all of it is in the database: the next that is written is its first */

/* Of files that nobody has open: is nothing in this log, or no such file there? */
bool gather_is_over(const char *path);
/* The index of a log, which is to be opened: it gets blocks enough, and keeps them. */
void gather_keep_index(const char *path);

/* Make good what is owed: SQLite's code. From any thread; nothing may be committed meanwhile. */
int gather_flush(sqlite3_file *log);

#endif
