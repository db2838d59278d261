#include "daemon/store/gather.h"

#include "common/stretto_assert.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GATHERED_MAX ((size_t)128 << 10)
#define LOG_HEADER 32
#define FRAME_HEADER 24
#define LOG_USUAL ((sqlite3_int64)4 << 20) /* the size at which the log is usually written back */
#define LOG_STEP ((sqlite3_int64)1 << 20)
#define INDEX_BYTES (64 << 10) /* size of the log's index for 8000 pages of the log */

/* An open log. `real` is the same log as the usual file system knows it, in the memory behind this struct. */
struct gathering {
    sqlite3_file base;
    sqlite3_file *real;
    unsigned char *data; /* gathered, but not written yet: `size` bytes that belong at `offset` */
    sqlite3_int64 offset;
    size_t size;
    bool fresh;  /* something was written since SQLite last asked for a flush */
    bool header; /* the log's header was written since the last flush that was made */
    bool defer, owed;
    bool lost;              /* a flush has failed, so that commits may be missing on the disk for good */
    int fd;                 /* a descriptor of its own, for allocating blocks; -1 if that is not possible */
    sqlite3_int64 end, own; /* the end of the log's content, and of the blocks that the file has */
    bool frugal;
};

static struct gathering *gathering_of(sqlite3_file *file)
{
    return (struct gathering *)(void *)file;
}

static const sqlite3_io_methods *gathering_methods(const struct gathering *g)
{
    return g->real->pMethods;
}

static int write_out(struct gathering *g)
{
    size_t size = g->size;

    g->size = 0; /* also on failure: the transaction is rolled back, and the next one writes its own pages */
    return size > 0 ? gathering_methods(g)->xWrite(g->real, g->data, (int)size, g->offset) : SQLITE_OK;
}

/* Gives the file blocks up to `size`; false if there is no room. */
static bool get_blocks(struct gathering *g, sqlite3_int64 size)
{
    if (g->own >= size)
        return true;
    if (fallocate(g->fd, 0, g->own, size - g->own) < 0)
        return false;
    g->own = size;
    return true;
}

/* Returns whether GATHER_KEPT bytes of the file's own follow an offset. If not, asks the file system for them. */
static bool is_followed(struct gathering *g, sqlite3_int64 offset)
{
    stretto_assert(g->fd < 0 || g->end <= g->own || !g->frugal);
    return g->fd < 0 || get_blocks(g, offset + GATHER_KEPT + LOG_STEP) || get_blocks(g, offset + GATHER_KEPT);
}

static int log_write(sqlite3_file *file, const void *data, int n, sqlite3_int64 offset)
{
    struct gathering *g = gathering_of(file);
    size_t size = (size_t)n;

    if (g->frugal && !is_followed(g, offset + n))
        return SQLITE_FULL;
    g->fresh = true;
    if (offset == 0) {
        g->header = true;
        g->end = 0;
    }
    if (offset + n > g->end)
        g->end = offset + n;
    if (g->end > g->own)
        g->own = g->end;
    if (g->size > 0 && (offset != g->offset + (sqlite3_int64)g->size || g->size + size > GATHERED_MAX)) {
        int rc = write_out(g);

        if (rc != SQLITE_OK)
            return rc;
    }
    if (g->data == NULL)
        g->data = malloc(GATHERED_MAX);
    if (g->data == NULL || size > GATHERED_MAX)
        return gathering_methods(g)->xWrite(g->real, data, n, offset);
    if (g->size == 0)
        g->offset = offset;
    stretto_assert(g->size + size <= GATHERED_MAX && offset == g->offset + (sqlite3_int64)g->size);
    memcpy(g->data + g->size, data, size);
    g->size += size;
    return SQLITE_OK;
}

static int log_read(sqlite3_file *file, void *data, int n, sqlite3_int64 offset)
{
    struct gathering *g = gathering_of(file);
    int rc = write_out(g);

    return rc == SQLITE_OK ? gathering_methods(g)->xRead(g->real, data, n, offset) : rc;
}

/* Gives back what a large transaction has added to the log's usual size. SQLite asks for that when the log has begun
 * anew and ends at `end`. */
static int cut_long(struct gathering *g, sqlite3_int64 end)
{
    sqlite3_int64 keep = (end > LOG_USUAL ? end : LOG_USUAL) + GATHER_KEPT + LOG_STEP, size;
    int rc = gathering_methods(g)->xFileSize(g->real, &size);

    if (rc != SQLITE_OK || size <= keep)
        return rc;
    if (g->own > keep)
        g->own = keep;
    return gathering_methods(g)->xTruncate(g->real, keep);
}

/* Leaves the log its usual size, so that the file keeps its blocks: an empty header ends it as well. */
static int log_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    static const unsigned char none[LOG_HEADER];
    struct gathering *g = gathering_of(file);
    int rc = write_out(g);

    if (rc == SQLITE_OK && size == 0) {
        g->end = 0;
        rc = gathering_methods(g)->xWrite(g->real, none, sizeof none, 0);
    }
    return rc == SQLITE_OK ? cut_long(g, size) : rc;
}

/* Leaves the flush to gather_flush() if it is for a commit. A flush without new content is for a checkpoint, which
 * relies on it, and is made at once. */
static int log_sync(sqlite3_file *file, int flags)
{
    struct gathering *g = gathering_of(file);
    bool fresh = g->fresh;
    int rc = write_out(g);

    g->fresh = false;
    if (rc != SQLITE_OK)
        return rc;
    if (g->defer && fresh && !g->header) {
        g->owed = true;
        return SQLITE_OK;
    }
    rc = gathering_methods(g)->xSync(g->real, flags);
    if (rc == SQLITE_OK)
        g->header = g->owed = false;
    return rc;
}

static int log_size(sqlite3_file *file, sqlite3_int64 *size)
{
    struct gathering *g = gathering_of(file);
    int rc = write_out(g);

    return rc == SQLITE_OK ? gathering_methods(g)->xFileSize(g->real, size) : rc;
}

static int gather_close(sqlite3_file *file)
{
    struct gathering *g = gathering_of(file);
    int written = write_out(g), closed = gathering_methods(g)->xClose(g->real);

    free(g->data);
    g->data = NULL;
    if (g->fd >= 0)
        close(g->fd);
    return written != SQLITE_OK ? written : closed;
}

static int log_lock(sqlite3_file *file, int level)
{
    return gathering_methods(gathering_of(file))->xLock(gathering_of(file)->real, level);
}

static int log_unlock(sqlite3_file *file, int level)
{
    return gathering_methods(gathering_of(file))->xUnlock(gathering_of(file)->real, level);
}

static int log_reserved(sqlite3_file *file, int *reserved)
{
    return gathering_methods(gathering_of(file))->xCheckReservedLock(gathering_of(file)->real, reserved);
}

static int log_control(sqlite3_file *file, int op, void *arg)
{
    return gathering_methods(gathering_of(file))->xFileControl(gathering_of(file)->real, op, arg);
}

static int log_sector(sqlite3_file *file)
{
    return gathering_methods(gathering_of(file))->xSectorSize(gathering_of(file)->real);
}

static int log_characteristics(sqlite3_file *file)
{
    return gathering_methods(gathering_of(file))->xDeviceCharacteristics(gathering_of(file)->real);
}

static const sqlite3_io_methods log_methods = {
    .iVersion = 1,
    .xClose = gather_close,
    .xRead = log_read,
    .xWrite = log_write,
    .xTruncate = log_truncate,
    .xSync = log_sync,
    .xFileSize = log_size,
    .xLock = log_lock,
    .xUnlock = log_unlock,
    .xCheckReservedLock = log_reserved,
    .xFileControl = log_control,
    .xSectorSize = log_sector,
    .xDeviceCharacteristics = log_characteristics,
};

sqlite3_file *gather_log(sqlite3 *db)
{
    sqlite3_file *file = NULL;

    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) != SQLITE_OK || file == NULL ||
        file->pMethods != &log_methods)
        return NULL;
    return file;
}

void gather_defer(sqlite3_file *log, bool defer)
{
    gathering_of(log)->defer = defer;
}

bool gather_owes(const sqlite3_file *log)
{
    return gathering_of((sqlite3_file *)log)->owed;
}

void gather_settle(sqlite3_file *log)
{
    gathering_of(log)->owed = false;
}

/* Remembers a failure, since the system reports lost writes only once: the next flush would succeed. */
int gather_flush(sqlite3_file *log)
{
    struct gathering *g = gathering_of(log);
    int rc =
        g->lost ? SQLITE_IOERR_FSYNC : gathering_methods(g)->xSync(g->real, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);

    g->lost = rc != SQLITE_OK;
    return rc;
}

bool gather_has_room(sqlite3_file *log)
{
    struct gathering *g = gathering_of(log);

    return is_followed(g, g->end);
}

void gather_begin_anew(sqlite3_file *log)
{
    gathering_of(log)->end = 0;
}

void gather_spare(sqlite3_file *log, bool spare)
{
    gathering_of(log)->frugal = spare;
}

bool gather_is_over(const char *path)
{
    static const unsigned char none[LOG_HEADER];
    unsigned char header[LOG_HEADER];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, header, sizeof header);

    if (fd >= 0)
        close(fd);
    return fd < 0 ? errno == ENOENT : n == sizeof header && memcmp(header, none, sizeof none) == 0;
}

static uint32_t gather_big_endian(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Returns the end of the content of a log that nobody has open: behind its last frame that bears the two numbers of its
 * header. The file is longer, since it has room. */
static sqlite3_int64 end_of_content(int fd)
{
    unsigned char header[LOG_HEADER], frame[FRAME_HEADER];
    sqlite3_int64 at = LOG_HEADER, size;

    if (pread(fd, header, sizeof header, 0) != sizeof header)
        return 0;
    size = FRAME_HEADER + (sqlite3_int64)gather_big_endian(header + 8);
    while (pread(fd, frame, sizeof frame, at) == sizeof frame && memcmp(frame + 8, header + 16, 8) == 0)
        at += size;
    return at;
}

/* Allocates blocks for the log, which may exist already. Closing the descriptor drops no lock, since SQLite's locks are
 * on other files. */
static void keep_room(struct gathering *g, const char *name)
{
    struct stat st;

    g->fd = open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (g->fd < 0 || fstat(g->fd, &st) < 0)
        return;
    g->end = gather_is_over(name) ? 0 : end_of_content(g->fd);
    g->own = 512 * (sqlite3_int64)st.st_blocks >= st.st_size ? st.st_size : 0;
    if (get_blocks(g, LOG_USUAL + GATHER_KEPT) || errno == ENOSPC || errno == EDQUOT)
        return;
    close(g->fd);
    g->fd = -1;
}

static sqlite3_vfs *usual;

static int gather_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
    struct gathering *g = gathering_of(file);
    int rc;

    if ((flags & SQLITE_OPEN_WAL) == 0)
        return usual->xOpen(usual, name, file, flags, out_flags);
    memset(g, 0, sizeof *g);
    g->real = (sqlite3_file *)(void *)(g + 1);
    rc = usual->xOpen(usual, name, g->real, flags, out_flags);
    if (rc == SQLITE_OK) {
        keep_room(g, name);
        g->base.pMethods = &log_methods;
    }
    return rc;
}

/* Replaces ftruncate() for SQLite, which cuts an index that nobody else uses to 3 bytes and makes it again. Zeros serve
 * as well, and let the file keep its blocks. */
static int cut_index(int fd, off_t size)
{
    static const unsigned char zeros[4096];
    struct stat st;

    if (size != 3 || fstat(fd, &st) < 0 || st.st_size <= size)
        return ftruncate(fd, size);
    for (off_t at = 0; at < st.st_size; at += (off_t)sizeof zeros) {
        size_t n = st.st_size - at < (off_t)sizeof zeros ? (size_t)(st.st_size - at) : sizeof zeros;

        if (pwrite(fd, zeros, n, at) != (ssize_t)n)
            return -1;
    }
    return 0;
}

void gather_keep_index(const char *path)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find("unix");
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd >= 0) {
        /* without room for it, SQLite fails later, when it needs the index */
        int rc = fallocate(fd, 0, 0, INDEX_BYTES);

        (void)rc;
        close(fd);
    }
    if (vfs != NULL && vfs->iVersion >= 3 && vfs->xSetSystemCall != NULL)
        vfs->xSetSystemCall(vfs, "ftruncate", (sqlite3_syscall_ptr)cut_index);
}

const char *gather_vfs(void)
{
    static sqlite3_vfs vfs;

    if (vfs.zName != NULL)
        return vfs.zName;
    usual = sqlite3_vfs_find(NULL);
    if (usual == NULL)
        return NULL;
    vfs = *usual; /* only opening differs */
    vfs.pNext = NULL;
    vfs.szOsFile = (int)sizeof(struct gathering) + usual->szOsFile;
    vfs.zName = "stretto-gather";
    vfs.xOpen = gather_open;
    if (sqlite3_vfs_register(&vfs, 0) != SQLITE_OK) {
        vfs.zName = NULL;
        return NULL;
    }
    return vfs.zName;
}
