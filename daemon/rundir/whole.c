#include "daemon/rundir/whole.h"

#include "common/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads the file, or as much of it as there is, into bits[size]. A short file leaves zeros: those members go again. */
static int read_bits(const char *path, unsigned char *bits, size_t size, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 1;
    size_t have = 0;
    ssize_t got = 1;

    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : error_errno(err, "file_read", "%s", path);
    while (have < size && got > 0) {
        got = read(fd, bits + have, size - have);
        if (got > 0)
            have += (size_t)got;
    }
    if (got < 0)
        rc = error_errno(err, "file_read", "%s", path);
    memset(bits + have, 0, size - have);
    close(fd);
    return rc;
}

/* Clears bits beyond the last member, leaves zeros at the end out, and counts. */
static void count_members(struct whole *whole, int64_t count)
{
    if (count % 8 != 0)
        whole->bits[whole->size - 1] &= (unsigned char)((1 << count % 8) - 1);
    while (whole->size > 0 && whole->bits[whole->size - 1] == 0)
        whole->size--;
    whole->members = 0;
    for (size_t i = 0; i < whole->size; i++)
        whole->members += __builtin_popcount(whole->bits[i]);
}

int whole_read(struct whole *whole, char *const *paths, size_t n_paths, int64_t count, struct error *err)
{
    size_t size = (size_t)((count + 7) / 8);
    unsigned char *its = xcalloc(size, 1);
    int rc = 1;

    *whole = (struct whole){.bits = xcalloc(size, 1), .size = size};
    memset(whole->bits, 0xff, size);
    for (size_t i = 0; i < n_paths && rc == 1; i++) {
        rc = read_bits(paths[i], its, size, err);
        for (size_t byte = 0; rc == 1 && byte < size; byte++)
            whole->bits[byte] &= its[byte];
    }
    free(its);
    if (rc == 1) {
        count_members(whole, count);
        return 1;
    }
    free(whole->bits);
    whole->bits = NULL;
    return rc;
}
