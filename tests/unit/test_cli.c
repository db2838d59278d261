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
#include "cli/table.h"
#include "cli/terminal.h"

#include <locale.h>
#include <math.h>
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

static void assert_age(double ago, const char *wanted)
{
    time_t at = time(NULL) - (time_t)ago;
    char iso[32], buf[RENDER_SIZE];

    strftime(iso, sizeof iso, "%Y-%m-%dT%H:%M:%SZ", gmtime(&at));
    assert_string_equal(render_age(buf, iso), wanted);
}

/* Far enough from each border that a machine which stalls does not matter. */
static void test_ages(void **state)
{
    char buf[RENDER_SIZE];

    assert_age(90 * 60, "1 h ago");
    assert_age(47 * 3600 + 1800, "47 h ago");
    assert_age(48 * 3600 + 1800, "2 d ago");
    assert_age(90.5 * 86400, "90 d ago");
    assert_age(59 * 60 + 5, "59 min ago");
    assert_age(-90.5 * 86400, "in 90 d");
    assert_age(-90 * 60, "in 1 h");
    assert_string_equal(render_age(buf, "soon"), "soon");
    assert_string_equal(render_clock(buf, "soon"), "soon");
    setenv("TZ", "XYZ-5", 1);
    tzset();
    assert_string_equal(render_clock(buf, "2001-02-03T23:05:06.789Z"), "2001-02-04 04:05:06");
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

static void test_styles(void **state)
{
    static const struct {
        const char *state;
        enum style style;
    } styles[] = {{"succeeded", STYLE_GOOD}, {"complete", STYLE_GOOD}, {"done", STYLE_GOOD}, {"answers", STYLE_GOOD},
                  {"failed", STYLE_BAD},     {"no answer", STYLE_BAD}, {"running", STYLE_BUSY}, {"paused", STYLE_CARE},
                  {"unfinished", STYLE_CARE}, {"pending", STYLE_QUIET}, {"cancelled", STYLE_QUIET}, {"", STYLE_NONE}};

    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++)
        assert_int_equal(style_of_state(styles[i].state), styles[i].style);
    assert_string_equal(style_on(STYLE_BAD), ""); /* standard output is no terminal */
    assert_string_equal(style_off(STYLE_BAD), "");
}

static void test_any_member(void **state)
{
    static const char wanted[] = "&state=s%20&from=1&to=2&host=h%26&cause=c&where=%7B%22a%22%3A1%7D";
    struct member_query query = {0}, one[] = {{.state = "s"}, {.from = "1"}, {.to = "2"}, {.host = "h"}, {.cause = "c"}};
    struct text out = {0};

    assert_true(member_query_is_any(&query));
    member_query_put(&query, &out);
    assert_int_equal(out.size, 0);
    for (size_t i = 0; i < sizeof one / sizeof *one; i++)
        assert_false(member_query_is_any(&one[i]));
    assert_int_equal(member_query_where(&query, "a=1"), 0);
    assert_int_equal(member_query_where(&query, "a=2"), -1);
    assert_false(member_query_is_any(&query));
    query = (struct member_query){"s ", "1", "2", "h&", "c", query.where};
    member_query_put(&query, &out);
    assert_string_equal(out.data, wanted);
    free(out.data);
    member_query_fini(&query);
}

static void assert_number(json_t *number, const char *wanted)
{
    char buf[RENDER_SIZE];

    assert_string_equal(render_number(buf, number), wanted);
    json_decref(number);
}

static void assert_size(json_t *bytes, const char *wanted)
{
    char buf[RENDER_SIZE];

    assert_string_equal(render_size(buf, bytes), wanted);
    json_decref(bytes);
}

/* At the borders between units, and of what cannot be. */
static void test_render_figures(void **state)
{
    static const struct {
        double seconds;
        const char *wanted;
    } durations[] = {{0, "0.0s"},           {9.94, "9.9s"},        {9.96, "10s"},        {59.4, "59s"},    {59.6, "1m00s"},
                     {3599.6, "1h00m"},     {86399.6, "1d00h"},    {90061, "1d01h"},     {2e9, "-"},       {NAN, "-"}};
    char buf[RENDER_SIZE];

    for (size_t i = 0; i < sizeof durations / sizeof *durations; i++)
        assert_string_equal(render_duration(buf, durations[i].seconds), durations[i].wanted);
    assert_number(json_integer(12345678), "12345678");
    assert_number(json_integer(-1), "-1");
    assert_number(json_real(12345678), "1.23e+07");
    assert_number(json_real(-1234.6), "-1235");
    assert_number(json_real(0.00001), "1.00e-05");
    assert_number(json_real(0), "0");
    assert_number(json_string("1"), "-");
    assert_size(json_integer(0), "0 B");
    assert_size(json_integer(1023), "1023 B");
    assert_size(json_integer(1536), "1.5 KiB");
    assert_size(json_integer((json_int_t)150 << 20), "150 MiB");
    assert_size(json_integer((json_int_t)5000 << 40), "5000 TiB");
    assert_size(json_null(), "-");
}

/* Where a character stands in a line, in characters of UTF-8. */
static int column_of(const char *line, const char *what)
{
    const char *at = strstr(line, what);
    int column = 0;

    assert_non_null(at);
    for (; line < at; line++)
        column += ((unsigned char)*line & 0xc0) != 0x80;
    return column;
}

/* Columns are as wide as their widest cell, whatever it is written in; of a list in pages, the first one tells. */
static void test_table_is_straight(void **state)
{
    static const char *const headers[] = {">number", "name", "last", NULL};
    struct table *table = table_create(headers);
    char *text = NULL, *line, *rest;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    int lines = 0, last = -1;

    for (int page = 0; page < 2; page++) {
        for (int row = 0; row < 40; row++) {
            table_cellf(table, "%d", row == 7 ? 123456789 : row);
            table_cell(table, row % 2 == 0 ? "\xc3\xa9t\xc3\xa9 \xe6\xb0\xb4" : "plain\ttext");
            table_cell(table, "last");
        }
        table_print(table, out);
    }
    table_destroy(table);
    fclose(out);
    for (line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest), lines++) {
        if (lines == 0)
            last = column_of(line, "last");
        assert_int_equal(column_of(line, "last"), last);
        assert_null(strchr(line, '\t'));
        assert_int_equal(strlen(line), strstr(line, "last") + 4 - line); /* nothing behind the last column */
    }
    assert_int_equal(lines, 81); /* with one head */
    free(text);
}

/* A cell has all of its words, of which the last ones may be those that count. */
static void test_cell_is_as_long_as_its_text(void **state)
{
    static const char *const headers[] = {"path", NULL};
    struct table *table = table_create(headers);
    char *text = NULL, path[1000];
    size_t size;
    FILE *out = open_memstream(&text, &size);

    memset(path, 'p', sizeof path);
    table_cellf(table, "%.*s (damaged)", (int)sizeof path, path);
    table_print(table, out);
    table_destroy(table);
    fclose(out);
    assert_non_null(strstr(text, "p (damaged)\n"));
    free(text);
}

static void test_table_is_as_wide_as_its_cells(void **state)
{
    static const char *const headers[] = {">id", "state", ">members", NULL};
    struct table *table = table_create(headers);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    table_cell(table, "123");
    table_cell(table, "on");
    table_cell(table, "4");
    table_print(table, out);
    table_destroy(table);
    fclose(out);
    assert_string_equal(text, " id  state  members\n123  on           4\n");
    free(text);
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

static void test_progress_fits(void **state)
{
    json_t *ensemble = ensemble_of("running", 5, 1, "running");
    char *line;

    json_object_set_new(json_object_get(ensemble, "training"), "samples_per_second", json_real(123.4));

    for (int columns = 20; columns < 200; columns++) {
        line = progress_line(ensemble, columns);
        assert_true((int)strlen(line) < columns);
        free(line);
    }
    line = progress_line(ensemble, 0);
    assert_string_equal(line, "7 heat: 6/10 members, 4 running, 1 failed, 123 samples/s");
    free(line);
    json_decref(ensemble);
}

static void test_progress_draws_what_is_done(void **state)
{
    json_t *ensemble = ensemble_of("paused", 3, 2, NULL);
    char *line = progress_line(ensemble, 200);

    assert_memory_equal(line, "[####################....................] 5/10 members", 55);
    assert_non_null(strstr(line, ", paused"));
    free(line);
    json_object_set_new(ensemble, "count", json_integer(0)); /* an open ensemble before its first member */
    json_object_set_new(ensemble, "members", json_object());
    line = progress_line(ensemble, 200);
    assert_memory_equal(line, "[........................................] 0/0 members", 54);
    free(line);
    json_decref(ensemble);
}

/* Once all members have ended, it counts what is left for the training. */
static void test_progress_of_a_training(void **state)
{
    json_t *ensemble = ensemble_of("running", 9, 0, "running"), *training = json_object_get(ensemble, "training");
    char *line;

    json_object_set_new(training, "unique", json_integer(50));
    json_object_set_new(training, "drawn", json_integer(20));
    json_object_set_new(training, "samples_per_second", json_real(2.5));
    line = progress_line(ensemble, 0);
    assert_string_equal(line, "7 heat: 9/10 members, 1 running, 2.5 samples/s");
    free(line);
    json_object_set_new(json_object_get(ensemble, "members"), "failed", json_integer(1));
    json_object_set_new(json_object_get(ensemble, "members"), "running", json_integer(0));
    line = progress_line(ensemble, 0);
    assert_string_equal(line, "7 heat: 10/10 members, 0 running, 1 failed, 30 samples left to train on");
    free(line);
    json_object_set_new(training, "drawn", json_integer(50));
    line = progress_line(ensemble, 0);
    assert_string_equal(line, "7 heat: 10/10 members, 0 running, 1 failed, 2.5 samples/s");
    free(line);
    json_decref(ensemble);
}

static json_t *json_of(const char *code)
{
    return json_pack("{s:s, s:s}", "code", code, "text", code);
}

/* Without a terminal: a notice when its cause changes, a line at first, and no other so soon. */
static void test_progress_without_a_terminal(void **state)
{
    static const char *const codes[] = {"", "a", "a", "b", "held", "", "b"};
    FILE *to = tmpfile();
    struct progress_bar *progress = progress_create(to);
    char text[512] = "";

    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        json_t *ensemble = ensemble_of("running", 1, 0, NULL);

        json_object_set_new(ensemble, "notice", codes[i][0] != '\0' ? json_of(codes[i]) : json_null());
        progress_show(progress, ensemble);
        json_decref(ensemble);
    }
    progress_hide(progress);
    progress_destroy(progress);
    rewind(to);
    text[fread(text, 1, sizeof text - 1, to)] = '\0';
    fclose(to);
    assert_memory_equal(text, "7 heat: 1/10 members, 9 running\nensemble 7 waits: a\n", 52);
    assert_non_null(strstr(text, "waits: a\n"));
    assert_null(strstr(strstr(text, "waits: a\n") + 1, "waits: a\n"));
    assert_non_null(strstr(strstr(text, "waits: b\n") + 1, "waits: b\n"));
    assert_null(strstr(text, "held"));
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
        cmocka_unit_test(test_token_stays_here), cmocka_unit_test(test_ref),
        cmocka_unit_test(test_render_figures), cmocka_unit_test(test_sentence), cmocka_unit_test(test_table_is_straight),
        cmocka_unit_test(test_table_is_as_wide_as_its_cells), cmocka_unit_test(test_cell_is_as_long_as_its_text),
        cmocka_unit_test(test_render), cmocka_unit_test(test_harmless),  cmocka_unit_test(test_success),          cmocka_unit_test(test_progress_fits),
        cmocka_unit_test(test_progress_draws_what_is_done), cmocka_unit_test(test_metric_that_is_not_finite), cmocka_unit_test(test_one_rate),
        cmocka_unit_test(test_ages), cmocka_unit_test(test_widths), cmocka_unit_test(test_characters),
        cmocka_unit_test(test_styles), cmocka_unit_test(test_any_member), cmocka_unit_test(test_progress_of_a_training),
        cmocka_unit_test(test_progress_without_a_terminal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
