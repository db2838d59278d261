#include "tasks/proto/claim.h"

#include "common/files.h"
#include "common/jsonx.h"
#include "common/timefmt.h"
#include "common/xalloc.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define TMPDIR_NAME "/stretto-job-XXXXXX"
#define TMPDIR_BASE_MAX 40 /* sun_path has 108 bytes, and the sockets' names need some */

/* Writes a claim into the job's directory, which bears the job's name. `path` is taken over. */
static int claim_write(const char *jobdir, char *path, const char *tmpdir, const char *gpus, const char *hosts,
                       const char *application, struct error *err)
{
    const char *slash = strrchr(jobdir, '/'), *job = slash != NULL ? slash + 1 : jobdir;
    char boot_id[BOOT_ID_SIZE], host[64] = "";
    json_t *value;
    int rc, saved;

    gethostname(host, sizeof host - 1);
    value = json_pack("{s:i, s:s, s:i, s:I, s:s, s:s, s:f, s:s*, s:s*, s:s*, s:s*}", "version", 1, "job", job, "pid",
                      (int)getpid(), "start_time", (json_int_t)process_start_time(getpid()), "boot_id",
                      process_boot_id(boot_id), "host", host, "time", (double)time_now_ms() / 1000, "tmpdir", tmpdir,
                      "gpus", gpus && *gpus ? gpus : NULL, "hosts", hosts, "application", application);
    rc = file_create_json(path, value, 0600, err);
    saved = errno;
    json_decref(value);
    free(path);
    errno = saved;
    return rc;
}

const char *runner_waits_for(int status)
{
    switch (status) {
    case RUNNER_NO_ROOM: return "there is no room for its directories";
    case RUNNER_NOT_WRITTEN:
        return "its directories cannot be made: the run directory is read-only, fails, or is not writable for the "
               "daemon";
    default: return NULL;
    }
}

int claim_make(const char *jobdir, const char *tmpdir, const char *gpus, const char *hosts, struct error *err)
{
    return claim_write(jobdir, xasprintf("%s/claim.json", jobdir), tmpdir, gpus, hosts, NULL, err);
}

int claim_make_rank(const char *jobdir, int64_t rank, const char *application, const char *tmpdir, struct error *err)
{
    return claim_write(jobdir, xasprintf("%s/claim-%lld.json", jobdir, (long long)rank), tmpdir, NULL, NULL,
                       application, err);
}

int claim_join(const char *jobdir, const char *application, struct error *err)
{
    struct claim claim;

    while (claim_read(jobdir, &claim, err) < 0) {
        if (errno == EBADMSG) /* the claim is the daemon's, which has given the job up */
            errno = EEXIST;
        else if (errno == ENOENT &&
                 claim_write(jobdir, xasprintf("%s/claim.json", jobdir), NULL, NULL, NULL, application, err) == 0)
            return 0;
        else if (errno == EEXIST) /* another process has claimed it just now */
            continue;
        return -1;
    }
    if (strcmp(claim.application, application) == 0)
        return 0;
    error_set(err, "claim", "%s/claim.json: %s%s has this job, and not application %s", jobdir,
              claim.application[0] ? "application " : "another runner", claim.application, application);
    errno = EEXIST;
    return -1;
}

int claim_read(const char *jobdir, struct claim *out, struct error *err)
{
    const char *boot_id = NULL, *host = "", *tmpdir = "", *gpus = "", *application = "";
    char *path = xasprintf("%s/claim.json", jobdir);
    json_t *root = file_read_json(path, err);
    int64_t version, pid = 0, start = 0;
    int rc = -1;

    free(path);
    if (root == NULL)
        return -1;
    memset(out, 0, sizeof *out);
    if (jsonx_int(root, "", "version", JSONX_REQUIRED, 1, 1, &version, err) == 0 &&
        jsonx_int(root, "", "pid", JSONX_REQUIRED, 1, INT_MAX, &pid, err) == 0 &&
        jsonx_int(root, "", "start_time", JSONX_REQUIRED, 0, INT64_MAX, &start, err) == 0 &&
        jsonx_string(root, "", "boot_id", JSONX_REQUIRED, &boot_id, err) == 0 &&
        jsonx_string(root, "", "host", JSONX_OPTIONAL, &host, err) == 0 &&
        jsonx_string(root, "", "tmpdir", JSONX_OPTIONAL, &tmpdir, err) == 0 &&
        jsonx_string(root, "", "gpus", JSONX_OPTIONAL, &gpus, err) == 0 &&
        jsonx_string(root, "", "application", JSONX_OPTIONAL, &application, err) == 0 &&
        jsonx_number(root, "", "time", JSONX_OPTIONAL, &out->time, err) == 0) {
        out->pid = (pid_t)pid;
        out->start_time = (unsigned long long)start;
        snprintf(out->boot_id, sizeof out->boot_id, "%s", boot_id);
        snprintf(out->host, sizeof out->host, "%s", host);
        snprintf(out->tmpdir, sizeof out->tmpdir, "%s", tmpdir);
        snprintf(out->application, sizeof out->application, "%s", application);
        snprintf(out->gpus, sizeof out->gpus, "%s", gpus);
        rc = 0;
    }
    json_decref(root);
    if (rc < 0)
        errno = EBADMSG;
    return rc;
}

bool claim_alive(const struct claim *claim)
{
    char boot_id[BOOT_ID_SIZE];

    return strcmp(process_boot_id(boot_id), claim->boot_id) == 0 && claim->start_time != 0 &&
           process_start_time(claim->pid) == claim->start_time;
}

int job_tmpdir_name(char *out, size_t size, struct error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    const char *base = getenv("TMPDIR");
    unsigned char random[6];

    if (base == NULL || base[0] != '/' || strlen(base) > TMPDIR_BASE_MAX || access(base, W_OK | X_OK) < 0)
        base = "/tmp";
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return error_errno(err, "tmpdir", "no source of randomness");
    snprintf(out, size, "%s" TMPDIR_NAME, base);
    for (size_t i = 0; i < sizeof random; i++)
        out[strlen(out) - sizeof random + i] = letters[random[i] % (sizeof letters - 1)];
    return 0;
}

int job_tmpdir_make(const char *path, struct error *err)
{
    return mkdir(path, 0700) == 0 ? 0 : error_errno(err, "tmpdir", "cannot make the temporary directory %s", path);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    remove(path); /* nothing depends on files that cannot be removed */
    return 0;
}

void job_tmpdir_remove(const char *path)
{
    const char *name = strrchr(path, '/');
    struct stat st;

    if (path[0] != '/' || name == NULL || strlen(name) != strlen(TMPDIR_NAME) ||
        strncmp(name, TMPDIR_NAME, strlen(TMPDIR_NAME) - 6) != 0)
        return;
    if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
        return;
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
