/* Files of parameters: what they mean, and what is refused with which line. */
#include "daemon/spec/draw.h"
#include "daemon/spec/ingest.h"
#include "daemon/spec/number.h"
#include "daemon/spec/params.h"
#include "daemon/spec/rows.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/st-ingest.XXXXXX";
static char copies[64];
static unsigned serial;

static struct rows *ingest(const char *suffix, const char *text, size_t size, struct error *err)
{
    char path[128], name[16];
    FILE *file;

    snprintf(path, sizeof path, "%s/in%s", dir, suffix);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    fclose(file);
    snprintf(name, sizeof name, "c%u", serial++);
    return ingest_file(path, copies, name, NULL, err);
}

static int entries_of(const char *path)
{
    DIR *d = opendir(path);
    int n = 0;

    for (struct dirent *entry; (entry = readdir(d)) != NULL;)
        n += entry->d_name[0] != '.';
    closedir(d);
    return n;
}

static int copies_there(void)
{
    return entries_of(copies);
}

/* Rows as JSON, one a line, against what is expected; then the copy goes. */
static void gives(const char *suffix, const char *text, const char *columns, const char *expected)
{
    struct error err = {.text = ""};
    int open_before = entries_of("/proc/self/fd");
    struct rows *rows = ingest(suffix, text, strlen(text), &err);
    char got[2000] = "", *names;

    if (rows == NULL)
        fail_msg("%s: %s", text, err.text);
    for (int64_t i = 0; i < rows_count(rows); i++) {
        json_t *row = rows_at(rows, i);
        char *line = json_dumps(row, JSON_COMPACT | JSON_ENCODE_ANY);

        strcat(strcat(got, line), "\n");
        free(line);
        json_decref(row);
    }
    names = rows_columns_text(rows);
    assert_string_equal(got, expected);
    assert_string_equal(names, columns);
    free(names);
    rows_remove(copies, rows_name(rows));
    rows_close(rows);
    assert_int_equal(copies_there(), 0);
    assert_int_equal(entries_of("/proc/self/fd"), open_before);
}

static void refused_bytes(const char *suffix, const char *text, size_t size, const char *why)
{
    struct error err = {.text = ""};
    int open_before = entries_of("/proc/self/fd");
    struct rows *rows = ingest(suffix, text, size, &err);

    if (rows != NULL)
        fail_msg("accepted: %s", text);
    assert_int_equal(entries_of("/proc/self/fd"), open_before);
    assert_string_equal(err.code, "spec_parameter_file");
    assert_string_equal(err.pointer, "/members/parameters/file");
    if (strstr(err.text, why) == NULL)
        fail_msg("%s: \"%s\" is not in \"%s\"", text, why, err.text);
    assert_int_equal(copies_there(), 0);
}

static void refused(const char *suffix, const char *text, const char *why)
{
    refused_bytes(suffix, text, strlen(text), why);
}

static void csv_as_the_rfc_has_it(void **state)
{
    gives(".csv", "a,b\n1,x\n2.5,y\n", "{\"a\":true,\"b\":false}", "{\"a\":1,\"b\":\"x\"}\n{\"a\":2.5,\"b\":\"y\"}\n");
    gives(".csv", "\xef\xbb\xbf" "a,b\r\n1,\"x,\"\"y\"\"\"\r\n2,\"two\r\nlines\"", "{\"a\":true,\"b\":false}",
          "{\"a\":1,\"b\":\"x,\\\"y\\\"\"}\n{\"a\":2,\"b\":\"two\\r\\nlines\"}\n");
    gives(".csv", "a,b\n,\"\"\n", "{\"a\":false,\"b\":false}", "{\"a\":\"\",\"b\":\"\"}\n");
    gives(".csv", "\"a\"\n\"1\"\n2\n", "{\"a\":false}", "{\"a\":\"1\"}\n{\"a\":2}\n"); /* what is quoted is text */
    gives(".csv", "a\n1\n\n\r\n", "{\"a\":true}", "{\"a\":1}\n");
}

static void csv_refused_with_the_line(void **state)
{
    refused(".csv", "", "no row");
    refused(".csv", "\n1\n", "line 1: the header is empty");
    refused(".csv", "a,b\n", "no row");
    refused(".csv", "a,b\n1,2\n3\n", "line 3: 1 field, where the header has 2");
    refused(".csv", "a,b\n1,\"x\ny\"\n3,4,5\n", "line 4: 3 fields");
    refused(".csv", "a,b\n1,2\n\n3,4\n", "line 3: an empty line between rows");
    refused(".csv", "a,b\xb7\n1,2\n", "line 1: column 2");
    refused(".csv", "a,b\003\n1,2\n", "without control characters");
    refused(".csv", "a,a\n1,2\n", "line 1: two columns are named \"a\"");
    refused(".csv", "a,\n1,2\n", "line 1: column 2");
    refused(".csv", "a,b c\n1,2\n", "line 1: column 2");
    refused(".csv", "index\n1\n", "a placeholder of its own");
    refused(".csv", "a\n\"x\n", "line 2: the quoted field that begins here is never closed");
    refused(".csv", "a\n\"x\"y\n", "line 2: a quoted field goes on");
    refused(".csv", "a\nx\"y\n", "line 2: a quote inside");
    refused(".csv", "a\nx\ry\n", "line 2: a carriage return");
    refused(".csv", "a\n\xff\n", "line 2: field 1 is not UTF-8");
    refused(".csv", "a,b\n1,9223372036854775807\n1,18446744073709551615\n", "line 3: field 2: \"18446744073709551615\" has more than the 63 bits");
    refused(".csv", "a\n-9223372036854775809\n", "line 2: field 1: \"-9223372036854775809\" has more");
    refused(".jsonl", "{\"a\": 1}\n{\"a\": 18446744073709551615}\n", "line 2: column 26: too big integer");
    refused(".csv", "a\n1e999\n", "line 2: field 1: \"1e999\" is beyond");
    refused_bytes(".csv", "a\nx\0y\n", 6, "line 2: there is a zero byte");
}

static void json_lines(void **state)
{
    gives(".jsonl", "{\"a\": 1, \"b\": \"x\"}\r\n{\"b\": \"\\u00e4\", \"a\": 2}\n\n", "{\"a\":true,\"b\":false}",
          "{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":\"\xc3\xa4\"}\n");
    gives(".ndjson", "\xef\xbb\xbf{\"a\": true}", "{\"a\":false}", "{\"a\":true}\n");
    gives(".jsonl", "{\"a\": 1.5}\n{\"a\": \"x\"}\n{\"a\": 2}\n", "{\"a\":false}",
          "{\"a\":1.5}\n{\"a\":\"x\"}\n{\"a\":2}\n");
    refused(".jsonl", "", "no row");
    refused(".jsonl", "\n\n", "no row");
    refused(".jsonl", "{\"a\": 1}\n{\"a\": 1, \"b\": 2}\n", "line 2: 2 keys, where the first line has 1");
    refused(".jsonl", "{\"a\": 1, \"b\": 2}\n{\"a\": 1, \"c\": 2}\n", "line 2: \"b\" is missing");
    refused(".jsonl", "{\"a\": null}\n",
            "line 1: a parameter is a number, a string, a boolean, a list or an object, and not null, at /a");
    refused(".jsonl", "{\"a\": 1, \"a\": 2}\n", "line 1");
    refused(".jsonl", "{}\n", "line 1: a row is an object");
    refused(".jsonl", "[1]\n", "line 1: a row is an object");
    refused(".jsonl", "{\"a\": 1}\n\n{\"a\": 1}\n", "line 2: an empty line");
    refused(".jsonl", "{\"a\": 1}\n{\"a\": 1} {\"a\": 2}\n", "line 2");
    refused(".jsonl", "{\"a\":\n1}\n", "line 1");
    refused(".jsonl", "{\"a\": \"\xff\"}\n", "line 1");
    refused(".jsonl", "{\"a\": 1e999}\n", "line 1");
    refused(".jsonl", "{\"seed\": 1}\n", "line 1: column 1");
    refused_bytes(".jsonl", "{\"a\": 1}\n\0\n", 11, "line 2");
}

/* Lists and objects are values like others; in CSV a field that is one in JSON is one. */
static void structures_are_values(void **state)
{
    char deep[200] = "{\"a\": 1}\n{\"a\": ";

    gives(".jsonl", "{\"net\": [64, 32], \"o\": {\"name\": \"x\", \"betas\": [0.5, null]}}\n{\"net\": [], \"o\": 7}\n",
          "{\"net\":false,\"o\":false}",
          "{\"net\":[64,32],\"o\":{\"name\":\"x\",\"betas\":[0.5,null]}}\n{\"net\":[],\"o\":7}\n");
    gives(".csv", "net,o\n\"[64, 32]\",\"{\"\"w\"\": 1}\"\n[1],[0-9]\n[,{x}\n", "{\"net\":false,\"o\":false}",
          "{\"net\":[64,32],\"o\":{\"w\":1}}\n{\"net\":[1],\"o\":\"[0-9]\"}\n{\"net\":\"[\",\"o\":\"{x}\"}\n");
    for (int i = 0; i < 33; i++)
        strcat(deep, "[");
    for (int i = 0; i < 33; i++)
        strcat(deep, "]");
    refused(".jsonl", strcat(deep, "}\n"), "line 2: more than 32 lists and objects");
}

static void too_large_a_row(void **state)
{
    static char text[3 << 20];
    static const size_t sizes[] = {70000, 2 << 20};

    for (int i = 0; i < 2; i++) {
        memset(text, 'x', sizeof text);
        memcpy(text, "a\n", 2);
        refused_bytes(".csv", text, sizes[i], "line 2");
        memcpy(text, "{\"a\":\"", 6);
        memcpy(text + sizes[i] - 2, "\"}", 2);
        refused_bytes(".jsonl", text, sizes[i], "line 1");
    }
}

/* A row that is taken can be read, also where it is as large as one may be, and those around it. */
static void the_largest_row(void **state)
{
    enum { FIRST = 8, LARGEST = ROWS_BYTES_MAX - 1, LAST = 8 }; /* bytes; the line feed is no part of the largest */
    static char text[FIRST + LARGEST + 1 + LAST + 1];
    struct error err;
    struct rows *rows;

    memset(text, 'x', sizeof text);
    memcpy(text, "{\"a\":0}\n{\"a\":\"", FIRST + strlen("{\"a\":\""));
    strcpy(text + FIRST + LARGEST - 2, "\"}\n{\"a\":1}\n");
    rows = ingest(".jsonl", text, strlen(text), &err);
    if (rows == NULL)
        fail_msg("%s", err.text);
    for (int64_t i = 0; i < 3; i++) {
        json_t *row = rows_at(rows, i), *value = json_object_get(row, "a");

        assert_non_null(row);
        if (i == 1)
            assert_int_equal(json_string_length(value), LARGEST - strlen("{\"a\":\"\"}"));
        else
            assert_int_equal(json_integer_value(value), i / 2);
        json_decref(row);
    }
    rows_remove(copies, rows_name(rows));
    rows_close(rows);
    strcpy(text + FIRST + LARGEST - 2, "x\"}\n");
    refused(".jsonl", text, "line 2: the row has more than");
}

static void other_than_files(void **state)
{
    struct error err;
    char path[128];

    assert_null(ingest_file("/no/such.csv", copies, "x", NULL, &err));
    assert_non_null(strstr(err.text, "/no/such.csv: it cannot be opened: No such file"));
    snprintf(path, sizeof path, "%s/d.csv", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_null(ingest_file(path, copies, "x", NULL, &err));
    assert_non_null(strstr(err.text, "a directory"));
    rmdir(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_null(ingest_file(path, copies, "x", NULL, &err));
    assert_non_null(strstr(err.text, "no regular file"));
    unlink(path);
    assert_int_equal(copies_there(), 0);
}

static void reading_stops_when_told(void **state)
{
    static const char *const suffixes[] = {"csv", "jsonl"};
    static const atomic_bool stop = true;
    struct error err;
    char path[128];

    for (size_t i = 0; i < 2; i++) {
        struct rows *rows = ingest(i ? ".jsonl" : ".csv", i ? "{\"a\":1}\n" : "a\n1\n", i ? 8 : 4, &err);

        assert_non_null(rows); /* the same file, where nobody says stop */
        rows_remove(copies, rows_name(rows));
        rows_close(rows);
        snprintf(path, sizeof path, "%s/in.%s", dir, suffixes[i]);
        assert_null(ingest_file(path, copies, "x", &stop, &err));
        assert_string_equal(err.code, "not_ready");
        assert_int_equal(copies_there(), 0);
    }
}

static void a_damaged_copy_is_noticed(void **state)
{
    struct error err;
    struct rows *rows = ingest(".csv", "a\n1\n2\n", 6, &err);
    char *columns = rows_columns_text(rows), *name = strdup(rows_name(rows)), path[128];

    rows_close(rows);
    assert_null(rows_open(copies, name, columns, 3, &err));
    snprintf(path, sizeof path, "%s/%s.jsonl", copies, name);
    rows = rows_open(copies, name, columns, 2, &err);
    assert_int_equal(truncate(path, 5), 0);
    assert_null(rows_at(rows, 1));
    rows_close(rows);
    assert_null(rows_open(copies, name, columns, 2, &err));
    assert_string_equal(err.code, "store_io");
    rows_remove(copies, name);
    free(name);
    free(columns);
}

static void numbers(void **state)
{
    static const struct {
        const char *text, *json; /* NULL: not a number */
    } cases[] = {{"0", "0"}, {"-12", "-12"}, {"+3", "3"}, {" 4 ", "4"}, {".5", "0.5"}, {"5.", "5.0"}, {"1e3", "1000.0"},
                 {"1E-2", "0.01"}, {"9223372036854775807", "9223372036854775807"}, {"-9223372036854775808", "-9223372036854775808"},
                 {"9223372036854775808.", "9.2233720368547758e18"},
                 {"007", NULL}, {"0x10", NULL}, {"inf", NULL}, {"nan", NULL}, {"", NULL}, {"-", NULL}, {".", NULL},
                 {"1e", NULL}, {"1 2", NULL}, {"1_000", NULL}, {"e5", NULL}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *got = NULL, *expected;

        if (number_parse(cases[i].text, &got) != (cases[i].json != NULL))
            fail_msg("\"%s\"", cases[i].text);
        if (got == NULL)
            continue;
        expected = json_loads(cases[i].json, JSON_DECODE_ANY, NULL);
        if (!json_equal(got, expected))
            fail_msg("\"%s\" is not %s", cases[i].text, cases[i].json);
        json_decref(expected);
        json_decref(got);
    }
}

/* The parameters of members are the rows of their file. */
static void rows_are_parameters(void **state)
{
    static const char text[] =
        "{\"n\": 1, \"o\": {\"name\": \"adam\"}, \"o.x\": \"a text that is longer than any number is\"}\n"
        "{\"n\": 2.5, \"o\": 7, \"o.x\": \"s\"}\n";
    struct error err = {.text = ""};
    struct rows *rows = ingest(".jsonl", text, strlen(text), &err);
    json_t *json = json_pack("{s:s, s:i}", "file", "/in.jsonl", "seed", 5), *value;
    struct params *p;
    const char *path;

    assert_null(params_parse(json, "/p", NULL, &err)); /* nobody has read it */
    assert_non_null(rows);
    p = params_parse(json, "/p", rows, &err);
    assert_non_null(p);
    assert_true(params_are_rows(p) && !params_are_drawn(p) && !params_are_open(p));
    assert_int_equal(params_count(p), 2);
    assert_int_equal(params_size(p), 3);
    assert_string_equal(params_name(p, 0), "n");
    assert_string_equal(params_name(p, 2), "o.x");
    assert_true(params_is_numeric(p, 0) && !params_is_numeric(p, 1) && !params_is_numeric(p, 2));
    assert_true(params_longest(p, 0) >= strlen("2.5") && params_longest(p, 0) < 40);
    assert_int_equal(params_longest(p, 2), strlen("a text that is longer than any number is"));
    assert_int_equal(params_find(p, "n", &path), 0);
    assert_null(path);
    assert_int_equal(params_find(p, "o.name", &path), 1);
    assert_string_equal(path, "name");
    assert_int_equal(params_find(p, "o.x.y", &path), 2); /* the longest name counts */
    assert_string_equal(path, "y");
    assert_int_equal(params_find(p, "m", &path), 3);
    assert_true(params_reach(p, "n") && params_reach(p, "o.name") && params_reach(p, "o.any"));
    assert_false(params_reach(p, "n.x") || params_reach(p, "m") || params_reach(p, "nn"));
    for (int64_t i = 0; i < 2; i++) {
        value = params_one(p, 0, i);
        assert_true(json_number_value(value) == (i == 0 ? 1 : 2.5));
        json_decref(value);
        value = params_at(p, i);
        assert_int_equal(json_object_size(value), 3);
        assert_string_equal(json_string_value(json_object_get(value, "o.x")),
                            i == 0 ? "a text that is longer than any number is" : "s");
        json_decref(value);
        assert_true(params_seed(p, i) == draw_bits(5, UINT64_C(0x6d656d626572), (uint64_t)i));
    }
    rows_remove(copies, rows_name(rows));
    params_destroy(p); /* with its rows */
    json_decref(json);
    assert_int_equal(copies_there(), 0);
}

static int make_dirs(void **state)
{
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(copies, sizeof copies, "%s/copies", dir);
    return mkdir(copies, 0700);
}

static int remove_dirs(void **state)
{
    static const char *const suffixes[] = {".csv", ".jsonl", ".ndjson"};
    char path[128];

    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/in%s", dir, suffixes[i]);
        unlink(path);
    }
    rmdir(copies);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_as_the_rfc_has_it),
        cmocka_unit_test(csv_refused_with_the_line),
        cmocka_unit_test(json_lines),
        cmocka_unit_test(structures_are_values),
        cmocka_unit_test(too_large_a_row),
        cmocka_unit_test(the_largest_row),
        cmocka_unit_test(other_than_files),
        cmocka_unit_test(a_damaged_copy_is_noticed),
        cmocka_unit_test(numbers),
        cmocka_unit_test(reading_stops_when_told),
        cmocka_unit_test(rows_are_parameters),
    };

    return cmocka_run_group_tests(tests, make_dirs, remove_dirs);
}
