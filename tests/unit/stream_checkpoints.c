#include "tests/unit/stream_checkpoints.h"

#include "common/files.h"
#include "tests/unit/stream_fixture.h"
#include "tests/unit/unit.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void without_a_stream_the_library_is_idle(void **state)
{
    int64_t shape[] = {3};
    float data[3] = {0};
    struct stretto *s;

    unsetenv("STRETTO_STREAM");
    unsetenv("STRETTO_DEADLINE");
    assert_int_equal(stretto_open(&s), 0);
    assert_int_equal(stretto_active(s), 0);
    assert_int_equal(stretto_field(s, "anything", STRETTO_FLOAT32, 1, shape), 0);
    assert_int_equal(stretto_send(s, 0, 1, data), 0);
    assert_true(isinf(stretto_time_left(s)));
    assert_int_equal(stretto_close(s), 0);
    assert_int_equal(stretto_close(NULL), 0);
}

void a_checkpoint_is_due_by_whichever_needs_more_time(void **state)
{
    struct stretto *s;
    char text[32];

    unsetenv("STRETTO_STREAM");
    snprintf(text, sizeof text, "%lld", (long long)time(NULL) + 3600);
    setenv("STRETTO_DEADLINE", text, 1);
    unsetenv("STRETTO_CHECKPOINT_BEFORE");
    assert_int_equal(stretto_open(&s), 0);
    assert_int_equal(stretto_checkpoint_due(s, 60), 0);
    assert_int_equal(stretto_checkpoint_due(s, 7200), 1);
    setenv("STRETTO_CHECKPOINT_BEFORE", "60", 1); /* of the spec */
    assert_int_equal(stretto_checkpoint_due(s, 0), 0);
    assert_int_equal(stretto_checkpoint_due(s, 7200), 1);
    setenv("STRETTO_CHECKPOINT_BEFORE", "7200", 1);
    assert_int_equal(stretto_checkpoint_due(s, 0), 1);
    assert_int_equal(stretto_checkpoint_due(s, 60), 1);
    stretto_abort(s);
    unsetenv("STRETTO_DEADLINE");
    assert_int_equal(stretto_open(&s), 0);
    assert_int_equal(stretto_checkpoint_due(s, 1e9), 0); /* there is no limit */
    stretto_abort(s);
    unsetenv("STRETTO_CHECKPOINT_BEFORE");
}

static const char *touched(const char *dir, const char *name)
{
    static char path[200];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    file = fopen(path, "we");
    assert_non_null(file);
    fputs("x", file);
    fclose(file);
    return path;
}

/* An attempt that goes on from a checkpoint finds it by its name in the directory: a file elsewhere is refused under
 * any name. */
void a_checkpoint_is_in_its_directory(void **state)
{
    char top[] = "/tmp/stretto-test-XXXXXX", dir[100], text[200];
    struct stretto *s;
    struct error err;
    json_t *record;

    assert_non_null(mkdtemp(top));
    for (const char *const *name = (const char *const[]){"c/sub", "c-other", NULL}; *name != NULL; name++) {
        snprintf(text, sizeof text, "mkdir -p %s/%s", top, *name);
        assert_int_equal(system(text), 0);
    }
    snprintf(dir, sizeof dir, "%s/c", top);
    setenv("STRETTO_CHECKPOINT_DIR", dir, 1);
    setenv("STRETTO_ENSEMBLE", "12", 1);
    setenv("STRETTO_ATTEMPT", "10", 1);
    unsetenv("STRETTO_STREAM");
    assert_int_equal(stretto_open(&s), 0);
    assert_int_equal(stretto_checkpointed(s, touched(dir, "a-1"), 1), 0);
    snprintf(text, sizeof text, "%s/.stretto/00000001.json", dir);
    record = file_read_json(text, &err);
    assert_int_equal(json_integer_value(json_object_get(record, "ensemble")), 12);
    assert_int_equal(json_integer_value(json_object_get(record, "attempt")), 10);
    assert_int_equal(json_integer_value(json_object_get(record, "step")), 1);
    json_decref(record);
    assert_int_equal(stretto_checkpointed(s, touched(dir, "sub/a-2"), 2), 0);
    snprintf(text, sizeof text, "%s/../c/sub/../a-1", dir);
    assert_int_equal(stretto_checkpointed(s, text, 3), 0);

    assert_int_equal(stretto_checkpointed(s, touched(top, "c-other/a-4"), 4), -1);
    assert_non_null(strstr(stretto_error(s), "not in the checkpoint directory"));
    assert_int_equal(stretto_checkpointed(s, touched(top, "a-5"), 5), -1);
    snprintf(text, sizeof text, "%s/link", dir);
    assert_int_equal(symlink("../a-5", text), 0);
    assert_int_equal(stretto_checkpointed(s, text, 5), -1);
    assert_int_equal(stretto_checkpointed(s, dir, 6), -1);
    snprintf(text, sizeof text, "%s/sub", dir); /* no file */
    assert_int_equal(stretto_checkpointed(s, text, 7), -1);
    snprintf(text, sizeof text, "%s/a-8", dir); /* not there */
    assert_int_equal(stretto_checkpointed(s, text, 8), -1);
    assert_int_equal(stretto_checkpointed(s, touched(dir, "a-9"), -1), -1);
    stretto_abort(s);

    for (int number = 1; number <= 4; number++) {
        snprintf(text, sizeof text, "%s/.stretto/%08d.json", dir, number);
        assert_int_equal(access(text, F_OK), number <= 3 ? 0 : -1);
    }
    unsetenv("STRETTO_CHECKPOINT_DIR");
    snprintf(text, sizeof text, "rm -rf %s", top);
    assert_int_equal(system(text), 0);
}
