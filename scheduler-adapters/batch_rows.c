#include "scheduler-adapters/batch_rows.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MIN 65536
#define INDEX_MAX 100000 /* the highest number in an array */

struct batch_text {
    struct batch_text *next;
    size_t n, size;
    char at[];
};

struct batch_row *batch_rows_add(struct batch_rows *rows)
{
    if (rows->n == rows->size) {
        rows->size = rows->size == 0 ? 64 : 2 * rows->size;
        rows->row = xrealloc(rows->row, rows->size, sizeof *rows->row);
    }
    rows->mark = rows->texts;
    rows->mark_n = rows->texts != NULL ? rows->texts->n : 0;
    rows->row[rows->n] = (struct batch_row){.place = rows->n,
                                            .phase = BATCH_RUNS,
                                            .name = "",
                                            .label = "",
                                            .id = "",
                                            .state = "",
                                            .host = "",
                                            .nodes = "",
                                            .reason = "",
                                            .indices = "",
                                            .task = -1};
    return &rows->row[rows->n++];
}

void batch_rows_drop(struct batch_rows *rows)
{
    rows->n--;
    if (rows->texts != NULL && rows->texts == rows->mark)
        rows->texts->n = rows->mark_n;
}

char *batch_rows_keep(struct batch_rows *rows, const char *text, size_t n)
{
    struct batch_text *to = rows->texts;
    char *copy;

    if (to == NULL || to->size - to->n < n + 1) {
        size_t size = n + 1 > TEXT_MIN ? n + 1 : TEXT_MIN;

        to = xcalloc(1, sizeof *to + size);
        to->size = size;
        to->next = rows->texts;
        rows->texts = to;
    }
    copy = to->at + to->n;
    memcpy(copy, text, n);
    copy[n] = '\0';
    to->n += n + 1;
    return copy;
}

/* Reads the next range of a list such as "3-9,12-20:2"; "-" has none. */
static bool next_range(const char **at, long *first, long *last, long *step)
{
    char *end;

    *at += strspn(*at, ", ");
    if (**at < '0' || **at > '9')
        return false;
    *first = *last = strtol(*at, &end, 10);
    *step = 1;
    if (*end == '-')
        *last = strtol(end + 1, &end, 10);
    if (*end == ':')
        *step = strtol(end + 1, &end, 10);
    *at = end;
    return *step > 0 && *last <= INDEX_MAX;
}

void batch_rows_expand(struct batch_rows *rows)
{
    const struct batch_row array = rows->row[rows->n - 1];
    const char *at = array.indices, *bracket = strpbrk(array.id, "[_");
    long first, last, step;
    char id[128];

    rows->n--;
    while (bracket != NULL && next_range(&at, &first, &last, &step)) {
        for (long i = first; i <= last; i += step) {
            int n = snprintf(id, sizeof id, "%.*s%ld%s", (int)(bracket + 1 - array.id), array.id, i, bracket + 1);
            struct batch_row *row = batch_rows_add(rows);
            size_t place = row->place;

            *row = array;
            row->place = place;
            row->phase = BATCH_WAITS;
            row->id = batch_rows_keep(rows, id, (size_t)n < sizeof id ? (size_t)n : sizeof id - 1);
        }
    }
}

/* Orders ids by length first: "12" comes before "113", and "12.server" before "113.server". */
static int compare_ids(const char *x, const char *y)
{
    size_t n = strlen(x), m = strlen(y);

    return n != m ? (n > m) - (n < m) : strcmp(x, y);
}

static int compare_rows(const void *a, const void *b)
{
    static const int rank[] = {[BATCH_RUNS] = 0, [BATCH_WAITS] = 1, [BATCH_OVER] = 2};
    const struct batch_row *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    if (order == 0)
        order = rank[x->phase] - rank[y->phase];
    /* the job that ended last says most: an earlier one may have been taken out of the queue */
    if (order == 0 && x->phase == BATCH_OVER)
        return x->submitted != y->submitted ? (x->submitted < y->submitted) - (x->submitted > y->submitted)
                                            : (x->place < y->place) - (x->place > y->place);
    if (order == 0)
        order = (x->submitted > y->submitted) - (x->submitted < y->submitted);
    if (order == 0)
        order = compare_ids(x->id, y->id);
    return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

/* Names the tasks of arrays: the task TASK of an array "STEMBASE+", with the id "ARRAY_TASK" or "ARRAY[TASK]" or with a
 * number of its own, is the job "STEM(BASE+TASK)". */
static void name_tasks(struct batch_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++) {
        struct batch_row *row = &rows->row[i];
        size_t end = strlen(row->label), stem;
        const char *task = strpbrk(row->id, "_[");
        long long number = row->task;
        char name[64];

        if (number < 0 && task != NULL && task[1] >= '0' && task[1] <= '9')
            number = strtoll(task + 1, NULL, 10);
        if (end == 0 || row->label[end - 1] != '+' || number < 0 || end > 63)
            continue;
        for (stem = end - 1; stem > 0 && row->label[stem - 1] >= '0' && row->label[stem - 1] <= '9'; stem--)
            ;
        snprintf(name, sizeof name, "%.*s%lld", stem < 40 ? (int)stem : 40, row->label,
                 strtoll(row->label + stem, NULL, 10) + number);
        row->name = batch_rows_keep(rows, name, strlen(name));
    }
}

/* Returns whether a row of the same id says for certain what row `i` guesses. Rows of one name are adjacent. */
static bool is_known_better(const struct batch_rows *rows, size_t i)
{
    size_t first = i, last = i;

    while (first > 0 && strcmp(rows->row[first - 1].name, rows->row[i].name) == 0)
        first--;
    while (last + 1 < rows->n && strcmp(rows->row[last + 1].name, rows->row[i].name) == 0)
        last++;
    for (size_t k = first; k <= last; k++)
        if (!rows->row[k].is_guessed && strcmp(rows->row[k].id, rows->row[i].id) == 0)
            return true;
    return false;
}

static void drop_needless_guesses(struct batch_rows *rows)
{
    struct batch_row *kept = xcalloc(rows->n, sizeof *kept);
    size_t n = 0;

    for (size_t i = 0; i < rows->n; i++)
        if (!rows->row[i].is_guessed || !is_known_better(rows, i))
            kept[n++] = rows->row[i];
    memcpy(rows->row, kept, n * sizeof *kept);
    rows->n = n;
    free(kept);
}

void batch_rows_sort(struct batch_rows *rows)
{
    bool guessed = false;

    name_tasks(rows);
    if (rows->n > 1)
        qsort(rows->row, rows->n, sizeof *rows->row, compare_rows);
    for (size_t i = 0; i < rows->n; i++)
        guessed = guessed || rows->row[i].is_guessed;
    if (guessed)
        drop_needless_guesses(rows);
}

void batch_rows_free(struct batch_rows *rows)
{
    struct batch_text *next;

    for (struct batch_text *text = rows->texts; text != NULL; text = next) {
        next = text->next;
        free(text);
    }
    free(rows->row);
    rows->row = NULL;
    rows->texts = rows->mark = NULL;
    rows->n = rows->size = 0;
}

struct batch_row *batch_rows_find(const struct batch_rows *rows, const char *name, size_t *n)
{
    size_t low = 0, high = rows->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(rows->row[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (*n = 0; low + *n < rows->n && strcmp(rows->row[low + *n].name, name) == 0; ++*n)
        ;
    return *n > 0 ? &rows->row[low] : NULL;
}

/* Returns the length of the UTF-8 sequence that begins here; 0: no sequence begins here. */
static size_t sequence(const unsigned char *at, size_t left)
{
    size_t n = at[0] < 0x80                    ? 1
               : at[0] >= 0xc2 && at[0] < 0xe0 ? 2
               : (at[0] & 0xf0) == 0xe0        ? 3
               : at[0] >= 0xf0 && at[0] < 0xf5 ? 4
                                               : 0;

    if (n == 0 || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf0 && at[1] < 0x90) ||
        (at[0] == 0xf4 && at[1] > 0x8f) || (at[0] == 0xef && at[1] == 0xbf && at[2] >= 0xbe))
        return 0;
    return n;
}

void batch_text_clean(char *text, size_t size)
{
    for (size_t i = 0; i < size;) {
        unsigned char c = (unsigned char)text[i];
        size_t n = sequence((const unsigned char *)text + i, size - i);

        if (n == 0 || (c < ' ' && c != '\n' && c != '\t' && c != '\r')) {
            text[i++] = '?';
            continue;
        }
        i += n;
    }
}
