/* A file system below SQLite that fails on purpose, for tests: a VFS over the usual one, and an allocator over the usual
 * one. Calls that can fail are counted; the n-th one fails, once, or for good until disarmed. Or the power is cut at the
 * n-th change of a file: then everything fails, and faultfs_restore() leaves in the files what a disk might hold then. */
#ifndef TESTS_FAULTFS_H
#define TESTS_FAULTFS_H
#include <stdbool.h>
#include <stdint.h>

enum faultfs_kind {
    FAULT_NONE,
    FAULT_IO,     /* any call on files and locks, each with the code that SQLite knows for it */
    FAULT_READ,   /* a read of a file */
    FAULT_FULL,   /* a write, that finds no room; nothing of it is written */
    FAULT_TORN,   /* a write, of which the first half is written */
    FAULT_MALLOC, /* an allocation of SQLite's */
    FAULT_POWER,  /* a write, truncation, sync or deletion is never made, and nothing after it works */
};

/* Before anything else is asked of SQLite: becomes its default VFS and allocator. Again at any time without an open database,
 * to have SQLite's memory watched by the sanitizer or not (memory.h). 0 or -1. */
int faultfs_install(bool watched);

/* From now on, the n-th call (from 1 on) of the kind fails, and so do those after it, `times` in all. */
void faultfs_arm(enum faultfs_kind kind, int64_t n, int64_t times);
void faultfs_disarm(void);
/* While paused, nothing fails and nothing is counted. */
void faultfs_pause(bool pause);
/* Whether a call has failed since it was armed, disarmed or not. */
bool faultfs_struck(void);
bool faultfs_power_is_off(void);
/* Calls of the armed kind since it was armed. */
int64_t faultfs_calls(void);

/* After FAULT_POWER, which must have been armed, for an n however far, when the files were opened: of what was written after the last sync of a file, some is there, some is torn, and some is not.
 * Everything must have been closed. Disarms. */
void faultfs_restore(uint64_t seed);
/* The files of a test are gone: forget what is known about them. */
void faultfs_forget(void);
#endif
