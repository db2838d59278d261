/* Checks that a path leads where its user meant: nobody but root and this user can put something else in its place. */
#ifndef COMMON_SAFE_PATH_H
#define COMMON_SAFE_PATH_H
#include "common/error.h"

#include <stddef.h>
#include <sys/types.h>

/* Checks every component of `path`, as StrictModes of sshd does. This covers each directory and each symbolic link on
 * the way, the targets of links, and the file itself. Each must belong to root or to this user, and must not be
 * writable by the group or by others. A directory with the sticky bit may be writable, since nobody can replace there
 * what belongs to someone else.
 *
 * Components that do not exist are not checked: their creator checks again afterwards, because someone else may be
 * first in a sticky directory. A relative path begins at the current directory. Fails with code "path_not_safe" and a
 * sentence that names the component, its owner, its mode and the remedy, or with code "path_unusable" if the path
 * cannot be followed. */
int safe_path(const char *path, struct error *err);

/* Groups whose members are trusted like this user: a directory of such a group is safe although its members can write
 * to it, whichever of them owns it. */
struct safe_groups {
    const gid_t *ids;
    size_t n;
};
int safe_path_among(const char *path, const struct safe_groups *trusted, struct error *err);

/* Both check the directory that `path` lies in, for a file that does not exist yet, or that is checked by other means
 * once it is open. */
int safe_path_parent(const char *path, struct error *err);
int safe_path_parent_among(const char *path, const struct safe_groups *trusted, struct error *err);
#endif
