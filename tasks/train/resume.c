#include "tasks/train/resume.h"

#include "common/log.h"
#include "common/xalloc.h"
#include "tasks/train/saved.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS_MAX 65536

static int no_memory_for_resume(struct error *err)
{
    return error_set(err, "train_memory", "no memory for the checkpoint to go on from");
}

bool resume_is_ours(const struct train_config *config, uint64_t member, int64_t step)
{
    return dealing_rank(config->dealing, member, step) == config->rank;
}

/* Finds the state from which this rank goes on, and checks that it is as it was written. */
static int find_rank_state(const struct train_config *config, int ranks, char **path, struct error *err)
{
    const char *name = config->checkpoint.resume;
    struct saved_part part = {0};
    char digest[STATE_DIGEST_SIZE], file[32];
    int rank = config->rank;
    int64_t size;

    if (rank < ranks && saved_part_read(config, name, rank, &part, err) < 0)
        return -1;
    for (int first = 0; !part.state && first < ranks; first++)
        if (saved_part_read(config, name, rank = first, &part, err) < 0)
            return -1;
    snprintf(file, sizeof file, "state-rank%d", rank);
    *path = saved_path(config, name, file);
    if (*path == NULL)
        return no_memory_for_resume(err);
    if (state_measure(*path, false, &size, digest, err) < 0)
        return -1;
    if (!part.state || size != part.size || strcmp(digest, part.digest) != 0)
        return error_set(err, "train_resume", "the checkpoint is damaged: %s is not as it was written", *path);
    return 0;
}

/* Returns those bits of a run that belong to this rank. */
static uint64_t own_bits(const struct train_config *config, const struct stepset_run *run)
{
    uint64_t member = run->key >> 32, bits = 0;
    int64_t step = (int64_t)(run->key & UINT32_MAX) * 64;

    for (int i = 0; i < 64; i++)
        if (run->bits >> i & 1 && resume_is_ours(config, member, step + i))
            bits |= UINT64_C(1) << i;
    return bits;
}

/* Adds this rank's share of some runs. Returns how many samples they are; -1 if there is no memory. */
static int64_t add_runs(const struct train_config *config, struct stepset_run **sum, size_t *n,
                        const struct stepset_run *part, size_t count)
{
    struct stepset_run *runs = reallocarray(*sum, *n + count + 1, sizeof *runs);
    int64_t samples = 0;

    if (runs == NULL)
        return -1;
    *sum = runs;
    for (size_t i = 0; i < count; i++) {
        struct stepset_run run = {part[i].key, own_bits(config, &part[i])};

        samples += __builtin_popcountll(run.bits);
        if (run.bits != 0)
            runs[(*n)++] = run;
    }
    return samples;
}

/* Adds this rank's share of what a former rank had drawn. The counters that cannot be divided go to rank 0. */
static int add_cut(const struct train_config *config, struct cut *sum, const struct cut *part, struct error *err)
{
    int64_t drawn = add_runs(config, &sum->runs, &sum->n_runs, part->runs, part->n_runs);

    if (drawn < 0)
        return no_memory_for_resume(err);
    sum->drawn += (uint64_t)drawn;
    for (uint64_t i = 0; i < sum->members; i++)
        if (part->ended[i] < sum->ended[i])
            sum->ended[i] = part->ended[i];
    if (config->rank != 0)
        return 0;
    sum->batches += part->batches;
    sum->repeats += part->repeats;
    for (size_t i = 0; i < POOL_DRAWS; i++)
        sum->draws[i] += part->draws[i];
    return 0;
}

/* Reads what was drawn: by the rank of this number, or, if there were more or fewer ranks, by all. */
static int read_cuts(const struct train_config *config, const char *dir, int ranks, struct cut *cut, struct error *err)
{
    struct cut part;
    int rc = 0;

    if (ranks == config->ranks)
        return cut_read(cut, dir, config->rank, config->count, err);
    cut->members = config->count;
    cut->ended = calloc(cut->members + 1, sizeof *cut->ended);
    if (cut->ended == NULL)
        return no_memory_for_resume(err);
    memset(cut->ended, 0xff, cut->members * sizeof *cut->ended);
    for (int rank = 0; rc == 0 && rank < ranks; rank++) {
        rc = cut_read(&part, dir, rank, config->count, err);
        if (rc == 0)
            rc = add_cut(config, cut, &part, err);
        cut_fini(&part);
    }
    return rc;
}

/* Finds what a former rank handed over, if it has. */
static int find_handover(const struct train_config *config, int rank, struct resume *resume, struct error *err)
{
    struct saved_part part;
    char file[40], *path;

    if (saved_part_read(config, config->checkpoint.resume, rank, &part, err) < 0)
        return -1;
    if (!part.last)
        return 0;
    snprintf(file, sizeof file, "buffer-rank%d.bin", rank);
    path = saved_path(config, config->checkpoint.resume, file);
    if (path == NULL)
        return no_memory_for_resume(err);
    resume->handover[resume->handovers++] = path;
    return 0;
}

static int find_handovers(const struct train_config *config, int ranks, struct resume *resume, struct error *err)
{
    int rc = 0;

    resume->handover = calloc((size_t)ranks, sizeof *resume->handover);
    if (resume->handover == NULL)
        return no_memory_for_resume(err);
    if (config->restart > 0) /* the former process has taken them over, and has left them in memory */
        return 0;
    for (int rank = 0; rc == 0 && rank < ranks; rank++)
        if (ranks != config->ranks || rank == config->rank)
            rc = find_handover(config, rank, resume, err);
    return rc;
}

static int load_resume(const struct train_config *config, struct resume *resume, struct error *err)
{
    const char *name = config->checkpoint.resume;
    struct saved_part part;
    char *dir;
    int rc;

    if (saved_part_read(config, name, 0, &part, err) < 0)
        return -1;
    if (part.ranks < 1 || part.ranks > RANKS_MAX)
        return error_set(err, "train_resume",
                         "the checkpoint is damaged: rank 0's part of %s says nothing of its ranks", name);
    resume->ranks = part.ranks;
    dir = saved_path(config, name, NULL);
    rc = dir != NULL ? find_rank_state(config, part.ranks, &resume->state, err) : no_memory_for_resume(err);
    if (rc == 0)
        rc = read_cuts(config, dir, part.ranks, &resume->cut, err);
    if (rc == 0)
        rc = find_handovers(config, part.ranks, resume, err);
    free(dir);
    return rc;
}

/* Takes the program's state over from a checkpoint of another ensemble's training, and nothing of its samples. */
static int load_from(const struct train_config *config, struct resume *resume, struct error *err)
{
    struct train_config other = *config;
    struct saved_part part;

    other.checkpoint.dir = config->checkpoint.from.dir;
    other.checkpoint.resume = config->checkpoint.from.name;
    if (saved_part_read(&other, other.checkpoint.resume, 0, &part, err) < 0)
        return -1;
    resume->ranks = part.ranks;
    resume->step = part.step;
    return find_rank_state(&other, part.ranks, &resume->state, err);
}

int resume_choose(struct train_config *config, struct error *err)
{
    int64_t step;

    if (config->restart == 0 || config->checkpoint.dir == NULL)
        return 0;
    config->checkpoint.newest = saved_newest(config, &step, err);
    if (config->checkpoint.newest == NULL)
        return -1;
    if (*config->checkpoint.newest == '\0') /* it goes on from where the generation began */
        return 0;
    config->checkpoint.resume = config->checkpoint.newest;
    config->checkpoint.resume_step = step;
    return 0;
}

int resume_load(const struct train_config *config, struct resume *resume, struct error *err)
{
    int rc = 0;

    *resume = (struct resume){0};
    if (config->checkpoint.resume != NULL)
        rc = load_resume(config, resume, err);
    else if (config->checkpoint.from.dir != NULL)
        rc = load_from(config, resume, err);
    if (rc == 0)
        return 0;
    resume_fini(resume);
    if (strcmp(err->code, "train_memory") != 0)
        snprintf(err->code, sizeof err->code, "train_resume"); /* a file that is missing is damage, too */
    return -1;
}

void resume_give_up(const struct train_config *config, const struct error *err)
{
    struct error failed;

    if (config->checkpoint.resume != NULL && strcmp(err->code, "train_resume") == 0 &&
        saved_drop(config, config->checkpoint.resume, &failed) < 0)
        log_error("the damaged checkpoint stays in the list: %s", failed.text);
}

void resume_fini(struct resume *resume)
{
    for (size_t i = 0; i < resume->handovers; i++)
        free(resume->handover[i]);
    free(resume->handover);
    free(resume->state);
    cut_fini(&resume->cut);
    *resume = (struct resume){0};
}
