/* Specs as the command reads them from files. */
#include "cli/spec_file.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void test_spec_file(void **state)
{
    char path[] = "/tmp/stretto-spec-XXXXXX", wanted[128], *text;
    struct error err;

    assert_true(close(mkstemp(path)) == 0);
    write_file(path, "{\n  \"a\": 1,\n  \"b\" 2\n}\n");
    assert_null(spec_file_read(path, &err));
    snprintf(wanted, sizeof wanted, "%s:3:7: ", path);
    assert_memory_equal(err.text, wanted, strlen(wanted));

    write_file(path, "{\"a\": 1, \"a\": 2}");
    assert_null(spec_file_read(path, &err));
    write_file(path, "[]");
    assert_null(spec_file_read(path, &err));
    assert_non_null(strstr(err.text, "not an array"));
    write_file(path, "{\"a\": 1e400}");
    assert_null(spec_file_read(path, &err));

    write_file(path, "{ \"a\":  0.10 }");
    text = spec_file_read(path, &err);
    assert_string_equal(text, "{ \"a\":  0.10 }"); /* as it was written */
    free(text);
    unlink(path);
    assert_null(spec_file_read(path, &err));
}

/* Reads specs of any size, around those at which the memory for them grows. */
static void test_large_spec_file(void **state)
{
    static const size_t sizes[] = {65534, 65535, 65536, 131070, 131071, 131072, 200000};
    char path[] = "/tmp/stretto-spec-XXXXXX", *text;
    struct error err;

    assert_true(close(mkstemp(path)) == 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *spec = malloc(sizes[i] + 1);

        memset(spec, ' ', sizes[i]);
        spec[0] = '{';
        spec[sizes[i] - 1] = '}';
        spec[sizes[i]] = '\0';
        write_file(path, spec);
        text = spec_file_read(path, &err);
        assert_non_null(text);
        assert_string_equal(text, spec);
        free(text);
        free(spec);
    }
    unlink(path);
    err = (struct error){.text = ""};
    assert_null(spec_file_read("/tmp", &err)); /* which can be opened */
    assert_non_null(strstr(err.text, "/tmp"));
    assert_non_null(strstr(err.text, "directory"));
}

static void test_parameter_file_is_absolute(void **state)
{
    char path[] = "/tmp/stretto-spec-XXXXXX", *text;
    struct error err;

    assert_true(close(mkstemp(path)) == 0);
    write_file(path, "{\"members\": {\"parameters\": {\"file\": \"a/b.csv\"}}}");
    text = spec_file_read(path, &err);
    assert_non_null(strstr(text, "\"/tmp/a/b.csv\""));
    free(text);
    write_file(path, "{\"members\":  {\"parameters\": {\"file\": \"/a/b.csv\"}}}");
    text = spec_file_read(path, &err);
    assert_string_equal(text, "{\"members\":  {\"parameters\": {\"file\": \"/a/b.csv\"}}}");
    free(text);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spec_file),
        cmocka_unit_test(test_large_spec_file),
        cmocka_unit_test(test_parameter_file_is_absolute),
    };

    test_limit(11);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
