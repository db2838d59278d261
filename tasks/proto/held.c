#include "tasks/proto/held.h"

#include "common/files.h"
#include "common/process.h"
#include "common/xalloc.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAGIC "STRHELD1"
#define NAME_SIZE 80

/* The content of the file, with little-endian numbers. */
struct page {
    char magic[8];
    uint64_t generation, begun, held, closed;
    char boot_id[BOOT_ID_SIZE]; /* of the host where it is written */
};

struct held_file {
    struct page *page;
    /* kept open: a network file system sends the pages to its server when it is closed, however the process ends */
    int fd;
};

static void name_of(char name[NAME_SIZE], int64_t ensemble, int64_t attempt, uint64_t session)
{
    snprintf(name, NAME_SIZE, "stream-%" PRId64 "-%" PRId64 "-%016" PRIx64, ensemble, attempt, session);
}

/* Writes the first content, which takes the disk blocks: a full disk would later mean a signal on writing to the mapped
 * page. */
static int page_fill(int fd, const struct page *page)
{
    ssize_t n = write(fd, page, sizeof *page);

    if (n >= 0 && n != sizeof *page)
        errno = ENOSPC;
    return n == sizeof *page ? 0 : -1;
}

static struct held_file *held_file_map(int fd)
{
    struct page *page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    struct held_file *file;

    if (page == MAP_FAILED)
        return NULL;
    file = calloc(1, sizeof *file);
    if (file == NULL) {
        munmap(page, sizeof *page);
        return NULL;
    }
    file->page = page;
    file->fd = fd;
    return file;
}

struct held_file *held_create(const char *records, int64_t ensemble, int64_t attempt, uint64_t session,
                              int64_t generation, struct error *err)
{
    struct page page = {.magic = MAGIC, .generation = htole64((uint64_t)generation)};
    struct held_file *file = NULL;
    char name[NAME_SIZE], *part, *path;
    int fd;

    process_boot_id(page.boot_id);
    name_of(name, ensemble, attempt, session);
    path = alloc_printf("%s/%s", records, name);
    part = alloc_printf("%s/%s.part", records, name);
    if (path == NULL || part == NULL) {
        free(path);
        free(part);
        error_set(err, "stream_held", "no memory for the account of what was sent");
        return NULL;
    }
    fd = open(part, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && page_fill(fd, &page) == 0 && fsync(fd) == 0 && rename(part, path) == 0) {
        file_flush_name(path);
        file = held_file_map(fd);
    }
    if (file == NULL) {
        error_errno(err, "stream_held", "%s", path);
        if (fd >= 0)
            close(fd);
    }
    free(part);
    free(path);
    return file;
}

void held_note(struct held_file *file, uint64_t begun, uint64_t held)
{
    __atomic_store_n(&file->page->begun, htole64(begun), __ATOMIC_RELEASE);
    __atomic_store_n(&file->page->held, htole64(held), __ATOMIC_RELEASE);
}

void held_move(struct held_file *file, int64_t generation)
{
    __atomic_store_n(&file->page->generation, htole64((uint64_t)generation), __ATOMIC_RELEASE);
}

void held_flush(const struct held_file *file)
{
    msync(file->page, sizeof *file->page, MS_SYNC); /* if this fails, a crash of the host may cost the checkpoint */
}

void held_destroy(struct held_file *file)
{
    if (file == NULL)
        return;
    __atomic_store_n(&file->page->closed, htole64(1), __ATOMIC_RELEASE);
    munmap(file->page, sizeof *file->page);
    close(file->fd);
    free(file);
}

static int held_no_memory(struct error *err)
{
    return error_set(err, "stream_held", "no memory for the accounts of what was sent");
}

/* Returns 1 if there is a complete file. */
static int read_page(const char *records, const char *name, struct page *page, struct error *err)
{
    char *path = alloc_printf("%s/%s", records, name);
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    bool whole =
        fd >= 0 && read(fd, page, sizeof *page) == sizeof *page && memcmp(page->magic, MAGIC, sizeof page->magic) == 0;

    if (path == NULL)
        return held_no_memory(err);
    if (fd >= 0)
        close(fd);
    free(path);
    return whole;
}

void held_begin_afresh(const char *records, int64_t ensemble, int64_t attempt)
{
    char *path = alloc_printf("%s/afresh-%" PRId64 "-%" PRId64, records, ensemble, attempt);
    int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;

    if (fd >= 0) {
        fsync(fd);
        close(fd);
        file_flush_name(path);
    }
    free(path);
}

static bool is_later(int64_t ensemble, int64_t attempt, const struct held_afresh *than)
{
    return ensemble > than->ensemble || (ensemble == than->ensemble && attempt > than->attempt);
}

static void read_afresh(const char *name, struct held_list *list)
{
    struct held_afresh said = {0};
    int end = 0;

    if (sscanf(name, "afresh-%" SCNd64 "-%" SCNd64 "%n", &said.ensemble, &said.attempt, &end) == 2 &&
        name[end] == '\0' && is_later(said.ensemble, said.attempt, &list->afresh))
        list->afresh = said;
}

int held_read(const char *records, const char *name, struct held_list *list, struct error *err)
{
    struct held_stream *larger;
    int rc;

    char wanted[NAME_SIZE], boot_id[BOOT_ID_SIZE];
    struct held_stream s = {0};
    struct page page;

    read_afresh(name, list);
    if (sscanf(name, "stream-%" SCNd64 "-%" SCNd64 "-%" SCNx64, &s.ensemble, &s.attempt, &s.session) != 3)
        return 0;
    name_of(wanted, s.ensemble, s.attempt, s.session);
    rc = strcmp(name, wanted) == 0 ? read_page(records, name, &page, err) : 0;
    if (rc <= 0)
        return rc;
    s.generation = (int64_t)le64toh(page.generation);
    s.begun = le64toh(page.begun);
    s.held = le64toh(page.held);
    page.boot_id[BOOT_ID_SIZE - 1] = '\0';
    s.certain = page.closed != 0 || strcmp(page.boot_id, process_boot_id(boot_id)) == 0;
    larger = reallocarray(list->items, list->n + 1, sizeof s);
    if (larger == NULL)
        return held_no_memory(err);
    list->items = larger;
    list->items[list->n++] = s;
    return 0;
}

void held_free(struct held_list *list)
{
    free(list->items);
    *list = (struct held_list){0};
}

void held_remove(const char *records, const struct held_stream *stream)
{
    char name[NAME_SIZE], *path;

    name_of(name, stream->ensemble, stream->attempt, stream->session);
    path = xasprintf("%s/%s", records, name);
    unlink(path);
    free(path);
}

static void held_key(char key[17], const struct held_stream *s)
{
    snprintf(key, 17, "%016" PRIx64, s->session);
}

static bool is_of(const struct held_stream *s, int64_t ensemble, int64_t attempt)
{
    return s->ensemble == ensemble && s->attempt == attempt;
}

bool held_sent(const struct held_list *list, int64_t ensemble, int64_t attempt, json_t **sent)
{
    char key[17];

    *sent = NULL;
    for (size_t i = 0; i < list->n; i++) {
        const struct held_stream *s = &list->items[i];

        if (!is_of(s, ensemble, attempt))
            continue;
        if (!s->certain)
            return false;
        if (*sent == NULL)
            *sent = json_object();
        held_key(key, s);
        if (json_object_set_new(*sent, key, json_integer((json_int_t)s->begun)) < 0)
            return false;
    }
    return true;
}

bool held_covers(const struct held_list *list, int64_t ensemble, int64_t attempt, const json_t *sent,
                 int64_t generation)
{
    size_t found = 0;
    char key[17];

    if (list->afresh.attempt > 0 && !is_later(ensemble, attempt, &list->afresh))
        return false;
    for (size_t i = 0; i < list->n; i++) {
        const struct held_stream *s = &list->items[i];
        const json_t *n;
        uint64_t before;

        if (!is_of(s, ensemble, attempt))
            continue;
        held_key(key, s);
        n = json_object_get(sent, key);
        before = (uint64_t)json_integer_value(n);
        found += n != NULL;
        if (s->generation < generation || s->held < before || (s->held == before && s->begun > before))
            return false;
    }
    return found == json_object_size(sent);
}
