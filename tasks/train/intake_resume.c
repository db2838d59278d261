/* The state that a rank takes over from the generation before, and the state that it hands over to the next. */
#include "tasks/train/intake_private.h"

#include <stdlib.h>

static int no_memory_to_resume(struct error *err)
{
    return error_set(err, "train_memory", "no memory for the checkpoint to go on from");
}

/* Returns whether the sample is new; -1 if there is no memory. */
static int enter_sample(struct intake *in, const struct sample *sample)
{
    if (stepset_reserve(in->have) < 0)
        return -1;
    if (!stepset_add(in->have, sample->member, sample->step))
        return 0;
    in->held[sample->member]++;
    intake_count(&in->counters.unique, 1);
    return 1;
}

static int add_orphan(struct intake *in, const struct handover_item *item)
{
    struct orphan *orphan = calloc(1, sizeof *orphan);

    if (orphan == NULL)
        return -1;
    orphan->item = *item;
    sample_ref(item->sample);
    orphan->next = in->orphans;
    in->orphans = orphan;
    return 0;
}

static struct handover *open_handover(struct intake *in, size_t i, struct error *err)
{
    return handover_open(in->resume->handover[i], &in->config->fields, in->store, err);
}

/* Enters a sample as received, or keeps one that lacks fields. */
static int enter_item(struct intake *in, const struct handover_item *item, struct error *err)
{
    const struct sample *sample = item->sample;

    if (sample->member >= in->config->count || sample->params->count != in->config->parameters)
        return error_set(err, "train_resume", "what the generation before handed over is of another ensemble");
    if (item->drawn || !resume_is_ours(in->config, sample->member, sample->step))
        return 0;
    return (item->session == 0 ? enter_sample(in, sample) : add_orphan(in, item)) < 0 ? no_memory_to_resume(err) : 0;
}

static int enter_all(struct intake *in, struct handover *handover, struct error *err)
{
    struct handover_item item;
    int rc = handover != NULL ? 1 : -1;

    while (rc == 1 && (rc = handover_next(handover, &item, err)) == 1) {
        if (enter_item(in, &item, err) < 0)
            rc = -1;
        sample_unref(item.sample);
    }
    handover_close(handover);
    return rc;
}

/* The sets in which a rank looks up samples while it takes over slots. */
struct learnt_search {
    struct intake *in;
    struct stepset *learnt; /* samples that the checkpoint has */
    struct stepset *again;  /* those of them that were found */
};

/* Returns whether a sample was learnt before the checkpoint, and this is the first slot that has it. */
static bool is_learnt(const struct learnt_search *taking, const struct sample *sample)
{
    return stepset_has(taking->learnt, sample->member, sample->step) && stepset_reserve(taking->again) == 0 &&
           stepset_add(taking->again, sample->member, sample->step);
}

/* Takes over a slot that a former process of this rank has left. One whose sample was drawn before the checkpoint
 * may be drawn again; one whose sample is in another slot, too, is given back. */
static int take_slot(void *arg, struct kept_slot *slot)
{
    const struct learnt_search *taking = arg;
    struct intake *in = taking->in;
    struct sample *sample = sample_of_slot(in->store, slot);
    struct handover_item item = {.sample = sample, .session = slot->session, .attempt = slot->attempt};
    int rc = 0;

    if (sample == NULL)
        return -1;
    if (!sample_is_whole(sample)) {
        rc = stepset_has(in->have, sample->member, sample->step) ? 0 : add_orphan(in, &item);
    } else if (is_learnt(taking, sample)) {
        in->left_drawn[in->left_drawn_count++] = sample;
        return 0;
    } else if ((rc = enter_sample(in, sample)) == 1) {
        in->left[in->left_count++] = sample;
        return 0;
    }
    sample_unref(sample);
    return rc;
}

static int count_slot(void *arg, struct kept_slot *slot)
{
    ++*(size_t *)arg;
    return 0;
}

static int take_slots(struct intake *in, const struct cut *cut)
{
    struct learnt_search taking = {in, stepset_create(), stepset_create()};
    size_t slots = 0;
    int rc;

    kept_each(in->kept, count_slot, &slots);
    in->left = calloc(slots + 1, sizeof *in->left);
    in->left_drawn = calloc(slots + 1, sizeof *in->left_drawn);
    rc = taking.learnt == NULL || taking.again == NULL || in->left == NULL || in->left_drawn == NULL ? -1 : 0;
    for (size_t i = 0; rc == 0 && i < cut->n_runs; i++)
        rc = stepset_add_run(taking.learnt, &cut->runs[i]) < 0 ? -1 : 0;
    if (rc == 0)
        rc = kept_each(in->kept, take_slot, &taking);
    stepset_destroy(taking.learnt);
    stepset_destroy(taking.again);
    return rc;
}

/* Takes over which attempts have reported their end, from the memory of a former process of this rank or from the
 * checkpoint (NULL if there is none). Notes it for the next process. */
static void take_ends(struct intake *in, const uint32_t *ended)
{
    uint32_t *kept = in->kept != NULL ? kept_ended(in->kept) : NULL;

    if (kept != NULL && in->config->restart > 0)
        ended = kept;
    for (uint64_t member = 0; ended != NULL && member < in->config->count; member++) {
        in->ended_by[member] = ended[member];
        intake_count(&in->counters.finalized, ended[member] != 0);
        if (kept != NULL)
            kept[member] = ended[member];
    }
}

/* Takes over what a former process of this rank has left in the memory that outlives it. */
static int take_left(struct intake *in, struct error *err)
{
    if (in->kept == NULL || in->config->restart == 0)
        return 0;
    return take_slots(in, &in->resume->cut) < 0 ? no_memory_to_resume(err) : 0;
}

/* Enters samples that are learnt. */
static int enter_runs(struct intake *in, const struct stepset_run *runs, size_t n, struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        int added = stepset_add_run(in->have, &runs[i]);

        if (added < 0)
            return no_memory_to_resume(err);
        in->held[runs[i].key >> 32] += (uint32_t)added;
        intake_count(&in->counters.unique, added);
    }
    return 0;
}

int intake_resume(struct intake *in, const struct resume *resume, struct error *err)
{
    const struct cut *cut = &resume->cut;

    in->resume = resume;
    if (enter_runs(in, cut->runs, cut->n_runs, err) < 0)
        return -1;
    take_ends(in, cut->ended);
    if (cut->ended == NULL) /* there is no checkpoint to go on from */
        return take_left(in, err);
    for (size_t i = 0; i < resume->handovers; i++)
        if (enter_all(in, open_handover(in, i, err), err) < 0)
            return -1;
    in->fed = stepset_create();
    return in->fed != NULL ? take_left(in, err) : no_memory_to_resume(err);
}

/* Puts a sample into the pool. Returns whether more may follow. */
static bool feed(struct intake *in, struct sample *sample)
{
    int n;

    while ((n = pool_put(in->pool, &sample, 1)) == 0)
        pool_wait_for_room(in->pool);
    return n > 0;
}

/* Reads on to the next whole sample that belongs here and was drawn, or is not in the pool yet. Returns as
 * handover_next(). */
static int next_unfed(struct intake *in, struct handover *handover, struct handover_item *item, struct error *err)
{
    int rc;

    while ((rc = handover_next(handover, item, err)) == 1) {
        const struct sample *sample = item->sample;

        if (item->session == 0 && resume_is_ours(in->config, sample->member, sample->step) &&
            (item->drawn || !stepset_has(in->fed, sample->member, sample->step)))
            return 1;
        sample_unref(item->sample);
    }
    return rc;
}

/* Puts a sample into the pool that may be drawn again, if there is place for it. Returns 1. */
static int feed_drawn(struct intake *in, struct sample *sample)
{
    if (!pool_put_drawn(in->pool, sample))
        sample_unref(sample);
    return 1;
}

/* Puts a sample into the pool, and notes that. Returns whether more may follow; -1 with err. */
static int feed_one(struct intake *in, struct sample *sample, struct error *err)
{
    uint64_t member = sample->member;
    int64_t step = sample->step;

    if (stepset_reserve(in->fed) < 0) {
        sample_unref(sample);
        return no_memory_to_resume(err);
    }
    if (!feed(in, sample)) {
        sample_unref(sample);
        return 0;
    }
    stepset_add(in->fed, member, step);
    return 1;
}

/* Returns 1 if all samples of the file are in the pool, 0 if that takes no more, -1 with err. */
static int feed_all(struct intake *in, struct handover *handover, struct error *err)
{
    struct handover_item item;
    int rc = handover != NULL ? 1 : -1, fed = 1;

    while (rc == 1 && fed == 1 && (rc = next_unfed(in, handover, &item, err)) == 1)
        fed = item.drawn ? feed_drawn(in, item.sample) : feed_one(in, item.sample, err);
    handover_close(handover);
    return rc < 0 ? -1 : fed;
}

/* Puts the samples into the pool that a former process of this rank has left. Returns as feed(). */
static bool feed_left(struct intake *in)
{
    for (size_t i = 0; i < in->left_count; i++) {
        if (!feed(in, in->left[i]))
            return false;
        in->left[i] = NULL;
    }
    return true;
}

/* Puts those into the pool that may be drawn again. */
static void feed_left_drawn(struct intake *in)
{
    for (size_t i = 0; i < in->left_drawn_count; i++) {
        feed_drawn(in, in->left_drawn[i]);
        in->left_drawn[i] = NULL;
    }
}

static void drop_samples(struct sample ***samples, size_t *count)
{
    for (size_t i = 0; i < *count; i++)
        sample_unref((*samples)[i]);
    free(*samples);
    *samples = NULL;
    *count = 0;
}

void intake_drop_left(struct intake *in)
{
    drop_samples(&in->left, &in->left_count);
    drop_samples(&in->left_drawn, &in->left_drawn_count);
}

int intake_feed(struct intake *in, struct error *err)
{
    if (!feed_left(in))
        return 0;
    feed_left_drawn(in);
    intake_drop_left(in);
    for (size_t i = 0; i < in->resume->handovers; i++) {
        int rc = feed_all(in, open_handover(in, i, err), err);

        if (rc <= 0)
            return rc;
    }
    stepset_destroy(in->fed);
    in->fed = NULL;
    if (in->kept != NULL)
        kept_begin(in->kept);
    return 0;
}

static void drop_orphan(struct orphan **at)
{
    struct orphan *orphan = *at;

    *at = orphan->next;
    sample_unref(orphan->item.sample);
    free(orphan);
}

void intake_drop_orphans(struct intake *in)
{
    while (in->orphans != NULL)
        drop_orphan(&in->orphans);
}

bool intake_adopt_orphans(struct intake *in, struct peer *peer)
{
    for (struct orphan **at = &in->orphans; *at != NULL;) {
        const struct handover_item *item = &(*at)->item;

        if (item->sample->member != peer->member || item->attempt > peer->attempt ||
            (item->attempt == peer->attempt && item->session != peer->session)) {
            at = &(*at)->next;
            continue;
        }
        if (item->session == peer->session && peer_partial_begin(peer, sample_ref(item->sample)) < 0) {
            sample_unref(item->sample);
            return false;
        }
        drop_orphan(at);
    }
    return true;
}

void intake_end_quietly(struct intake *in)
{
    in->quiet = true;
}

void intake_halt(struct intake *in)
{
    intake_turn(in); /* nothing is put into the pool any more */
    in->ended = FAULT_STOPPED;
}

static void hand_over_partial(void *arg, const struct peer *peer, struct sample *sample)
{
    handover_add(arg, &(struct handover_item){.sample = sample, .session = peer->session, .attempt = peer->attempt});
}

static int hand_over_unfed(struct intake *in, struct handover *from, struct handover *to, struct error *err)
{
    struct handover_item item;
    int rc = from != NULL ? 1 : -1;

    while (rc == 1 && (rc = next_unfed(in, from, &item, err)) == 1) {
        if (!item.drawn)
            handover_add(to, &item);
        sample_unref(item.sample);
    }
    handover_close(from);
    return rc;
}

int intake_hand_over(struct intake *in, struct handover *handover, struct error *err)
{
    peers_each_partial(in->peers, hand_over_partial, handover);
    for (const struct orphan *orphan = in->orphans; orphan != NULL; orphan = orphan->next)
        handover_add(handover, &orphan->item);
    for (size_t i = 0; i < in->left_count; i++)
        if (in->left[i] != NULL)
            handover_add(handover, &(struct handover_item){.sample = in->left[i]});
    for (size_t i = 0; in->fed != NULL && i < in->resume->handovers; i++)
        if (hand_over_unfed(in, open_handover(in, i, err), handover, err) < 0)
            return -1;
    return 0;
}
