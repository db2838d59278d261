/* Tables for people, on standard output or elsewhere. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H
#include <stdio.h>

/* Left-aligned columns, except those whose header starts with >, which are right-aligned. Long lists come in pages: each
 * page is printed as soon as it is there, under one header; a column never gets narrower. On a terminal the widest columns of text are cut
 * until a row fits into its width. */
struct table;
struct table *table_create(const char *const *headers); /* ended by NULL, kept by the caller */
void table_cell(struct table *table, const char *text);  /* cells row by row; copied, made printable */
void table_cellf(struct table *table, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void table_state(struct table *table, const char *state); /* in its colour */
void table_age(struct table *table, const char *time);    /* "3 min ago", of a time of the API; "" for "" */
void table_print(struct table *table, FILE *to);         /* prints what there is and forgets the rows; header once */
void table_destroy(struct table *table);
#endif
