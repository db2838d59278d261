/* What a runner takes from the files in which programs report metrics: lines of all forms, hostile ones too, what is
 * handed on of them, and what they say about the end of a task. */
#include "tasks/proto/points.h"
#include "tasks/runner/metric_csv.h"
#include "tasks/runner/metrics.h"

#include "common/files.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UNIX_MS 1769860000000

static char dir[64];
static struct jobdesc job;
static struct metrics *metrics;
static int64_t now = 1000;

static int interrupted; /* so many of the next writes at a place are */
static size_t piece;    /* what one of them writes at most */
static size_t room;     /* what they write before the disk is full */

ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
    ssize_t n;

    if (interrupted > 0 || room == 0) {
        errno = interrupted > 0 ? EINTR : ENOSPC;
        interrupted -= interrupted > 0;
        return -1;
    }
    size = size < piece ? size : piece;
    n = syscall(SYS_pwrite64, fd, data, size < room ? size : room, at);
    if (n > 0 && room != SIZE_MAX)
        room -= (size_t)n;
    return n;
}

static int set_up(void **state)
{
    struct jobdesc_task task = {.dir = dir};

    interrupted = 0;
    piece = room = SIZE_MAX;
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    metrics = metrics_create(&job, &task, UNIX_MS, now);
    return 0;
}

static int set_up_csv(void **state)
{
    job = (struct jobdesc){.metrics = {.file = "log.csv", .name = "accuracy", .has_least = true, .least = 0.74}};
    return set_up(state);
}

static int set_up_end(void **state)
{
    job = (struct jobdesc){.metrics = {.diverged = JOBDESC_DIVERGED_END, .name = "loss", .has_most = true, .most = 1, .best = true}};
    return set_up(state);
}

static int set_up_plain(void **state)
{
    job = (struct jobdesc){0};
    return set_up(state);
}

static int tear_down(void **state)
{
    char rm[128];

    metrics_destroy(metrics);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static void write_to(const char *name, const char *mode, const char *text)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    file = fopen(path, mode);
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    fclose(file);
}

static void report(const char *text)
{
    write_to(METRICS_FILE, "a", text);
}

static void work(void)
{
    now += 60000;
    metrics_work(metrics, UNIX_MS + now, now);
}

/* All points that were handed on. */
static struct {
    struct points_point p[30000];
    char names[30000][POINTS_NAME_MAX + 1];
    char notice[POINTS_NOTICE_MAX]; /* the last one */
    int n;
} got;

static void read_points(void)
{
    char path[128], *text = NULL;
    struct error err;
    size_t size;

    got.n = 0;
    snprintf(path, sizeof path, "%s/" POINTS_FILE, dir);
    if (file_read(path, 64 << 20, &text, &size, &err) < 0)
        return;
    assert_int_equal((int64_t)size, metrics_size(metrics));
    got.notice[0] = '\0';
    for (const char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1, got.n++) {
        assert_true(got.n < 30000);
        if (points_read_notice(line, end, got.notice) == 0) {
            got.n--;
            continue;
        }
        if (points_read(line, end, got.names[got.n], &got.p[got.n]) < 0)
            fail_msg("not a line of points: %.*s", (int)(end - line), line);
    }
    free(text);
}

static struct metric_line line;
static const char *why;

/* Each prefix of a line, in memory of just that size, so that a sanitizer sees a read beyond it. */
static void no_line_is_read_beyond_its_end(void **state)
{
    static const char whole[] =
        "{\"na\\u00f6me\": \"lo\\\"ss\", \"step\": 10, \"value\": -1.5e3, \"x\": {\"y\": [1, \"z\"]}, \"q\": NaN}";
    struct metric_columns columns;

    for (size_t size = 0; size < sizeof whole; size++) {
        char *copy = malloc(size > 0 ? size : 1);

        memcpy(copy, whole, size);
        metric_line_json(copy, size, &line, &why);
        if (metric_columns_read(copy, size, &columns, &why) == 0)
            metric_line_csv(copy, size, &columns, &line, &why);
        free(copy);
    }
}

static void a_file_that_is_replaced_or_cut_is_read_anew(void **state)
{
    char path[256];

    report("{\"step\": 0, \"a\": 1}\n{\"step\": 1, \"a\": 2}\n");
    work();
    snprintf(path, sizeof path, "%s/" METRICS_FILE, dir);
    assert_int_equal(truncate(path, 0), 0);
    report("{\"step\": 0, \"a\": 3}\n");
    work();
    write_to("new", "w", "{\"step\": 1, \"a\": 4}\n{\"step\": 2, \"a\": 5}\n{\"step\": 3, \"a\": 6}\n");
    snprintf(path, sizeof path, "mv '%s/new' '%s/" METRICS_FILE "'", dir, dir);
    assert_int_equal(system(path), 0);
    work();
    read_points();
    assert_int_equal(got.n, 6);
    for (int i = 0; i < 6; i++)
        assert_true(got.p[i].last == i + 1);
    assert_true(got.p[2].area == 0); /* nothing is before it */
}

static void a_long_series_is_merged_on_the_way(void **state)
{
    char text[128];
    int64_t count = 0;
    FILE *file;

    snprintf(text, sizeof text, "%s/" METRICS_FILE, dir);
    file = fopen(text, "w");
    assert_non_null(file);
    for (int i = 0; i < 100000; i++)
        fprintf(file, "{\"loss\": %d, \"time\": %d}\n", i == 77777 ? 1000000 : 1, i + 1);
    fclose(file);
    metrics_end(metrics, UNIX_MS);
    read_points();
    assert_true(got.n < 100000 / 4);
    for (int i = 0; i < got.n; i++) {
        assert_int_equal(got.p[i].step, count);
        count += got.p[i].count;
        bool spike = got.p[i].step <= 77777 && got.p[i].last_step >= 77777;
        int64_t seconds = got.p[i].last_step - got.p[i].step;

        assert_true(got.p[i].max == (spike ? 1000000 : 1));
        assert_true(got.p[i].within == (double)(spike ? seconds + 999999 : seconds)); /* the spike counts in the area */
    }
    assert_int_equal(count, 100000);
}

static void what_is_hostile_is_bounded_and_told(void **state)
{
    char notice[256], text[64];
    char *huge = malloc(300001);

    memset(huge, 'x', 300000);
    huge[300000] = '\0';
    report(huge);
    work();
    report("\n{\"a\": 1}\n");
    free(huge);
    for (int i = 0; i < POINTS_SERIES_MAX + 10; i++) {
        snprintf(text, sizeof text, "{\"s%d\": 1}\n", i);
        report(text);
    }
    metrics_end(metrics, UNIX_MS);
    read_points();
    assert_int_equal(got.n, POINTS_SERIES_MAX);
    metrics_notice(metrics, notice, sizeof notice);
    assert_non_null(strstr(notice, "line 1: it has more than 64 KiB"));
    assert_non_null(strstr(notice, "11 values have names beyond the first 100"));
}

/* The points that were handed on of a metric, as text: "STEP=VALUE ...". */
static const char *said_of(const char *name)
{
    static char text[4000];
    size_t n = 0;

    read_points();
    text[0] = '\0';
    for (int i = 0; i < got.n; i++)
        if (strcmp(got.names[i], name) == 0)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%lld=%g", n > 0 ? " " : "", (long long)got.p[i].step, got.p[i].last);
    return text;
}

static void move(const char *from, const char *to)
{
    char old[128], new[128];

    snprintf(old, sizeof old, "%s/%s", dir, from);
    snprintf(new, sizeof new, "%s/%s", dir, to);
    assert_int_equal(rename(old, new), 0);
}

/* Sets when a file was written. */
static void written(const char *name, int64_t seconds_ago)
{
    struct timespec times[2] = {{0}, {0}};
    char path[128];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    times[0].tv_sec = times[1].tv_sec = time(NULL) - seconds_ago;
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static const char *the_notice(void)
{
    static char notice[256];

    metrics_notice(metrics, notice, sizeof notice);
    return notice;
}

/* As pandas does with each epoch; a rename over the file is the same. Without steps, no row counts twice. */
static void a_file_that_is_written_anew_with_more_rows_is_read_on(void **state)
{
    write_to("log.csv", "w", ",loss\n0,8\n1,8\n");
    work();
    write_to("log.csv", "w", ",loss\n0,8\n");
    work();
    write_to("log.csv", "a", "1,8\n2,7\n");
    work();
    write_to("new", "w", ",loss\n0,8\n1,8\n2,7\n3,6\n");
    move("new", "log.csv");
    metrics_end(metrics, UNIX_MS + now);
    assert_string_equal(said_of("loss"), "0=8 1=8 2=7 3=6");
    assert_string_equal(the_notice(), "");
}

static void what_a_rotated_file_had_is_read(void **state)
{
    write_to("log.csv", "w", "step,loss\n0,9\n1,8\n");
    work();
    write_to("log.csv", "a", "2,7\n3,6"); /* the last line of a file may have no end */
    move("log.csv", "log.csv.1");
    write_to("log.csv", "w", "step,loss\n4,5\n5,4\n");
    move("log.csv.1", "log.csv.2");
    move("log.csv", "log.csv.1");
    written("log.csv.2", 20); /* the times of files are coarse: within a tick their order is not known */
    written("log.csv.1", 10);
    write_to("log.csv", "w", "step,loss\n6,3\n");
    work();
    write_to("log.csv", "a", "7,2\n");
    move("log.csv", "log.csv.0");
    metrics_end(metrics, UNIX_MS + now);
    assert_string_equal(said_of("loss"), "0=9 1=8 2=7 3=6 4=5 5=4 6=3 7=2");
    assert_string_equal(the_notice(), "");
}

static void other_lines_in_place_of_those_that_were_read_are_told(void **state)
{
    write_to("log.csv", "w", "step,loss\n0,9\n1,8\n");
    work();
    write_to("log.csv", "w", "step,loss\n0,9\n1,5\n");
    metrics_end(metrics, UNIX_MS + now);
    assert_string_equal(said_of("loss"), "0=9 1=8 1=5");
    assert_non_null(strstr(the_notice(), "log.csv was written anew with other lines"));
}

static void columns_are_read_as_loggers_write_them(void **state)
{
    static const struct {
        const char *text, *loss, *notice;
    } cases[] = {
        {"\xef\xbb\xbfloss,step\n3,1\n", "1=3", ""},
        {"step;loss\n1;0,5\n2;\n3;0,25\n", "1=0.5 3=0.25", ""},
        {"step\tloss\r\n1\t3\r\n", "1=3", ""},
        {"# a run of today\n# made by x\nstep,loss\n1,3\n# half\n2,4\n", "1=3 2=4", ""},
        {"# step loss\n1.0e+00 3.0e+00\n2.0e+00 4.0e+00\n", "1=3 2=4", ""},
        {"step,loss\n1,3\nstep,loss,val\n2,4,5\n", "1=3 2=4", ""},
        {"loss,step,loss_val\n3,1,2\nstep,loss\n2,4\n", "1=3 2=4", ""},
        {"1,3\n2,4\n", "", "1 line of log.csv is no metrics, the first at line 1: it should name the columns"},
        {"step,loss\n1,3,4\n2,4\n", "2=4", "1 line of log.csv is no metrics, the first at line 2: it has more fields"},
        {"step,loss\none,three\n2,4\n", "2=4", "1 line of log.csv is no metrics, the first at line 2: it has no number"},
        {"{\"step\": 1, \"loss\": null}\n{\"step\": 2, \"loss\": 4}\n", "2=4", ""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(tear_down(NULL) + set_up_csv(NULL), 0);
        write_to("log.csv", "w", cases[i].text);
        metrics_end(metrics, UNIX_MS);
        if (strcmp(said_of("loss"), cases[i].loss) != 0)
            fail_msg("%s: %s, and not %s", cases[i].text, said_of("loss"), cases[i].loss);
        if (cases[i].notice[0] == '\0' ? the_notice()[0] != '\0' : strstr(the_notice(), cases[i].notice) == NULL)
            fail_msg("%s: \"%s\"", cases[i].text, the_notice());
    }
}

/* Between looks at files in which nothing is new the pause grows, up to `longest`. */
static void assert_longest_pause(int64_t longest)
{
    for (int i = 0; i < 10; i++) {
        now = metrics_due(metrics);
        metrics_work(metrics, UNIX_MS + now, now);
        assert_in_range(metrics_due(metrics) - now, 1, longest);
    }
    assert_int_equal(metrics_due(metrics) - now, longest);
}

static void a_member_that_says_nothing_is_looked_at_less_often(void **state)
{
    assert_longest_pause(8000);
}

static void divergence_is_not_waited_for_long(void **state)
{
    assert_longest_pause(2000);
}

static int next_fd(void)
{
    int fd = dup(0);

    close(fd);
    return fd;
}

/* A runner follows the files of thousands of tasks for days. */
static void no_file_stays_open(void **state)
{
    int fd = next_fd();

    report("{\"a\": 1}\n");
    work();
    report("{\"a\": 2}\n");
    metrics_end(metrics, UNIX_MS);
    assert_true(metrics_size(metrics) > 0);
    assert_int_equal(next_fd(), fd);
}

/* Whatever cuts a write short, each point is handed on once, and no line is torn. */
static void points_that_were_written_in_part_are_written_whole(void **state)
{
    char notice[256] = "", text[64];
    int said = 0;

    for (int i = 0; i < 40; i++) {
        interrupted = i % 4;
        piece = i % 3 == 0 ? 7 : SIZE_MAX;
        room = i % 5 == 0 ? (size_t)i : SIZE_MAX;
        snprintf(text, sizeof text, "{\"step\": %d, \"loss\": %d}\n{\"step\": %d, \"loss\": %d}\n", said, said,
                 said + 1, said + 1);
        report(text);
        said += 2;
        work();
        if (room != SIZE_MAX) {
            room = SIZE_MAX;
            work();
        }
        read_points();
        assert_int_equal(got.n, said);
    }
    for (int i = 0; i < said; i++)
        assert_true(got.p[i].step == i && got.p[i].last == i);
    metrics_notice(metrics, notice, sizeof notice);
    assert_string_equal(notice, "");
}

/* Points that cannot be written wait. Points beyond those that may wait are lost, and the notice says so whatever
 * follows. */
static void points_that_are_lost_are_told(void **state)
{
    char notice[256] = "", path[128], text[200], name[101];

    snprintf(path, sizeof path, "%s/" POINTS_FILE, dir);
    assert_int_equal(mkdir(path, 0700), 0);
    report("{\"loss\": 1}\n");
    work();
    metrics_notice(metrics, notice, sizeof notice);
    assert_non_null(strstr(notice, "points are lost"));
    assert_int_equal(rmdir(path), 0);
    work();
    read_points();
    assert_int_equal(got.n, 1);
    notice[0] = '\0';
    metrics_notice(metrics, notice, sizeof notice);
    assert_string_equal(notice, ""); /* it only waited */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    for (int s = 0; s < 24; s++) { /* 16 MiB of lines that have 100 bytes of name */
        FILE *file;

        memset(name, 'a' + s, 100);
        name[100] = '\0';
        snprintf(text, sizeof text, "%s/" METRICS_FILE, dir);
        file = fopen(text, "a");
        assert_non_null(file);
        for (int i = 0; i < 8000; i++)
            fprintf(file, "{\"step\":%d,\"%s\":%d}\n", i, name, i);
        fclose(file);
        for (int i = 0; i < 3; i++)
            work();
    }
    assert_int_equal(rmdir(path), 0);
    for (int i = 0; i < 20; i++)
        work();
    notice[0] = '\0';
    metrics_notice(metrics, notice, sizeof notice);
    assert_non_null(strstr(notice, "points are lost"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_line_is_read_beyond_its_end),
        cmocka_unit_test_setup_teardown(no_file_stays_open, set_up_plain, tear_down),
        cmocka_unit_test_setup_teardown(points_that_were_written_in_part_are_written_whole, set_up_plain, tear_down),
        cmocka_unit_test_setup_teardown(points_that_are_lost_are_told, set_up_plain, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_is_replaced_or_cut_is_read_anew, set_up_plain, tear_down),
        cmocka_unit_test_setup_teardown(a_long_series_is_merged_on_the_way, set_up_plain, tear_down),
        cmocka_unit_test_setup_teardown(what_is_hostile_is_bounded_and_told, set_up_plain, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_is_written_anew_with_more_rows_is_read_on, set_up_csv, tear_down),
        cmocka_unit_test_setup_teardown(what_a_rotated_file_had_is_read, set_up_csv, tear_down),
        cmocka_unit_test_setup_teardown(other_lines_in_place_of_those_that_were_read_are_told, set_up_csv, tear_down),
        cmocka_unit_test_setup_teardown(columns_are_read_as_loggers_write_them, set_up_csv, tear_down),
        cmocka_unit_test_setup_teardown(a_member_that_says_nothing_is_looked_at_less_often, set_up_plain, tear_down),
        cmocka_unit_test_setup_teardown(divergence_is_not_waited_for_long, set_up_end, tear_down),
    };

    test_limit(60); /* a loop without an end is a failure, too */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
