#include "daemon/store/gather.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define GATHERED_MAX ((size_t)128 << 10)

/* A log that is open: `real` is the usual file system's, in the memory that follows. */
struct gathering {
    sqlite3_file base;
    sqlite3_file *real;
    unsigned char *data; /* that is not written yet: `size` bytes that belong at `offset` */
    sqlite3_int64 offset;
    size_t size;
    bool fresh, header; /* something was written since a flush was last asked for; the log's header, since one was made */
    bool defer, owed, lost; /* …: a flush has failed, and what it was for may never be on the disk */
};

static struct gathering *of(sqlite3_file *file)
{
    return (struct gathering *)(void *)file;
}

static const sqlite3_io_methods *methods(const struct gathering *g)
{
    return g->real->pMethods;
}

static int write_out(struct gathering *g)
{
    size_t size = g->size;

    g->size = 0; /* also where it fails: the transaction is rolled back, and its pages are written again by the next */
    return size > 0 ? methods(g)->xWrite(g->real, g->data, (int)size, g->offset) : SQLITE_OK;
}

static int log_write(sqlite3_file *file, const void *data, int n, sqlite3_int64 offset)
{
    struct gathering *g = of(file);
    size_t size = (size_t)n;

    g->fresh = true;
    if (offset == 0)
        g->header = true;
    if (g->size > 0 && (offset != g->offset + (sqlite3_int64)g->size || g->size + size > GATHERED_MAX)) {
        int rc = write_out(g);

        if (rc != SQLITE_OK)
            return rc;
    }
    if (g->data == NULL)
        g->data = malloc(GATHERED_MAX);
    if (g->data == NULL || size > GATHERED_MAX)
        return methods(g)->xWrite(g->real, data, n, offset);
    if (g->size == 0)
        g->offset = offset;
    memcpy(g->data + g->size, data, size);
    g->size += size;
    return SQLITE_OK;
}

static int log_read(sqlite3_file *file, void *data, int n, sqlite3_int64 offset)
{
    struct gathering *g = of(file);
    int rc = write_out(g);

    return rc == SQLITE_OK ? methods(g)->xRead(g->real, data, n, offset) : rc;
}

static int log_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    struct gathering *g = of(file);
    int rc = write_out(g);

    return rc == SQLITE_OK ? methods(g)->xTruncate(g->real, size) : rc;
}

/* One that is asked for with nothing new in the log is a checkpoint's, which relies on it. */
static int log_sync(sqlite3_file *file, int flags)
{
    struct gathering *g = of(file);
    bool fresh = g->fresh;
    int rc = write_out(g);

    g->fresh = false;
    if (rc != SQLITE_OK)
        return rc;
    if (g->defer && fresh && !g->header) {
        g->owed = true;
        return SQLITE_OK;
    }
    rc = methods(g)->xSync(g->real, flags);
    if (rc == SQLITE_OK)
        g->header = g->owed = false;
    return rc;
}

static int log_size(sqlite3_file *file, sqlite3_int64 *size)
{
    struct gathering *g = of(file);
    int rc = write_out(g);

    return rc == SQLITE_OK ? methods(g)->xFileSize(g->real, size) : rc;
}

static int log_close(sqlite3_file *file)
{
    struct gathering *g = of(file);
    int written = write_out(g), closed = methods(g)->xClose(g->real);

    free(g->data);
    g->data = NULL;
    return written != SQLITE_OK ? written : closed;
}

static int log_lock(sqlite3_file *file, int level)
{
    return methods(of(file))->xLock(of(file)->real, level);
}

static int log_unlock(sqlite3_file *file, int level)
{
    return methods(of(file))->xUnlock(of(file)->real, level);
}

static int log_reserved(sqlite3_file *file, int *reserved)
{
    return methods(of(file))->xCheckReservedLock(of(file)->real, reserved);
}

static int log_control(sqlite3_file *file, int op, void *arg)
{
    return methods(of(file))->xFileControl(of(file)->real, op, arg);
}

static int log_sector(sqlite3_file *file)
{
    return methods(of(file))->xSectorSize(of(file)->real);
}

static int log_characteristics(sqlite3_file *file)
{
    return methods(of(file))->xDeviceCharacteristics(of(file)->real);
}

static const sqlite3_io_methods log_methods = {
    .iVersion = 1,
    .xClose = log_close,
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
    of(log)->defer = defer;
}

bool gather_owes(const sqlite3_file *log)
{
    return of((sqlite3_file *)log)->owed;
}

void gather_settle(sqlite3_file *log)
{
    of(log)->owed = false;
}

/* The system tells of what it could not write once; the next flush would go well. */
int gather_flush(sqlite3_file *log)
{
    struct gathering *g = of(log);
    int rc = g->lost ? SQLITE_IOERR_FSYNC : methods(g)->xSync(g->real, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);

    g->lost = rc != SQLITE_OK;
    return rc;
}

static sqlite3_vfs *usual;

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
    struct gathering *g = of(file);
    int rc;

    if ((flags & SQLITE_OPEN_WAL) == 0)
        return usual->xOpen(usual, name, file, flags, out_flags);
    memset(g, 0, sizeof *g);
    g->real = (sqlite3_file *)(void *)(g + 1);
    rc = usual->xOpen(usual, name, g->real, flags, out_flags);
    if (rc == SQLITE_OK)
        g->base.pMethods = &log_methods;
    return rc;
}

const char *gather_vfs(void)
{
    static sqlite3_vfs vfs;

    if (vfs.zName != NULL)
        return vfs.zName;
    usual = sqlite3_vfs_find(NULL);
    if (usual == NULL)
        return NULL;
    vfs = *usual; /* all but opening is the same */
    vfs.pNext = NULL;
    vfs.szOsFile = (int)sizeof(struct gathering) + usual->szOsFile;
    vfs.zName = "stretto-gather";
    vfs.xOpen = open_file;
    if (sqlite3_vfs_register(&vfs, 0) != SQLITE_OK) {
        vfs.zName = NULL;
        return NULL;
    }
    return vfs.zName;
}
