#include "cli/render.h"

#include "cli/terminal.h"
#include "common/timefmt.h"
#include "common/xalloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

char *render_text(const char *text)
{
    char *copy = xstrdup(text);
    size_t left = strlen(copy), n;
    int32_t code;

    for (char *c = copy; left > 0; c += n, left -= n) {
        n = text_take(c, left, &code);
        if (n == 0)
            n = left;
        else if (code >= 0 && terminal_obeys(code))
            memset(c, ' ', n);
    }
    return copy;
}

char *render_duration(char buf[RENDER_SIZE], double seconds)
{
    long whole = lround(seconds);

    if (!(seconds >= 0) || seconds > 1e9)
        snprintf(buf, RENDER_SIZE, "-");
    else if (seconds < 9.95)
        snprintf(buf, RENDER_SIZE, "%.1fs", seconds);
    else if (whole < 60)
        snprintf(buf, RENDER_SIZE, "%lds", whole);
    else if (whole < 3600)
        snprintf(buf, RENDER_SIZE, "%ldm%02lds", whole / 60, whole % 60);
    else if (whole < 86400)
        snprintf(buf, RENDER_SIZE, "%ldh%02ldm", whole / 3600, whole % 3600 / 60);
    else
        snprintf(buf, RENDER_SIZE, "%ldd%02ldh", whole / 86400, whole % 86400 / 3600);
    return buf;
}

char *render_age(char buf[RENDER_SIZE], const char *iso)
{
    static const struct {
        const char *unit;
        double seconds, below; /* the unit is used below so many of it; the last one has no end */
    } units[] = {{"s", 1, 60}, {"min", 60, 60}, {"h", 3600, 48}, {"d", 86400, 1e9}};
    double at = render_time_parse(iso), ago = (double)time_now_ms() / 1000 - at, n;
    size_t u = 0;

    snprintf(buf, RENDER_SIZE, "%s", iso);
    if (at < 0)
        return buf;
    n = fabs(ago);
    while (u < 3 && floor(n / units[u].seconds) >= units[u].below)
        u++;
    n = floor(n / units[u].seconds);
    if (fabs(ago) < 1)
        snprintf(buf, RENDER_SIZE, "now");
    else
        snprintf(buf, RENDER_SIZE, ago > 0 ? "%.0f %s ago" : "in %.0f %s", n, units[u].unit);
    return buf;
}

/* Writes a time by the clock of this machine, without the day if that is today. */
static bool tell_clock(char *buf, size_t size, const char *iso, bool seconds)
{
    double at = render_time_parse(iso);
    time_t then = (time_t)at, now = (time_t)(time_now_ms() / 1000);
    struct tm tm, today;

    if (at < 0 || localtime_r(&then, &tm) == NULL || localtime_r(&now, &today) == NULL)
        return false;
    if (tm.tm_yday == today.tm_yday && tm.tm_year == today.tm_year)
        return strftime(buf, size, seconds ? "%H:%M:%S" : "%H:%M", &tm) > 0;
    return strftime(buf, size, seconds ? "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d %H:%M", &tm) > 0;
}

char *render_moment(char buf[RENDER_SIZE], const char *iso)
{
    char clock[24], age[RENDER_SIZE];

    if (tell_clock(clock, sizeof clock, iso, false))
        snprintf(buf, RENDER_SIZE, "%s (%.30s)", clock, render_age(age, iso));
    else
        snprintf(buf, RENDER_SIZE, "%s", iso);
    return buf;
}

char *render_clock(char buf[RENDER_SIZE], const char *iso)
{
    if (!tell_clock(buf, RENDER_SIZE, iso, true))
        snprintf(buf, RENDER_SIZE, "%s", iso);
    return buf;
}

/* Returns the length of the time with which a text begins, as the daemon writes times; 0 if it begins with none. */
static size_t time_length(const char *text)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd.dddZ";
    size_t i;

    for (i = 0; form[i] != '\0'; i++)
        if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
            return 0;
    return i;
}

char *render_sentence(const char *text)
{
    char *plain = render_text(text), *out, when[RENDER_SIZE], iso[TIMEFMT_SIZE];
    size_t size, n;
    FILE *to = open_memstream(&out, &size);

    for (const char *c = plain; *c != '\0'; c += n) {
        n = time_length(c);
        if (n > 0) {
            snprintf(iso, sizeof iso, "%.*s", (int)n, c);
            fputs(render_moment(when, iso), to);
        } else {
            n = 1;
            fputc(*c, to);
        }
    }
    fclose(to);
    free(plain);
    return out;
}

double render_time_parse(const char *iso)
{
    struct tm tm = {0};
    const char *rest = strptime(iso, "%Y-%m-%dT%H:%M:%S", &tm);
    double fraction = 0;

    if (rest == NULL)
        return -1;
    if (*rest == '.')
        fraction = strtod(rest, NULL);
    return (double)timegm(&tm) + fraction;
}

char *render_number(char buf[RENDER_SIZE], const json_t *value)
{
    double number = json_number_value(value);

    if (!json_is_number(value))
        snprintf(buf, RENDER_SIZE, "-");
    else if (json_is_integer(value))
        snprintf(buf, RENDER_SIZE, "%lld", (long long)json_integer_value(value));
    else if (fabs(number) >= 1e7 || (number != 0 && fabs(number) < 1e-4))
        snprintf(buf, RENDER_SIZE, "%.2e", number);
    else if (fabs(number) >= 1000)
        snprintf(buf, RENDER_SIZE, "%.0f", number);
    else
        snprintf(buf, RENDER_SIZE, "%.3g", number);
    return buf;
}

char *render_metric(char buf[RENDER_SIZE], const json_t *value)
{
    if (json_is_number(value) || value == NULL)
        return render_number(buf, value);
    snprintf(buf, RENDER_SIZE, "not finite");
    return buf;
}

void render_document(const char *text)
{
    size_t n = strlen(text);

    fputs(text, stdout);
    if (n == 0 || text[n - 1] != '\n')
        putchar('\n');
}

int64_t get_int(const json_t *obj, const char *key)
{
    return json_integer_value(json_object_get(obj, key));
}

const char *get_string(const json_t *obj, const char *key)
{
    const char *text = json_string_value(json_object_get(obj, key));

    return text ? text : "";
}

const char *get_reason(const json_t *obj)
{
    const char *reason = get_string(obj, "reason");

    return reason[0] ? reason : get_string(obj, "waits_for");
}

char *render_size(char buf[RENDER_SIZE], const json_t *bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double n = json_number_value(bytes);
    size_t unit = 0;

    if (!json_is_integer(bytes)) {
        snprintf(buf, RENDER_SIZE, "-");
        return buf;
    }
    for (; n >= 1024 && unit < sizeof units / sizeof *units - 1; unit++)
        n /= 1024;
    snprintf(buf, RENDER_SIZE, unit > 0 && n < 100 ? "%.1f %s" : "%.0f %s", n, units[unit]);
    return buf;
}

double render_seconds_between(const json_t *obj, const char *from, const char *to)
{
    double begin = render_time_parse(get_string(obj, from)), end = render_time_parse(get_string(obj, to));

    return begin < 0 || end < begin ? -1 : end - begin;
}
