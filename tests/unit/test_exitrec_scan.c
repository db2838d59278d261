/* Exit records without the way over JSON: what is taken is what JSON says, and everything that a runner writes of a
 * plain member is. */
#include "tasks/proto/exitrec.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

static struct exitrec sample_record(void)
{
    struct exitrec rec = {.started = 1790000000.123456, .ended = 1790000012.5, .outcome = EXITREC_FAILED, .exit_code = 1,
                          .user_seconds = 0.000001, .system_seconds = 0.25, .max_rss = 4096};

    strcpy(rec.job, "st-1-2");
    strcpy(rec.id, "7.123");
    strcpy(rec.host, "n12");
    strcpy(rec.reason, "exit status 1: cannot open mesh.dat");
    return rec;
}

static void expect_same(const struct exitrec *a, const struct exitrec *b)
{
    assert_string_equal(a->job, b->job);
    assert_string_equal(a->id, b->id);
    assert_string_equal(a->host, b->host);
    assert_string_equal(a->reason, b->reason);
    assert_true(a->started == b->started && a->ended == b->ended);
    assert_true(a->user_seconds == b->user_seconds && a->system_seconds == b->system_seconds);
    assert_int_equal(a->outcome, b->outcome);
    assert_int_equal(a->late, b->late);
    assert_int_equal(a->exit_code, b->exit_code);
    assert_int_equal(a->signal, b->signal);
    assert_int_equal(a->max_rss, b->max_rss);
    assert_null(a->checkpoints);
    assert_null(a->resumed);
}

/* Whether it is read without JSON, and then as by it. */
static bool is_scanned(const char *text, size_t size)
{
    struct exitrec scanned, parsed;
    const char *end = exitrec_scan(text, &scanned);
    json_t *json;
    struct error err;

    if (end == NULL)
        return false;
    assert_ptr_equal(end, text + size);
    json = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    assert_int_equal(exitrec_parse(json, &parsed, &err), 0);
    expect_same(&scanned, &parsed);
    json_decref(json);
    return true;
}

/* What a runner writes of a member is; cut, with anything else in place of a byte, or with more than usual, it is
 * either not, or is right. */
static void plain_exit_records_are_scanned(void **state)
{
    static const char others[] = "\"\\0-.,:}]{[ e\x7f\n";
    struct exitrec rec = sample_record();
    char text[1024], kept;
    json_t *json, *checkpoints;
    size_t size;

    for (int i = 0; i < 4; i++) {
        rec.outcome = i < 2 ? EXITREC_SUCCEEDED : i == 2 ? EXITREC_TIMEOUT : EXITREC_FAILED;
        rec.exit_code = i < 2 ? 0 : -1;
        rec.signal = i == 2 ? 15 : 0;
        rec.late = i == 2;
        rec.reason[i < 2 ? 0 : 5] = '\0';
        json = exitrec_json(&rec);
        size = json_dumpb(json, text, sizeof text - 1, JSON_COMPACT);
        json_decref(json);
        text[size] = '\0';
        assert_true(is_scanned(text, size));
        for (size_t at = 0; at < size; at++) {
            kept = text[at];
            for (size_t k = 0; k < sizeof others; k++) { /* its NUL, too */
                struct exitrec any;

                text[at] = others[k];
                if (strlen(text) == size && exitrec_scan(text, &any) == text + size)
                    assert_true(is_scanned(text, size));
                else if (others[k] == '\0')
                    assert_null(exitrec_scan(text, &any));
            }
            text[at] = kept;
        }
    }
    checkpoints = json_array();
    rec.checkpoints = checkpoints;
    json = exitrec_json(&rec);
    size = json_dumpb(json, text, sizeof text - 1, JSON_COMPACT);
    text[size] = '\0';
    assert_false(is_scanned(text, size)); /* those are for JSON */
    json_decref(json);
    json_decref(checkpoints);
    rec.checkpoints = NULL;
    rec.outcome = EXITREC_SUCCEEDED; /* by a signal: that cannot be */
    json = exitrec_json(&rec);
    size = json_dumpb(json, text, sizeof text - 1, JSON_COMPACT);
    text[size] = '\0';
    assert_false(is_scanned(text, size));
    json_decref(json);
}

/* A runner of another version may have more to say than there is room for. */
static void texts_that_are_too_long_are_cut(void **state)
{
    struct exitrec rec = sample_record();
    const struct {
        const char *key;
        size_t room;
    } texts[] = {{"host", sizeof rec.host}, {"reason", sizeof rec.reason}};
    char longest[sizeof rec.reason + 2], text[2048];

    memset(longest, 'x', sizeof longest);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t n = texts[i].room - 2; n < texts[i].room + 2; n++) {
            json_t *json = exitrec_json(&rec);
            size_t size;

            json_object_set_new(json, texts[i].key, json_stringn(longest, n));
            size = json_dumpb(json, text, sizeof text - 1, JSON_COMPACT);
            json_decref(json);
            text[size] = '\0';
            assert_true(is_scanned(text, size));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_exit_records_are_scanned),
        cmocka_unit_test(texts_that_are_too_long_are_cut),
    };

    test_limit(11);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
