/* NumPy's archives as files of parameters: what they mean, and what is refused of them. */
#include "daemon/spec/ingest.h"
#include "daemon/spec/npy.h"
#include "daemon/spec/rows.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

static char dir[] = "/tmp/st-npz.XXXXXX";
static char copies[64], path[64];

struct array {
    const char *name, *descr, *shape;
    bool fortran;
    const void *items;
    size_t size;
};

/* Writes a file of the format's version 1 into a buffer for zip_source_buffer(), which frees it. */
static char *npy(const struct array *a, size_t *size)
{
    char header[300];
    int n = snprintf(header, sizeof header, "{'descr': %s, 'fortran_order': %s, 'shape': %s, }\n", a->descr,
                     a->fortran ? "True" : "False", a->shape);
    char *file = malloc(10 + (size_t)n + a->size);

    memcpy(file, "\x93NUMPY\1\0", 8);
    file[8] = (char)n;
    file[9] = (char)(n >> 8);
    memcpy(file + 10, header, (size_t)n);
    if (a->size > 0)
        memcpy(file + 10 + n, a->items, a->size);
    *size = 10 + (size_t)n + a->size;
    return file;
}

static void write_archive(const struct array *arrays, size_t n, int method)
{
    int code;
    zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);

    assert_non_null(zip);
    for (size_t i = 0; i < n; i++) {
        size_t size;
        char *file = npy(&arrays[i], &size), name[80];
        zip_int64_t at;

        snprintf(name, sizeof name, "%s.npy", arrays[i].name);
        at = zip_file_add(zip, name, zip_source_buffer(zip, file, size, 1), 0);
        assert_true(at >= 0);
        assert_int_equal(zip_set_file_compression(zip, (zip_uint64_t)at, method, 0), 0);
    }
    assert_int_equal(zip_close(zip), 0);
}

static int copies_there(void)
{
    DIR *d = opendir(copies);
    int n = 0;

    for (struct dirent *entry; (entry = readdir(d)) != NULL;)
        n += entry->d_name[0] != '.';
    closedir(d);
    return n;
}

/* Rows as JSON, one a line. */
static void gives(const char *columns, const char *expected)
{
    struct error err = {.text = ""};
    struct rows *rows = ingest_file(path, copies, "c", NULL, &err);
    char got[2000] = "", *names;

    if (rows == NULL)
        fail_msg("%s", err.text);
    for (int64_t i = 0; i < rows_count(rows); i++) {
        json_t *row = rows_at(rows, i);
        char *line = json_dumps(row, JSON_COMPACT | JSON_REAL_PRECISION(15));

        strcat(strcat(got, line), "\n");
        free(line);
        json_decref(row);
    }
    names = rows_columns_text(rows);
    assert_string_equal(got, expected);
    assert_string_equal(names, columns);
    free(names);
    rows_remove(copies, "c");
    rows_close(rows);
}

static void refused(const char *why)
{
    struct error err = {.text = ""};
    struct rows *rows = ingest_file(path, copies, "c", NULL, &err);

    if (rows != NULL)
        fail_msg("accepted, and not refused for \"%s\"", why);
    assert_string_equal(err.code, "spec_parameter_file");
    assert_string_equal(err.pointer, "/members/parameters/file");
    if (strstr(err.text, why) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", why, err.text);
    assert_int_equal(copies_there(), 0);
}

#define ITEMS(...) (const unsigned char[]){__VA_ARGS__}, sizeof((const unsigned char[]){__VA_ARGS__})

static const struct array arrays[] = {
    {"i", "'<i2'", "(2,)", false, ITEMS(0xff, 0xff, 1, 2)},
    {"u", "\"|u1\"", "(2,)", true, ITEMS(255, 0)},
    {"I", "'>i8'", "(2L,)", false, ITEMS(0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9)},
    {"h", "'<f2'", "(2,)", false, ITEMS(0x66, 0x2e, 0xff, 0xfb)},                    /* 0.1 and -65504 */
    {"f", "'>f4'", "(2,)", false, ITEMS(0x3d, 0xcc, 0xcc, 0xcd, 0x7f, 0x7f, 0xff, 0xff)}, /* 0.1 and the largest */
    {"d", "'<f8'", "(2,)", false, ITEMS(0x9a, 0x99, 0x99, 0x99, 0x99, 0x99, 0xb9, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0)},
    {"b", "'|b1'", "(2,)", false, ITEMS(1, 0)},
    {"s", "'|S3'", "(2,)", false, ITEMS('a', 'b', 'c', 'x', 0, 0)},
    {"t", "'<U2'", "(2,)", false, ITEMS(0xe4, 0, 0, 0, 0x00, 0xf6, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)},
    {"c", "'|i1'", "(2, 3)", false, ITEMS(1, 2, 3, 4, 5, 6)},
    {"k", "'|i1'", "(2, 3)", true, ITEMS(1, 4, 2, 5, 3, 6)},
    {"n", "'|i1'", "(2, 2, 2)", true, ITEMS(1, 5, 3, 7, 2, 6, 4, 8)},
    {"e", "'<f8'", "(2, 0)", false, NULL, 0},
};

static void each_array_is_a_parameter(void **state)
{
    static const int methods[] = {ZIP_CM_STORE, ZIP_CM_DEFLATE};

    for (size_t i = 0; i < 2; i++) {
        write_archive(arrays, sizeof arrays / sizeof *arrays, methods[i]);
        gives("{\"i\":true,\"u\":true,\"I\":true,\"h\":true,\"f\":true,\"d\":true,\"b\":false,\"s\":false,\"t\":false,\"c\":false,"
              "\"k\":false,\"n\":false,\"e\":false}",
              "{\"i\":-1,\"u\":255,\"I\":-9223372036854775808,\"h\":0.1,\"f\":0.1,\"d\":0.1,\"b\":true,\"s\":\"abc\","
              "\"t\":\"\xc3\xa4\xf0\x9f\x98\x80\",\"c\":[1,2,3],\"k\":[1,2,3],\"n\":[[1,2],[3,4]],\"e\":[]}\n"
              "{\"i\":513,\"u\":0,\"I\":9,\"h\":-65500.0,\"f\":3.4028235e38,\"d\":-2.0,\"b\":false,\"s\":\"x\",\"t\":\"\",\"c\":[4,5,6],"
              "\"k\":[4,5,6],\"n\":[[5,6],[7,8]],\"e\":[]}\n");
    }
}

static void refused_array(struct array array, const char *why)
{
    write_archive((const struct array[]){{"first", "'|i1'", "(2,)", false, ITEMS(1, 2)}, array}, 2, ZIP_CM_DEFLATE);
    refused(why);
}

static void what_is_no_parameter_is_named(void **state)
{
    static const unsigned char zeros[64];

    refused_array((struct array){"x", "'|O'", "(2,)", false, zeros, 16}, "array \"x\" has pickled objects");
    refused_array((struct array){"x", "'<c16'", "(2,)", false, zeros, 32}, "array \"x\": its items are of the type \"<c16\"");
    refused_array((struct array){"x", "'<f16'", "(2,)", false, zeros, 32}, "\"<f16\"");
    refused_array((struct array){"x", "'<M8[s]'", "(2,)", false, zeros, 16}, "\"<M8[s]\"");
    refused_array((struct array){"x", "[('a', '<f8')]", "(2,)", false, zeros, 16}, "array \"x\": its items are records");
    refused_array((struct array){"x", "'<i8'", "()", false, zeros, 8}, "array \"x\": it is a single value");
    refused_array((struct array){"x", "'<i8'", "(3,)", false, zeros, 24}, "array \"x\": it has 3 rows, and \"first\" has 2");
    refused_array((struct array){"x", "'<i8'", "(2, 40000)", false, zeros, 24}, "array \"x\": a row has more than 32768 items");
    refused_array((struct array){"x", "'<U70000'", "(2, 4)", false, zeros, 24}, "array \"x\": a row has more than 1048576 bytes");
    refused_array((struct array){"x", "'<i8'", "(2, 9999999999, 9999999999)", false, zeros, 24}, "array \"x\": a row has more");
    refused_array((struct array){"x", "'<i8'", "(2,)", false, zeros, 24}, "array \"x\": it has 92 bytes, where its header says 84");
    refused_array((struct array){"x", "'<i8'", "(2,)", false, zeros, 8}, "where its header says");
    refused_array((struct array){"x", "'<i8', 'other': 1", "(2,)", false, zeros, 16}, "array \"x\": its header is damaged");
    refused_array((struct array){"x", "'<i8'", "(2,), 'shape': (2", false, zeros, 16}, "its header is damaged");
    refused_array((struct array){"x", "'<u8'", "(2,)", false, ITEMS(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80)},
                  "array \"x\", row 2: an integer is larger than");
    refused_array((struct array){"x", "'<f4'", "(2,)", false, ITEMS(0, 0, 0, 0, 0, 0, 0xc0, 0x7f)}, "array \"x\", row 2: a value is NaN");
    refused_array((struct array){"x", "'<f2'", "(2,)", false, ITEMS(0, 0x7c, 0, 0)}, "row 1: a value is NaN or infinite");
    refused_array((struct array){"x", "'|S2'", "(2,)", false, ITEMS('a', 0xff, 0, 0)}, "row 1: a text is not UTF-8");
    refused_array((struct array){"x", "'|S3'", "(2,)", false, ITEMS('a', 0, 'b', 0, 0, 0)}, "row 1: a text is not UTF-8");
    refused_array((struct array){"x", "'<U1'", "(2,)", false, ITEMS(0, 0xd8, 0, 0, 0, 0, 0, 0)}, "row 1: a text is not UTF-8");
    refused_array((struct array){"x", "'<U1'", "(2,)", false, ITEMS(0, 0, 0x80, 0, 0, 0, 0, 0)}, "row 1: a text is not UTF-8");
    refused_array((struct array){"index", "'<i8'", "(2,)", false, zeros, 16}, "\"index\" is a placeholder of its own");
    refused_array((struct array){"first/x", "'|i1'", "(2,)", false, zeros, 16}, "where its header says");
    write_archive((const struct array[]){{"x", "'<i8'", "(0,)", false, NULL, 0}}, 1, ZIP_CM_STORE);
    refused("there is no row in it");
}

static size_t read_back(unsigned char *out, size_t room)
{
    FILE *file = fopen(path, "r");
    size_t size = fread(out, 1, room, file);

    fclose(file);
    return size;
}

static void write_bytes(const unsigned char *bytes, size_t size)
{
    FILE *file = fopen(path, "w");

    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static unsigned char *find(unsigned char *bytes, size_t size, const char *mark, int which)
{
    for (unsigned char *at = bytes; (at = memmem(at, size - (size_t)(at - bytes), mark, 4)) != NULL; at++)
        if (which-- == 0)
            return at;
    fail_msg("no such mark");
    return NULL;
}

/* A small archive can say that it holds very much: it is refused before anything is unpacked. */
static void bombs_are_bounded(void **state)
{
    refused_array((struct array){"x", "'<f8'", "(10000000, 20)", false, NULL, 0}, "array \"x\": it has 10000000 rows");
    write_archive((const struct array[]){{"x", "'<f8'", "(10000000, 20)", false, NULL, 0}}, 1, ZIP_CM_DEFLATE);
    refused("array \"x\": with it the arrays have more than 1073741824 bytes");
    write_archive((const struct array[]){{"x", "'<f8'", "(10000000, 4)", true, NULL, 0}}, 1, ZIP_CM_DEFLATE);
    refused("arrays in Fortran's order can have 268435456 bytes");
    write_archive((const struct array[]){{"x", "'|b1'", "(10000001,)", false, NULL, 0}}, 1, ZIP_CM_DEFLATE);
    refused("more than 10000000 rows");
    write_archive((const struct array[]){{"x", "'|b1'", "(10000000,)", false, NULL, 0}}, 1, ZIP_CM_DEFLATE);
    refused("where its header says 10000075");
}

static void damaged_ones_are_refused(void **state)
{
    const struct array two[] = {{"a", "'|i1'", "(4,)", false, ITEMS(1, 2, 3, 4)}, {"b", "'|i1'", "(4,)", false, ITEMS(5, 6, 7, 8)}};
    unsigned char good[2000], bytes[2000], *at;
    size_t size;

    write_archive(two, 2, ZIP_CM_STORE);
    size = read_back(good, sizeof good);
    gives("{\"a\":true,\"b\":true}", "{\"a\":1,\"b\":5}\n{\"a\":2,\"b\":6}\n{\"a\":3,\"b\":7}\n{\"a\":4,\"b\":8}\n");
    for (size_t n = 0; n < size; n++) { /* cut anywhere */
        write_bytes(good, n);
        refused("");
    }
    memcpy(bytes, good, size);
    at = memmem(bytes, size, "\1\2\3\4", 4);
    at[1] = 9; /* a wrong item: the checksum tells */
    write_bytes(bytes, size);
    refused("array \"a\": it is damaged");
    memcpy(bytes, good, size);
    at = memmem(bytes, size, "(4,)", 4);
    at[1] = '3';
    write_bytes(bytes, size);
    refused("array \"a\": it has");
    memcpy(bytes, good, size);
    memset(find(bytes, size, "PK\1\2", 1) + 42, 0, 4); /* the second is where the first is */
    write_bytes(bytes, size);
    refused("damaged");
    memcpy(bytes, good, size);
    find(bytes, size, "PK\1\2", 0)[24]++; /* it has one byte more, says the directory */
    write_bytes(bytes, size);
    refused("");
    memcpy(bytes, good, size);
    at = find(bytes, size, "PK\5\6", 0);
    memmove(at + 20, at, 22);
    memcpy(at, "PK\6\7", 4); /* a directory of the format for more than 65535 files */
    write_bytes(bytes, size + 20);
    refused("more than 256 arrays");
    write_bytes((const unsigned char *)"no archive", 10);
    refused("it is no archive of arrays");
}

static int set_up(void **state)
{
    assert_non_null(mkdtemp(dir));
    snprintf(copies, sizeof copies, "%s/copies", dir);
    snprintf(path, sizeof path, "%s/in.npz", dir);
    return mkdir(copies, 0700);
}

static int tear_down(void **state)
{
    unlink(path);
    rmdir(copies);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_array_is_a_parameter),
        cmocka_unit_test(what_is_no_parameter_is_named),
        cmocka_unit_test(bombs_are_bounded),
        cmocka_unit_test(damaged_ones_are_refused),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
