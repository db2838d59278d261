#include "daemon/rundir/missing.h"

#include "common/xalloc.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AT_ONCE 65536 /* members */
#define NAMED_MAX 5

struct counting {
    const struct missing_question *question;
    size_t other, spared; /* the next of the others, and of those that are unneeded */
    uint64_t held[AT_ONCE];
    uint32_t part[AT_ONCE];
    int64_t steps, members, unneeded;
    json_t *first;
};

/* Adds the numbers of one rank's file for `n` members, the first of which is `from`. */
static int add_part(struct counting *c, const char *path, int64_t from, size_t n, struct error *err)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), rc = 0;
    ssize_t got = 0;

    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : error_errno(err, "file_read", "%s", path);
    got = pread(fd, c->part, n * sizeof *c->part, (off_t)(from * (int64_t)sizeof *c->part));
    if (got < 0)
        rc = error_errno(err, "file_read", "%s", path);
    for (size_t i = 0; got > 0 && i < (size_t)got / sizeof *c->part; i++)
        c->held[i] += le32toh(c->part[i]);
    close(fd);
    return rc;
}

static void count_missing_of(struct counting *c, int64_t member, uint64_t held)
{
    const struct missing_question *q = c->question;
    int64_t lacks = held < (uint64_t)q->steps ? q->steps - (int64_t)held : 0;

    if (c->other < q->n_others && q->others[c->other] == member) {
        c->other++;
        return;
    }
    if (c->spared < q->n_unneeded && q->unneeded[c->spared] == member) {
        c->spared++;
        c->unneeded += lacks;
        return;
    }
    if (lacks == 0)
        return;
    c->steps += lacks;
    c->members++;
    if (json_array_size(c->first) < NAMED_MAX)
        json_array_append_new(c->first,
                              json_pack("{s:I, s:I}", "member", (json_int_t)member, "steps", (json_int_t)lacks));
}

json_t *missing_count(char *const *paths, size_t n_paths, const struct missing_question *question, struct error *err)
{
    struct counting *c = xcalloc(1, sizeof *c);
    json_t *result = NULL;
    int rc = 0;

    c->question = question;
    c->first = json_array();
    for (int64_t from = 0; rc == 0 && from < question->count; from += AT_ONCE) {
        size_t n = question->count - from < AT_ONCE ? (size_t)(question->count - from) : AT_ONCE;

        memset(c->held, 0, sizeof c->held);
        for (size_t i = 0; rc == 0 && i < n_paths; i++)
            rc = add_part(c, paths[i], from, n, err);
        for (size_t i = 0; rc == 0 && i < n; i++)
            count_missing_of(c, from + (int64_t)i, c->held[i]);
    }
    if (rc == 0)
        result = json_pack("{s:I, s:I, s:O}", "steps", (json_int_t)c->steps, "members", (json_int_t)c->members, "first",
                           c->first);
    if (rc == 0 && question->n_unneeded > 0)
        json_object_set_new(result, "unneeded", json_integer(c->unneeded));
    json_decref(c->first);
    free(c);
    return result;
}
