/* The options of oarsub that a spec cannot give. */
#include "oar.h"

static const char output[] = "stretto keeps what members print, and \"stretto logs\" shows it";
static const char answer[] = "the daemon reads what oarsub prints";
static const char array[] =
    "members of one ensemble go as arrays by themselves, as \"gather\" in the adapter's settings says";
static const char interactive[] = "jobs of an ensemble are not interactive";
static const char warning[] = "\"checkpoint\": {\"before\", \"signal\"} warns members before their end";
static const char command[] = "\"command\" in \"members\" is what runs";

/* clang-format off */
static const struct option_rule rules[] = {
    {'n', "name", NULL, "the daemon finds jobs by their names; \"name\" names the ensemble"},
    {'O', "stdout", NULL, output},
    {'E', "stderr", NULL, output},
    {'\0', "array", NULL, array},
    {'\0', "array-param-file", NULL, array},
    {'d', "directory", NULL, "each member has a directory of its own, which its \"command\" can leave"},
    {'I', "interactive", NULL, interactive},
    {'C', "connect", NULL, interactive},
    {'S', "scanscript", NULL, command},
    {'t', "type", "noop", command},
    {'\0', "checkpoint", NULL, warning},
    {'\0', "signal", NULL, warning},
    {'\0', "resubmit", NULL, "\"retries\" says how often a member is started again"},
    {'X', "xml", NULL, answer},
    {'Y', "yaml", NULL, answer},
    {'J', "json", NULL, answer},
    {'D', "dumper", NULL, answer},
    {'h', "help", NULL, answer},
    {'V', "version", NULL, answer},
    {0},
};
/* clang-format on */

const struct option_syntax oar_options = {
    .program = "oarsub", .valued = "lqprCstdnaOEie", .has_long = true, .rule = rules};
