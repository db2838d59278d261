#include "examples/heat/options.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* MPI counts the elements of a field in an int. */
#define GRID_MAX 32768
#define STEPS_MAX 1000000000

enum key {
    KEY_GRID = 256,
    KEY_STEPS,
    KEY_DT,
    KEY_SUBSTEPS,
    KEY_ALPHA,
    KEY_INITIAL,
    KEY_WEST,
    KEY_EAST,
    KEY_SOUTH,
    KEY_NORTH,
    KEY_TOLERANCE,
    KEY_ITERATIONS,
    KEY_OUTPUT,
    KEY_ANALYTIC,
    KEY_HELP,
    KEY_VERSION,
};

static const struct argp_option known[] = {
    {"grid", KEY_GRID, "N", 0, "N x N points inside the unit square (64)", 1},
    {"steps", KEY_STEPS, "COUNT", 0, "time steps (100)", 1},
    {"dt", KEY_DT, "TIME", 0, "length of a time step (0.001)", 1},
    {"substeps", KEY_SUBSTEPS, "COUNT", 0, "that each time step is computed in (1)", 1},
    {"alpha", KEY_ALPHA, "VALUE", 0, "diffusivity (1)", 1},
    {"initial", KEY_INITIAL, "KELVIN", 0, "temperature everywhere at the start (300)", 2},
    {"west", KEY_WEST, "KELVIN", 0, "temperature of the side x = 0 (300)", 2},
    {"east", KEY_EAST, "KELVIN", 0, "temperature of the side x = 1 (300)", 2},
    {"south", KEY_SOUTH, "KELVIN", 0, "temperature of the side y = 0 (300)", 2},
    {"north", KEY_NORTH, "KELVIN", 0, "temperature of the side y = 1 (300)", 2},
    {"tolerance", KEY_TOLERANCE, "VALUE", 0, "relative residual at which conjugate gradient stops (1e-10)", 3},
    {"max-iterations", KEY_ITERATIONS, "COUNT", 0, "of conjugate gradient in one step (10000)", 3},
    {"output", KEY_OUTPUT, "FILE", 0, "write all steps to a NumPy file, float32, shape (steps, N, N)", 4},
    {"analytic", KEY_ANALYTIC, NULL, 0,
     "start from three sine modes of amplitude INITIAL, all sides at WEST, and print the largest errors after the "
     "last step against the exact solutions",
     4},
    {"help", KEY_HELP, NULL, 0, "give this help list", -1},
    {"version", KEY_VERSION, NULL, 0, "print the version", -1},
    {0},
};

struct parse {
    struct options *options;
    struct error *err;
    bool failed; /* err is set */
};

static error_t refuse(struct parse *p, const char *name, const char *wanted, const char *got)
{
    error_set(p->err, "usage", "--%s wants %s, not \"%s\"", name, wanted, got);
    p->failed = true;
    return EINVAL;
}

static const char *option_name(int key)
{
    for (const struct argp_option *o = known; o->name != NULL; o++)
        if (o->key == key)
            return o->name;
    return "?";
}

static error_t take_int(struct parse *p, int key, const char *text, int max, int *out)
{
    char *end, wanted[64];
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < 1 || value > max) {
        snprintf(wanted, sizeof wanted, "a whole number from 1 to %d", max);
        return refuse(p, option_name(key), wanted, text);
    }
    *out = (int)value;
    return 0;
}

static error_t take_number(struct parse *p, int key, const char *text, bool positive, double *out)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end != '\0' || !isfinite(value) || (positive && value <= 0.0))
        return refuse(p, option_name(key), positive ? "a number above 0" : "a number", text);
    *out = value;
    return 0;
}

static error_t take(int key, char *arg, struct argp_state *state)
{
    struct parse *p = state->input;
    struct options *o = p->options;
    double *sides = o->problem.sides;

    switch (key) {
    case KEY_GRID:
        return take_int(p, key, arg, GRID_MAX, &o->problem.grid);
    case KEY_STEPS:
        return take_int(p, key, arg, STEPS_MAX, &o->steps);
    case KEY_ITERATIONS:
        return take_int(p, key, arg, STEPS_MAX, &o->problem.max_iterations);
    case KEY_SUBSTEPS:
        return take_int(p, key, arg, STEPS_MAX, &o->substeps);
    case KEY_DT:
        return take_number(p, key, arg, true, &o->problem.dt);
    case KEY_ALPHA:
        return take_number(p, key, arg, true, &o->problem.alpha);
    case KEY_TOLERANCE:
        return take_number(p, key, arg, true, &o->problem.tolerance);
    case KEY_INITIAL:
        return take_number(p, key, arg, false, &o->initial);
    case KEY_WEST:
        return take_number(p, key, arg, false, &sides[SIDE_WEST]);
    case KEY_EAST:
        return take_number(p, key, arg, false, &sides[SIDE_EAST]);
    case KEY_SOUTH:
        return take_number(p, key, arg, false, &sides[SIDE_SOUTH]);
    case KEY_NORTH:
        return take_number(p, key, arg, false, &sides[SIDE_NORTH]);
    case KEY_OUTPUT:
        if (*arg == '\0')
            return refuse(p, option_name(key), "a file name", arg);
        o->output = arg;
        return 0;
    case KEY_ANALYTIC:
        o->analytic = true;
        return 0;
    case KEY_HELP:
        o->help = true;
        return 0;
    case KEY_VERSION:
        o->version = true;
        return 0;
    case ARGP_KEY_ARG:
        error_set(p->err, "usage", "there is nothing to do with \"%s\"; see heat2d --help", arg);
        p->failed = true;
        return EINVAL;
    case ARGP_KEY_ERROR:
        if (!p->failed)
            error_set(p->err, "usage", "\"%s\" is no option of heat2d, or its value is missing; see heat2d --help",
                      state->next > 0 ? state->argv[state->next - 1] : "");
        p->failed = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp parser = {
    .options = known,
    .parser = take,
    .doc = "2-D heat equation on the unit square: implicit Euler, conjugate gradient, MPI.\v"
           "As a member of a stretto ensemble, every time step goes to the training as the field \"temperature\".",
};

int options_parse(struct options *o, int argc, char **argv, struct error *err)
{
    struct parse p = {.options = o, .err = err};

    *o = (struct options){
        .problem = {.grid = 64, .alpha = 1.0, .dt = 0.001, .tolerance = 1e-10, .max_iterations = 10000},
        .steps = 100,
        .substeps = 1,
        .initial = 300.0,
    };
    for (int side = 0; side < SIDE_COUNT; side++)
        o->problem.sides[side] = 300.0;
    if (argp_parse(&parser, argc, argv, ARGP_SILENT, NULL, &p) != 0 || p.failed) {
        if (!p.failed)
            error_set(err, "usage", "the options make no sense; see heat2d --help");
        return -1;
    }
    if (o->steps > STEPS_MAX / o->substeps)
        return error_set(err, "usage", "--steps times --substeps is more than %d", STEPS_MAX);
    o->problem.dt /= o->substeps;
    return 0;
}

void options_help(void)
{
    argp_help(&parser, stdout, ARGP_HELP_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, "heat2d");
}
