/* The options of aprun that a spec cannot give. */
#include "scheduler-adapters/alps.h"
#include "scheduler-adapters/options.h"

static const char own[] =
    "the adapter itself says how many processes there are, and where, by \"pack\", \"nodes\" and \"tasks\"";
static const char answer[] = "the daemon reads what aprun prints";

/* clang-format off */
static const struct option_rule rules[] = {
    {'n', "pes", NULL, own},
    {'N', "pes-per-node", NULL, own},
    {'L', "node-list", NULL, own},
    {'l', "node-list-file", NULL, own},
    {'B', "batch-args", NULL, own},
    {'q', "quiet", NULL, answer},
    {'h', "help", NULL, answer},
    {'V', "version", NULL, answer},
    {0},
};
/* clang-format on */

static const char *const doubles[] = {"cc", "cp", "sl", "sn", NULL};

static const struct option_syntax syntax = {
    .program = "aprun", .valued = "adDeEFjlLmnNpPrRSt", .doubles = doubles, .has_long = true, .rule = rules};

int alps_check_options(const json_t *extra, const char *code, struct error *err)
{
    return options_check(&syntax, extra, "/extra", code, err);
}
