/* Accepting a spec: checked against what can run here, then stored. */
#include "daemon/engine/engine.h"

#include "common/log_changes.h"
#include "daemon/engine/ensembles/adopt.h"
#include "daemon/engine/ensembles/after.h"
#include "daemon/engine/ensembles/check_rules.h"
#include "daemon/engine/jobs/check_resources.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/live_spec.h"
#include "daemon/engine/memory/rows.h"
#include "daemon/engine/trainings/training_from.h"
#include "daemon/spec/needs.h"
#include "daemon/spec/results.h"
#include "daemon/spec/sizes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/* Checks that the spec could run with as many ranks as "elastic" may give it. */
static int check_most_ranks(struct engine *engine, struct spec *spec, struct error *err)
{
    int copies = spec->training.resources.copies, rc;

    if (spec->elastic.ranks.most <= copies)
        return 0;
    spec->training.resources.copies = (int)spec->elastic.ranks.most;
    rc = engine_check_resources(engine, spec, err);
    spec->training.resources.copies = copies;
    if (rc < 0)
        snprintf(err->pointer, sizeof err->pointer, "/elastic/ranks/1");
    return rc;
}

static char *submit_ensemble_dir(void *arg, int64_t ensemble)
{
    return engine_ensemble_dir(arg, ensemble);
}

static int accept_spec(struct engine *engine, const json_t *json, struct rows *rows, struct ensemble_row *out,
                       struct error *err)
{
    struct ensemble_row row = {.state = ENSEMBLE_RUNNING, .created_ms = engine_now(engine)};
    struct spec *spec;
    struct live_ensemble *ens;
    json_t *frozen = NULL;
    char *text;
    int rc;

    spec = engine_wake_up(engine, err) == 0 ? spec_parse(json, rows, err) : NULL;
    if (spec == NULL) {
        rows_close(rows);
        return -1;
    }
    if (engine_check_resources(engine, spec, err) < 0 || spec_check_results(spec, err) < 0 ||
        engine_find_from(engine, spec, err) < 0 || after_check(engine, spec, err) < 0 ||
        engine_check_rules(engine, json, spec, &frozen, err) < 0 || check_most_ranks(engine, spec, err) < 0 ||
        store_accept(engine->store, err) < 0) {
        json_decref(frozen);
        spec_destroy(spec);
        return -1;
    }
    ensemble_draw_stream_key(engine, &row);
    snprintf(row.name, sizeof row.name, "%s", spec->name);
    snprintf(row.adapter, sizeof row.adapter, "%s", spec->adapter);
    row.count = params_count(spec->params);
    row.intake = params_are_open(spec->params) ? INTAKE_OPEN : INTAKE_NONE;
    row.width = spec->width;
    row.after = spec->after;
    text = engine_spec_text(spec, frozen != NULL ? frozen : json);
    json_decref(frozen);
    rc = store_ensemble_insert(engine->store, &row, text, err);
    free(text);
    if (rc == 0 && rows != NULL)
        rc = engine_store_rows(engine, row.id, rows, err);
    if (rc == 0 && spec->has_training) {
        struct training_row training = {
            .ensemble = row.id, .ranks = spec->ranks, .generation = 1, .created_ms = row.created_ms};

        snprintf(training.adapter, sizeof training.adapter, "%s", spec->training_adapter);
        rc = store_training_insert(engine->store, &training, err);
    }
    if (rc < 0) {
        spec_destroy(spec);
        return -1;
    }
    engine_give_parameters(engine, spec, row.id);
    ens = ensemble_adopt(engine, &row, spec);
    if (ens == NULL) {
        error_set(err, "store_io", "the new ensemble cannot be read back");
        return store_doom(engine->store, err); /* refused is refused */
    }
    engine_event(engine, "ensemble.submitted", row.id, -1, json_pack("{s:s}", "name", row.name));
    log_change(LOG_LEVEL_INFO, LOG_ENSEMBLE(row.id), "ensemble %lld \"%s\": %lld members, width %lld, adapter %s",
               (long long)row.id, row.name, (long long)row.count, (long long)row.width, row.adapter);
    engine_touch(engine, ens);
    engine_settle_for(engine, ens, out, NULL);
    return 0;
}

int engine_submit(struct engine *engine, const json_t *json, struct rows *rows, struct ensemble_row *row,
                  struct error *err)
{
    json_t *with_paths = spec_fill_after(json, &(struct spec_dirs){submit_ensemble_dir, engine});
    int rc = accept_spec(engine, with_paths != NULL ? with_paths : json, rows, row, err);

    json_decref(with_paths);
    return rc;
}
