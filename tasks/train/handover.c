#include "tasks/train/handover.h"

#include "common/files.h"
#include "tasks/proto/alive.h"
#include "tasks/proto/frame.h"

#define XXH_INLINE_ALL
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

/* The file is a row of records, each of 8-byte numbers in the byte order of this host:
 *
 * - a head
 * - the parameters' values
 * - for each field that the sample has, its size and its payload, filled up to a multiple of 8 bytes
 * - the XXH3-64 of all that
 *
 * The last record has no member, and has the number of records in the place of the step. A whole sample has no session,
 * and has DRAWN or 0 in the place of the attempt. */
enum { MAGIC, MEMBER, STEP, SESSION, ATTEMPT, HAVE, PARAMETERS, HEAD };

#define MAGIC_NUMBER UINT64_C(0x3146425254532424)
#define NO_MEMBER UINT64_MAX
#define DRAWN 1
#define BUFFER ((size_t)1 << 20)

struct handover {
    FILE *file;
    char *path;
    const struct field_set *fields;
    struct sample_store *store;
    struct sample_params *params; /* of the last sample, which the next one mostly shares */
    uint64_t params_of;
    XXH3_state_t *hash;
    uint64_t records;
    int failed; /* errno of the first failure */
};

static struct handover *handover_begin(const char *path, const char *mode, const struct field_set *fields,
                                       struct error *err)
{
    struct handover *h = calloc(1, sizeof *h);
    int failed = ENOMEM;

    if (h != NULL) {
        h->fields = fields;
        h->params_of = NO_MEMBER;
        h->path = strdup(path);
        h->hash = XXH3_createState();
        h->file = h->path != NULL && h->hash != NULL ? fopen(path, mode) : NULL;
        failed = errno;
    }
    if (h != NULL && h->file != NULL) {
        setvbuf(h->file, NULL, _IOFBF, BUFFER);
        return h;
    }
    handover_close(h);
    errno = failed;
    error_errno(err, "train_handover", "%s", path);
    errno = failed;
    return NULL;
}

void handover_close(struct handover *h)
{
    if (h == NULL)
        return;
    if (h->file != NULL)
        fclose(h->file);
    sample_params_unref(h->params);
    XXH3_freeState(h->hash);
    free(h->path);
    free(h);
}

struct handover *handover_create(const char *path, const struct field_set *fields, struct error *err)
{
    return handover_begin(path, "we", fields, err);
}

struct handover *handover_open(const char *path, const struct field_set *fields, struct sample_store *store,
                               struct error *err)
{
    struct handover *h = handover_begin(path, "re", fields, err);

    if (h != NULL)
        h->store = store;
    return h;
}

static size_t padding(size_t size)
{
    return (8 - size % 8) % 8;
}

static void handover_put(struct handover *h, const void *data, size_t size)
{
    static const char zeros[8];

    if (h->failed != 0)
        return;
    XXH3_64bits_update(h->hash, data, size);
    if (fwrite(data, 1, size, h->file) != size || fwrite(zeros, 1, padding(size), h->file) != padding(size))
        h->failed = errno;
}

static void handover_put_number(struct handover *h, uint64_t number)
{
    handover_put(h, &number, sizeof number);
}

static void put_head(struct handover *h, const uint64_t head[HEAD])
{
    XXH3_64bits_reset(h->hash);
    handover_put(h, head, HEAD * sizeof *head);
}

void handover_add(struct handover *h, const struct handover_item *item)
{
    struct sample *sample = item->sample;
    const uint64_t head[HEAD] = {MAGIC_NUMBER,
                                 sample->member,
                                 (uint64_t)sample->step,
                                 item->session,
                                 item->drawn ? DRAWN : item->attempt,
                                 sample->have,
                                 (uint64_t)sample->params->count};

    alive_sign();
    put_head(h, head);
    handover_put(h, sample->params->value, (size_t)sample->params->count * sizeof *sample->params->value);
    for (int i = 0; i < h->fields->count; i++)
        if (sample->have >> i & 1) {
            handover_put_number(h, sample_bytes(sample, i));
            handover_put(h, sample_payload(sample, i), sample_bytes(sample, i));
        }
    handover_put_number(h, XXH3_64bits_digest(h->hash));
    h->records++;
}

int64_t handover_finish(struct handover *h, struct error *err)
{
    const uint64_t head[HEAD] = {MAGIC_NUMBER, NO_MEMBER, h->records};
    int64_t records = (int64_t)h->records;

    put_head(h, head);
    handover_put_number(h, XXH3_64bits_digest(h->hash));
    if (h->failed == 0 && (fflush(h->file) != 0 || fsync(fileno(h->file)) < 0))
        h->failed = errno;
    if (h->failed != 0) {
        errno = h->failed;
        error_errno(err, "train_handover", "%s", h->path);
        records = -1;
    } else {
        file_flush_name(h->path);
    }
    handover_close(h);
    return records;
}

static int handover_damaged(const struct handover *h, struct error *err)
{
    return error_set(err, "train_resume",
                     "the checkpoint is damaged: %s is cut short, or its content does not fit its "
                     "checksum",
                     h->path);
}

static bool handover_get(struct handover *h, void *data, size_t size)
{
    char zeros[8];

    if (fread(data, 1, size, h->file) != size || fread(zeros, 1, padding(size), h->file) != padding(size))
        return false;
    XXH3_64bits_update(h->hash, data, size);
    return true;
}

static bool handover_get_number(struct handover *h, uint64_t *number)
{
    return handover_get(h, number, sizeof *number);
}

/* Reads the checksum, and returns whether it is that of the bytes read since get_head(). */
static bool fits_checksum(struct handover *h)
{
    uint64_t is = XXH3_64bits_digest(h->hash), said;

    return handover_get_number(h, &said) && said == is;
}

/* Reads the parameters into h->params, which the samples of one member share. */
static int get_params(struct handover *h, uint64_t member, uint64_t count, struct error *err)
{
    struct sample_params *params = count <= INT32_MAX / sizeof(double) ? sample_params_create((int)count) : NULL;

    if (params == NULL)
        return error_set(err, "train_memory", "no memory for the samples of the generation before");
    if (!handover_get(h, params->value, count * sizeof *params->value)) {
        sample_params_unref(params);
        return handover_damaged(h, err);
    }
    if (h->params != NULL && h->params_of == member) {
        sample_params_unref(params);
        return 0;
    }
    sample_params_unref(h->params);
    h->params = params;
    h->params_of = member;
    return 0;
}

/* Reads a field into a message as it came once, from which the sample takes it. */
static int get_field(struct handover *h, struct sample *sample, int field, struct error *err)
{
    uint64_t bytes;
    zmq_msg_t msg;
    bool got, taken = false;

    if (!handover_get_number(h, &bytes) || bytes > h->fields->field[field].bytes)
        return handover_damaged(h, err);
    if (zmq_msg_init_size(&msg, FRAME_HEADER_SIZE + bytes) != 0)
        return error_set(err, "train_memory", "no memory for the samples of the generation before");
    got = handover_get(h, (char *)zmq_msg_data(&msg) + FRAME_HEADER_SIZE, bytes);
    if (got)
        taken = sample_take(sample, field, (char *)zmq_msg_data(&msg) + FRAME_HEADER_SIZE, bytes, &msg);
    zmq_msg_close(&msg);
    if (!got)
        return handover_damaged(h, err);
    return taken ? 0 : error_set(err, "train_memory", "no memory for the samples of the generation before");
}

static int get_sample(struct handover *h, const uint64_t head[HEAD], struct handover_item *item, struct error *err)
{
    int rc = 0;

    if (get_params(h, head[MEMBER], head[PARAMETERS], err) < 0)
        return -1;
    item->session = head[SESSION];
    item->attempt = (uint32_t)head[ATTEMPT];
    item->drawn = head[SESSION] == 0 && head[ATTEMPT] == DRAWN;
    item->sample = sample_create(h->store, head[MEMBER], (int64_t)head[STEP], h->params);
    if (item->sample == NULL)
        return error_set(err, "train_memory", "no memory for the samples of the generation before");
    for (int i = 0; rc == 0 && i < h->fields->count; i++)
        if (head[HAVE] >> i & 1)
            rc = get_field(h, item->sample, i, err);
    if (rc == 0 && !fits_checksum(h))
        rc = handover_damaged(h, err);
    if (rc < 0)
        sample_unref(item->sample);
    return rc < 0 ? -1 : 1;
}

int handover_next(struct handover *h, struct handover_item *item, struct error *err)
{
    uint64_t head[HEAD];

    XXH3_64bits_reset(h->hash);
    if (!handover_get(h, head, sizeof head) || head[MAGIC] != MAGIC_NUMBER)
        return handover_damaged(h, err);
    if (head[MEMBER] == NO_MEMBER)
        return fits_checksum(h) && head[STEP] == h->records ? 0 : handover_damaged(h, err);
    h->records++;
    return get_sample(h, head, item, err);
}
