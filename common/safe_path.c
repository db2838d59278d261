#include "common/safe_path.h"

#include "common/xalloc.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as many as the kernel follows */

/* Writes "alice (uid 1001)", or only the number if the user has no name on this host. */
static void user_name(uid_t uid, char *text, size_t size)
{
    const struct passwd *user = getpwuid(uid);

    if (user != NULL)
        snprintf(text, size, "%s (uid %u)", user->pw_name, (unsigned)uid);
    else
        snprintf(text, size, "uid %u", (unsigned)uid);
}

static bool is_of_trusted_group(const struct stat *st, const struct safe_groups *trusted)
{
    bool found = false;

    for (size_t i = 0; i < trusted->n && S_ISDIR(st->st_mode); i++)
        found = found || st->st_gid == trusted->ids[i];
    return found;
}

static int check_component(const char *path, const char *component, const struct stat *st,
                           const struct safe_groups *trusted, struct error *err)
{
    const char *subject = strcmp(path, component) == 0 ? "it" : component;
    unsigned mode = (unsigned)st->st_mode & 07777;
    bool is_trusted = is_of_trusted_group(st, trusted);
    char owner[96];

    user_name(st->st_uid, owner, sizeof owner);
    if (st->st_uid != 0 && st->st_uid != geteuid() && !is_trusted)
        return error_set(err, "path_not_safe",
                         "%.200s is not safe, since %.200s belongs to %s (mode %04o), who could put something else in "
                         "its place; choose a path whose directories belong to you or root",
                         path, subject, owner, mode);
    if (S_ISLNK(st->st_mode) || (mode & (is_trusted ? 02 : 022)) == 0 ||
        (S_ISDIR(st->st_mode) && (mode & S_ISVTX) != 0))
        return 0;
    return error_set(err, "path_not_safe",
                     "%.200s is not safe, since %.200s can be written by %s (owner %s, mode %04o), who could change or "
                     "replace what is there; chmod go-w it, or choose another path",
                     path, subject, mode & 02 ? "other users" : "other users of its group", owner, mode);
}

/* Returns the path that is left to walk: the target of a link, followed by `rest`. NULL with errno. */
static char *follow_link(const char *link, const char *rest)
{
    char target[PATH_MAX];
    ssize_t n = readlink(link, target, sizeof target - 1);

    if (n < 0)
        return NULL;
    target[n] = '\0';
    return xasprintf("%s/%s", target, rest);
}

static void cut_last_part(char *path)
{
    char *slash = strrchr(path, '/');

    if (slash != NULL)
        *slash = '\0';
}

/* Walks one component after another; `done` is the part that is resolved and holds no link. Returns 0, or -1 with err;
 * *way is the caller's to free. */
static int walk_path(const char *path, char **way, const struct safe_groups *trusted, struct error *err)
{
    char done[PATH_MAX] = "", next[PATH_MAX];
    char *rest = *way, *longer;
    struct stat st;
    int links = 0;

    if (stat("/", &st) < 0 || check_component(path, "/", &st, trusted, err) < 0)
        return -1;
    for (;;) {
        size_t n;

        rest += strspn(rest, "/");
        n = strcspn(rest, "/");
        if (n == 0)
            return 0;
        if (n == 2 && memcmp(rest, "..", 2) == 0) {
            cut_last_part(done);
        } else if (n != 1 || rest[0] != '.') {
            if (snprintf(next, sizeof next, "%s/%.*s", done, (int)n, rest) >= (int)sizeof next) {
                errno = ENAMETOOLONG;
                return error_errno(err, "path_unusable", "%.200s", path);
            }
            if (lstat(next, &st) < 0)
                return errno == ENOENT ? 0 : error_errno(err, "path_unusable", "%.200s", next);
            if (check_component(path, next, &st, trusted, err) < 0)
                return -1;
            if (S_ISLNK(st.st_mode)) {
                errno = ELOOP;
                longer = ++links <= LINKS_MAX ? follow_link(next, rest + n) : NULL;
                if (longer == NULL)
                    return error_errno(err, "path_unusable", "%.200s", next);
                free(*way);
                *way = rest = longer;
                if (rest[0] == '/')
                    done[0] = '\0';
                continue;
            }
            strcpy(done, next);
        }
        rest += n;
    }
}

int safe_path_among(const char *path, const struct safe_groups *trusted, struct error *err)
{
    char *here = path[0] == '/' ? NULL : getcwd(NULL, 0), *way;
    int rc;

    if (path[0] != '/' && here == NULL)
        return error_errno(err, "path_unusable", "the current directory");
    way = xasprintf("%s/%s", here != NULL ? here : "", path);
    rc = walk_path(path, &way, trusted, err);
    free(way);
    free(here);
    return rc;
}

int safe_path(const char *path, struct error *err)
{
    return safe_path_among(path, &(struct safe_groups){0}, err);
}

int safe_path_parent_among(const char *path, const struct safe_groups *trusted, struct error *err)
{
    const char *slash = strrchr(path, '/');
    char *parent = slash != NULL ? xasprintf("%.*s", (int)(slash - path + 1), path) : xstrdup(".");
    int rc = safe_path_among(parent, trusted, err);

    free(parent);
    return rc;
}

int safe_path_parent(const char *path, struct error *err)
{
    return safe_path_parent_among(path, &(struct safe_groups){0}, err);
}
