/* Keeps SQLite's freed blocks for reuse instead of returning them to malloc(). Debian builds SQLite without its
 * lookaside memory, so that each change of a row costs some ten allocations, of sizes that malloc() is slow at. */
#ifndef DAEMON_STORE_MEMORY_H
#define DAEMON_STORE_MEMORY_H

/* From now on, some blocks of each size that SQLite frees on this thread are kept for its next allocations on this
 * thread. Other threads use malloc() as before, and blocks may go from thread to thread. Call it once, before SQLite is
 * used; after that it does nothing. */
void memory_keep_blocks(void);
#endif
