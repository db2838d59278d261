/* Prints tables for people. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H
#include <stdio.h>

/* Columns are left-aligned, or right-aligned if their header starts with >. Long lists come in pages: each page is
 * printed as soon as it has come, under one header; a column never gets narrower. On a terminal the widest columns of
 * text are cut until a row fits. */
struct table;
struct table *table_create(const char *const *headers); /* the headers end with NULL, and are kept by the caller */
/* cells come row by row; the text is copied and made printable */
void table_cell(struct table *table, const char *text);
void table_cellf(struct table *table, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void table_state(struct table *table, const char *state); /* a state, in its colour */
void table_age(struct table *table, const char *time);    /* a time of the API as "3 min ago"; "" stays "" */
void table_print(struct table *table, FILE *to);          /* prints the rows and forgets them; the header only once */
void table_destroy(struct table *table);
#endif
