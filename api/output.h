/* Sends captured output: of a file of its own, or from an archive (daemon/rundir/archive_file.h), into which it may be
 * moved at any time. */
#ifndef API_OUTPUT_H
#define API_OUTPUT_H
#include "api/request.h"
#include "daemon/rundir/archive_file.h"

struct output_place {
    char *path;                 /* of its own file, from malloc */
    char *run_dir;              /* which that path begins with, from malloc */
    char *archive;              /* of the archive, from malloc; NULL: it is in none */
    int64_t at, index, attempt; /* the entry there */
    enum archive_part part;
};

/* Finds the output again if it has been moved: fills in `archive` and the members that belong to it. */
typedef void output_find(const struct request *r, struct output_place *place);

/* Opens the output, as bytes `first` up to `end` of the file that it returns; `end` is -1 for a file of its own, which
 * may grow. Returns -1 with errno ENOENT if it is not there (yet). May be called on any thread. */
int output_open(const struct output_place *place, int64_t *first, int64_t *end, struct error *err);
void output_place_fini(struct output_place *place);

/* Answers with the output as text, or with the range of it that the client asked for; with "output_not_found" while it
 * does not exist. `place` is taken over; `find` is NULL if nothing is ever moved. The answer comes later. */
void output_reply(struct request *r, struct output_place place, output_find *find);
#endif
