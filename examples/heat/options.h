/* heat2d's command line. */
#ifndef HEAT_OPTIONS_H
#define HEAT_OPTIONS_H
#include "common/error.h"
#include "examples/heat/solver.h"

#include <stdbool.h>

struct options {
    struct solver_problem problem; /* its dt is that of a substep */
    int steps, substeps;           /* the field of every step is sent; a step is so many of the solver's */
    double initial;
    const char *output; /* borrowed from argv; NULL for none */
    bool analytic;
    bool help, version; /* asked for: nothing else is to be done */
};

/* Parse silently, so that of many processes one can speak. -1 with the one line to print. */
int options_parse(struct options *o, int argc, char **argv, struct error *err);

/* --help, to stdout. */
void options_help(void);
#endif
