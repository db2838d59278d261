#include "daemon/rundir/whole.h"

#include "common/files.h"
#include "common/xalloc.h"
#include "tasks/proto/ends.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Lowers ended[count] to what the file of a rank says. Members of which it says nothing that can be read go again.
 * Returns as whole_read(). */
static int read_rank(const char *path, uint32_t *ended, size_t count, struct error *err)
{
    uint32_t *its;
    char *packed = NULL;
    size_t size = 0;

    if (file_read(path, ENDS_SIZE_MAX(count), &packed, &size, err) < 0 && errno != EFBIG)
        return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
    its = xcalloc(count, sizeof *its);
    ends_unpack((const unsigned char *)packed, size, 0, its, count);
    for (size_t i = 0; i < count; i++)
        if (its[i] < ended[i])
            ended[i] = its[i];
    free(its);
    free(packed);
    return 1;
}

static int pack(struct whole *whole, const uint32_t *ended, size_t count, struct error *err)
{
    whole->ends = ends_pack(ended, count, &whole->size);
    if (whole->ends == NULL)
        return error_set(err, "file_read", "there is no memory for what ranks say of %zu members", count);
    while (whole->size > 0 && whole->ends[whole->size - 1] == 0)
        whole->size--;
    for (size_t i = 0; i < count; i++)
        whole->members += ended[i] != 0;
    return 1;
}

int whole_read(struct whole *whole, char *const *paths, size_t n_paths, int64_t count, struct error *err)
{
    uint32_t *ended = xcalloc((size_t)count, sizeof *ended);
    int rc = 1;

    *whole = (struct whole){0};
    memset(ended, 0xff, (size_t)count * sizeof *ended);
    for (size_t i = 0; i < n_paths && rc == 1; i++)
        rc = read_rank(paths[i], ended, (size_t)count, err);
    if (rc == 1)
        rc = pack(whole, ended, (size_t)count, err);
    free(ended);
    return rc;
}
