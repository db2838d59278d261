/* Compares the database with its run directory at the start, before anything is accepted. A database may be older than
 * its run directory, damaged, or beside another run directory. Work would then silently be lost, done twice, or
 * confused with that of others. */
#ifndef DAEMON_RUN_BOOKS_H
#define DAEMON_RUN_BOOKS_H
#include "daemon/store/store.h"

struct run_books {
    const char *run_dir, *state_dir;
    const char *rows_dir; /* of parameter files */
    int64_t now_ms;
    bool new_run_dir; /* the user says that the run directory is another one, and the former is given up */
};

/* Finds the run directory that is to be used if the user names none: that of before. *home is NULL if there is
 * none, or to be freed. */
int run_books_home(struct store *store, const char *state_dir, char **home, struct error *err);

/* Makes the run directory and the database fit for each other. Blocks.
 *
 * - A database that is older than the run directory is taken over like a backup (daemon/restore.h), with a warning that
 *   says what is gone. One that was damaged is refused ("store_damaged").
 * - No ensemble and no job gets an id that has a directory there.
 * - A run directory that is not that of the database is refused ("run_dir_other", "run_dir_taken"), unless it was
 *   moved.
 * - The run directory is claimed, and the database remembers it. */
int run_books_open(struct store *store, const struct run_books *books, struct error *err);

#endif
