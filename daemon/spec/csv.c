#include "daemon/spec/csv.h"

#include "common/xalloc.h"

#include <stdlib.h>

#define FIELDS_MAX 10000 /* far above what a spec may have, so that the error can say how many fields there are */

void csv_init(struct csv *csv, struct source *source)
{
    *csv = (struct csv){.source = source};
}

void csv_fini(struct csv *csv)
{
    free(csv->text);
    free(csv->fields);
}

const char *csv_field(const struct csv *csv, size_t i)
{
    return csv->text + csv->fields[i].at;
}

static void add_byte(struct csv *csv, int c)
{
    if (csv->size == csv->room) {
        csv->room = csv->room ? 2 * csv->room : 256;
        csv->text = xrealloc(csv->text, csv->room, 1);
    }
    csv->text[csv->size++] = (char)c;
}

static int take_byte(struct csv *csv, int c, struct error *err)
{
    if (c == '\0')
        return source_refuse(csv->source->line, err, "there is a zero byte: this is no text");
    if (csv->size >= SOURCE_RECORD_MAX)
        return source_refuse(csv->line, err, "a row of more than %zu bytes begins here", SOURCE_RECORD_MAX);
    add_byte(csv, c);
    return 0;
}

static int begin_field(struct csv *csv, bool quoted, struct error *err)
{
    if (csv->n == FIELDS_MAX)
        return source_refuse(csv->line, err, "more than %d fields", FIELDS_MAX);
    if (csv->n == csv->fields_room) {
        csv->fields_room = csv->fields_room ? 2 * csv->fields_room : 16;
        csv->fields = xrealloc(csv->fields, csv->fields_room, sizeof *csv->fields);
    }
    csv->fields[csv->n++] = (struct csv_field){csv->size, quoted};
    return 0;
}

/* Handles the byte after a field. Returns 1 after a comma, 0 at the end of the record, -1 with err for anything
 * else. */
static int end_field(struct csv *csv, int c, bool quoted, struct error *err)
{
    int64_t line = csv->source->line;

    add_byte(csv, '\0');
    if (c == '\r' && (c = source_get(csv->source)) != '\n')
        return source_refuse(line, err, "a carriage return without a line feed");
    if (c == ',')
        return 1;
    if (c == '\n')
        return 0;
    if (c == EOF)
        return source_check(csv->source, err);
    return source_refuse(line, err,
                         quoted ? "a quoted field goes on after its closing quote"
                                : "a quote inside a field that does not begin with one");
}

/* Reads a quoted field from the byte after its opening quote on. *next is the byte after its closing quote. */
static int read_quoted(struct csv *csv, int *next, struct error *err)
{
    int64_t line = csv->source->line;

    for (;;) {
        int c = source_get(csv->source);

        if (c == EOF)
            return source_check(csv->source, err) < 0
                       ? -1
                       : source_refuse(line, err, "the quoted field that begins here is never closed");
        if (c == '"' && (*next = source_get(csv->source)) != '"')
            return 0;
        if (take_byte(csv, c, err) < 0)
            return -1;
    }
}

static int read_plain(struct csv *csv, int c, int *next, struct error *err)
{
    for (; c != ',' && c != '\n' && c != '\r' && c != '"' && c != EOF; c = source_get(csv->source))
        if (take_byte(csv, c, err) < 0)
            return -1;
    *next = c;
    return 0;
}

int csv_next(struct csv *csv, struct error *err)
{
    int c = source_get(csv->source), rc;

    csv->size = csv->n = 0;
    csv->line = csv->source->line - (c == '\n');
    csv->blank = c == '\n' || c == '\r';
    if (c == EOF)
        return source_check(csv->source, err);
    do {
        bool quoted = c == '"';

        if (begin_field(csv, quoted, err) < 0 || (quoted ? read_quoted(csv, &c, err) : read_plain(csv, c, &c, err)) < 0)
            return -1;
        rc = end_field(csv, c, quoted, err);
        if (rc == 1)
            c = source_get(csv->source);
    } while (rc == 1);
    return rc < 0 ? -1 : 1;
}
