/* The claim: the record of which process runs a job (docs/run-directory.md, claim.json). Of two runners started for one
 * job, only one can make it. */
#ifndef TASKS_PROTO_CLAIM_H
#define TASKS_PROTO_CLAIM_H
#include "common/error.h"
#include "common/process.h"

#include <stdbool.h>
#include <stdint.h>
#include <sysexits.h>

/* The exit statuses of a runner that has claimed nothing, and may be started again once its directories can be made.
 * There was no room, or the file system is read-only, fails or refuses them. */
#define RUNNER_NO_ROOM EX_UNAVAILABLE
#define RUNNER_NOT_WRITTEN EX_OSFILE
/* Returns why such a runner made no directories; NULL for any other status. */
const char *runner_waits_for(int status);

struct claim {
    pid_t pid;
    unsigned long long start_time;
    char boot_id[BOOT_ID_SIZE];
    char host[64];
    double time;
    char tmpdir[128];     /* STRETTO_TMPDIR of the job; "" if it has none */
    char gpus[1024];      /* the GPUs that the job was given, separated by commas; "": none */
    char application[64]; /* the application whose processes are the runners of the job; "": the job has one runner */
};

/* Claims the job of this directory for the calling process. tmpdir and gpus are as above, or NULL. `hosts` are those of
 * a job on several nodes, with the number of processes of each ("a:2,b:1"), or NULL. errno EEXIST if another process
 * has it. */
int claim_make(const char *jobdir, const char *tmpdir, const char *gpus, const char *hosts, struct error *err);

/* Claims a job whose tasks have a runner each, all of them processes of one application: for that application, or finds
 * that one of its processes has done so. errno EEXIST if another application, or another process, has it. */
int claim_join(const char *jobdir, const char *application, struct error *err);

/* Then claims the task of this rank, in claim-RANK.json: a rank of an application might be started twice. */
int claim_make_rank(const char *jobdir, int64_t rank, const char *application, const char *tmpdir, struct error *err);

/* Reads the claim. errno ENOENT if there is none, EBADMSG if the file is no claim. */
int claim_read(const char *jobdir, struct claim *out, struct error *err);

/* Returns whether the process that made the claim still runs, on this machine and since the same boot. */
bool claim_alive(const struct claim *claim);

/* Makes up a name for a directory for sockets and the like, with a short path on a local disk. It is in $TMPDIR if that
 * is short enough for the path of a Unix socket below it, and otherwise in /tmp. The name is put into the claim before
 * the directory is made, so that it can be removed even if its maker is killed. */
int job_tmpdir_name(char *out, size_t size, struct error *err);

/* Makes the directory, mode 0700. Fails if the path is taken. */
int job_tmpdir_make(const char *path, struct error *err);

/* Removes the directory with its content. Refuses a path that job_tmpdir_make() would not have made, since a claim's
 * comes from a file; a missing one is no error. */
void job_tmpdir_remove(const char *path);

#endif
