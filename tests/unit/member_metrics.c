#include "tests/unit/member_metrics.h"

#include "common/timefmt.h"
#include "tasks/member/stretto.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Reports in a process of its own, since the file is opened once. Returns its exit status. */
static int in_a_child(const char *path, int (*report)(void))
{
    pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0) {
        setenv("STRETTO_METRICS", path, 1);
        _exit(report());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int report_all(void)
{
    static const char hundred[] =
        "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789";
    char longer[102] = "x";

    strcat(longer, hundred);
    return stretto_metric("a \"b\\", -3, 0.1) != 0 || stretto_metric("i", INT64_MAX, INFINITY) != 0 ||
           stretto_metric("i", 1, -INFINITY) != 0 || stretto_metric("n", 1, NAN) != 0 ||
           stretto_metric(hundred, 1, 1e300) != 0 || stretto_metric(longer, 1, 1) == 0 ||
           stretto_metric(NULL, 1, 1) == 0 || stretto_metric("a\x7f", 1, 1) == 0 || stretto_progress(1, 4) != 0 ||
           stretto_progress(5, 4) != 0 || stretto_progress(-1, 4) != 0 || stretto_progress(NAN, 4) == 0 ||
           stretto_progress(1, -4) == 0;
}

static int report_to_nowhere(void)
{
    return stretto_metric("a", 1, 1) != 0 || stretto_progress(1, 2) != 0; /* it runs by itself */
}

static int report_to_a_full_disk(void)
{
    return stretto_metric("a", 1, 1) != -1 || stretto_progress(1, 2) != -1;
}

/* Takes the times out of lines, which end in them. Every one must be a time of this century. */
static void without_times(char *text)
{
    char *to = text;

    for (char *at = text, *line; (line = strtok(at, "\n")) != NULL; at = NULL) {
        char *time = strstr(line, ", \"time\": ");
        size_t n;

        assert_non_null(time);
        assert_true(strtod(time + 10, NULL) > 1e9);
        assert_true(time[strlen(time) - 1] == '}');
        n = (size_t)(time - line);
        memmove(to, line, n);
        to[n] = '\n';
        to += n + 1;
    }
    *to = '\0';
}

void metrics_are_lines_of_json(void **state)
{
    char path[] = "/tmp/stretto-test-XXXXXX", text[4000] = "";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(in_a_child(path, report_all), 0);
    assert_true(read(fd, text, sizeof text - 1) > 0);
    without_times(text);
    assert_string_equal(text, "{\"name\": \"a \\\"b\\\\\", \"step\": -3, \"value\": 0.1\n"
                        "{\"name\": \"i\", \"step\": 9223372036854775807, \"value\": Infinity\n"
                        "{\"name\": \"i\", \"step\": 1, \"value\": -Infinity\n"
                        "{\"name\": \"n\", \"step\": 1, \"value\": NaN\n"
                        "{\"name\": \"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\","
                        " \"step\": 1, \"value\": 1e+300\n"
                        "{\"progress\": 0.25\n{\"progress\": 1\n{\"progress\": 0\n");
    close(fd);
    unlink(path);
    assert_int_equal(in_a_child("", report_to_nowhere), 0);
    assert_int_equal(in_a_child("/dev/full", report_to_a_full_disk), 0);
}
