/* TensorBoard's event files: records, what is a scalar in them, damage, growth, and several files. */
#include "tasks/runner/event_files.h"
#include "tasks/runner/event_record.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes that are put together. */
struct bytes {
    unsigned char data[4096];
    size_t size;
};

static void put(struct bytes *b, const void *data, size_t size)
{
    assert_true(b->size + size <= sizeof b->data);
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void put_varint(struct bytes *b, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        put(b, (unsigned char[]){(unsigned char)(value | 0x80)}, 1);
    put(b, (unsigned char[]){(unsigned char)value}, 1);
}

static void put_number(struct bytes *b, unsigned field, uint64_t value)
{
    put_varint(b, field << 3);
    put_varint(b, value);
}

static void put_float(struct bytes *b, unsigned field, float value)
{
    put_varint(b, field << 3 | 5);
    put(b, &value, 4);
}

static void put_double(struct bytes *b, unsigned field, double value)
{
    put_varint(b, field << 3 | 1);
    put(b, &value, 8);
}

static void put_bytes(struct bytes *b, unsigned field, const void *data, size_t size)
{
    put_varint(b, field << 3 | 2);
    put_varint(b, size);
    put(b, data, size);
}

static void put_message(struct bytes *b, unsigned field, const struct bytes *message)
{
    put_bytes(b, field, message->data, message->size);
}

/* An event whose summary has these values. */
static struct bytes event_of(double time, int64_t step, const struct bytes *values, size_t n)
{
    struct bytes event = {.size = 0}, summary = {.size = 0};

    put_double(&event, 1, time);
    if (step != 0) /* as in real files, where zeros are left out */
        put_number(&event, 2, (uint64_t)step);
    for (size_t i = 0; i < n; i++)
        put_message(&summary, 1, &values[i]);
    put_message(&event, 5, &summary);
    return event;
}

static struct bytes simple(const char *tag, float value)
{
    struct bytes b = {.size = 0};

    put_bytes(&b, 1, tag, strlen(tag));
    put_float(&b, 2, value);
    return b;
}

static struct bytes metadata_of(const char *plugin)
{
    struct bytes name = {.size = 0}, metadata = {.size = 0};

    put_bytes(&name, 1, plugin, strlen(plugin));
    put_message(&metadata, 1, &name);
    return metadata;
}

static bool of_unknown_shape; /* likewise its dimensions, and how many these are */

/* A value that is a tensor of this type, whose items are in `field`, as a message, and of this shape (-1: a scalar). */
static struct bytes tensor(const char *tag, const char *plugin, unsigned type, int64_t dimension, unsigned field,
                           const struct bytes *items)
{
    struct bytes b = {.size = 0}, t = {.size = 0}, shape = {.size = 0}, dim = {.size = 0}, metadata = metadata_of(plugin);

    put_number(&t, 1, type);
    if (dimension >= 0) {
        put_number(&dim, 1, (uint64_t)dimension);
        put_message(&shape, 2, &dim);
    }
    if (of_unknown_shape)
        put_number(&shape, 3, 1);
    put_message(&t, 2, &shape);
    if (items != NULL)
        put_message(&t, field, items);
    put_bytes(&b, 1, tag, strlen(tag));
    put_message(&b, 9, &metadata);
    put_message(&b, 8, &t);
    return b;
}

/* The check value of CRC-32C in RFC 3720's terms; and a length as it stands in every file that begins with its
 * version. */
static void checksums_are_those_of_the_format(void **state)
{
    uint32_t masked = event_checksum((const unsigned char *)"123456789", 9), crc = masked - UINT32_C(0xa282ead8);
    static const unsigned char header[EVENT_HEADER] = {0x18, 0, 0, 0, 0, 0, 0, 0, 0xa3, 0x7f, 0x4b, 0x22};
    unsigned char wrong[EVENT_HEADER];
    uint64_t length;

    assert_int_equal(crc >> 17 | crc << 15, 0xe3069283);
    assert_int_equal(event_length(header, &length), 0);
    assert_int_equal(length, 24);
    memcpy(wrong, header, sizeof wrong);
    wrong[1] = 1;
    assert_int_equal(event_length(wrong, &length), -1);
}

static struct metric_line line;
static const char *why;

static int read_event(const struct bytes *event)
{
    return event_read(event->data, event->size, "", &line, &why);
}

static void scalars_are_plain_or_tensors(void **state)
{
    struct bytes items[8] = {{.size = 0}}, values[13], event;
    float f = 0.5F;
    double d = -2.25;

    put(&items[0], &f, 4);
    put(&items[1], &d, 8);
    put_varint(&items[2], (uint64_t)-3);
    put_varint(&items[3], UINT64_C(1) << 40);
    put_varint(&items[4], 0x3c00); /* 1 as float16 */
    put_varint(&items[5], 0x3f80); /* 1 as bfloat16 */
    put(&items[6], "text", 4);
    values[0] = simple("loss", 0.25F);
    values[1] = tensor("content", "scalars", 1, -1, 4, &items[0]);
    values[2] = tensor("float", "scalars", 1, -1, 5, &items[0]);
    values[3] = tensor("double", "scalars", 2, 1, 6, &items[1]);
    values[4] = tensor("int", "scalars", 3, -1, 7, &items[2]);
    values[5] = tensor("long", "", 9, -1, 10, &items[3]);
    values[6] = tensor("half", "scalars", 19, -1, 13, &items[4]);
    values[7] = tensor("brain", "scalars", 14, -1, 13, &items[5]);
    values[8] = tensor("zero", "scalars", 1, -1, 5, NULL);
    values[9] = tensor("text", "text", 7, -1, 8, &items[6]);     /* the others are no scalars */
    values[10] = tensor("hparams", "hparams", 1, -1, 5, &items[0]);
    values[11] = tensor("curve", "pr_curves", 1, 2, 5, &items[0]);
    values[12] = tensor("vector", "scalars", 1, 2, 5, &items[0]);
    event = event_of(1769860000.5, 7, values, 13);
    assert_int_equal(read_event(&event), 0);
    assert_int_equal(line.n, 9);
    assert_true(line.has_step && line.step == 7 && line.time == 1769860000.5);
    assert_string_equal(line.values[0].name, "loss");
    assert_true(line.values[0].value == 0.25 && line.values[1].value == 0.5 && line.values[2].value == 0.5);
    assert_true(line.values[3].value == -2.25 && line.values[4].value == -3 && line.values[5].value == 0x1p40);
    assert_true(line.values[6].value == 1 && line.values[7].value == 1 && line.values[8].value == 0);
    assert_string_equal(line.values[8].name, "zero");

    of_unknown_shape = true;
    values[0] = tensor("float", "scalars", 1, -1, 5, &items[0]);
    of_unknown_shape = false;
    event = event_of(1, 0, values, 1);
    assert_int_equal(read_event(&event), 0);
    assert_int_equal(line.n, 0);

    values[0] = simple("loss", NAN);
    event = event_of(1, 0, values, 1);
    assert_int_equal(event_read(event.data, event.size, "train", &line, &why), 0);
    assert_true(line.n == 1 && line.step == 0 && isnan(line.values[0].value));
    assert_string_equal(line.values[0].name, "train/loss");
}

static void wrong_events_are_told(void **state)
{
    struct bytes value = simple("", 1), event = event_of(1, 2, &value, 1), cut;
    char name[POINTS_NAME_MAX + 2];

    assert_int_equal(read_event(&event), -1);
    assert_string_equal(why, "a tag is empty, too long or no text");
    value = simple("loss", 1); /* a value that is cut behind its number is none */
    put_number(&value, 9, 1);
    value.size--;
    event = event_of(1, 2, &value, 1);
    assert_int_equal(read_event(&event), -1);
    assert_int_equal(line.n, 0);
    memset(name, 'x', sizeof name);
    name[POINTS_NAME_MAX + 1] = '\0';
    value = simple(name, 1);
    event = event_of(1, 2, &value, 1);
    assert_int_equal(read_event(&event), -1);
    value = simple("a\nb", 1);
    event = event_of(1, 2, &value, 1);
    assert_int_equal(read_event(&event), -1);
    value = simple("a", 1);
    event = event_of(1, INT64_MIN, &value, 1);
    assert_int_equal(read_event(&event), -1);
    assert_string_equal(why, "a step is no number that can be");
    event = event_of(1, 2, &value, 1);
    for (size_t n = 0; n < event.size; n++) { /* cut anywhere: never a value that is not there */
        cut = event;
        cut.size = n;
        assert_true(read_event(&cut) < 0 || line.n == 0);
    }
    srand(3);
    for (int i = 0; i < 20000; i++) {
        cut = event;
        for (int edits = 1 + rand() % 3; edits > 0; edits--)
            cut.data[(size_t)rand() % cut.size] = (unsigned char)rand();
        read_event(&cut);
    }
}

static char dir[64];

static int set_up(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/st-events-[X]-XXXXXX"); /* characters that mean something to glob() */
    return mkdtemp(dir) != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    char rm[100];

    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static void append(const char *name, const void *data, size_t size)
{
    char path[200];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    file = fopen(path, "a");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

static void make_dir(const char *name)
{
    char path[200];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static struct bytes record_of(const struct bytes *event)
{
    struct bytes record = {.size = 0};
    uint64_t length = event->size;
    uint32_t crc;

    put(&record, &length, 8);
    crc = event_checksum(record.data, 8);
    put(&record, &crc, 4);
    put(&record, event->data, event->size);
    crc = event_checksum(event->data, event->size);
    put(&record, &crc, 4);
    return record;
}

static struct bytes scalar_record(const char *tag, int64_t step, float number)
{
    struct bytes value = simple(tag, number), event = event_of(1769860000, step, &value, 1);

    return record_of(&event);
}

static bool elsewhere; /* stat() says that files are on another file system than they were */

int stat(const char *path, struct stat *st)
{
    int rc = fstatat(AT_FDCWD, path, st, 0);

    st->st_dev += elsewhere;
    return rc;
}

static char got[2000];

static void note(void *arg, const struct metric_line *event)
{
    for (size_t i = 0; i < event->n; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s@%lld=%g ", event->values[i].name,
                 (long long)event->step, event->values[i].value);
}

static int64_t look(struct event_files *files)
{
    int64_t all = 0, n;

    got[0] = '\0';
    for (int looks = 0; (n = event_files_read(files, 64, note, NULL)) > 0; looks++) {
        assert_true(looks < 1000); /* there is an end */
        all += n;
    }
    return all;
}

static void put_scalar(const char *file, const char *tag, int64_t step, float number)
{
    struct bytes record = scalar_record(tag, step, number);

    append(file, record.data, record.size);
}

static void files_grow_and_come(void **state)
{
    struct event_files *files = event_files_create(dir, "runs");
    struct bytes record = scalar_record("loss", 2, 3), version = {.size = 0};
    const char *first;

    assert_int_equal(look(files), 0);
    make_dir("runs");
    put_bytes(&version, 3, "brain.Event:2", 13);
    version = record_of(&version);
    append("runs/events.out.tfevents.100.host.1.0", version.data, version.size);
    append("runs/other.txt", "no events\n", 10);
    put_scalar("runs/events.out.tfevents.100.host.1.0", "loss", 1, 4);
    assert_int_equal(look(files), version.size + record.size);
    assert_string_equal(got, "loss@1=4 ");
    for (size_t i = 0; i + 1 < record.size; i++) { /* byte by byte: not before it is whole */
        append("runs/events.out.tfevents.100.host.1.0", record.data + i, 1);
        assert_int_equal(look(files), 0);
    }
    append("runs/events.out.tfevents.100.host.1.0", record.data + record.size - 1, 1);
    assert_int_equal(look(files), record.size);
    assert_string_equal(got, "loss@2=3 ");
    put_scalar("runs/events.out.tfevents.200.host.2.0", "loss", 2, 2.5F); /* the program began again */
    put_scalar("runs/events.out.tfevents.200.host.2.0", "loss", 3, 2);
    make_dir("runs/validation");
    make_dir("runs/validation/a");
    put_scalar("runs/validation/events.out.tfevents.100", "loss", 3, 7);
    put_scalar("runs/validation/a/events.out.tfevents.100", "loss", 3, 8);
    look(files);
    assert_string_equal(got, "loss@2=2.5 loss@3=2 validation/a/loss@3=8 validation/loss@3=7 ");
    assert_int_equal(look(files), 0);
    assert_int_equal(event_files_wrong(files, &first), 0);
    event_files_destroy(files);

    files = event_files_create(dir, "runs/*/"); /* each directory by itself */
    look(files);
    assert_string_equal(got, "a/loss@3=8 loss@3=7 ");
    event_files_destroy(files);
    files = event_files_create(dir, "runs/*.200.*");
    look(files);
    assert_string_equal(got, "loss@2=2.5 loss@3=2 ");
    event_files_destroy(files);
}

static void damage_is_told_and_bounded(void **state)
{
    struct event_files *files = event_files_create(dir, "logs");
    struct bytes wrong = scalar_record("loss", 2, 3);
    static unsigned char picture[(1 << 20) + 100];
    const char *first;
    char said[100];
    uint64_t length = sizeof picture;
    uint32_t crc = event_checksum((const unsigned char *)&length, 8);

    make_dir("logs");
    put_scalar("logs/a.tfevents", "loss", 1, 4);
    wrong.data[EVENT_HEADER + 3] ^= 1; /* a record whose checksum is wrong is passed over */
    append("logs/a.tfevents", wrong.data, wrong.size);
    put_scalar("logs/a.tfevents", "loss", 3, 2);
    append("logs/a.tfevents", &length, 8); /* a large one as well, once it is there */
    append("logs/a.tfevents", &crc, 4);
    look(files);
    assert_string_equal(got, "loss@1=4 loss@3=2 ");
    append("logs/a.tfevents", picture, sizeof picture);
    append("logs/a.tfevents", &crc, 4);
    put_scalar("logs/a.tfevents", "loss", 4, 1);
    look(files);
    assert_string_equal(got, "loss@4=1 ");
    assert_int_equal(event_files_wrong(files, &first), 1);
    snprintf(said, sizeof said, "byte %zu of a.tfevents: the checksum of a record is wrong", wrong.size);
    assert_string_equal(first, said);
    wrong = scalar_record("loss", 5, 3);
    wrong.data[2] ^= 1; /* where the next record begins nobody can tell */
    append("logs/a.tfevents", wrong.data, wrong.size);
    put_scalar("logs/a.tfevents", "loss", 6, 1);
    put_scalar("logs/b.tfevents", "loss", 7, 1);
    look(files);
    assert_string_equal(got, "loss@7=1 ");
    assert_int_equal(event_files_wrong(files, &first), 2);
    event_files_destroy(files);
}

/* A file that was replaced or cut is read from its beginning, also where what it was before could not be read to its
 * end. */
static void files_that_are_others_are_read_anew(void **state)
{
    struct event_files *files = event_files_create(dir, "logs");
    struct bytes wrong = scalar_record("loss", 9, 9);
    char path[200], new[200];
    const char *first;

    make_dir("logs");
    snprintf(path, sizeof path, "%s/logs/a.tfevents", dir);
    snprintf(new, sizeof new, "%s/new", dir);
    for (int i = 0; i < 3; i++) { /* the first, a longer one in its place, and one in the place of what was damaged */
        for (int64_t step = 0; step <= i; step++)
            put_scalar("new", "loss", step, (float)i);
        assert_int_equal(rename(new, path), 0);
        look(files);
        assert_string_equal(got, i == 0   ? "loss@0=0 "
                                 : i == 1 ? "loss@0=1 loss@1=1 "
                                          : "loss@0=2 loss@1=2 loss@2=2 ");
        if (i == 1) {
            wrong.data[2] ^= 1;
            append("logs/a.tfevents", wrong.data, wrong.size);
            put_scalar("logs/a.tfevents", "loss", 3, 1);
            assert_int_equal(look(files), 0);
        }
    }
    assert_int_equal(truncate(path, 0), 0); /* by whom it is open */
    put_scalar("logs/a.tfevents", "loss", 0, 5);
    look(files);
    assert_string_equal(got, "loss@0=5 ");
    assert_int_equal(event_files_wrong(files, &first), 1);
    event_files_destroy(files);
}

/* A path may come to lead to another file system, where a file can have the number of the one before. */
static void a_file_of_the_same_number_elsewhere_is_another_one(void **state)
{
    struct event_files *files = event_files_create(dir, "logs");

    make_dir("logs");
    for (int i = 0; i < 2; i++) {
        elsewhere = i == 1;
        put_scalar("logs/a.tfevents", "loss", i, (float)i);
        look(files);
        assert_string_equal(got, elsewhere ? "loss@0=0 loss@1=1 " : "loss@0=0 ");
        look(files);
        assert_string_equal(got, ""); /* it is the same as before */
    }
    elsewhere = false;
    event_files_destroy(files);
}

/* As it comes, piece by piece; nothing before it is read again meanwhile. */
static void what_is_too_large_is_passed_over_once_it_is_there(void **state)
{
    struct event_files *files = event_files_create(dir, "logs");
    static unsigned char picture[(1 << 20) + 100];
    uint64_t length = sizeof picture;
    uint32_t crc = event_checksum((const unsigned char *)&length, 8);
    const char *first;

    make_dir("logs");
    put_scalar("logs/a.tfevents", "loss", 1, 4);
    append("logs/a.tfevents", &length, 8);
    append("logs/a.tfevents", &crc, 4);
    look(files);
    assert_string_equal(got, "loss@1=4 ");
    for (size_t at = 0; at < sizeof picture; at += sizeof picture / 4) {
        append("logs/a.tfevents", picture, sizeof picture / 4);
        got[0] = '\0';
        assert_int_equal(event_files_read(files, 64, note, NULL), 0);
        assert_string_equal(got, "");
    }
    append("logs/a.tfevents", &crc, 4);
    assert_true(event_files_read(files, 64, note, NULL) > 0); /* whether anything follows or not */
    put_scalar("logs/a.tfevents", "loss", 2, 3);
    look(files);
    assert_string_equal(got, "loss@2=3 ");
    assert_int_equal(event_files_wrong(files, &first), 0);
    event_files_destroy(files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksums_are_those_of_the_format),
        cmocka_unit_test(scalars_are_plain_or_tensors),
        cmocka_unit_test(wrong_events_are_told),
        cmocka_unit_test_setup_teardown(files_grow_and_come, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damage_is_told_and_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_that_are_others_are_read_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_of_the_same_number_elsewhere_is_another_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_too_large_is_passed_over_once_it_is_there, set_up, tear_down),
    };

    test_limit(60); /* a loop without an end is a failure, too */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
