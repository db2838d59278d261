/* The claim: which process runs a job (docs/run-directory.md, claim.json). Of two runners started for one job, only
 * one can make it. */
#ifndef TASKS_PROTO_CLAIM_H
#define TASKS_PROTO_CLAIM_H
#include "common/error.h"
#include "common/process.h"

#include <stdbool.h>
#include <stdint.h>

struct claim {
    pid_t pid;
    unsigned long long start_time;
    char boot_id[BOOT_ID_SIZE];
    char host[64];
    double time;
    char tmpdir[128]; /* STRETTO_TMPDIR of the job; "" where it has none */
    char gpus[1024];  /* those that the job was given, separated by commas; "" none */
    char application[64]; /* of the job's many runners, the one that they are processes of; "": it has one runner */
};

/* Claim the job of this directory for the calling process; tmpdir, gpus: as above, or NULL. errno EEXIST where another has it. */
int claim_make(const char *jobdir, const char *tmpdir, const char *gpus, struct error *err);

/* Where a job's tasks have a runner each, all of them processes of one application: claim the job for the application, or find that
 * one of its processes has. errno EEXIST where another application has it, or somebody else. */
int claim_join(const char *jobdir, const char *application, struct error *err);

/* … and besides the task of this rank, in claim-RANK.json: whoever starts an application might start a rank of it twice. */
int claim_make_rank(const char *jobdir, int64_t rank, const char *application, const char *tmpdir, struct error *err);

/* errno ENOENT where there is none, EBADMSG where it is no claim. */
int claim_read(const char *jobdir, struct claim *out, struct error *err);

/* Does the process that made it still run, on this machine and since the same boot? */
bool claim_alive(const struct claim *claim);

/* A new name for a directory for sockets and such, with a short path on a local disk: in $TMPDIR where that is short
 * enough for the path of a Unix socket below it, else in /tmp. It is in the claim before it is made, so that it can be
 * removed whenever its maker is killed. */
int job_tmpdir_name(char *out, size_t size, struct error *err);

/* Make it, mode 0700. Fails where the path is taken. */
int job_tmpdir_make(const char *path, struct error *err);

/* Remove it with all that is in it. Refuses a path that job_tmpdir_make() would not have made, since a claim's comes
 * from a file; a missing one is no error. */
void job_tmpdir_remove(const char *path);

#endif
