/* The options of sbatch that a spec cannot give, and the variables that stand for options. */
#include "scheduler-adapters/slurm.h"

#include <string.h>

static const char cluster[] =
    "the daemon looks for jobs on one cluster, that of \"conf\" in the adapter's settings: a daemon of its own serves "
    "another cluster";
static const char output[] = "stretto keeps what members print, and \"stretto logs\" shows it";
static const char answer[] = "the daemon reads what sbatch answers";
static const char array[] = "members of one ensemble go as arrays by themselves, as \"gather\" in the adapter's "
                            "settings says";
static const char environment[] =
    "\"env\" in \"members\" sets variables, and \"environment\" in the adapter's settings passes the daemon's on";
static const char user[] = "jobs belong to the user who runs the daemon";
static const char again[] = "\"retries\" says how often a member is started again";
static const char walltime[] = "\"walltime\" in \"resources\" is the limit, of which stretto has to know";

/* clang-format off */
static const struct option_rule rules[] = {
    {'M', "clusters", NULL, cluster},
    {'\0', "cluster-constraint", NULL, cluster},
    {'J', "job-name", NULL, "the daemon finds jobs by their names; \"name\" names the ensemble"},
    {'o', "output", NULL, output},
    {'e', "error", NULL, output},
    {'i', "input", NULL, "the job's input is empty; \"command\" in \"members\" can read a file"},
    {'\0', "open-mode", NULL, output},
    {'a', "array", NULL, array},
    {'D', "chdir", NULL, "each member has a directory of its own, which its \"command\" can leave"},
    {'\0', "wrap", NULL, "\"command\" in \"members\" is what runs"},
    {'\0', "test-only", NULL, "no job would be submitted"},
    {'\0', "parsable", NULL, answer},
    {'Q', "quiet", NULL, answer},
    {'h', "help", NULL, answer},
    {'u', "usage", NULL, answer},
    {'V', "version", NULL, answer},
    {'\0', "autocomplete", NULL, answer},
    {'W', "wait", NULL, "\"stretto submit --wait\" waits for the end of an ensemble"},
    {'\0', "uid", NULL, user},
    {'\0', "gid", NULL, user},
    {'\0', "export", NULL, environment},
    {'\0', "export-file", NULL, environment},
    {'\0', "get-user-env", NULL, environment},
    {'\0', "signal", NULL, "\"checkpoint\": {\"before\", \"signal\"} warns members before their end"},
    {'\0', "requeue", NULL, again},
    {'\0', "no-requeue", NULL, again},
    {'\0', "jobid", NULL, "Slurm gives ids to jobs"},
    {'t', "time", NULL, walltime},
    {'\0', "time-min", NULL, walltime},
    {0},
};
/* clang-format on */

/* sbatch itself refuses words that are no options, since the script is an option. */
const struct option_syntax slurm_options = {.program = "sbatch",
                                            .valued = "AaBbCcDdeFGgIiJkLMmNnopqStwx",
                                            .has_long = true,
                                            .has_operands = true,
                                            .rule = rules};

int slurm_check_environment(const json_t *names, struct error *err)
{
    static const char *const prefixes[] = {"SBATCH_", "SLURM_CLUSTERS", "SLURM_CONF", "SLURM_EXIT_"};
    const json_t *item;
    size_t i;

    json_array_foreach ((json_t *)names, i, item)
        for (size_t k = 0; json_is_string(item) && k < sizeof prefixes / sizeof *prefixes; k++)
            if (strncmp(json_string_value(item), prefixes[k], strlen(prefixes[k])) == 0)
                return error_at(err, "config_value", "/environment",
                                "%.60s is an option of sbatch, which takes none from the environment here: "
                                "\"extra\" has options, and \"conf\" is the file slurm.conf",
                                json_string_value(item));
    return 0;
}
