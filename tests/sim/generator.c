#include "tests/sim/generator.h"

#include "common/xalloc.h"
#include "daemon/store/suggestion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 24     /* suggestions to an ensemble */
#define ENSEMBLES 64
#define UNKNOWN (-1)

struct open_ensemble {
    int64_t id;
    int64_t wanted, next;  /* how many are suggested in all; the first that is not answered */
    int64_t indices[MOST]; /* of those that are */
    bool takes;            /* it is open and has not ended: one that is resubmitted takes more again */
};

struct generator {
    struct sim *sim;
    struct open_ensemble ensembles[ENSEMBLES];
    size_t n;
};

struct generator *generator_create(struct sim *sim)
{
    struct generator *generator = xcalloc(1, sizeof *generator);

    generator->sim = sim;
    return generator;
}

void generator_destroy(struct generator *generator)
{
    free(generator);
}

/* Returns the ensemble's place, NULL if there is no room for it. */
static struct open_ensemble *find(struct generator *generator, int64_t ensemble)
{
    struct open_ensemble *open = &generator->ensembles[generator->n];

    for (size_t i = 0; i < generator->n; i++)
        if (generator->ensembles[i].id == ensemble)
            return &generator->ensembles[i];
    if (generator->n == ENSEMBLES)
        return NULL;
    *open = (struct open_ensemble){.id = ensemble, .wanted = (int64_t)sim_random(generator->sim, MOST + 1)};
    for (int i = 0; i < MOST; i++)
        open->indices[i] = UNKNOWN;
    generator->n++;
    return open;
}

/* Looks for ensembles that take members: the submission of one may have arrived although it was not answered. */
static void look(struct generator *generator)
{
    struct error err;
    sqlite3_stmt *stmt = store_query(sim_store(generator->sim), &err,
                                     "SELECT id FROM ensemble WHERE intake = 'open' AND ended IS NULL ORDER BY id", "");

    for (size_t i = 0; i < generator->n; i++)
        generator->ensembles[i].takes = false;
    while (stmt != NULL && store_row(sim_store(generator->sim), stmt, &err) == 1) {
        struct open_ensemble *open = find(generator, sqlite3_column_int64(stmt, 0));

        if (open != NULL)
            open->takes = true;
    }
}

/* Returns whether it was refused because the ensemble has ended, or is about to. */
static bool is_over(const struct error *err)
{
    return strcmp(err->code, "ensemble_over") == 0 || strcmp(err->code, "ensemble_closed") == 0;
}

/* Notes what a call, whose turn is committed, has told of a suggestion. */
static void note(struct generator *generator, struct open_ensemble *open, int64_t which,
                 const struct engine_suggestion *told)
{
    if (open->indices[which] != UNKNOWN && (told->made || told->index != open->indices[which]))
        sim_violate(generator->sim, "suggestion t%lld of ensemble %lld was member %lld, and is %lld", (long long)which,
                    (long long)open->id, (long long)open->indices[which], (long long)told->index);
    open->indices[which] = told->index;
}

/* Suggests some more, and perhaps some that were answered already. The parameters follow from the name. */
static void suggest(struct generator *generator, struct open_ensemble *open)
{
    struct sim *sim = generator->sim;
    struct engine_suggestion list[5] = {{.name = NULL}};
    char names[5][24];
    int64_t first = open->next > 0 && sim_chance(sim, 300) ? open->next - 1 : open->next;
    size_t n = 0, most = 1 + sim_random(sim, 5);
    struct error err;
    bool committed;
    int rc;

    for (int64_t i = first; i < open->wanted && n < most; i++, n++) {
        snprintf(names[n], sizeof names[n], "t%lld", (long long)i);
        list[n] = (struct engine_suggestion){.name = names[n], .priority = i * 7 % 5 - 2,
                                             .parameters = json_pack("{s:I}", "p", (json_int_t)i)};
    }
    calls_begin(sim);
    rc = engine_suggest(sim_engine(sim), open->id, list, n, &err);
    if (rc < 0)
        calls_refused(sim, &err);
    if (rc < 0 && !is_over(&err) && strncmp(err.code, "store_", 6) != 0)
        sim_violate(sim, "a suggestion was refused: %s: %s", err.code, err.text);
    committed = sim_turn(sim) == 0;
    if (committed && rc == 0) {
        for (size_t i = 0; i < n; i++)
            note(generator, open, first + (int64_t)i, &list[i]);
        open->next = first + (int64_t)n;
    }
    for (size_t i = 0; i < n; i++)
        json_decref((json_t *)list[i].parameters);
}

static void close_it(struct generator *generator, struct open_ensemble *open)
{
    struct error ignored; /* it is tried again while it is open */

    engine_close(sim_engine(generator->sim), open->id, &sim_left, &ignored);
    sim_turn(generator->sim);
}

bool generator_act(struct generator *generator)
{
    size_t from;

    if (sim_engine(generator->sim) == NULL)
        return false;
    look(generator);
    from = generator->n > 0 ? sim_random(generator->sim, generator->n) : 0;
    for (size_t i = 0; i < generator->n; i++) {
        struct open_ensemble *open = &generator->ensembles[(from + i) % generator->n];

        if (!open->takes || sim_engine(generator->sim) == NULL)
            continue;
        if (open->next < open->wanted)
            suggest(generator, open);
        else
            close_it(generator, open);
        return true;
    }
    return false;
}

void generator_check(struct generator *generator)
{
    for (size_t i = 0; i < generator->n; i++) {
        const struct open_ensemble *open = &generator->ensembles[i];

        for (int64_t which = 0; which < open->wanted; which++) {
            char name[24], *parameters = NULL;
            struct error err;
            int64_t index = UNKNOWN;

            snprintf(name, sizeof name, "t%lld", (long long)which);
            if (store_suggestion_find(sim_store(generator->sim), open->id, name, &index, &parameters, &err) == 1)
                free(parameters);
            if (open->indices[which] != UNKNOWN && index != open->indices[which])
                sim_violate(generator->sim, "suggestion %s of ensemble %lld was accepted as member %lld, and is %lld",
                            name, (long long)open->id, (long long)open->indices[which], (long long)index);
        }
    }
}
