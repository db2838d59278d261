/* Single lines of metrics, in JSON and in CSV, character by character. */
#include "tasks/runner/metric_csv.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char said[4000];

/* A line as text: "@STEP t=TIME NAME=VALUE…", without what it does not have. */
static const char *say(const struct metric_line *line)
{
    size_t n = 0;

    said[0] = '\0';
    if (line->has_step)
        n += (size_t)snprintf(said + n, sizeof said - n, "@%lld ", (long long)line->step);
    if (!isnan(line->time))
        n += (size_t)snprintf(said + n, sizeof said - n, "t=%g ", line->time);
    for (size_t i = 0; i < line->n && n < sizeof said; i++)
        n += (size_t)snprintf(said + n, sizeof said - n, "%s=%g ", line->values[i].name, line->values[i].value);
    if (n > 0)
        said[n - 1] = '\0';
    return said;
}

/* In memory of just its size. */
static const char *json(const char *text, size_t size)
{
    static struct metric_line line;
    char *copy = malloc(size > 0 ? size : 1);
    const char *why = NULL;
    int rc;

    memcpy(copy, text, size);
    memset(&line, 0x55, sizeof line);
    rc = metric_line_json(copy, size, &line, &why);
    free(copy);
    if (rc == 0)
        return say(&line);
    assert_non_null(why);
    return "!";
}

#define D4 "[[[["
#define D16 D4 D4 D4 D4
#define E4 "]]]]"
#define E16 E4 E4 E4 E4

static void each_line_of_json_says_what_it_says(void **state)
{
    static const char *const cases[][2] = {
        /* blanks, wherever they may stand */
        {"{\"a\":1}", "a=1"},
        {" \t\r{ \t\r\"a\" \t\r: \t\r1 \t\r, \t\r\"b\" : 2 \t\r} \t\r", "a=1 b=2"},
        {"{ }", ""},
        {"{\"a\":1,}", "!"},
        {"{,\"a\":1}", "!"},
        {"{\"a\" 1}", "!"},
        {"{\"a\":1 \"b\":2}", "!"},
        {"{\"a\":1};", "!"},
        {"\"a\":1}", "!"},
        /* numbers */
        {"{\"a\":-1.5e+3}", "a=-1500"},
        {"{\"a\":.5}", "a=0.5"},
        {"{\"a\":1e400}", "a=inf"},
        {"{\"a\":NaN, \"b\":nan, \"c\":-Infinity, \"d\":inf, \"e\":null}", "a=nan b=nan c=-inf d=inf"},
        {"{\"a\":true, \"b\":false, \"c\":3}", "c=3"},
        {"{\"a\":nul}", "!"},
        {"{\"a\":nulls}", "!"},
        {"{\"a\":tru}", "!"},
        {"{\"a\":falser}", "!"},
        {"{\"a\":0X10}", "!"},
        {"{\"a\":1x}", "!"},
        {"{\"a\":123456789012345678901234567890123456789012345678901234567890123}", "a=1.23457e+62"}, /* 63 digits */
        {"{\"a\":1234567890123456789012345678901234567890123456789012345678901234}", "!"},
        /* texts that are numbers */
        {"{\"a\":\"NaN\", \"b\":\" -inf \", \"c\":\"5\", \"d\":\"x\", \"e\":\"\"}", "a=nan b=-inf"},
        {"{\"a\":\"infinity\"}", "a=inf"},
        {"{\"a\":\"nan(1)\"}", ""},
        {"{\"a\":\"inf x\"}", ""},
        /* what is passed over */
        {"{\"x\":{}, \"y\":[], \"a\":1}", "a=1"},
        {"{\"x\":{\"a\":2, \"b\":[1, 2, {\"c\":\"}]\"}]}, \"a\":1}", "a=1"},
        {"{\"x\":[1 2], \"a\":1}", "!"},
        {"{\"x\":[1,], \"a\":1}", "!"},
        {"{\"x\":[1}, \"a\":1}", "!"},
        {"{\"x\":{\"b\":1], \"a\":1}", "!"},
        {"{\"x\":{\"b\"}, \"a\":1}", "!"},
        {"{\"x\":{b:1}, \"a\":1}", "!"},
        {"{\"x\":{\"b\":}, \"a\":1}", "!"},
        {"{\"x\":{\"b\":\"\\q\"}, \"a\":1}", "!"},
        {"{\"x\":{\"b\":\"\t\"}, \"a\":1}", "!"},
        {"{\"x\":" D16 D16 E16 E16 ", \"a\":1}", "a=1"},
        {"{\"x\":" D16 D16 "[" E16 E16 "], \"a\":1}", "!"},
        /* strings */
        {"{\"\\\"\\\\\\/\":1}", "\"\\/=1"},
        {"{\"x\":\"\\b\\f\\n\\r\\t\", \"a\":1}", "a=1"},
        {"{\"x\":\"\\a\", \"a\":1}", "!"},
        {"{\"x\":\"\\", "!"},
        {"{\"\\b\":1}", "!"},
        {"{\"\\t\":1}", "!"},
        {"{\"x\":\"\x1f\", \"a\":1}", "!"},
        {"{\"x\":\" \x7f\", \"a\":1}", "a=1"},
        {"{\"\\u0041\\u005a\\u007e\":1}", "AZ~=1"},
        {"{\"\\u004a\\u004A\\u004f\\u004F\":1}", "JJOO=1"},
        {"{\"\\u004g\":1}", "!"},
        {"{\"\\u004@\":1}", "!"},
        {"{\"\\u004G\":1}", "!"},
        {"{\"\\u00:0\":1}", "!"},
        {"{\"\\u00/0\":1}", "!"},
        {"{\"\\u041\"", "!"},
        {"{\"\\u0080\\u00ff\\u07ff\":1}", "\xc2\x80\xc3\xbf\xdf\xbf=1"},
        {"{\"\\u0800\\u20ac\\uffff\":1}", "\xe0\xa0\x80\xe2\x82\xac\xef\xbf\xbf=1"},
        {"{\"\\ud800\\udc00\\udbff\\udfff\":1}", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf=1"},
        {"{\"\\uD83D\\uDE00\":1}", "\xf0\x9f\x98\x80=1"},
        {"{\"\\ud7ff\":1}", "\xed\x9f\xbf=1"},
        {"{\"\\ud800\":1}", "!"},
        {"{\"\\ud800x\":1}", "!"},
        {"{\"\\ud800\\n\":1}", "!"},
        {"{\"\\ud800\\udbff\":1}", "!"},
        {"{\"\\ud800\\ue000\":1}", "!"},
        {"{\"\\ud800\\u\":1}", "!"},
        {"{\"\\udc00\":1}", "!"}, /* no name can be half of a character */
        {"{\"x\":\"\\u0000\", \"a\":1}", "!"},
        /* the special keys */
        {"{\"step\":7, \"time\":1.5, \"a\":1}", "@7 t=1.5 a=1"},
        {"{\"a\":1, \"step\":-7.9}", "@-7 a=1"},
        {"{\"step\":9007199254740992, \"a\":1}", "@9007199254740992 a=1"},
        {"{\"step\":-9007199254740992, \"a\":1}", "@-9007199254740992 a=1"},
        {"{\"step\":9007199254740994, \"a\":1}", "!"},
        {"{\"step\":-9007199254740994, \"a\":1}", "!"},
        {"{\"step\":null, \"a\":1}", "a=1"},
        {"{\"step\":\"x\", \"time\":\"now\", \"a\":1}", "a=1"},
        {"{\"step\":true, \"a\":1}", "a=1"},
        {"{\"time\":null, \"a\":1}", "a=1"},
        {"{\"epoch\":3, \"a\":1}", "@3 a=1"},
        {"{\"a\":1, \"epoch\":3, \"b\":2}", "@3 a=1 b=2"},
        {"{\"a\":1, \"step\":1, \"epoch\":3, \"b\":2}", "@1 a=1 epoch=3 b=2"},
        {"{\"epoch\":1e300, \"a\":1}", "epoch=1e+300 a=1"},
        {"{\"epoch\":NaN, \"a\":1}", "epoch=nan a=1"},
        {"{\"name\":\"loss\", \"value\":0.5, \"step\":2, \"other\":3}", "@2 loss=0.5"},
        {"{\"value\":0.5, \"name\":\"loss\"}", "loss=0.5"},
        {"{\"value\":0.5, \"a\":1}", "a=1 value=0.5"},
        {"{\"name\":\"loss\", \"a\":1}", "a=1"},
        {"{\"name\":5, \"value\":2}", "name=5 value=2"},
        {"{\"name\":\"loss\", \"value\":\"x\", \"a\":1}", "a=1"},
        {"{\"name\":\"loss\", \"value\":null}", ""},
        {"{\"name\":\"a\\u0009b\", \"value\":1}", "!"},
        {"{\"name\":\"epoch\", \"value\":1, \"epoch\":4}", "@4 epoch=1"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(json(cases[i][0], strlen(cases[i][0])), cases[i][1]) != 0)
            fail_msg("%s: %s, and not %s", cases[i][0], json(cases[i][0], strlen(cases[i][0])), cases[i][1]);
    assert_string_equal(json("{\"a\":1\0}", 8), "!");
    assert_string_equal(json("{\"a\0b\":1}", 9), "!");
}

static void names_have_their_limit(void **state)
{
    char name[POINTS_NAME_MAX + 2], text[400], wanted[300];

    for (int more = 0; more < 2; more++) {
        memset(name, 'n', sizeof name);
        name[POINTS_NAME_MAX + more] = '\0';
        snprintf(text, sizeof text, "{\"name\":\"%s\", \"value\":1}", name);
        snprintf(wanted, sizeof wanted, "%s=1", name);
        assert_string_equal(json(text, strlen(text)), more ? "!" : wanted);
        snprintf(text, sizeof text, "{\"%s\":1}", name);
        assert_string_equal(json(text, strlen(text)), more ? "!" : wanted);
        snprintf(text, sizeof text, "{\"%s\":\"x\", \"a\":1}", name);
        assert_string_equal(json(text, strlen(text)), "a=1"); /* it names no metric */
        snprintf(text, sizeof text, "{\"%s\\u00f6\":1}", name);
        assert_string_equal(json(text, strlen(text)), "!");
    }
}

/* Beyond what a line may have, values are left out. */
static void values_have_their_limit(void **state)
{
    static struct metric_line line;
    char *text = malloc(METRIC_VALUES_MAX * 20 + 100);
    const char *why;
    size_t n = 0;

    n += (size_t)sprintf(text + n, "{");
    for (int i = 0; i < METRIC_VALUES_MAX + 2; i++)
        n += (size_t)sprintf(text + n, "\"n%d\":%d,", i, i);
    n += (size_t)sprintf(text + n, "\"step\":5}");
    assert_int_equal(metric_line_json(text, n, &line, &why), 0);
    assert_int_equal(line.n, METRIC_VALUES_MAX);
    assert_int_equal(line.step, 5);
    assert_true(line.values[METRIC_VALUES_MAX - 1].value == METRIC_VALUES_MAX - 1);
    free(text);
}

/* The names that a first line has, and what a row says then. */
static const char *csv(const char *head, const char *row)
{
    static struct metric_columns columns;
    static struct metric_line line;
    char *copy = malloc(strlen(head) + 1);
    const char *why = NULL;
    int rc;

    memcpy(copy, head, strlen(head));
    rc = metric_columns_read(copy, strlen(head), &columns, &why);
    free(copy);
    if (rc < 0) {
        assert_non_null(why);
        return "no columns";
    }
    copy = malloc(strlen(row) + 1);
    memcpy(copy, row, strlen(row));
    rc = metric_line_csv(copy, strlen(row), &columns, &line, &why);
    free(copy);
    if (rc == 0)
        return say(&line);
    assert_non_null(why);
    return "!";
}

static void each_row_of_csv_says_what_it_says(void **state)
{
    static const char *const cases[][3] = {
        {"a,b", "1,2", "a=1 b=2"},
        {" a , b \r", " 1 , 2 \r", "a=1 b=2"},
        {"\"a\",\"b,c\"", "\"1\",\"2\"", "a=1 b,c=2"},
        {"\"a \"\"b\"\"\",c", "1,2", "a \"b\"=1 c=2"},
        {"a,b", "1", "a=1"},
        {"a,b", "1,2,3", "!"}, /* nobody can tell which are which */
        {"a,b", "1,2,", "a=1 b=2"},
        {"a,b", ",2", "b=2"},
        {"a,b,", "1,2,3", "a=1 b=2"},
        {"a;b,c;d", "1,5;2;3", "a=1.5 b,c=2 d=3"},
        {"a\tb c", "1\t2", "a=1 b c=2"},
        {"a\tb", "\t2", "b=2"},
        {"  step   loss  ", "  5  1.5e0 ", "@5 loss=1.5"},
        {"a b", "1,5 2", "a=1.5 b=2"},
        {"\"train loss\"", "1", "train loss=1"},
        {"a", "1,5", "!"},
        {"1,2", "1,2", "no columns"},
        {"1,a", "1,2", "no columns"},
        {",a", "7,2", "a=2"}, /* the index that pandas writes has no name */
        {"a,b", "x,2", "b=2"},
        {"a,b", "nan,-inf", "a=nan b=-inf"},
        {"a,b", "\"x,\"\"y\"\"\",2", "b=2"},
        {"a,b", "\"1,2", "!"}, /* a quote that does not end */
        {"a,b", "x,y", "!"},
        {"a,b", ",", ""},
        {"Step,a", "5,1", "@5 a=1"},
        {"a,STEP,TIME", "1,5,2.5", "@5 t=2.5 a=1"},
        {"step,Epoch,a", "5,6,1", "@5 Epoch=6 a=1"},
        {"Epoch,a", "6,1", "@6 a=1"},
        {"epoch,a,epoch", "6,1,7", "@6 a=1 epoch=7"},
        {"epoch", "6", "@6"},
        {"a,step", "1,9007199254740994", "!"},
        {"a,step", "1,nan", "!"},
        {"a,step", "1,", "a=1"},
        {"step,time", "1,2", "no columns"},
        {"", "1", "no columns"},
        {",,", "1,2,3", "no columns"},
        {"a\tb,c,d", "1,2,3", "c=2 d=3"},
        {"a,b", "123456789012345678901234567890123456789012345678901234567890123,2", "a=1.23457e+62 b=2"},
        {"a,b", "1234567890123456789012345678901234567890123456789012345678901234,2", "b=2"},
        {"a,b", "1 2,3", "b=3"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(csv(cases[i][0], cases[i][1]), cases[i][2]) != 0)
            fail_msg("%s | %s: %s, and not %s", cases[i][0], cases[i][1], csv(cases[i][0], cases[i][1]), cases[i][2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_line_of_json_says_what_it_says),
        cmocka_unit_test(names_have_their_limit),
        cmocka_unit_test(values_have_their_limit),
        cmocka_unit_test(each_row_of_csv_says_what_it_says),
    };

    test_limit(60); /* a loop without an end is a failure, too */
    return cmocka_run_group_tests_name("metric_lines", tests, NULL, NULL);
}
