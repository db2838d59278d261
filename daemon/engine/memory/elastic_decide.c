/* The decisions of the policy, from figures alone. */
#include "daemon/engine/memory/elastic.h"
#include "daemon/engine/memory/waits.h"
#include "daemon/spec/spec.h"

static bool may_change(const struct spec_range *range, bool by_hand)
{
    return range->most > 0 && !by_hand;
}

static int64_t step_up(int64_t n, const struct spec_range *range)
{
    int64_t to = n + (n > 2 ? n / 2 : 1);

    return to < range->least ? range->least : to > range->most ? range->most : to;
}

static int64_t step_down(int64_t n, const struct spec_range *range)
{
    int64_t to = n - (n > 4 ? n / 3 : 1);

    return to < range->least ? range->least : to > range->most ? range->most : to;
}

/* Returns whether the members that the width allows run indeed, rather than wait in a queue. */
static bool is_used(const struct elastic_figures *f)
{
    return f->in_flight >= f->width && 4 * f->running >= 3 * f->width;
}

static enum elastic_need judge_need(const struct elastic_figures *f)
{
    if (f->for_room >= WAITS_MANY && f->for_samples < WAITS_FEW)
        return ELASTIC_NEEDS_ROOM;
    if ((f->for_samples >= WAITS_MANY || f->repeated >= WAITS_MANY) && f->for_room < WAITS_FEW)
        return ELASTIC_NEEDS_SAMPLES;
    return ELASTIC_CONTENT;
}

static struct elastic_decision more_samples(const struct spec_elastic *limits, const struct elastic_row *row,
                                            const struct elastic_figures *f)
{
    bool wider = may_change(&limits->width, row->width_by_hand) && f->width < limits->width.most;

    if (f->pending == 0 || !is_used(f))
        return (struct elastic_decision){.knob = ELASTIC_NOTHING};
    if (wider)
        return (struct elastic_decision){.knob = ELASTIC_WIDTH, .to = step_up(f->width, &limits->width)};
    if (may_change(&limits->ranks, row->ranks_by_hand) && f->ranks > limits->ranks.least &&
        f->for_samples >= WAITS_MANY)
        return (struct elastic_decision){.knob = ELASTIC_RANKS, .to = step_down(f->ranks, &limits->ranks)};
    return (struct elastic_decision){.knob = ELASTIC_NOTHING};
}

static struct elastic_decision more_room(const struct spec_elastic *limits, const struct elastic_row *row,
                                         const struct elastic_figures *f)
{
    if (may_change(&limits->ranks, row->ranks_by_hand) && f->ranks < limits->ranks.most && f->ranks_fit)
        return (struct elastic_decision){.knob = ELASTIC_RANKS, .to = step_up(f->ranks, &limits->ranks)};
    if (may_change(&limits->width, row->width_by_hand) && f->width > limits->width.least && f->pending > 0)
        return (struct elastic_decision){.knob = ELASTIC_WIDTH, .to = step_down(f->width, &limits->width)};
    return (struct elastic_decision){.knob = ELASTIC_NOTHING};
}

/* Ranks are measured only when the new number of them runs, so that a change of theirs has taken effect by then. */
static bool has_settled(const struct elastic_row *row, const struct elastic_figures *f)
{
    if (row->ranks_last || f->pending == 0)
        return true;
    return row->width_way == ELASTIC_UP ? is_used(f) : f->in_flight <= f->width;
}

/* Returns whether the last change has taken effect, and its pause is over. */
static bool elastic_is_free(const struct spec_elastic *limits, struct elastic_row *row, const struct elastic_figures *f,
                            bool *changed)
{
    int64_t took = f->now_ms - row->changed_ms, pause, least = ELASTIC_PAUSE_MIN * limits->every_ms;

    if (!row->settling)
        return f->now_ms >= row->until_ms;
    if (!has_settled(row, f) && took < ELASTIC_SETTLES * limits->every_ms)
        return false;
    pause = ELASTIC_COSTS * took > least ? ELASTIC_COSTS * took : least;
    row->until_ms = f->now_ms + (pause << (row->reversals < ELASTIC_DOUBLES ? row->reversals : ELASTIC_DOUBLES));
    row->settling = false;
    *changed = true;
    return false;
}

static void note_change(struct elastic_row *row, const struct elastic_decision *decision,
                        const struct elastic_figures *f)
{
    enum elastic_way *last = decision->knob == ELASTIC_WIDTH ? &row->width_way : &row->ranks_way;
    int64_t from = decision->knob == ELASTIC_WIDTH ? f->width : f->ranks;
    enum elastic_way way = decision->to > from ? ELASTIC_UP : ELASTIC_DOWN;

    row->reversals += *last != ELASTIC_NEVER && *last != way;
    *last = way;
    row->ranks_last = decision->knob == ELASTIC_RANKS;
    row->settling = true;
    row->changed_ms = f->now_ms;
}

struct elastic_decision elastic_decide(const struct spec_elastic *limits, struct elastic_state *state,
                                       const struct elastic_figures *f)
{
    struct elastic_decision decision = {.knob = ELASTIC_NOTHING};
    enum elastic_need need = judge_need(f), before = state->need;

    state->need = need;
    if (!elastic_is_free(limits, &state->row, f, &decision.changed)) {
        state->in_row = 0;
        return decision;
    }
    state->in_row = need == before ? state->in_row + 1 : 1;
    if (need == ELASTIC_CONTENT || state->in_row < ELASTIC_IN_ROW)
        return decision;
    decision = need == ELASTIC_NEEDS_SAMPLES ? more_samples(limits, &state->row, f) : more_room(limits, &state->row, f);
    if (decision.knob == ELASTIC_NOTHING)
        return decision;
    note_change(&state->row, &decision, f);
    decision.changed = true;
    state->in_row = 0;
    return decision;
}
