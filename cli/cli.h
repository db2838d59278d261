/* What the commands of `stretto` share: the context, the table entry, the exit statuses. */
#ifndef CLI_CLI_H
#define CLI_CLI_H
#include "common/error.h"

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>

struct client;

/* stretto(1), EXIT STATUS. */
enum cli_exit {
    CLI_HOLDS = 0,       /* the thing asked for holds */
    CLI_NOT_SO = 1,      /* it ended, but not as asked for */
    CLI_USAGE = 2,       /* wrong options, or an input that cannot be read */
    CLI_REFUSED = 3,     /* the daemon refused */
    CLI_NO_DAEMON = 4,   /* no daemon answers */
    CLI_INTERRUPTED = 130, /* Ctrl-C while watching */
};

struct completion;

struct cli {
    const char *url; /* --url, else STRETTO_URL, else NULL: the default state directory's socket */
    bool json;       /* --json */
    const struct completion *completion; /* set: cli_parse() says what may come next instead */
    struct client *client; /* made by cli_parse(); owned by main() */
};

struct command {
    const char *name;
    const char *arguments; /* e.g. "SPEC [--wait]" */
    const char *summary;
    int (*run)(struct cli *cli, int argc, char **argv); /* argv[0] is the command's name; returns the exit status */
};

/* One file each: cli/cmd_NAME.c. */
int cmd_submit(struct cli *cli, int argc, char **argv);
int cmd_status(struct cli *cli, int argc, char **argv);
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
int cmd_resume(struct cli *cli, int argc, char **argv);
int cmd_resize(struct cli *cli, int argc, char **argv);
int cmd_resubmit(struct cli *cli, int argc, char **argv);
int cmd_follow_up(struct cli *cli, int argc, char **argv);
int cmd_adapters(struct cli *cli, int argc, char **argv);
int cmd_jobs(struct cli *cli, int argc, char **argv);
int cmd_cancel(struct cli *cli, int argc, char **argv);

/* Parse a command's line by `argp`, with --url and --json added, then make the client. Wrong usage does not return
 * (exit status CLI_USAGE); -1 with err where the URL is wrong. */
int cli_parse(struct cli *cli, const struct argp *argp, int argc, char **argv, void *input, struct error *err);

/* The options that stand before and after the command alike; its input is the struct cli. */
extern const struct argp cli_common_argp;

/* Print err to stderr and say which exit status it means. */
int cli_fail(const struct error *err);
#endif
