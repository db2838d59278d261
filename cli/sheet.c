#include "cli/sheet.h"

#include "cli/render.h"
#include "cli/table.h"
#include "common/xalloc.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NOTES_MAX 8

struct sheet {
    const char *title;
    const char *const *headers;
    size_t columns, n;
    char **cells;
    char *notes[NOTES_MAX];
    size_t n_notes;
};

struct sheet *sheet_create(const char *title, const char *const *headers)
{
    struct sheet *sheet = xcalloc(1, sizeof *sheet);

    sheet->title = title;
    sheet->headers = headers;
    while (headers[sheet->columns] != NULL)
        sheet->columns++;
    return sheet;
}

static void sheet_add(struct sheet *sheet, char *text)
{
    if ((sheet->n & (sheet->n - 1)) == 0) /* the room doubles */
        sheet->cells = xrealloc(sheet->cells, sheet->n > 0 ? 2 * sheet->n : 1, sizeof *sheet->cells);
    sheet->cells[sheet->n++] = text;
}

void sheet_cell(struct sheet *sheet, const char *text)
{
    sheet_add(sheet, xstrdup(text));
}

void sheet_cellf(struct sheet *sheet, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    sheet_add(sheet, xvasprintf(fmt, ap));
    va_end(ap);
}

void sheet_note(struct sheet *sheet, const char *fmt, ...)
{
    va_list ap;

    if (sheet->n_notes == NOTES_MAX)
        return;
    va_start(ap, fmt);
    sheet->notes[sheet->n_notes++] = xvasprintf(fmt, ap);
    va_end(ap);
}

void sheet_print_text(const char *text, enum sheet_form form, FILE *to)
{
    char *plain = render_text(text);

    for (const char *c = plain; *c; c++) {
        bool marks = form == SHEET_HTML ? strchr("<>&\"'", *c) != NULL : strchr("<&", *c) != NULL;

        if (form != SHEET_TEXT && marks)
            fprintf(to, "&#%d;", (unsigned char)*c);
        else if (form == SHEET_MARKDOWN && strchr("\\`*_[]|#", *c) != NULL)
            fprintf(to, "\\%c", *c);
        else
            putc(*c, to);
    }
    free(plain);
}

static bool is_right(const char *header)
{
    return header[0] == '>';
}

static void print_text(const struct sheet *sheet, FILE *to)
{
    struct table *table = table_create(sheet->headers);

    fprintf(to, "%s\n", sheet->title);
    for (size_t i = 0; i < sheet->n; i++)
        table_cell(table, sheet->cells[i]);
    table_print(table, to);
    table_destroy(table);
}

static void print_markdown(const struct sheet *sheet, FILE *to)
{
    fprintf(to, "## %s\n\n", sheet->title);
    if (sheet->n > 0) {
        for (size_t i = 0; i < sheet->columns; i++)
            fprintf(to, "| %s ", sheet->headers[i] + is_right(sheet->headers[i]));
        fputs("|\n", to);
        for (size_t i = 0; i < sheet->columns; i++)
            fputs(is_right(sheet->headers[i]) ? "| ---: " : "| --- ", to);
        fputs("|\n", to);
    }
    for (size_t i = 0; i < sheet->n; i++) {
        fputs("| ", to);
        sheet_print_text(sheet->cells[i], SHEET_MARKDOWN, to);
        fputs((i + 1) % sheet->columns == 0 ? " |\n" : " ", to);
    }
}

static void print_html(const struct sheet *sheet, FILE *to)
{
    fputs("<section>\n<h2>", to);
    sheet_print_text(sheet->title, SHEET_HTML, to);
    fputs("</h2>\n", to);
    if (sheet->n > 0) {
        fputs("<table>\n<thead><tr>", to);
        for (size_t i = 0; i < sheet->columns; i++) {
            fputs(is_right(sheet->headers[i]) ? "<th class=\"number\">" : "<th>", to);
            sheet_print_text(sheet->headers[i] + is_right(sheet->headers[i]), SHEET_HTML, to);
            fputs("</th>", to);
        }
        fputs("</tr></thead>\n<tbody>\n", to);
    }
    for (size_t i = 0; i < sheet->n; i++) {
        fputs(i % sheet->columns == 0 ? "<tr>" : "", to);
        fputs(is_right(sheet->headers[i % sheet->columns]) ? "<td class=\"number\">" : "<td>", to);
        sheet_print_text(sheet->cells[i], SHEET_HTML, to);
        fputs((i + 1) % sheet->columns == 0 ? "</td></tr>\n" : "</td>", to);
    }
    fputs(sheet->n > 0 ? "</tbody>\n</table>\n" : "", to);
}

void sheet_print(const struct sheet *sheet, enum sheet_form form, FILE *to)
{
    if (form == SHEET_TEXT)
        print_text(sheet, to);
    else if (form == SHEET_MARKDOWN)
        print_markdown(sheet, to);
    else
        print_html(sheet, to);
    for (size_t i = 0; i < sheet->n_notes; i++) {
        fputs(form == SHEET_HTML ? "<p>" : form == SHEET_MARKDOWN ? "\n" : "", to);
        sheet_print_text(sheet->notes[i], form, to);
        fputs(form == SHEET_HTML ? "</p>\n" : "\n", to);
    }
    fputs(form == SHEET_HTML ? "</section>\n" : "\n", to);
}

void sheet_destroy(struct sheet *sheet)
{
    for (size_t i = 0; i < sheet->n; i++)
        free(sheet->cells[i]);
    for (size_t i = 0; i < sheet->n_notes; i++)
        free(sheet->notes[i]);
    free(sheet->cells);
    free(sheet);
}
