/* How far an ensemble is: a bar that redraws itself on a terminal, a plain line every few seconds elsewhere. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H
#include <jansson.h>
#include <stdio.h>

struct progress;

struct progress *progress_create(FILE *to); /* borrowed */
void progress_destroy(struct progress *progress);

/* Both take the struct progress as void *, to serve as a struct view. */
void progress_show(void *progress, const json_t *ensemble);
void progress_hide(void *progress);

/* The line itself for a terminal `columns` wide, or with 0 the plain form; to be freed. */
char *progress_line(const json_t *ensemble, int columns);
#endif
