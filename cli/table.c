#include "cli/table.h"

#include "cli/render.h"
#include "cli/terminal.h"
#include "common/xalloc.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 16
#define GAP 2
#define COLUMN_LEAST 8 /* columns of text are cut no narrower than this */

struct cell {
    char *text;
    enum style style;
};

struct table {
    const char *const *headers;
    size_t columns;
    int widths[COLUMNS_MAX];
    struct cell *cells;
    size_t count, room;
    bool headed;
};

struct table *table_create(const char *const *headers)
{
    struct table *table = xcalloc(1, sizeof *table);

    table->headers = headers;
    for (; headers[table->columns] && table->columns < COLUMNS_MAX; table->columns++) {
        const char *header = headers[table->columns];

        table->widths[table->columns] = text_width(header) - (header[0] == '>');
    }
    return table;
}

static void table_add(struct table *table, const char *text, enum style style)
{
    size_t column = table->count % table->columns;
    char *cell = render_text(text);
    int width = text_width(cell);

    if (table->count == table->room) {
        table->room = table->room ? 2 * table->room : 64;
        table->cells = xrealloc(table->cells, table->room, sizeof *table->cells);
    }
    table->cells[table->count++] = (struct cell){cell, style};
    if (width > table->widths[column])
        table->widths[column] = width;
}

void table_cell(struct table *table, const char *text)
{
    table_add(table, text, STYLE_NONE);
}

void table_cellf(struct table *table, const char *fmt, ...)
{
    va_list ap;
    char *text;

    va_start(ap, fmt);
    text = xvasprintf(fmt, ap);
    va_end(ap);
    table_cell(table, text);
    free(text);
}

void table_state(struct table *table, const char *state)
{
    table_add(table, state, style_of_state(state));
}

void table_age(struct table *table, const char *time)
{
    char text[RENDER_SIZE];

    table_cell(table, render_age(text, time));
}

/* Cuts the widest columns of text until a row fits. */
static void fit(int *widths, const struct table *table, int most)
{
    int sum = -GAP;

    for (size_t c = 0; c < table->columns; c++)
        sum += widths[c] + GAP;
    while (sum > most) {
        int *widest = NULL;

        for (size_t c = 0; c < table->columns; c++)
            if (table->headers[c][0] != '>' && widths[c] > COLUMN_LEAST && (widest == NULL || widths[c] > *widest))
                widest = &widths[c];
        if (widest == NULL)
            return;
        --*widest;
        sum--;
    }
}

static void print_cell(const char *text, enum style style, int width, bool right, bool last, FILE *to)
{
    int has = text_width(text);
    bool cut = has > width;
    size_t bytes = cut ? text_fit(text, width - 1) : strlen(text);
    int pad = cut ? 0 : width - has;

    fprintf(to, "%*s%s%.*s%s%s%*s", right ? pad : 0, "", style_on(style), (int)bytes, text, cut ? terminal_dots() : "",
            style_off(style), right || last ? 0 : pad, "");
}

/* Prints the cells of a row, or the header if cells is NULL. */
static void print_table_row(const struct table *table, const int *widths, const struct cell *cells, int most, FILE *to)
{
    int left = most;

    for (size_t c = 0; c < table->columns && left > 0; c++) {
        bool right = table->headers[c][0] == '>';
        int width = widths[c] < left ? widths[c] : left;

        print_cell(cells ? cells[c].text : table->headers[c] + right, cells ? cells[c].style : STYLE_QUIET, width,
                   right, c + 1 == table->columns, to);
        left -= width + GAP;
        if (c + 1 < table->columns && left > 0)
            fprintf(to, "%*s", GAP, "");
    }
    fputc('\n', to);
}

void table_print(struct table *table, FILE *to)
{
    int widths[COLUMNS_MAX], most = terminal_width();

    memcpy(widths, table->widths, sizeof widths);
    if (most > 0)
        fit(widths, table, most);
    else
        most = 1 << 30;
    if (!table->headed)
        print_table_row(table, widths, NULL, most, to);
    table->headed = true;
    for (size_t i = 0; i + table->columns <= table->count; i += table->columns)
        print_table_row(table, widths, table->cells + i, most, to);
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i].text);
    table->count = 0;
}

void table_destroy(struct table *table)
{
    if (table == NULL)
        return;
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i].text);
    free(table->cells);
    free(table);
}
