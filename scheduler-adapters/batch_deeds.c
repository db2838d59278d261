/* A deed is an order carried out for a list of ids: by one command, or by another way that the batch system has. */
#include "scheduler-adapters/batch.h"

#include "common/xalloc.h"

#include <stdlib.h>
#include <string.h>

struct deed_command {
    struct adapter *a;
    enum batch_deed what;
    batch_deed_cb *cb;
    void *arg;
};

/* The command prints a line for each id with which something is wrong, and nothing for the others. */
bool batch_only_gone(const struct adapter *a, const struct command_result *result)
{
    char *copy = xstrdup(result->err), *rest = NULL;
    bool only = result->end == COMMAND_EXITED && copy[0] != '\0';

    for (char *line = strtok_r(copy, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        only = only && batch_says(line, a->system->gone);
    free(copy);
    return only;
}

static void deed_done(void *arg, struct command_result *result)
{
    struct deed_command *deed = arg;
    struct adapter *a = deed->a;
    struct error err;
    bool fine = batch_check(result, a->system->programs[a->system->deed[deed->what].program], &err) == 0 ||
                batch_only_gone(a, result);

    deed->cb(deed->arg, fine ? NULL : &err);
    free(deed);
    batch_idle(a);
}

void batch_carry_out_by_command(struct adapter *a, enum batch_deed what, bool hurries, const char *const *ids, size_t n,
                                batch_deed_cb *cb, void *arg)
{
    const char *const *before = a->system->deed[what].words;
    const char **words = xcalloc(n + sizeof a->system->deed[what].words / sizeof *before + 1, sizeof *words);
    struct deed_command *deed = xcalloc(1, sizeof *deed);
    size_t n_words = 0;

    *deed = (struct deed_command){a, what, cb, arg};
    for (; before[n_words] != NULL; n_words++)
        words[n_words] = before[n_words];
    memcpy(words + n_words, ids, n * sizeof *ids);
    batch_busy(a);
    batch_run(a, hurries ? a->questions : a->endings, a->system->deed[what].program, words, NULL, BATCH_WORDS_MAX,
              deed_done, deed);
    free(words);
}

void batch_carry_out(struct adapter *a, enum batch_deed what, bool hurries, const char *const *ids, size_t n,
                     batch_deed_cb *cb, void *arg)
{
    if (a->system->carry_out != NULL)
        a->system->carry_out(a, what, ids, n, cb, arg);
    else
        batch_carry_out_by_command(a, what, hurries, ids, n, cb, arg);
}
