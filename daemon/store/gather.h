/* A file system for SQLite (a VFS) that gathers the pieces written to a write-ahead log, and writes them at once when
 * they must be there. SQLite writes two pieces for each page, 24 bytes and the page, which is some forty calls for a
 * commit here and a good part of its cost. All other files go to the usual file system.
 *
 * It is only correct with `PRAGMA synchronous = FULL`. The log's index then shows a commit to other connections only
 * after the log was flushed, and the gathered pieces are written before that flush. A write that fails makes the flush
 * fail.
 *
 * A flush may be left to another thread, so that a commit need not wait for the disk; the flush is then owed. If the
 * machine crashes before it is made, that commit and later ones are lost, but nothing else, since every frame of the
 * log has a checksum over the frames before it. Two flushes are never put off. One is that of the log's header when the
 * log begins again, because new frames behind the old header would bring old frames back. The other is that of a
 * checkpoint, which SQLite asks for without having written anything new. */
#ifndef DAEMON_STORE_GATHER_H
#define DAEMON_STORE_GATHER_H
#include <sqlite3.h>
#include <stdbool.h>

/* Returns the name for sqlite3_open_v2(), or NULL (the usual file system) if there is no memory. */
const char *gather_vfs(void);

/* Returns the log of a connection's main database, or NULL if it does not use this file system. There is one after the
 * first write; it stays the same as long as the connection and its journal mode do. */
sqlite3_file *gather_log(sqlite3 *db);

void gather_defer(sqlite3_file *log, bool defer); /* with true, flushes for commits are owed from now on */
bool gather_owes(const sqlite3_file *log);
void gather_settle(sqlite3_file *log); /* gather_flush() has made the flush that was owed */

/* The room on the disk that the log keeps for itself. Its file has more blocks than it needs, and keeps them when the
 * log begins again and when the database is closed. A few changes can then be stored when the disk is full, even if
 * other programs take whatever becomes free. */
#define GATHER_KEPT ((sqlite3_int64)2 << 20)
/* Returns whether GATHER_KEPT bytes are allocated behind the content of the log, which it tries if they are not. Also
 * true if that cannot be found out. */
bool gather_has_room(sqlite3_file *log);
/* With true, writes that would leave less room than that fail with SQLITE_FULL from now on. */
void gather_spare(sqlite3_file *log, bool spare);
/* The database has all of the log's content, so that the next write is the first of the log. */
void gather_begin_anew(sqlite3_file *log);

/* Returns whether a log that nobody has open is empty or missing. */
bool gather_is_over(const char *path);
/* Allocates blocks for the index of a log, before the database is opened, and lets the index keep them. */
void gather_keep_index(const char *path);

/* Makes the flush that is owed. Returns SQLite's code. May be called on any thread; nothing may be committed
 * meanwhile. */
int gather_flush(sqlite3_file *log);

#endif
