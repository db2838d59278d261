/* The parts that all commands of `stretto` share: the context, the table of commands, the exit statuses. */
#ifndef CLI_CLI_H
#define CLI_CLI_H
#include "common/error.h"

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>

struct client;

/* The exit statuses, as in stretto(1), EXIT STATUS */
enum cli_exit {
    CLI_HOLDS = 0,         /* what was asked for holds */
    CLI_NOT_SO = 1,        /* it ended, but not as asked for */
    CLI_USAGE = 2,         /* wrong options, or an input that cannot be read */
    CLI_REFUSED = 3,       /* the daemon refused */
    CLI_NO_DAEMON = 4,     /* no daemon answers */
    CLI_INTERRUPTED = 130, /* Ctrl-C while watching */
};

struct completion;

struct cli {
    const char *url; /* --url, or else STRETTO_URL; NULL for the socket in the default state directory */
    bool json;       /* --json */
    const struct completion *completion; /* if set, cli_parse() offers what may come next instead of parsing */
    struct client *client;               /* cli_parse() makes it; main() owns it */
};

struct cli_command {
    const char *name;
    const char *arguments; /* for example "SPEC [--wait]" */
    const char *summary;
    int (*run)(struct cli *cli, int argc, char **argv); /* argv[0] is the command's name; returns the exit status */
};

/* Each command is in its own file, cli/cmd_NAME.c. */
int cmd_submit(struct cli *cli, int argc, char **argv);
int cmd_status(struct cli *cli, int argc, char **argv);
int cmd_hosts(struct cli *cli, int argc, char **argv);
int cmd_spec(struct cli *cli, int argc, char **argv);
int cmd_members(struct cli *cli, int argc, char **argv);
int cmd_checkpoints(struct cli *cli, int argc, char **argv);
int cmd_logs(struct cli *cli, int argc, char **argv);
int cmd_wait(struct cli *cli, int argc, char **argv);
int cmd_backup(struct cli *cli, int argc, char **argv);
int cmd_dashboard(struct cli *cli, int argc, char **argv);
int cmd_events(struct cli *cli, int argc, char **argv);
int cmd_metrics(struct cli *cli, int argc, char **argv);
int cmd_top(struct cli *cli, int argc, char **argv);
int cmd_token(struct cli *cli, int argc, char **argv);
int cmd_pause(struct cli *cli, int argc, char **argv);
int cmd_report(struct cli *cli, int argc, char **argv);
int cmd_resume(struct cli *cli, int argc, char **argv);
int cmd_resize(struct cli *cli, int argc, char **argv);
int cmd_resubmit(struct cli *cli, int argc, char **argv);
int cmd_follow_up(struct cli *cli, int argc, char **argv);
int cmd_adapters(struct cli *cli, int argc, char **argv);
int cmd_jobs(struct cli *cli, int argc, char **argv);
int cmd_suggest(struct cli *cli, int argc, char **argv);
int cmd_results(struct cli *cli, int argc, char **argv);
int cmd_rungs(struct cli *cli, int argc, char **argv);
int cmd_close(struct cli *cli, int argc, char **argv);
int cmd_cancel(struct cli *cli, int argc, char **argv);

/* Parses the line of a command by `argp` with --url and --json added, then makes the client. Wrong usage does not
 * return (exit status CLI_USAGE). Returns -1 with err if the URL is wrong. */
int cli_parse(struct cli *cli, const struct argp *argp, int argc, char **argv, void *input, struct error *err);

/* The options that may stand before and after the command. The input of this parser is the struct cli. */
extern const struct argp cli_common_argp;

/* Prints err to stderr and returns the exit status that it means. */
int cli_fail(const struct error *err);
#endif
