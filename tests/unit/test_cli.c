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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_token_stays_here),
        cmocka_unit_test(test_render),
        cmocka_unit_test(test_harmless),
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
