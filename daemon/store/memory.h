/* Memory for SQLite that does not go back to the system's allocator each time. Debian builds SQLite without its own store of small
 * blocks: each change of a row then costs some ten calls, with sizes that malloc() is slow at. */
#ifndef DAEMON_STORE_MEMORY_H
#define DAEMON_STORE_MEMORY_H

/* From now on, blocks that SQLite frees on this thread are kept for what it asks for next on it: a few of each size. Other threads
 * use malloc(), as before, and blocks may go from thread to thread. Once, before anything else is asked of SQLite; where that is too
 * late, nothing changes. */
void memory_keep_blocks(void);
#endif
