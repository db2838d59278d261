#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/watch.h"
#include "common/jsonx.h"
#include "common/files.h"
#include "common/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FILE_MAX 400 /* bytes; the daemon is told the path of the file only if it is no longer */

struct backup {
    const char *file;
    bool force;
};

static error_t parse_backup_option(int key, char *arg, struct argp_state *state)
{
    struct backup *backup = state->input;

    switch (key) {
    case 'f': backup->force = true; return 0;
    case ARGP_KEY_ARG:
        if (backup->file != NULL)
            argp_error(state, "\"%s\" is too much", arg);
        backup->file = arg;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"force", 'f', NULL, 0, "Replace FILE where it is there already", 0},
    {0},
};
static const struct argp argp = {options,  parse_backup_option,
                                 "[FILE]", "Write a backup of the daemon's database to FILE, while it runs.",
                                 NULL,     NULL,
                                 NULL};

static char *default_file(void)
{
    time_t now = time(NULL);
    struct tm tm;
    char name[64];

    gmtime_r(&now, &tm);
    strftime(name, sizeof name, "stretto-%Y%m%dT%H%M%SZ.db", &tm);
    return xstrdup(name);
}

/* Flushes the backup to the disk, after checking that its beginning and its end have arrived. */
static int flush_checked(FILE *to, struct error *err)
{
    static const char magic[16] = "SQLite format 3";
    char head[16];
    struct stat st;

    if (fflush(to) != 0 || fstat(fileno(to), &st) < 0 || pread(fileno(to), head, sizeof head, 0) < 0 ||
        fsync(fileno(to)) < 0)
        return error_errno(err, "file_write", "the backup cannot be written");
    if (st.st_size < (off_t)sizeof head || memcmp(head, magic, sizeof head) != 0)
        return error_set(err, CLIENT_BAD_ANSWER, "the daemon's answer is not a whole backup");
    return 0;
}

/* Opens a new file beside `file`. It has no name if the file system can do that, so that nothing is left of it if
 * this process is killed; otherwise `part`, a template, gets its name. Its mode is 0600, since the backup has
 * everything that the daemon knows. */
static int open_backup_part(const char *file, char *part)
{
    const char *slash = strrchr(file, '/');
    char *folder = slash != NULL ? xasprintf("%.*s", (int)(slash - file) + 1, file) : xstrdup(".");
    int fd = open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

    free(folder);
    if (fd < 0)
        return mkstemp(part);
    part[0] = '\0';
    return fd;
}

/* Gives a file without a name this one. Fails with errno. */
static int link_nameless(int fd, const char *name)
{
    char *self = xasprintf("/proc/self/fd/%d", fd);
    int rc = linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW), saved = errno;

    free(self);
    errno = saved;
    return rc;
}

/* Replaces `file` by one without a name. Fails with errno. */
static int replace_by_nameless(int fd, const char *file)
{
    char *name = xasprintf("%s.%d.tmp", file, (int)getpid());
    int rc = link_nameless(fd, name), saved;

    if (rc == 0)
        rc = rename(name, file);
    saved = errno;
    if (rc < 0)
        unlink(name);
    free(name);
    errno = saved;
    return rc;
}

/* Gives the backup its name, which must be free unless `force` allows to replace a file. */
static int name_backup(int fd, const char *part, const char *file, bool force, struct error *err)
{
    bool nameless = part[0] == '\0';
    int rc;

    if (force)
        rc = nameless ? replace_by_nameless(fd, file) : rename(part, file);
    else
        rc = nameless ? link_nameless(fd, file) : link(part, file);
    if (rc < 0)
        return error_errno(err, force ? "file_write" : "file_exists", "%s", file);
    file_flush_name(file);
    if (force || nameless)
        return 0;
    return unlink(part) == 0 ? 0 : error_errno(err, "file_write", "%s", part);
}

/* Refuses a name that is taken, unless `force` allows to replace a file. Anything but a regular file is never
 * replaced. */
static int check_backup_name(const char *file, bool force, struct error *err)
{
    struct stat st;

    if (file[0] == '\0')
        return error_set(err, "file_exists", "a file without a name cannot be written");
    if (lstat(file, &st) < 0)
        return 0;
    if (!S_ISREG(st.st_mode))
        return error_set(err, "file_exists", "%s is there already, and is no file: it is not replaced", file);
    return force ? 0 : error_set(err, "file_exists", "%s is there already; --force replaces it", file);
}

/* Returns the path of the request. It names the backup's file, if its directory can be found, so that the daemon can
 * mention it should its database be damaged one day. */
static char *backup_path(const char *file)
{
    const char *slash = strrchr(file, '/');
    char *folder = slash == NULL   ? xstrdup(".")
                   : slash == file ? xstrdup("/")
                                   : xasprintf("%.*s", (int)(slash - file), file);
    char *whole = realpath(folder, NULL);
    char *path = whole != NULL
                     ? xasprintf("%s/%s", strcmp(whole, "/") == 0 ? "" : whole, slash != NULL ? slash + 1 : file)
                     : NULL;
    char *escaped = path != NULL && strlen(path) <= FILE_MAX ? client_escape(path) : NULL;
    char *request = escaped != NULL ? xasprintf("/v1/backup?file=%s", escaped) : xstrdup("/v1/backup");

    free(folder);
    free(whole);
    free(path);
    free(escaped);
    return request;
}

static int fetch(struct cli *cli, const char *file, bool force, struct error *err)
{
    char *part = xasprintf("%s.XXXXXX", file), *path;
    int fd = open_backup_part(file, part), rc;
    int64_t n;
    FILE *to = fd >= 0 ? fdopen(fd, "w+b") : NULL;

    if (to == NULL) {
        free(part);
        return error_errno(err, "file_write", "%s", file);
    }
    path = backup_path(file);
    /* a backup takes its time, but a daemon that hangs is noticed here */
    rc = client_get(cli->client, "/healthz", NULL, NULL, err);
    if (rc == 0)
        rc = client_get_text(cli->client, path, to, true, &n, err);
    free(path);
    if (rc == 0)
        rc = flush_checked(to, err);
    if (rc == 0)
        rc = name_backup(fd, part, file, force, err);
    fclose(to); /* all is flushed */
    if (rc < 0 && part[0] != '\0')
        unlink(part);
    free(part);
    return rc;
}

int cmd_backup(struct cli *cli, int argc, char **argv)
{
    struct backup backup = {0};
    struct error err;
    char *file;
    int rc;

    if (cli_parse(cli, &argp, argc, argv, &backup, &err) < 0)
        return cli_fail(&err);
    file = backup.file ? xstrdup(backup.file) : default_file();
    watch_begin(cli); /* so that Ctrl-C leaves no half of a backup behind */
    rc = check_backup_name(file, backup.force, &err);
    if (rc == 0)
        rc = fetch(cli, file, backup.force, &err);
    if (rc == 0 && cli->json) {
        json_t *json = json_pack("{s:s}", "file", file);

        jsonx_print(json, stdout);
        putchar('\n');
        json_decref(json);
    }
    if (rc == 0 && !cli->json)
        printf("%s\n", file);
    free(file);
    return rc < 0 ? cli_fail(&err) : CLI_HOLDS;
}
