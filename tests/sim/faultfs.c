#include "tests/sim/faultfs.h"

#include "common/xalloc.h"
#include "tests/sim/memory.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A change of a file since its last sync: a write, or where `data` is NULL a truncation to `offset`. */
struct change {
    sqlite3_int64 offset;
    size_t size;
    char *data;
};

/* The state of a file: the content that would survive a power cut, and changes that may survive. */
struct image {
    struct image *next;
    char *path;
    bool gone;
    char *durable;
    size_t size;
    struct change *changes;
    size_t n;
};

struct file {
    sqlite3_file base;
    struct image *image;
    sqlite3_file *real; /* behind this struct */
};

#define SECTOR ((size_t)4096) /* the unit in which a page cache writes */

static sqlite3_vfs vfs, *below;
static sqlite3_mem_methods memory;
static struct image *images;
static struct {
    enum faultfs_kind kind;
    int64_t at, times, calls;
    bool struck, paused;
} armed;

void faultfs_arm(enum faultfs_kind kind, int64_t n, int64_t times)
{
    armed.kind = kind;
    armed.at = n;
    armed.times = times;
    armed.calls = 0;
    armed.struck = false;
}

void faultfs_disarm(void)
{
    armed.kind = FAULT_NONE;
}

void faultfs_pause(bool pause)
{
    armed.paused = pause;
}

bool faultfs_struck(void)
{
    return armed.struck;
}

int64_t faultfs_calls(void)
{
    return armed.calls;
}

/* Returns whether this call fails, where calls of `kind` are counted. */
static bool strikes(enum faultfs_kind kind)
{
    if (armed.kind != kind || armed.paused)
        return false;
    armed.calls++;
    if (armed.calls < armed.at || armed.calls - armed.at >= armed.times)
        return false;
    armed.struck = true;
    return true;
}

bool faultfs_power_is_off(void)
{
    return armed.kind == FAULT_POWER && armed.struck;
}

/* For a call that changes nothing: it fails by itself, or for lack of power. */
static bool fails(void)
{
    return strikes(FAULT_IO) || faultfs_power_is_off();
}

/* For a call that changes a file. */
static bool change_fails(void)
{
    if (strikes(FAULT_POWER))
        armed.times = INT64_MAX;
    return fails();
}

static struct image *image_of(const char *path)
{
    struct image *image;
    struct stat st;
    int fd;

    if (armed.kind != FAULT_POWER)
        return NULL;
    for (image = images; image != NULL; image = image->next)
        if (strcmp(image->path, path) == 0)
            return image;
    image = xcalloc(1, sizeof *image);
    image->path = xstrdup(path);
    image->next = images;
    images = image;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    image->gone = fd < 0;
    if (fd < 0)
        return image;
    if (fstat(fd, &st) == 0 && st.st_size > 0) {
        image->size = (size_t)st.st_size;
        image->durable = xcalloc(1, image->size);
        if (read(fd, image->durable, image->size) != st.st_size)
            abort();
    }
    close(fd);
    return image;
}

static void note(struct image *image, const void *data, size_t size, sqlite3_int64 offset)
{
    struct change *change;

    if (image == NULL)
        return;
    image->changes = xrealloc(image->changes, image->n + 1, sizeof *image->changes);
    change = &image->changes[image->n++];
    *change = (struct change){offset, size, NULL};
    if (data != NULL) {
        change->data = xcalloc(1, size);
        memcpy(change->data, data, size);
    }
}

/* Applies the bytes of the change from `from` to `to`. */
static void apply(struct image *image, const struct change *change, size_t from, size_t to)
{
    size_t end = (size_t)change->offset + to;

    if (change->data == NULL) {
        if (image->size > (size_t)change->offset)
            image->size = (size_t)change->offset;
        return;
    }
    if (to <= from)
        return;
    if (end > image->size) {
        image->durable = xrealloc(image->durable, 1, end);
        memset(image->durable + image->size, 0, end - image->size);
        image->size = end;
    }
    memcpy(image->durable + (size_t)change->offset + from, change->data + from, to - from);
}

static unsigned draw(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(*seed >> 61) & 3;
}

/* Applies some of its sectors, since a disk writes them in an order of its own. */
static void apply_torn(struct image *image, const struct change *change, uint64_t *seed)
{
    size_t from = 0;

    while (from < change->size) {
        size_t to = from + SECTOR - ((size_t)change->offset + from) % SECTOR;

        if (to > change->size)
            to = change->size;
        if (draw(seed) & 1)
            apply(image, change, from, to);
        from = to;
    }
}

static void settle(struct image *image, uint64_t *seed)
{
    for (size_t i = 0; image != NULL && i < image->n; i++) {
        struct change *change = &image->changes[i];
        unsigned chance = seed != NULL ? draw(seed) : 3;

        if (chance == 1 && change->data != NULL)
            apply_torn(image, change, seed);
        else if (chance > 0)
            apply(image, change, 0, change->size);
        free(change->data);
    }
    if (image != NULL) {
        free(image->changes);
        image->changes = NULL;
        image->n = 0;
    }
}

static void write_image(const struct image *image)
{
    FILE *f;

    if (image->gone) {
        unlink(image->path);
        return;
    }
    f = fopen(image->path, "wb");
    if (f == NULL || (image->size > 0 && fwrite(image->durable, 1, image->size, f) != image->size) || fclose(f) != 0)
        abort();
}

void faultfs_forget(void)
{
    faultfs_disarm();
    while (images != NULL) {
        struct image *image = images;

        images = image->next;
        settle(image, NULL);
        free(image->durable);
        free(image->path);
        free(image);
    }
}

void faultfs_restore(uint64_t seed)
{
    for (struct image *image = images; image != NULL; image = image->next) {
        size_t size = strlen(image->path);

        settle(image, &seed);
        write_image(image);
        if (size > 3 && strcmp(image->path + size - 3, ".db") == 0) { /* memory does not survive a power cut */
            char *shm = xasprintf("%s-shm", image->path);

            unlink(shm);
            free(shm);
        }
    }
    faultfs_forget();
}

#define REAL(f) (((struct file *)(f))->real)

static int file_close(sqlite3_file *f)
{
    return REAL(f)->pMethods->xClose(REAL(f));
}

static int file_read(sqlite3_file *f, void *out, int size, sqlite3_int64 offset)
{
    return strikes(FAULT_READ) || fails() ? SQLITE_IOERR_READ : REAL(f)->pMethods->xRead(REAL(f), out, size, offset);
}

static int file_write(sqlite3_file *f, const void *data, int size, sqlite3_int64 offset)
{
    if (strikes(FAULT_FULL))
        return SQLITE_FULL;
    if (strikes(FAULT_TORN)) {
        REAL(f)->pMethods->xWrite(REAL(f), data, size / 2, offset);
        return SQLITE_IOERR_WRITE;
    }
    if (change_fails())
        return SQLITE_IOERR_WRITE;
    note(((struct file *)f)->image, data, (size_t)size, offset);
    return REAL(f)->pMethods->xWrite(REAL(f), data, size, offset);
}

static int file_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    if (change_fails())
        return SQLITE_IOERR_TRUNCATE;
    note(((struct file *)f)->image, NULL, 0, size);
    return REAL(f)->pMethods->xTruncate(REAL(f), size);
}

static int file_sync(sqlite3_file *f, int flags)
{
    if (change_fails())
        return SQLITE_IOERR_FSYNC;
    settle(((struct file *)f)->image, NULL);
    return REAL(f)->pMethods->xSync(REAL(f), flags);
}

static int file_size(sqlite3_file *f, sqlite3_int64 *size)
{
    return fails() ? SQLITE_IOERR_FSTAT : REAL(f)->pMethods->xFileSize(REAL(f), size);
}

static int file_lock(sqlite3_file *f, int level)
{
    return fails() ? SQLITE_IOERR_LOCK : REAL(f)->pMethods->xLock(REAL(f), level);
}

static int file_unlock(sqlite3_file *f, int level)
{
    return REAL(f)->pMethods->xUnlock(REAL(f), level);
}

static int file_check_reserved(sqlite3_file *f, int *reserved)
{
    return fails() ? SQLITE_IOERR_CHECKRESERVEDLOCK : REAL(f)->pMethods->xCheckReservedLock(REAL(f), reserved);
}

static int file_control(sqlite3_file *f, int op, void *arg)
{
    return REAL(f)->pMethods->xFileControl(REAL(f), op, arg);
}

static int file_sector_size(sqlite3_file *f)
{
    return REAL(f)->pMethods->xSectorSize(REAL(f));
}

static int file_characteristics(sqlite3_file *f)
{
    return REAL(f)->pMethods->xDeviceCharacteristics(REAL(f));
}

static int file_shm_map(sqlite3_file *f, int region, int size, int extend, void volatile **out)
{
    return fails() ? SQLITE_IOERR_SHMMAP : REAL(f)->pMethods->xShmMap(REAL(f), region, size, extend, out);
}

static int file_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
    if ((flags & SQLITE_SHM_LOCK) && fails())
        return SQLITE_IOERR_SHMLOCK;
    return REAL(f)->pMethods->xShmLock(REAL(f), offset, n, flags);
}

static void file_shm_barrier(sqlite3_file *f)
{
    REAL(f)->pMethods->xShmBarrier(REAL(f));
}

static int file_shm_unmap(sqlite3_file *f, int delete)
{
    return REAL(f)->pMethods->xShmUnmap(REAL(f), delete);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

static int vfs_open(sqlite3_vfs *v, const char *path, sqlite3_file *f, int flags, int *out)
{
    struct file *file = (struct file *)f;
    int rc;

    file->base.pMethods = NULL;
    file->image = NULL;
    if (fails())
        return SQLITE_CANTOPEN;
    file->real = (sqlite3_file *)(file + 1);
    if (path != NULL && !(flags & SQLITE_OPEN_DELETEONCLOSE))
        file->image = image_of(path);
    rc = below->xOpen(below, path, file->real, flags, out);
    if (rc != SQLITE_OK)
        return rc;
    file->base.pMethods = &methods;
    if (file->image != NULL)
        file->image->gone = false;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *v, const char *path, int sync)
{
    struct image *image;

    if (change_fails())
        return SQLITE_IOERR_DELETE;
    image = image_of(path);
    if (image != NULL) {
        settle(image, NULL);
        image->size = 0;
        image->gone = true;
    }
    return below->xDelete(below, path, sync);
}

static int vfs_access(sqlite3_vfs *v, const char *path, int flags, int *out)
{
    return fails() ? SQLITE_IOERR_ACCESS : below->xAccess(below, path, flags, out);
}

static int vfs_full_pathname(sqlite3_vfs *v, const char *path, int size, char *out)
{
    return fails() ? SQLITE_CANTOPEN_FULLPATH : below->xFullPathname(below, path, size, out);
}

static void *memory_malloc(int size)
{
    return strikes(FAULT_MALLOC) ? NULL : memory.xMalloc(size);
}

static void *memory_realloc(void *p, int size)
{
    return strikes(FAULT_MALLOC) ? NULL : memory.xRealloc(p, size);
}

int faultfs_install(bool watched)
{
    sqlite3_mem_methods failing;

    if (!sim_memory(watched) && memory.xMalloc != NULL)
        return 0;
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &memory) != SQLITE_OK)
        return -1;
    failing = memory;
    failing.xMalloc = memory_malloc;
    failing.xRealloc = memory_realloc;
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &failing) != SQLITE_OK)
        return -1;
    sqlite3_vfs_unregister(&vfs);
    below = sqlite3_vfs_find(NULL);
    if (below == NULL)
        return -1;
    vfs = *below;
    vfs.zName = "fault";
    vfs.szOsFile = (int)sizeof(struct file) + below->szOsFile;
    vfs.xOpen = vfs_open;
    vfs.xDelete = vfs_delete;
    vfs.xAccess = vfs_access;
    vfs.xFullPathname = vfs_full_pathname;
    return sqlite3_vfs_register(&vfs, 1) == SQLITE_OK ? 0 : -1;
}
