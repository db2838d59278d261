/* Files below a directory whose content others make, such as a member's own: no symbolic link on the way leads out. */
#ifndef COMMON_BELOW_H
#define COMMON_BELOW_H
#include <stdbool.h>

/* Returns whether a path stays below the directory that it is relative to: it is not absolute, and no part of it is
 * "..". Files need not exist. */
bool path_stays_below(const char *path);

/* Opens a file by its path in `dir`, as open(2) without O_CREAT. `dir` itself may be a link. Fails with ELOOP if any
 * part of the path is a symbolic link, and with EXDEV if it would leave the directory. */
int below_open(const char *dir, const char *path, int flags);

/* The same without openat2(2), which old kernels and some containers lack; it refuses any "..". */
int below_open_by_hand(const char *dir, const char *path, int flags);

/* Like below_open(), by the whole path of the file, which begins with `dir`. */
int below_open_whole(const char *dir, const char *path, int flags);

/* These do the same as unlink(2), and as link(2) to a path that may be anywhere. */
int below_unlink(const char *dir, const char *path);
int below_link(const char *dir, const char *path, const char *to);
#endif
