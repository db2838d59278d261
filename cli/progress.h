/* Shows how far an ensemble is: a bar that redraws itself on a terminal, a plain line every few seconds elsewhere. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H
#include <jansson.h>
#include <stdio.h>

struct progress_bar;

struct progress_bar *progress_create(FILE *to); /* `to` is borrowed */
void progress_destroy(struct progress_bar *progress);

/* Both take the struct progress_bar as void *, so that they fit into a struct view. */
void progress_show(void *progress, const json_t *ensemble);
void progress_hide(void *progress);

/* Returns the line for a terminal that is `columns` wide, or the plain form with 0; to be freed. */
char *progress_line(const json_t *ensemble, int columns);
#endif
