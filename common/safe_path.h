/* Whether a path means to this process what its user meant: nobody but root and this user can put something else in its place. */
#ifndef COMMON_SAFE_PATH_H
#define COMMON_SAFE_PATH_H
#include "common/error.h"

#include <stddef.h>
#include <sys/types.h>

/* Check every component of `path`, as StrictModes of sshd does: each directory and each symbolic link on the way, where links
 * lead, and what the path names must belong to root or to this user, and must not be writable by the group or by others. A
 * directory with the sticky bit may be writable, since nobody can replace what belongs to someone else there.
 *
 * Components that do not exist are not checked: whoever creates them checks again afterwards, because someone else may be first
 * in a sticky directory. A relative path begins at the current directory. -1 with code "path_not_safe" and a sentence that names
 * the component, its owner, its mode and the remedy, or with code "path_unusable" where the path cannot be followed. */
int safe_path(const char *path, struct error *err);

/* Groups whose members may do what this user may: a directory of such a group is safe, whoever of them it belongs to and although
 * they can write to it. */
struct safe_groups {
    const gid_t *ids;
    size_t n;
};
int safe_path_among(const char *path, const struct safe_groups *trusted, struct error *err);

/* Both for the directory that `path` lies in: for what is not there yet, or is checked by other means once it is open. */
int safe_path_parent(const char *path, struct error *err);
int safe_path_parent_among(const char *path, const struct safe_groups *trusted, struct error *err);
#endif
