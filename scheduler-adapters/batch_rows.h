/* Jobs as a batch system reports them. */
#ifndef SCHEDULER_ADAPTERS_BATCH_ROWS_H
#define SCHEDULER_ADAPTERS_BATCH_ROWS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum batch_phase { BATCH_WAITS, BATCH_RUNS, BATCH_OVER };

/* The texts are never NULL, and live as long as the rows. */
struct batch_row {
    const char *name;
    const char *label; /* the batch system's name for it: its own, or its array's */
    const char *id, *state, *host, *nodes, *reason;
    const char *indices;        /* of an array whose waiting tasks are not rows: their numbers, as "3-9,12" */
    int64_t submitted, started; /* Unix seconds; 0: not known */
    /* the job's number in its array, from 0, if its id does not have it; -1: the id has it, or there is no array */
    int64_t task;
    enum batch_phase phase;
    bool is_ending;  /* with BATCH_RUNS: its processes are being ended */
    bool is_foreign; /* it belongs to somebody else, whatever its name */
    bool has_exit_status;
    int exit_status, runs; /* runs: how often it has been started, if that is reported */
    size_t place;          /* its place in the listing */
    bool told;             /* an answer is about it */
    /* from a list that was cut off: it counts as waiting unless another row of its id says otherwise */
    bool is_guessed;
};

struct batch_text;

/* Rows sorted by name. Of several rows with one name, an answer is about the first: the one that runs, else the one
 * that waits (of these the first submitted), else the one that ended last. */
struct batch_rows {
    int kind;         /* the kind of text that they are read from, for the system's own use */
    const char *user; /* the user whose jobs are the daemon's; NULL: not known; for the system's own use */
    struct batch_row *row;
    size_t n, size;
    struct batch_text *texts, *mark; /* mark, mark_n: the state before the last row */
    size_t mark_n;
};

struct batch_row *batch_rows_add(struct batch_rows *rows); /* valid until the next call */
/* Replaces the last row, an array "ID[]" or "ID_", by a waiting row for each of its indices, "ID[INDEX]" or "ID_INDEX";
 * by none, if it has no indices. */
void batch_rows_expand(struct batch_rows *rows);
/* removes the last row, with the texts that were kept since it was added */
void batch_rows_drop(struct batch_rows *rows);
/* returns a copy that lives as long as the rows */
char *batch_rows_keep(struct batch_rows *rows, const char *text, size_t n);
void batch_rows_sort(struct batch_rows *rows);
void batch_rows_free(struct batch_rows *rows); /* they may be filled again */
/* Returns the first of *n adjacent rows of that name; NULL and 0 if there is none. */
struct batch_row *batch_rows_find(const struct batch_rows *rows, const char *name, size_t *n);
/* Replaces control characters and bytes that are no UTF-8 by question marks: users may give such names to jobs. */
void batch_text_clean(char *text, size_t size);
#endif
