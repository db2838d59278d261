/* A file system below SQLite that fails on purpose, for tests: a VFS and an allocator on top of the usual ones. Calls
 * that can fail are counted; the n-th one fails, once, or for good until disarmed. Or the power is cut at the n-th
 * change of a file: then everything fails, and faultfs_restore() leaves in the files what a disk might contain then. */
#ifndef TESTS_FAULTFS_H
#define TESTS_FAULTFS_H
#include <stdbool.h>
#include <stdint.h>

enum faultfs_kind {
    FAULT_NONE,
    FAULT_IO,     /* any call on files and locks, each with SQLite's own error code */
    FAULT_READ,   /* a read of a file */
    FAULT_FULL,   /* a write, for lack of space; nothing of it is written */
    FAULT_TORN,   /* a write; the first half of it is written */
    FAULT_MALLOC, /* an allocation by SQLite */
    FAULT_POWER,  /* a write, truncation, sync or deletion is never made, and nothing after it works */
};

/* Becomes SQLite's default VFS and allocator. Called before any other use of SQLite, and again at any time without an
 * open database, to have SQLite's memory watched by the sanitizer or not (memory.h). 0 or -1. */
int faultfs_install(bool watched);

/* From now on, the n-th call (from 1 on) of the kind fails, and so do those after it, `times` in all. */
void faultfs_arm(enum faultfs_kind kind, int64_t n, int64_t times);
void faultfs_disarm(void);
/* While paused, nothing fails and nothing is counted. */
void faultfs_pause(bool pause);
/* Returns whether a call has failed since it was armed, whether it is disarmed now or not. */
bool faultfs_struck(void);
bool faultfs_power_is_off(void);
/* The number of calls of the armed kind since it was armed. */
int64_t faultfs_calls(void);

/* Restores the files after FAULT_POWER, which must have been armed, for any n, when they were opened: of the writes
 * after the last sync of a file, some are there, some are torn, and some are missing. Everything must have been closed.
 * Disarms. */
void faultfs_restore(uint64_t seed);
/* Forgets all state about files, when the files of a test are gone. */
void faultfs_forget(void);
#endif
