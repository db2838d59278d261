/* A table of a report, which is printed as text, Markdown or HTML. */
#ifndef CLI_SHEET_H
#define CLI_SHEET_H
#include <stdio.h>

enum sheet_form { SHEET_TEXT, SHEET_MARKDOWN, SHEET_HTML };

struct sheet;

/* Headers as those of a table (cli/table.h); they and the title are kept by the caller. */
struct sheet *sheet_create(const char *title, const char *const *headers);
void sheet_cell(struct sheet *sheet, const char *text);
void sheet_cellf(struct sheet *sheet, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds a sentence that stands below the table. */
void sheet_note(struct sheet *sheet, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sheet_print(const struct sheet *sheet, enum sheet_form form, FILE *to);
void sheet_destroy(struct sheet *sheet);

/* Prints text in which nothing is a mark of the form. */
void sheet_print_text(const char *text, enum sheet_form form, FILE *to);
#endif
