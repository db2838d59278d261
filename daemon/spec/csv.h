/* Comma-separated values (RFC 4180), one record at a time: quoted fields with embedded commas, newlines and doubled
 * quotes; lines end by LF or CRLF. Stricter than most readers: what the RFC gives no meaning is refused. */
#ifndef DAEMON_SPEC_CSV_H
#define DAEMON_SPEC_CSV_H
#include "daemon/spec/source.h"

struct csv_field {
    size_t at; /* in text, ended by NUL */
    bool quoted;
};

struct csv {
    struct source *source;
    char *text;
    size_t size, room;
    struct csv_field *fields;
    size_t n, fields_room;
    int64_t line; /* on which the record begins */
    bool blank;   /* an empty line: one field, empty and not quoted */
};

void csv_init(struct csv *csv, struct source *source);
void csv_fini(struct csv *csv);

/* The next record into csv's fields: 1, 0 at the end, -1 with the line ("spec_parameter_file"). */
int csv_next(struct csv *csv, struct error *err);
const char *csv_field(const struct csv *csv, size_t i);
#endif
