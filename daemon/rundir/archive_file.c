#include "daemon/rundir/archive_file.h"

#include "common/xalloc.h"

#define XXH_INLINE_ALL
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define LINE_MAX_SIZE 160
#define ABSENT "-"

static const char *const kind_names[ARCHIVE_KINDS] = {"other", "succeeded"};

char *archive_path(const char *run_dir, int64_t ensemble, enum archive_kind kind, int64_t number)
{
    return xasprintf("%s/e%" PRId64 "/%s-%" PRId64 ".archive", run_dir, ensemble, kind_names[kind], number);
}

bool archive_name_parse(const char *name, enum archive_kind *kind, int64_t *number)
{
    for (size_t i = 0; i < ARCHIVE_KINDS; i++) {
        size_t len = strlen(kind_names[i]);
        int end = 0;

        if (strncmp(name, kind_names[i], len) == 0 && sscanf(name + len, "-%" SCNd64 ".archive%n", number, &end) == 1 &&
            end > 0 && name[len + (size_t)end] == '\0') {
            *kind = (enum archive_kind)i;
            return true;
        }
    }
    return false;
}

static void add_size(struct text *text, int64_t size)
{
    text_string(text, " ");
    if (size < 0)
        text_string(text, ABSENT);
    else
        text_number(text, size);
}

/* Returns the digest of everything that the line says, and of all parts. */
static uint64_t entry_digest(const struct archive_entry *entry, const char *const parts[ARCHIVE_PARTS])
{
    XXH3_state_t state;

    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, entry, offsetof(struct archive_entry, digest));
    for (size_t i = 0; i < ARCHIVE_PARTS; i++)
        if (entry->sizes[i] > 0)
            XXH3_64bits_update(&state, parts[i], (size_t)entry->sizes[i]);
    return XXH3_64bits_digest(&state);
}

void archive_entry_add(struct text *text, struct archive_entry *entry, const char *const parts[ARCHIVE_PARTS])
{
    entry->digest = entry_digest(entry, parts);
    text_string(text, "@");
    text_number(text, entry->index);
    text_string(text, " ");
    text_number(text, entry->attempt);
    for (size_t i = 0; i < ARCHIVE_PARTS; i++)
        add_size(text, entry->sizes[i]);
    text_add(text, " %016" PRIx64 "\n", entry->digest);
    for (size_t i = 0; i < ARCHIVE_PARTS; i++)
        if (entry->sizes[i] > 0)
            text_put(text, parts[i], (size_t)entry->sizes[i]);
}

/* Reads a number that a blank or the line's start precedes, or "-" as -1, and returns what follows it; NULL if there
 * is none. */
static const char *take_entry_number(const char *p, char before, int64_t *out)
{
    char *end;

    if (p == NULL || *p++ != before)
        return NULL;
    *out = -1;
    if (*p == *ABSENT)
        return p + 1;
    if (*p < '0' || *p > '9')
        return NULL;
    errno = 0;
    *out = strtoll(p, &end, 10);
    return errno == 0 ? end : NULL;
}

/* Returns the length of the line, or 0 if it is not the line of an entry. */
static size_t parse_line(const char *line, struct archive_entry *entry)
{
    const char *p = take_entry_number(line, '@', &entry->index);
    char *end;

    p = take_entry_number(p, ' ', &entry->attempt);
    for (size_t i = 0; i < ARCHIVE_PARTS; i++) {
        p = take_entry_number(p, ' ', &entry->sizes[i]);
        if (p != NULL && entry->sizes[i] > (int64_t)ARCHIVE_PART_MAX)
            return 0;
    }
    if (p == NULL || *p != ' ' || strspn(p + 1, "0123456789abcdef") != 16 || p[17] != '\n')
        return 0;
    entry->digest = strtoull(p + 1, &end, 16);
    return (size_t)(end + 1 - line);
}

int64_t archive_entry_end(const struct archive_entry *entry, int64_t parts)
{
    for (size_t i = 0; i < ARCHIVE_PARTS; i++)
        parts += entry->sizes[i] > 0 ? entry->sizes[i] : 0;
    return parts;
}

/* Reads up to `size` bytes, fewer only at the end of the file. */
static ssize_t read_at(int fd, char *out, size_t size, int64_t at)
{
    size_t have = 0;

    while (have < size) {
        ssize_t n = pread(fd, out + have, size - have, at + (int64_t)have);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    return (ssize_t)have;
}

int archive_entry_read(int fd, int64_t at, struct archive_entry *entry, int64_t *parts, struct error *err)
{
    char line[LINE_MAX_SIZE + 1];
    ssize_t n = read_at(fd, line, LINE_MAX_SIZE, at);
    struct stat st;
    size_t len;

    if (n < 0 || fstat(fd, &st) < 0)
        return error_errno(err, "file_read", "cannot read an archive");
    line[n] = '\0';
    len = parse_line(line, entry);
    if (len == 0)
        return 0;
    *parts = at + (int64_t)len;
    return archive_entry_end(entry, *parts) <= st.st_size;
}

int archive_parts_read(int fd, const struct archive_entry *entry, int64_t parts, char *texts[ARCHIVE_PARTS],
                       struct error *err)
{
    int rc = 1;

    for (size_t i = 0; i < ARCHIVE_PARTS; i++)
        texts[i] = NULL;
    for (size_t i = 0; i < ARCHIVE_PARTS && rc == 1; i++) {
        size_t size = entry->sizes[i] > 0 ? (size_t)entry->sizes[i] : 0;
        ssize_t n;

        if (entry->sizes[i] < 0)
            continue;
        texts[i] = xcalloc(size + 1, 1);
        n = read_at(fd, texts[i], size, parts);
        if (n < 0)
            rc = error_errno(err, "file_read", "cannot read an archive");
        else if ((size_t)n < size)
            rc = 0;
        parts += (int64_t)size;
    }
    if (rc == 1 && entry_digest(entry, (const char *const *)texts) != entry->digest)
        rc = 0;
    for (size_t i = 0; i < ARCHIVE_PARTS && rc != 1; i++) {
        free(texts[i]);
        texts[i] = NULL;
    }
    return rc;
}

int archive_open(const char *path, int64_t at, int64_t index, int64_t attempt, enum archive_part part, int64_t *first,
                 int64_t *size, struct error *err)
{
    struct archive_entry entry;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), rc, saved;

    if (fd < 0)
        return error_errno(err, "output_unreadable", "cannot open %s", path);
    rc = archive_entry_read(fd, at, &entry, first, err);
    if (rc == 1 && entry.index == index && entry.attempt == attempt) {
        for (size_t i = 0; i < (size_t)part; i++)
            *first += entry.sizes[i] > 0 ? entry.sizes[i] : 0;
        *size = entry.sizes[part];
        return fd;
    }
    saved = rc < 0 ? errno : EBADMSG;
    if (rc >= 0)
        error_set(err, "output_unreadable", "%s has been damaged at byte %" PRId64, path, at);
    close(fd);
    errno = saved;
    return -1;
}
