/* Moves what ended attempts have left in the run directory into archive files. All of this runs on a worker thread.
 *
 * archiving_write() copies and flushes; nothing is removed before the database says where the copies are. Then
 * archiving_remove() removes the originals, and may be called again after a crash. */
#ifndef DAEMON_RUNDIR_ARCHIVING_H
#define DAEMON_RUNDIR_ARCHIVING_H
#include "daemon/rundir/archive_file.h"

#include <stddef.h>

struct archiving_attempt {
    int64_t index, number;
    enum archive_kind kind;
    bool last; /* for archiving_remove(): the member is final, so that its own directory goes as well if it is empty */
    /* Results of archiving_write(), and input of archiving_remove() */
    bool archived;
    int64_t file, at; /* the number of the archive file, and where the entry is */
    bool changed;     /* result of archiving_remove(): somebody has written since, so that the originals stay */
};

struct archiving_job {
    int64_t id;
    char name[64];
    size_t first, n; /* its attempts */
    bool
        whole; /* result of archiving_write(), input of archiving_remove(): nothing of it is left beside the archives */
};

struct archiving {
    const char *run_dir; /* borrowed */
    int64_t ensemble;
    struct archiving_job *jobs;
    size_t n_jobs;
    struct archiving_attempt *attempts;
    size_t n_attempts;
    /* The file that each kind is written to, and its size as far as the database knows it; numbers begin with 1, and 0
     * means that there is none yet. */
    struct {
        int64_t number, size;
    } files[ARCHIVE_KINDS];
};

/* Archives the attempts that have an exit record of their own. All others stay as they are: a fence in the place of a
 * record must be there for a runner that comes back. */
int archiving_write(struct archiving *archiving, struct error *err);
int archiving_remove(struct archiving *archiving, struct error *err);

void archiving_clear(struct archiving *archiving);
#endif
