/* stretto, the command line of strettod. Each command has a file of its own, cli/cmd_NAME.c. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/complete.h"
#include "common/near.h"
#include "common/output.h"
#include "common/xalloc.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

static const struct cli_command commands[] = {
    {"submit", "SPEC [--wait]", "run the ensemble that the file SPEC describes (- for standard input)", cmd_submit},
    {"status", "[ID] [--watch]", "how one ensemble is doing, or all of them", cmd_status},
    {"members", "ID [--state STATE]", "the members of an ensemble; ID.INDEX: one, with its attempts", cmd_members},
    {"checkpoints", "[ID[.INDEX]]", "what members can go on from", cmd_checkpoints},
    {"hosts", "ID.INDEX|ID.training", "the hosts that a member or a training runs on now", cmd_hosts},
    {"spec", "ID", "the spec of an ensemble, to be changed and submitted again", cmd_spec},
    {"logs", "ID.INDEX|ID.training", "what a member or the training printed", cmd_logs},
    {"events", "[ID] [--follow]", "what has happened, oldest first", cmd_events},
    {"metrics", "ID [NAME...] [--plot|--csv]", "what the training measured, such as its loss", cmd_metrics},
    {"report", "ID... [--group PARAMETER] [--html FILE]", "compare the members of a sweep by a metric", cmd_report},
    {"top", "[ID]", "the same as status on a whole screen, refreshed in place, with bars and curves", cmd_top},
    {"wait", "ID", "wait until an ensemble has ended, and say how", cmd_wait},
    {"adapters", "", "the batch systems, and how they are doing", cmd_adapters},
    {"jobs", "[ID] [--state STATE] [--adapter NAME]", "what was submitted to them", cmd_jobs},
    {"backup", "[FILE]", "a copy of all that the daemon knows, while it runs", cmd_backup},
    {"dashboard", "[--operator]", "a link for a web browser that shows it all; --list and --revoke: who has used one",
     cmd_dashboard},
    {"token", "create|list|revoke", "who may call the daemon over TCP", cmd_token},
    {"pause", "ID", "start no more members of an ensemble", cmd_pause},
    {"resume", "ID", "let a paused ensemble go on", cmd_resume},
    {"resize", "ID --width N [--now] | --ranks N", "change how many members may be in flight, or ranks train",
     cmd_resize},
    {"resubmit", "ID[.INDEX]|ID.training", "let members that did not succeed go again, or a training go on",
     cmd_resubmit},
    {"follow-up", "ID|--all [--state STATE] [--walltime DURATION]", "let unfinished members go on in a new ensemble",
     cmd_follow_up},
    {"suggest", "ID NAME=VALUE...|--file FILE", "more members for an ensemble that takes suggestions while it runs",
     cmd_suggest},
    {"results", "ID [--after NUMBER] [--follow]", "how those members have ended, in the order in which they did",
     cmd_results},
    {"rungs", "ID", "how far early stopping is: who has reached which step, and the best", cmd_rungs},
    {"close", "ID", "no more are suggested: the ensemble ends when its members have", cmd_close},
    {"cancel", "ID[.INDEX]", "end an ensemble and all its jobs, or one member", cmd_cancel},
    {0},
};

const char *argp_program_version = "stretto " PACKAGE_VERSION;

/* The command line. Everything from the first argument on that is no option belongs to the command. */
struct command_line {
    struct cli *cli;
    int command_at;
};

static error_t parse_command_line(int key, char *arg, struct argp_state *state)
{
    struct command_line *line = state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = line->cli; return 0;
    case ARGP_KEY_ARG:
        line->command_at = state->next - 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS: argp_usage(state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* Appends the list of commands to --help. The text is allocated, as argp requires. */
static char *help_filter(int key, const char *text, void *input)
{
    char *list, *longer;

    if (key != ARGP_KEY_HELP_POST_DOC)
        return (char *)text;
    list = xstrdup("Commands:\n");
    for (const struct cli_command *c = commands; c->name; c++) {
        longer = xasprintf("%s  %s %s\n      %s\n", list, c->name, c->arguments, c->summary);
        free(list);
        list = longer;
    }
    longer = xasprintf("%s\n`stretto COMMAND --help` tells a command's options; stretto(1) all of them.", list);
    free(list);
    return longer;
}

static const struct argp_child line_children[] = {{&cli_common_argp, 0, NULL, 10}, {0}};
static const struct argp line_argp = {
    .parser = parse_command_line,
    .args_doc = "COMMAND [ARGUMENT...]",
    .doc = "Ensembles that train models, run by strettod.\v ",
    .children = line_children,
    .help_filter = help_filter,
};

static int no_command(const char *name)
{
    const char *names[sizeof commands / sizeof *commands], *meant;
    size_t n = 0;

    for (const struct cli_command *c = commands; c->name; c++)
        names[n++] = c->name;
    names[n] = NULL;
    meant = near_find(name, names);
    fprintf(stderr, "stretto: there is no command \"%s\"; ", name);
    if (meant != NULL)
        fprintf(stderr, "did you mean \"%s\"? ", meant);
    fputs("`stretto --help` lists them\n", stderr);
    return CLI_USAGE;
}

static int run_command(struct cli *cli, int argc, char **argv)
{
    char *name = argv[0];
    int status;

    if (strcmp(name, "__complete") == 0)
        return complete(cli, commands, argc - 1, argv + 1);
    for (const struct cli_command *c = commands; c->name; c++) {
        if (strcmp(name, c->name) != 0)
            continue;
        argv[0] = xasprintf("stretto %s", name); /* argp's messages begin with it */
        status = c->run(cli, argc, argv);
        free(argv[0]);
        argv[0] = name;
        return status;
    }
    return no_command(name);
}

int main(int argc, char **argv)
{
    struct cli cli = {.url = getenv("STRETTO_URL")};
    struct command_line line = {.cli = &cli};
    static char name[] = "stretto";
    int status;

    output_check_at_exit(name, CLI_NOT_SO);
    setlocale(LC_CTYPE, "");
    argp_err_exit_status = CLI_USAGE;
    argv[0] = name;
    argp_parse(&line_argp, argc, argv, ARGP_IN_ORDER, NULL, &line);
    status = run_command(&cli, argc - line.command_at, argv + line.command_at);
    client_destroy(cli.client);
    return status;
}
