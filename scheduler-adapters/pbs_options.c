/* The options of qsub that a spec cannot give, in OpenPBS and in Torque. */
#include "scheduler-adapters/pbs.h"

#include <string.h>

static const char output[] = "stretto keeps what members print, and \"stretto logs\" shows it";
static const char array[] =
    "members of one ensemble go as arrays by themselves, as \"gather\" in the adapter's settings says";
static const char interactive[] = "jobs of an ensemble are not interactive";
static const char server[] =
    "the daemon looks for jobs on one server, that of PBS_SERVER or PBS_DEFAULT where the daemon "
    "starts: a daemon of its own serves another server";
static const char user[] = "jobs belong to the user who runs the daemon";

/* clang-format off */
static const struct option_rule rules[] = {
    {'N', NULL, NULL, "the daemon finds jobs by their names; \"name\" names the ensemble"},
    {'o', NULL, NULL, output},
    {'e', NULL, NULL, output},
    {'j', NULL, NULL, output},
    {'k', NULL, NULL, output},
    {'J', NULL, NULL, array},
    {'t', NULL, NULL, array},
    {'I', NULL, NULL, interactive},
    {'X', NULL, NULL, interactive},
    {'G', NULL, NULL, interactive},
    {'z', NULL, NULL, "the daemon reads the id that qsub prints"},
    {'S', NULL, NULL, "\"shell\" in the adapter's settings is the shell of jobs"},
    {'W', NULL, "block", "\"stretto submit --wait\" waits for the end of an ensemble"},
    {'W', NULL, "interactive", interactive},
    {'v', NULL, NULL, "\"env\" in \"members\" sets variables"},
    {'r', NULL, NULL, "\"retries\" says how often a member is started again"},
    {'C', NULL, NULL, "the script has no options of qsub"},
    {'F', NULL, NULL, "\"command\" in \"members\" is what runs"},
    {'q', NULL, "@", server},
    {'u', NULL, NULL, user},
    {'l', NULL, "walltime", "\"walltime\" in \"resources\" is the limit, of which stretto has to know"},
    {'\0', "version", NULL, "the daemon reads the id that qsub prints"},
    {0},
};
/* clang-format on */

const struct option_syntax pbs_options = {
    .program = "qsub", .valued = "aAbcCdDeFjJkKlLmMNopPqrRStTuvwW", .has_long = true, .rule = rules};

int pbs_check(struct adapter *a, const struct adapter_resources *want, struct error *err)
{
    if (want->queue != NULL && strchr(want->queue, '@') != NULL)
        return error_at(err, "resources_impossible", "/queue", "\"%.100s\" is on another server: %s", want->queue,
                        server);
    return batch_check_one_node(a, want, err);
}
