#include "daemon/store/log_check.h"

#include "common/xalloc.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The format: https://www.sqlite.org/fileformat2.html#walformat */
#define HEADER 32
#define FRAME 24
#define MAGIC 0x377f0682 /* the lowest bit says that checksums are of big-endian numbers */

struct sum {
    uint32_t a, b;
};

struct log_reading {
    int fd;
    off_t size;
    size_t page;
    bool big;               /* byte order of the checksums */
    unsigned char salts[8]; /* of each frame of this log */
    unsigned char *frame;   /* the one that was read last */
    struct sum sum;         /* up to the frame before */
};

static uint32_t log_big_endian(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint32_t log_little_endian(const unsigned char *at)
{
    return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

static struct sum sum_add(struct sum s, const unsigned char *data, size_t size, bool big)
{
    for (size_t i = 0; i + 8 <= size; i += 8) {
        s.a += (big ? log_big_endian(data + i) : log_little_endian(data + i)) + s.b;
        s.b += (big ? log_big_endian(data + i + 4) : log_little_endian(data + i + 4)) + s.a;
    }
    return s;
}

static bool sum_is(struct sum s, const unsigned char *stored)
{
    return s.a == log_big_endian(stored) && s.b == log_big_endian(stored + 4);
}

static struct sum sum_stored(const unsigned char *stored)
{
    return (struct sum){log_big_endian(stored), log_big_endian(stored + 4)};
}

static bool frame_read(const struct log_reading *r, off_t at)
{
    size_t size = FRAME + r->page;

    return at + (off_t)size <= r->size && pread(r->fd, r->frame, size, at) == (ssize_t)size;
}

static bool is_of_log(const struct log_reading *r)
{
    return memcmp(r->frame + 8, r->salts, sizeof r->salts) == 0;
}

static bool ends_transaction(const struct log_reading *r)
{
    return log_big_endian(r->frame + 4) != 0;
}

/* Returns whether the frame follows the one that the sum belongs to. */
static bool frame_follows(const struct log_reading *r)
{
    return is_of_log(r) &&
           sum_is(sum_add(sum_add(r->sum, r->frame, 8, r->big), r->frame + FRAME, r->page, r->big), r->frame + 16);
}

/* Checks the bytes behind the first frame that is wrong. At most one transaction is not flushed at any time, so that
 * two ends of transactions prove that the first of them was flushed. */
static enum log_state look_behind(struct log_reading *r, off_t at)
{
    bool more = is_of_log(r);
    int ends = more && ends_transaction(r);

    r->sum = sum_stored(r->frame + 16);
    while (frame_read(r, at += (off_t)(FRAME + r->page))) {
        more = more || is_of_log(r);
        ends += frame_follows(r) && ends_transaction(r);
        r->sum = sum_stored(r->frame + 16);
    }
    return ends > 1 ? LOG_DAMAGED : more ? LOG_TORN : LOG_SOUND;
}

static enum log_state check_frames(struct log_reading *r)
{
    bool open = false; /* the last transaction has no end */
    off_t at = HEADER;

    for (; frame_read(r, at); at += (off_t)(FRAME + r->page)) {
        if (!frame_follows(r)) {
            enum log_state behind = look_behind(r, at);

            return open && behind == LOG_SOUND ? LOG_TORN : behind;
        }
        open = !ends_transaction(r);
        r->sum = sum_stored(r->frame + 16);
    }
    return open ? LOG_TORN : LOG_SOUND;
}

static enum log_state log_check_file(struct log_reading *r)
{
    static const unsigned char none[HEADER];
    unsigned char header[HEADER];
    enum log_state state;

    if (pread(r->fd, header, sizeof header, 0) != sizeof header)
        return LOG_CUT;
    if (memcmp(header, none, sizeof none) == 0) /* it was emptied */
        return LOG_SOUND;
    r->big = (log_big_endian(header) & 1) != 0;
    r->page = log_big_endian(header + 8);
    if ((log_big_endian(header) & ~1u) != MAGIC ||
        !sum_is(sum_add((struct sum){0, 0}, header, 24, r->big), header + 24) || r->page < 512 || r->page > 65536)
        return LOG_DAMAGED;
    memcpy(r->salts, header + 16, sizeof r->salts);
    r->sum = sum_stored(header + 24);
    r->frame = xcalloc(1, FRAME + r->page);
    state = check_frames(r);
    free(r->frame);
    return state;
}

enum log_state log_check(const char *path)
{
    struct log_reading r = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
    enum log_state state = LOG_SOUND;
    struct stat st;

    if (r.fd < 0)
        return LOG_SOUND;
    if (fstat(r.fd, &st) == 0) {
        r.size = st.st_size;
        state = log_check_file(&r);
    }
    close(r.fd);
    return state;
}
