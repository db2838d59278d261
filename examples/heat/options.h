/* The command line of heat2d. */
#ifndef HEAT_OPTIONS_H
#define HEAT_OPTIONS_H
#include "common/error.h"
#include "examples/heat/solver.h"

#include <stdbool.h>

struct options {
    struct solver_problem problem; /* its dt is that of a substep */
    int steps, substeps;           /* the field of every step is sent; a step consists of so many steps of the solver */
    double initial;
    const char *output; /* borrowed from argv; NULL for none */
    bool analytic;
    bool help, version; /* asked for: nothing else is to be done */
};

/* Parses without printing, so that one of many processes can report an error. -1 with the one line to print. */
int options_parse(struct options *o, int argc, char **argv, struct error *err);

/* Prints --help to stdout. */
void options_help(void);
#endif
