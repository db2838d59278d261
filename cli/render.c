#include "cli/render.h"

#include "common/xalloc.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COLUMNS_MAX 16

struct table {
    const char *const *headers;
    size_t columns;
    size_t widths[COLUMNS_MAX];
    char **cells;
    size_t count, room;
    bool headed;
};

/* Characters, not bytes, of UTF-8. */
static size_t width_of(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

struct table *table_create(const char *const *headers)
{
    struct table *table = xcalloc(1, sizeof *table);

    table->headers = headers;
    for (; headers[table->columns] && table->columns < COLUMNS_MAX; table->columns++) {
        const char *header = headers[table->columns];

        table->widths[table->columns] = width_of(header) - (header[0] == '>');
    }
    return table;
}

void table_cell(struct table *table, const char *text)
{
    size_t column = table->count % table->columns, width;
    char *cell = render_text(text);

    if (table->count == table->room) {
        table->room = table->room ? 2 * table->room : 64;
        table->cells = xrealloc(table->cells, table->room, sizeof *table->cells);
    }
    table->cells[table->count++] = cell;
    width = width_of(cell);
    if (width > table->widths[column])
        table->widths[column] = width;
}

void table_cellf(struct table *table, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    table_cell(table, text);
}

static void print_row(const struct table *table, char *const *cells, FILE *to)
{
    for (size_t c = 0; c < table->columns; c++) {
        bool right = table->headers[c][0] == '>', last = c + 1 == table->columns;
        const char *text = cells ? cells[c] : table->headers[c] + right;
        int pad = (int)(table->widths[c] - width_of(text));

        fprintf(to, "%s%*s%s%*s", c ? "  " : "", right ? pad : 0, "", text, right || last ? 0 : pad, "");
    }
    fputc('\n', to);
}

void table_print(struct table *table, FILE *to)
{
    if (!table->headed)
        print_row(table, NULL, to);
    table->headed = true;
    for (size_t i = 0; i + table->columns <= table->count; i += table->columns)
        print_row(table, table->cells + i, to);
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i]);
    table->count = 0;
}

void table_destroy(struct table *table)
{
    if (table == NULL)
        return;
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i]);
    free(table->cells);
    free(table);
}

char *render_text(const char *text)
{
    char *copy = xstrdup(text);

    for (char *c = copy; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = ' ';
        else if ((unsigned char)c[0] == 0xc2 && (unsigned char)c[1] >= 0x80 && (unsigned char)c[1] < 0xa0)
            c[0] = c[1] = ' '; /* the second set of control characters */
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
    if (!json_is_null(value))
        return render_number(buf, value);
    snprintf(buf, RENDER_SIZE, "NaN");
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
