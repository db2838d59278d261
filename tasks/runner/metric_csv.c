#include "tasks/runner/metric_csv.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* The fields of a line, one after the other. */
struct fields {
    const char *at, *end; /* at: NULL behind the last one */
    char separator;
};

static bool csv_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void csv_skip_blanks(struct fields *f)
{
    while (f->at < f->end && csv_is_blank(*f->at) && (*f->at != f->separator || f->separator == ' '))
        f->at++;
}

static bool csv_separates(const struct fields *f)
{
    return f->separator == ' ' ? csv_is_blank(*f->at) : *f->at == f->separator;
}

/* Begins with a line, without blanks at its end. */
static struct fields fields_of(const char *text, size_t size, char separator)
{
    struct fields f = {.at = text, .end = text + size, .separator = separator};

    while (f.end > text && csv_is_blank(f.end[-1]) && (f.end[-1] != separator || separator == ' '))
        f.end--;
    return f;
}

/* Takes the next field, without its quotes and the blanks around it; one that does not fit is cut, and then *n is not
 * below size. Returns false if there is none. */
static bool csv_next_field(struct fields *f, char *out, size_t size, size_t *n)
{
    bool quoted;

    if (f->at == NULL)
        return false;
    *n = 0;
    csv_skip_blanks(f);
    quoted = f->at < f->end && *f->at == '"';
    f->at += quoted;
    for (; f->at < f->end; f->at++) {
        if (quoted && *f->at == '"') {
            if (f->at + 1 >= f->end || f->at[1] != '"') {
                quoted = false;
                continue;
            }
            f->at++;
        } else if (!quoted && csv_separates(f)) {
            break;
        }
        if (*n < size)
            out[*n] = *f->at;
        ++*n;
    }
    while (*n > 0 && *n < size && csv_is_blank(out[*n - 1]))
        --*n;
    out[*n < size ? *n : size - 1] = '\0';
    f->at = f->at < f->end ? f->at + 1 : NULL;
    return true;
}

/* Returns the separator of a line's fields: the most frequent of the known separators; a blank only if there is no
 * other. */
static char find_separator(const char *text, size_t size)
{
    static const char known[] = ",;\t";
    size_t counts[sizeof known] = {0}, best = 0;
    struct fields line = fields_of(text, size, ' ');
    bool quoted = false, blank = false;

    csv_skip_blanks(&line);
    for (const char *c = line.at; c < line.end; c++) {
        const char *found = memchr(known, *c, sizeof known - 1);

        quoted = quoted != (*c == '"');
        if (!quoted && found != NULL)
            counts[found - known]++;
        blank = blank || (!quoted && *c == ' ');
    }
    for (size_t i = 1; i < sizeof known - 1; i++)
        best = counts[i] > counts[best] ? i : best;
    return counts[best] > 0 || !blank ? known[best] : ' ';
}

/* Reads a number of a file with this separator. */
static bool csv_read_number(const char *field, size_t n, char separator, double *value)
{
    char text[METRIC_NUMBER_MAX];
    char *comma;

    if (n >= sizeof text)
        return false;
    if (metric_number_read(field, n, value))
        return true;
    memcpy(text, field, n);
    text[n] = '\0';
    comma = separator != ',' ? strchr(text, ',') : NULL;
    if (comma == NULL)
        return false;
    *comma = '.';
    return metric_number_read(text, n, value);
}

static bool has_kind(const struct metric_columns *columns, int kind)
{
    for (size_t i = 0; i < columns->n; i++)
        if ((int)columns->kind[i] == kind)
            return true;
    return false;
}

/* Returns what a column of this name has; a number names none. */
static int kind_of(const char *name, size_t n, char separator)
{
    double number;

    if (n > POINTS_NAME_MAX || strlen(name) != n || !points_name_valid(name) ||
        csv_read_number(name, n, separator, &number))
        return COLUMN_NONE;
    return strcasecmp(name, "step") == 0 ? COLUMN_STEP : strcasecmp(name, "time") == 0 ? COLUMN_TIME : COLUMN_VALUE;
}

int metric_columns_read(const char *text, size_t size, struct metric_columns *columns, const char **why)
{
    struct fields f = fields_of(text, size, find_separator(text, size));
    char name[POINTS_NAME_MAX + 2];
    double number;
    size_t n;

    columns->separator = f.separator;
    columns->n = 0;
    while (columns->n < METRIC_VALUES_MAX && csv_next_field(&f, name, sizeof name, &n)) {
        int kind = kind_of(name, n, f.separator);

        if (columns->n == 0 && csv_read_number(name, n, f.separator, &number))
            break; /* a row rather than names */
        columns->kind[columns->n] = kind;
        strcpy(columns->names[columns->n++], kind != COLUMN_NONE ? name : "");
    }
    if (!has_kind(columns, COLUMN_VALUE)) {
        *why = "it should name the columns, and names none with values";
        return -1;
    }
    for (size_t i = 0; i < columns->n && !has_kind(columns, COLUMN_STEP); i++)
        if (strcasecmp(columns->names[i], "epoch") == 0)
            columns->kind[i] = COLUMN_STEP;
    return 0;
}

bool metric_columns_again(const char *text, size_t size, const struct metric_columns *columns)
{
    struct fields f = fields_of(text, size, columns->separator);
    char name[POINTS_NAME_MAX + 2];
    size_t n;

    while (csv_next_field(&f, name, sizeof name, &n))
        for (size_t i = 0; i < columns->n; i++)
            if (columns->kind[i] != COLUMN_NONE && strcmp(name, columns->names[i]) == 0)
                return true;
    return false;
}

/* Takes a number by the kind of its column. Returns false if it can be no step. */
static bool take_field(const struct metric_columns *columns, size_t i, double value, struct metric_line *line)
{
    if (columns->kind[i] == COLUMN_VALUE)
        metric_line_add(line, columns->names[i], value);
    else if (columns->kind[i] == COLUMN_TIME)
        line->time = value;
    return columns->kind[i] != COLUMN_STEP || metric_line_step(line, value);
}

int metric_line_csv(const char *text, size_t size, const struct metric_columns *columns, struct metric_line *line,
                    const char **why)
{
    struct fields f = fields_of(text, size, columns->separator);
    char field[METRIC_NUMBER_MAX];
    bool any = false, number = false;
    double value;
    size_t n;

    line->has_step = false;
    line->time = NAN;
    line->n = 0;
    for (size_t i = 0; csv_next_field(&f, field, sizeof field, &n); i++) {
        if (i >= columns->n && n > 0 && columns->n < METRIC_VALUES_MAX) {
            *why = "it has more fields than there are columns";
            return -1;
        }
        any = any || n > 0;
        if (!csv_read_number(field, n, columns->separator, &value))
            continue;
        number = true;
        if (i < columns->n && !take_field(columns, i, value, line)) {
            *why = "a step is no number that can be";
            return -1;
        }
    }
    if (any && !number)
        *why = "it has no number";
    return any && !number ? -1 : 0;
}
