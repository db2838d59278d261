#include "daemon/run_books.h"

#include "common/log.h"
#include "common/xalloc.h"
#include "daemon/restore.h"
#include "daemon/run_claim.h"
#include "daemon/run_mark.h"
#include "daemon/store/backup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOVES "strettod(8), RUN DIRECTORY, says how to move it"

/* The figures that the database and the run directory have of themselves. */
struct findings {
    const struct run_books *books;
    enum run_claim_owner owner;
    bool copied; /* the database is a backup */
    struct store_extent has, there;
    int64_t missing; /* commits that the run directory knows, and the database does not */
    bool marked;     /* the mark is this database's */
    bool anew;       /* the user gives up the former run directory */
};

int run_books_home(struct store *store, const char *state_dir, char **home, struct error *err)
{
    int copied = backup_is_copy(store, err);

    *home = NULL;
    if (copied < 0 || store_run_dir_get(store, home, err) < 0)
        return -1;
    if (copied == 1 && *home != NULL && !run_claim_was_here(*home, state_dir)) {
        free(*home); /* the daemon that made the backup may still use it */
        *home = NULL;
    }
    return 0;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int find_books(struct store *store, struct findings *f, struct error *err)
{
    const struct run_books *b = f->books;
    int copied = backup_is_copy(store, err);
    struct run_mark mark;

    if (copied < 0 || store_extent_get(store, &f->has, err) < 0 || run_mark_read(b->run_dir, &mark, err) < 0 ||
        run_claim_whose(store, b->run_dir, b->state_dir, &f->owner, err) < 0)
        return -1;
    f->copied = copied == 1;
    run_claim_extent(b->run_dir, &f->there);
    f->there.ensemble = larger(f->there.ensemble, mark.extent.ensemble);
    f->there.job = larger(f->there.job, mark.extent.job);
    f->marked = strcmp(mark.database, store_instance(store)) == 0;
    f->missing = f->marked ? larger(0, mark.extent.commits - f->has.commits) : 0;
    return 0;
}

static bool is_same_directory(const char *a, const char *b)
{
    struct stat one, two;

    return stat(a, &one) == 0 && stat(b, &two) == 0 && one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

/* The directory has our claim, and is elsewhere than it was. */
static int check_moved(struct store *store, const struct run_books *b, const char *home, struct error *err)
{
    enum run_claim_owner owner = RUN_CLAIM_NOBODY;
    struct error ignored;

    if (!is_same_directory(home, b->run_dir) && run_claim_whose(store, home, b->state_dir, &owner, &ignored) == 0 &&
        owner == RUN_CLAIM_OURS)
        return error_set(err, "run_dir_other",
                         "the run directory %.200s is a copy of %.200s, which is still there and is the database's: "
                         "start strettod with --run-dir %.200s, or remove owner.json there to go on with the copy "
                         "(" MOVES ")",
                         b->run_dir, home, home);
    log_info("the run directory %s was moved to %s", home, b->run_dir);
    return 0;
}

/* Checks that the run directory is the one that the database remembers. */
static int check_home(struct store *store, struct findings *f, struct error *err)
{
    const struct run_books *b = f->books;
    char *home;
    int rc = 0;

    if (store_run_dir_get(store, &home, err) < 0)
        return -1;
    if (home == NULL || f->copied || f->owner == RUN_CLAIM_OTHER) /* run_claim() refuses that one */
        ;
    else if (f->owner == RUN_CLAIM_OURS)
        rc = strcmp(home, b->run_dir) == 0 ? 0 : check_moved(store, b, home, err);
    else if (b->new_run_dir)
        f->anew = !f->marked;
    else if (strcmp(home, b->run_dir) != 0)
        rc = error_set(err, "run_dir_other",
                       "the run directory of this database is %.200s, and %.200s is another one: start strettod with "
                       "--run-dir %.200s (" MOVES "; if it is gone for good, give --new-run-dir as well)",
                       home, b->run_dir, home);
    else if (f->owner == RUN_CLAIM_NOBODY && !f->marked)
        rc = error_set(err, "run_dir_other",
                       "the run directory %.200s has nothing of this database, which has used it before: mount its "
                       "file system, or, if what was in it is gone for good, give --new-run-dir (strettod(8), RUN "
                       "DIRECTORY)",
                       b->run_dir);
    free(home);
    return rc;
}

/* Returns whether the run directory knows of something that the database does not. */
static bool is_older(const struct findings *f)
{
    return f->missing > 0 || f->owner == RUN_CLAIM_FORMER || f->there.ensemble > f->has.ensemble ||
           f->there.job > f->has.job;
}

static void tell_older(const struct findings *f)
{
    const char *dir = f->books->run_dir;
    char gone[80] = "", changes[80] = "";

    if (f->there.ensemble > f->has.ensemble)
        snprintf(gone, sizeof gone, "; ensembles %lld to %lld are not in it", (long long)f->has.ensemble + 1,
                 (long long)f->there.ensemble);
    if (f->missing > 0)
        snprintf(changes, sizeof changes, ", by %lld changes", (long long)f->missing);
    if (f->has.ensemble == 0)
        log_warn("the run directory %s has the files of a database that is gone, and this one is new%s: they are left "
                 "as they are, and new ensembles get later numbers",
                 dir, gone);
    else
        log_warn("the database is older than the run directory %s%s%s: what came later is lost, and members that ran "
                 "since then run again; it goes on as after the restoring of a backup (strettod(8), BACKUPS)",
                 dir, changes, gone);
}

static void tell_backup(const struct findings *f)
{
    if (f->there.ensemble > f->has.ensemble)
        log_info("the database is a backup: it becomes this daemon's own; ensembles %lld to %lld are not in it",
                 (long long)f->has.ensemble + 1, (long long)f->there.ensemble);
    else
        log_info("the database is a backup: it becomes this daemon's own");
}

static int take_over_books(struct store *store, const struct findings *f, struct error *err)
{
    const struct run_books *b = f->books;
    bool older = !f->copied && !f->anew && is_older(f);

    /* a backup that was put in place has no log: the log belongs to a database that had taken one over */
    if (((older && f->owner != RUN_CLAIM_FORMER) || f->copied) && store_check_older(store, err) < 0)
        return -1;
    if (older && f->has.ensemble == 0 && store_check_emptied(store, err) < 0)
        return -1;
    if (older)
        tell_older(f);
    if (f->copied)
        tell_backup(f);
    if (f->anew)
        log_warn("the run directory of before is given up for %s: jobs that were under way are lost", b->run_dir);
    if (store_extent_skip(store, &f->there, err) < 0)
        return -1;
    return f->copied || older || f->anew ? restore_take_over(store, b->run_dir, b->rows_dir, b->now_ms, err)
                                         : store_commit(store, err);
}

static int remember(struct store *store, const char *run_dir, struct error *err)
{
    char *home;
    int rc = store_run_dir_get(store, &home, err);

    if (rc == 0 && (home == NULL || strcmp(home, run_dir) != 0))
        rc = store_run_dir_put(store, run_dir, err);
    free(home);
    return rc < 0 ? -1 : store_commit(store, err);
}

int run_books_open(struct store *store, const struct run_books *books, struct error *err)
{
    struct findings f = {.books = books};
    int rc;

    if (find_books(store, &f, err) < 0 || check_home(store, &f, err) < 0)
        return -1;
    if (f.owner == RUN_CLAIM_OTHER && !f.copied) {
        rc = run_claim(store, books->run_dir, books->state_dir, err); /* which says whose it is */
        return rc < 0 ? -1 : 0;
    }
    if (take_over_books(store, &f, err) < 0)
        return -1;
    rc = run_claim(store, books->run_dir, books->state_dir, err);
    return rc == 1 ? remember(store, books->run_dir, err) : rc;
}
