/* Reads comma-separated values (RFC 4180), one record at a time: quoted fields may have commas, newlines and doubled
 * quotes in them; lines end by LF or CRLF. It is stricter than most readers, since it refuses whatever the RFC does not
 * define. */
#ifndef DAEMON_SPEC_CSV_H
#define DAEMON_SPEC_CSV_H
#include "daemon/spec/source.h"

struct csv_field {
    size_t at; /* where the field begins in text; a NUL ends it */
    bool quoted;
};

struct csv {
    struct source *source;
    char *text;
    size_t size, room;
    struct csv_field *fields;
    size_t n, fields_room;
    int64_t line; /* the line on which the record begins */
    bool blank;   /* the line is empty: one field, empty and not quoted */
};

void csv_init(struct csv *csv, struct source *source);
void csv_fini(struct csv *csv);

/* Reads the next record into csv's fields. Returns 1, 0 at the end, or -1 with the line ("spec_parameter_file"). */
int csv_next(struct csv *csv, struct error *err);
const char *csv_field(const struct csv *csv, size_t i);
#endif
