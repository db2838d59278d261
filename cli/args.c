#include "cli/args.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int number_arg_parse(const char *text, char **end, int64_t *out)
{
    if (!isdigit((unsigned char)text[0]))
        return -1;
    errno = 0;
    *out = strtoll(text, end, 10);
    return errno == 0 ? 0 : -1;
}

int ref_parse(const char *text, struct ref *ref)
{
    char *end;

    *ref = (struct ref){.index = -1};
    if (number_arg_parse(text, &end, &ref->ensemble) < 0 || ref->ensemble < 1)
        return -1;
    if (*end == '\0')
        return 0;
    if (*end != '.')
        return -1;
    if (strcmp(end + 1, "training") == 0) {
        ref->training = true;
        return 0;
    }
    return number_arg_parse(end + 1, &end, &ref->index) == 0 && *end == '\0' ? 0 : -1;
}

int64_t arg_number(const struct argp_state *state, const char *arg, const char *what, int64_t min)
{
    int64_t number = 0;
    char *end;

    if (number_arg_parse(arg, &end, &number) < 0 || *end != '\0' || number < min)
        argp_error(state, "%s must be a whole number of at least %lld, not \"%s\"", what, (long long)min, arg);
    return number;
}

int64_t arg_ensemble(const struct argp_state *state, const char *arg)
{
    struct ref ref;

    if (ref_parse(arg, &ref) < 0 || ref.index >= 0 || ref.training)
        argp_error(state, "\"%s\" is not an ensemble's id, which is a number such as 7", arg);
    return ref.ensemble;
}

error_t arg_one_ensemble(int key, char *arg, struct argp_state *state)
{
    int64_t *id = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        if (*id)
            argp_error(state, "one ID at a time, please");
        *id = arg_ensemble(state, arg);
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "which ensemble? `stretto status` lists them"); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}
