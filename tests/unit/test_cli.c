/* The parts of `stretto` that need no daemon. */
#include "tests/unit/unit.h"

#include "cli/args.h"
#include "cli/client.h"
#include "cli/ensemble.h"
#include "cli/progress.h"
#include "cli/harmless.h"
#include "cli/member_query.h"
#include "cli/render.h"
#include "cli/report.h"
#include "cli/terminal.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void test_token_stays_here(void **state)
{
    struct error err;
    struct client *client = client_create("http://example.org", "secret", &err);

    assert_null(client);
    assert_string_equal(err.code, CLIENT_BAD_URL);
    client = client_create("http://localhost:1", "secret", &err);
    assert_non_null(client);
    client_destroy(client);
}

static void test_ref(void **state)
{
    static const char *const wrong[] = {"", "0", "x", "7.", "7.x", "-7", "7.-1", "7 ", "7.1.2", " 7",
                                        "99999999999999999999", "7.trainings"};
    struct ref ref;

    assert_int_equal(ref_parse("7", &ref), 0);
    assert_true(ref.ensemble == 7 && ref.index == -1 && !ref.training);
    assert_int_equal(ref_parse("7.0", &ref), 0);
    assert_true(ref.ensemble == 7 && ref.index == 0);
    assert_int_equal(ref_parse("7.training", &ref), 0);
    assert_true(ref.training);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(ref_parse(wrong[i], &ref), -1);
}

static void test_render(void **state)
{
    char buf[RENDER_SIZE], *text = render_text("a\x1b[31m\nb\xc2\x9b" "c \xc3\xa9");
    json_t *number = json_real(0.013123);

    assert_string_equal(text, "a [31m b  c \xc3\xa9"); /* nothing that a terminal would obey */
    free(text);
    assert_string_equal(render_duration(buf, 133), "2m13s");
    assert_string_equal(render_duration(buf, 0.42), "0.4s");
    assert_string_equal(render_duration(buf, 3720), "1h02m");
    assert_string_equal(render_duration(buf, -1), "-");
    assert_string_equal(render_number(buf, number), "0.0131");
    assert_string_equal(render_number(buf, NULL), "-");
    setenv("TZ", "XYZ-5", 1); /* times of the daemon are UTC, wherever the user is */
    tzset();
    assert_true(render_time_parse("1970-01-01T00:01:00.5Z") == 60.5);
    unsetenv("TZ");
    tzset();
    assert_true(render_time_parse("yesterday") < 0);
    json_decref(number);
    text = client_escape("a b&c=\xc3\xa9");
    assert_string_equal(text, "a%20b%26c%3D%C3%A9");
    free(text);
}

/* Whole, and a byte at a time, as a pipe may deliver it. */
static void test_harmless(void **state)
{
    static const char text[] = "a\tb\r\n\x1b]0;title\a \x7f\0 \xc2\x9b \xe2\x80\xae \xc3\xa9 \xf0\x9f\x98\x80 \x9b 10 %\r20 %\r\n\xe2\x80\n\xe2\x80",
                      wanted[] = "a\tb\r\n^[]0;title^G ^?^@ <U+009B> <U+202E> \xc3\xa9 \xf0\x9f\x98\x80 <9B> 10 %^M20 %\r\n<E2><80>\n<E2><80>";

    for (size_t part = 1; part < sizeof text; part++) {
        char *got = NULL;
        size_t size;
        FILE *to = open_memstream(&got, &size), *stream = harmless_open(to);

        for (size_t at = 0; at < sizeof text - 1; at += part) {
            size_t n = sizeof text - 1 - at < part ? sizeof text - 1 - at : part;

            assert_int_equal(fwrite(text + at, 1, n, stream), n);
            fflush(stream);
        }
        fclose(stream);
        fclose(to);
        assert_string_equal(got, wanted);
        free(got);
    }
}

/* By the clock of this machine, whose noon it is here, so that a second more or less is of the same day. */
static void test_sentence(void **state)
{
    time_t now = time(NULL);
    char zone[16], buf[RENDER_SIZE], iso[32], *text;

    snprintf(zone, sizeof zone, "XYZ%d", gmtime(&now)->tm_hour - 12);
    setenv("TZ", zone, 1);
    tzset();
    strftime(iso, sizeof iso, "%Y-%m-%dT%H:%M:%S.500Z", gmtime(&now));
    assert_memory_equal(render_moment(buf, iso), "12:", 3);
    assert_string_equal(buf + 5, strstr(buf, " (")); /* the minute, and no day */
    setenv("TZ", "XYZ-5", 1);
    tzset();
    text = render_sentence("since 2001-02-03T23:05:06.789Z: not 2001-02-03, 2001-02-03T23:05\x1b or 2001-02-03T23:05:06.789z");
    assert_memory_equal(text, "since 2001-02-04 04:05 (", 24);
    assert_string_equal(strchr(text, ')'), "): not 2001-02-03, 2001-02-03T23:05  or 2001-02-03T23:05:06.789z");
    assert_non_null(strstr(text, " d ago)"));
    free(text);
    assert_string_equal(render_moment(buf, "soon"), "soon");
    unsetenv("TZ");
    tzset();
}

/* In a locale that knows how wide characters are, and in one that knows nothing. */
static void test_widths(void **state)
{
    static const char text[] = "a\xe6\xb0\xb4\xc3\xa9\xff" "b"; /* of 1, 2, 1, 1 and 1 column */
    static const size_t bytes[] = {0, 1, 1, 4, 6, 7, 8, 8};

    if (setlocale(LC_CTYPE, "C.UTF-8") == NULL)
        skip();
    assert_int_equal(text_width(text), 6);
    for (int columns = 0; columns < 8; columns++)
        assert_int_equal(text_fit(text, columns), bytes[columns]);
    assert_true(terminal_has_utf8());
    assert_string_equal(terminal_dots(), "\xe2\x80\xa6");
    setlocale(LC_CTYPE, "C");
    assert_false(terminal_has_utf8());
    assert_int_equal(strlen(terminal_dots()), 1);
    assert_int_equal(text_width("abc"), 3);
}

static void assert_take(const char *text, size_t size, size_t wanted, int32_t code)
{
    int32_t got;

    assert_int_equal(text_take(text, size, &got), wanted);
    assert_int_equal(got, code);
}

/* The shortest form of each length, the longest of each, and what is none. */
static void test_characters(void **state)
{
    static const int32_t obeyed[] = {0, 0x1f, 0x7f, 0x9f, 0x61c, 0x200e, 0x200f, 0x2028, 0x202e, 0x2066, 0x2069},
                         shown[] = {0x20, 0x7e, 0xa0, 0x61b, 0x61d, 0x200d, 0x2010, 0x2027, 0x202f, 0x2065, 0x206a};

    assert_take("\x7f", 1, 1, 0x7f);
    assert_take("\xc2\x80", 2, 2, 0x80);
    assert_take("\xdf\xbf", 2, 2, 0x7ff);
    assert_take("\xe0\xa0\x80", 3, 3, 0x800);
    assert_take("\xef\xbf\xbf", 3, 3, 0xffff);
    assert_take("\xed\x9f\xbf", 3, 3, 0xd7ff);
    assert_take("\xee\x80\x80", 3, 3, 0xe000);
    assert_take("\xf0\x90\x80\x80", 4, 4, 0x10000);
    assert_take("\xf4\x8f\xbf\xbf", 4, 4, 0x10ffff);
    assert_take("\xf0\x90\x80\x80", 3, 0, -1); /* cut off */
    assert_take("\xc2", 1, 0, -1);
    assert_take("\xc1\xbf", 2, 1, -1);
    assert_take("\xe0\x9f\xbf", 3, 1, -1);
    assert_take("\xed\xa0\x80", 3, 1, -1); /* halves of pairs */
    assert_take("\xed\xbf\xbf", 3, 1, -1);
    assert_take("\xf0\x8f\xbf\xbf", 4, 1, -1);
    assert_take("\xf4\x90\x80\x80", 4, 1, -1);
    assert_take("\xf5\x80\x80\x80", 4, 1, -1);
    assert_take("\xe0" "a\x80", 3, 1, -1);
    assert_take("\x80", 1, 1, -1);
    for (size_t i = 0; i < sizeof obeyed / sizeof *obeyed; i++) {
        assert_true(terminal_obeys(obeyed[i]));
        assert_false(terminal_obeys(shown[i]));
    }
}

static json_t *ensemble_of(const char *state, int succeeded, int failed, const char *training)
{
    json_t *ensemble = json_pack("{s:i, s:s, s:s, s:i, s:{s:i, s:i, s:i}}", "id", 7, "name", "heat", "state", state,
                                 "count", 10, "members", "succeeded", succeeded, "failed", failed, "running",
                                 10 - succeeded - failed);

    if (training)
        json_object_set_new(ensemble, "training", json_pack("{s:s}", "state", training));
    return ensemble;
}

static void test_success(void **state)
{
    static const struct {
        const char *state;
        int succeeded, failed;
        const char *training;
        bool ended, success;
    } cases[] = {
        {"complete", 10, 0, NULL, true, true},       {"complete", 10, 0, "done", true, true},
        {"complete", 10, 0, "failed", true, false},  {"complete", 9, 1, "done", true, false},
        {"cancelled", 10, 0, "done", true, false},   {"running", 10, 0, "running", false, false},
        {"paused", 3, 0, NULL, false, false},        {"cancelled", 3, 0, NULL, false, false},
        {"cancelled", 10, 0, "running", false, false}, {"cancelled", 10, 0, "submitted", false, false},
        {"cancelled", 10, 0, "pending", false, false}, {"cancelled", 10, 0, "cancelled", true, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *ensemble = ensemble_of(cases[i].state, cases[i].succeeded, cases[i].failed, cases[i].training);

        assert_int_equal(ensemble_ended(ensemble), cases[i].ended);
        assert_int_equal(ensemble_succeeded(ensemble), cases[i].success);
        json_decref(ensemble);
    }
}

static json_t *training_with_nan(void)
{
    json_t *ensemble = ensemble_of("running", 5, 1, "running"), *training = json_object_get(ensemble, "training");

    json_object_set_new(training, "samples_per_second", json_real(850));
    json_object_set_new(training, "metrics", json_pack("{s:n, s:f}", "train_loss", "validation_loss", 0.25));
    return ensemble;
}

/* JSON has no NaN: a metric that is not finite is null there, and not "-", which means that there is no value yet. */
static void test_metric_that_is_not_finite(void **state)
{
    json_t *ensemble = training_with_nan();
    char *line = progress_line(ensemble, 0), *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(strstr(line, ", loss not finite, validation 0.25"));
    report_status(ensemble, out);
    fclose(out);
    assert_non_null(strstr(text, "train_loss not finite\n"));
    free(text);
    free(line);
    json_decref(ensemble);
}

/* `wait` and `status` tell the same figure in the same words. */
static void test_one_rate(void **state)
{
    json_t *ensemble = training_with_nan();
    char *line = progress_line(ensemble, 0), *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(strstr(line, " 850 samples/s"));
    report_status(ensemble, out);
    fclose(out);
    assert_non_null(strstr(text, " 850 samples/s"));
    free(text);
    free(line);
    json_decref(ensemble);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_token_stays_here),
        cmocka_unit_test(test_ref),
        cmocka_unit_test(test_success),
        cmocka_unit_test(test_sentence),
        cmocka_unit_test(test_render),
        cmocka_unit_test(test_harmless),
        cmocka_unit_test(test_metric_that_is_not_finite),
        cmocka_unit_test(test_one_rate),
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
