#include "tasks/train/cut.h"

#include "common/files.h"
#include "common/xalloc.h"
#include "tasks/proto/ends.h"
#include "tasks/proto/frame.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* stream-rankR.bin is a row of 8-byte numbers, little-endian: a head of these, the runs (key and bits) of drawn
 * samples, and XXH3-64 of all before. */
enum { MAGIC, MEMBERS, DRAWN, BATCHES, REPEATS, DRAWS, RUNS = DRAWS + POOL_DRAWS, HEAD };

#define MAGIC_NUMBER UINT64_C(0x3254554352545324) /* "$STRCUT2" */

bool cut_is_whole(const struct cut *cut, uint64_t member)
{
    return cut->ended[member] != 0;
}

void cut_fini(struct cut *cut)
{
    free(cut->runs);
    free(cut->ended);
    *cut = (struct cut){0};
}

static char *cut_path(const char *dir, const char *kind, int rank)
{
    return alloc_printf("%s/%s-rank%d.bin", dir, kind, rank);
}

/* Returns the content of stream-rankR.bin, to be freed, and its size in bytes; NULL if there is no memory. */
static uint64_t *encode(const struct cut *cut, size_t *size)
{
    size_t n = HEAD + 2 * cut->n_runs;
    uint64_t *word = malloc((n + 1) * sizeof *word);

    if (word == NULL)
        return NULL;
    word[MAGIC] = htole64(MAGIC_NUMBER);
    word[MEMBERS] = htole64(cut->members);
    word[DRAWN] = htole64(cut->drawn);
    word[BATCHES] = htole64(cut->batches);
    word[REPEATS] = htole64(cut->repeats);
    for (size_t i = 0; i < POOL_DRAWS; i++)
        word[DRAWS + i] = htole64(cut->draws[i]);
    word[RUNS] = htole64(cut->n_runs);
    for (size_t i = 0; i < cut->n_runs; i++) {
        word[HEAD + 2 * i] = htole64(cut->runs[i].key);
        word[HEAD + 2 * i + 1] = htole64(cut->runs[i].bits);
    }
    word[n] = htole64(frame_checksum(word, n * sizeof *word));
    *size = (n + 1) * sizeof *word;
    return word;
}

static int write_cut_file(const char *dir, const char *kind, int rank, const void *data, size_t size, struct error *err)
{
    char *path = cut_path(dir, kind, rank);
    int rc = -1;

    if (path == NULL || data == NULL)
        error_set(err, "train_memory", "no memory for the stream's part of a checkpoint");
    else
        rc = file_write_whole(path, data, size, 0600, err);
    free(path);
    return rc;
}

int cut_write(const struct cut *cut, const char *dir, int rank, struct error *err)
{
    size_t size = 0;
    uint64_t *stream = encode(cut, &size);
    int rc = write_cut_file(dir, "stream", rank, stream, size, err);
    unsigned char *ends;

    free(stream);
    if (rc < 0)
        return -1;
    ends = ends_pack(cut->ended, cut->members, &size);
    rc = write_cut_file(dir, "whole", rank, ends, size, err);
    free(ends);
    return rc;
}

static int cut_damaged(struct error *err, const char *path, const char *why)
{
    return error_set(err, "train_resume", "the checkpoint is damaged: %s %s", path, why);
}

/* Returns so many runs, to be freed; NULL if there is no memory. */
static struct stepset_run *decode_runs(const uint64_t *word, size_t n)
{
    struct stepset_run *runs = calloc(n + 1, sizeof *runs);

    for (size_t i = 0; runs != NULL && i < n; i++)
        runs[i] = (struct stepset_run){le64toh(word[2 * i]), le64toh(word[2 * i + 1])};
    return runs;
}

/* Reads what encode() made. */
static int decode(struct cut *cut, const uint64_t *word, size_t size, uint64_t members, const char *path,
                  struct error *err)
{
    size_t n = size / sizeof *word;

    if (size % sizeof *word != 0 || n < HEAD + 1 || le64toh(word[MAGIC]) != MAGIC_NUMBER ||
        le64toh(word[n - 1]) != frame_checksum(word, (n - 1) * sizeof *word))
        return cut_damaged(err, path, "is cut short, or its content does not fit its checksum");
    cut->n_runs = le64toh(word[RUNS]);
    if ((n - HEAD - 1) % 2 != 0 || cut->n_runs != (n - HEAD - 1) / 2)
        return cut_damaged(err, path, "has another number of runs than it says");
    cut->members = le64toh(word[MEMBERS]);
    if (cut->members != members)
        return cut_damaged(err, path, "is of an ensemble with another number of members");
    cut->drawn = le64toh(word[DRAWN]);
    cut->batches = le64toh(word[BATCHES]);
    cut->repeats = le64toh(word[REPEATS]);
    for (size_t i = 0; i < POOL_DRAWS; i++)
        cut->draws[i] = le64toh(word[DRAWS + i]);
    cut->runs = decode_runs(word + HEAD, cut->n_runs);
    if (cut->runs == NULL)
        return error_set(err, "train_memory", "no memory for the samples that were drawn before the checkpoint");
    return 0;
}

static int read_stream_part(struct cut *cut, const char *path, uint64_t members, struct error *err)
{
    char *content;
    size_t size;
    int rc;

    if (file_read(path, SIZE_MAX / 2, &content, &size, err) < 0)
        return -1;
    rc = decode(cut, (const uint64_t *)(const void *)content, size, members, path, err);
    free(content);
    return rc;
}

static int read_ends(struct cut *cut, const char *path, struct error *err)
{
    unsigned char *ends;
    size_t size;
    int rc = 0;

    if (file_read(path, SIZE_MAX / 2, (char **)&ends, &size, err) < 0)
        return -1;
    cut->ended = calloc(cut->members + 1, sizeof *cut->ended);
    if (cut->ended == NULL)
        rc = error_set(err, "train_memory", "no memory for the members that had ended before the checkpoint");
    else if (ends_are_all(ends, size, cut->members))
        ends_unpack(ends, size, 0, cut->ended, cut->members);
    else
        rc = cut_damaged(err, path, "has another size");
    free(ends);
    return rc;
}

int cut_read(struct cut *cut, const char *dir, int rank, uint64_t members, struct error *err)
{
    char *stream = cut_path(dir, "stream", rank), *whole = cut_path(dir, "whole", rank);
    int rc = -1;

    *cut = (struct cut){0};
    if (stream == NULL || whole == NULL)
        error_set(err, "train_memory", "no memory for the checkpoint to go on from");
    else if (read_stream_part(cut, stream, members, err) == 0)
        rc = read_ends(cut, whole, err);
    if (rc < 0)
        cut_fini(cut);
    free(stream);
    free(whole);
    return rc;
}
