/* Jobs as a batch system tells of them. */
#ifndef SCHEDULER_ADAPTERS_BATCH_ROWS_H
#define SCHEDULER_ADAPTERS_BATCH_ROWS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum batch_phase { BATCH_WAITS, BATCH_RUNS, BATCH_OVER };

/* The texts are never NULL, and live as long as the rows. */
struct batch_row {
    const char *name;
    const char *label; /* what the batch system calls it: its name, or its array's */
    const char *id, *state, *host, *nodes, *reason;
    const char *indices; /* of an array: of its tasks that wait, where these are not rows: "3-9,12" */
    int64_t submitted, started; /* Unix seconds; 0: not known */
    int64_t task; /* of an array, from 0, where its id does not tell; -1: it does, or there is none */
    enum batch_phase phase;
    bool is_ending;      /* with BATCH_RUNS: its processes are being ended */
    bool is_foreign;     /* somebody else's, whatever its name */
    bool has_exit_status;
    int exit_status, runs; /* runs: how often it has been started, where that is told */
    size_t place;        /* in the listing */
    bool told;           /* an answer is about it */
    bool is_guessed;     /* of a list that was cut off: it waits, as far as no other row of its id says otherwise */
};

struct batch_text;

/* Sorted by name; of one name first the one that an answer is about: what runs, else what waits, of these the first
 * that was submitted, else what ended last. */
struct batch_rows {
    int kind;         /* of what they are read from: the system's own */
    const char *user; /* whose jobs are ours; NULL: not known. The system's own, too */
    struct batch_row *row;
    size_t n, size;
    struct batch_text *texts, *mark; /* mark, mark_n: as they were before the last row */
    size_t mark_n;
};

struct batch_row *batch_rows_add(struct batch_rows *rows); /* valid until the next one */
/* The last one is an array, "ID[]" or "ID_", and becomes a row for each of its indices, "ID[INDEX]" or "ID_INDEX", that waits; none, where it
 * has none. */
void batch_rows_expand(struct batch_rows *rows);
void batch_rows_drop(struct batch_rows *rows); /* the last one, with what was kept since it was added */
char *batch_rows_keep(struct batch_rows *rows, const char *text, size_t n); /* a copy */
void batch_rows_sort(struct batch_rows *rows);
void batch_rows_free(struct batch_rows *rows); /* they may be filled again */
/* The first of that name, *n of them one after another; NULL where there is none, and 0. */
struct batch_row *batch_rows_find(const struct batch_rows *rows, const char *name, size_t *n);
/* Bytes that are no UTF-8, and control characters, become question marks: they come in what others call their jobs. */
void batch_text_clean(char *text, size_t size);
#endif
