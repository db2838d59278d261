#include "api/clients.h"
#include "api/handlers.h"
#include "api/request.h"
#include "api/training_figures.h"
#include "config.h"
#include "daemon/engine/engine.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/family.h"
#include "daemon/turn.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct census {
    int64_t ensembles[ENSEMBLE_STATE_COUNT], members[MEMBER_STATE_COUNT], unfinished;
    uint64_t follow_ups;
};

static void head_of(FILE *out, const char *name, const char *type, const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void head(FILE *out, const char *name, const char *help)
{
    head_of(out, name, "gauge", help);
}

static void write_control(FILE *out, const struct control_counts *counts)
{
    head_of(out, "stretto_control_messages_total", "counter",
            "Messages of runners and ranks, by what became of them: taken, or dropped.");
    fprintf(out, "stretto_control_messages_total{result=\"taken\"} %" PRIu64 "\n", counts->taken);
    fprintf(out, "stretto_control_messages_total{result=\"other_user\"} %" PRIu64 "\n", counts->other_user);
    fprintf(out, "stretto_control_messages_total{result=\"malformed\"} %" PRIu64 "\n", counts->malformed);
}

static void write_loop_latency(FILE *out, const struct loop_latency_counts *counts)
{
    uint64_t sum = 0;

    head_of(out, "stretto_turn_seconds", "histogram",
            "How long a turn of the daemon's loop keeps it busy: requests wait for it, and for the commit in it.");
    for (int i = 0; i < LOOP_LATENCY_BOUNDS; i++) {
        sum += counts->within[i];
        fprintf(out, "stretto_turn_seconds_bucket{le=\"%g\"} %" PRIu64 "\n", loop_latency_bounds[i], sum);
    }
    fprintf(out, "stretto_turn_seconds_bucket{le=\"+Inf\"} %" PRIu64 "\n", counts->n);
    fprintf(out, "stretto_turn_seconds_sum %.9f\n", (double)counts->ns / 1e9);
    fprintf(out, "stretto_turn_seconds_count %" PRIu64 "\n", counts->n);
}

static void write_clients(FILE *out, const struct clients_counts *counts)
{
    head(out, "stretto_connections",
         "Open HTTP connections: admitted, once one of their requests was let in; strangers before.");
    fprintf(out, "stretto_connections{state=\"admitted\"} %u\n", counts->known);
    fprintf(out, "stretto_connections{state=\"stranger\"} %u\n", counts->strangers);
    head_of(out, "stretto_connections_evicted_total", "counter",
            "Connections of strangers that were closed for others, or because they asked for nothing for too long.");
    fprintf(out, "stretto_connections_evicted_total %" PRIu64 "\n", counts->evicted);
}

static void write_census(FILE *out, const struct census *c, bool troubled)
{
    head(out, "stretto_build_info", "The version that runs; always 1.");
    fprintf(out, "stretto_build_info{version=\"%s\"} 1\n", PACKAGE_VERSION);
    head(out, "stretto_ensembles", "Ensembles by state.");
    for (int i = 0; i < ENSEMBLE_STATE_COUNT; i++)
        fprintf(out, "stretto_ensembles{state=\"%s\"} %" PRId64 "\n", ensemble_state_name((enum ensemble_state)i),
                c->ensembles[i]);
    head(out, "stretto_members", "Members of ensembles that are not over, by state.");
    for (int i = 0; i < MEMBER_STATE_COUNT; i++)
        fprintf(out, "stretto_members{state=\"%s\"} %" PRId64 "\n", member_state_name((enum member_state)i),
                c->members[i]);
    head(out, "stretto_families_unfinished",
         "Families of ensembles with unfinished members that no follow-up has taken over.");
    fprintf(out, "stretto_families_unfinished %" PRId64 "\n", c->unfinished);
    head_of(out, "stretto_follow_ups_total", "counter", "Follow-ups that were made.");
    fprintf(out, "stretto_follow_ups_total %" PRIu64 "\n", c->follow_ups);
    head(out, "stretto_commit_failing", "1 while changes cannot be stored.");
    fprintf(out, "stretto_commit_failing %d\n", troubled);
}

void metrics_get(struct request *r)
{
    struct error err;
    struct census c;
    char *text = NULL;
    size_t size;
    FILE *out;

    if (store_census_get(request_store(r), c.ensembles, c.members, &err) < 0 ||
        store_family_unfinished(request_store(r), &c.unfinished, &err) < 0) {
        request_reply_problem(r, &err);
        return;
    }
    c.follow_ups = engine_follow_ups(request_config(r)->engine);
    out = open_memstream(&text, &size);
    if (out != NULL) {
        write_census(out, &c, turn_trouble(request_config(r)->turn) != NULL);
        write_control(out, control_counts(request_config(r)->control));
        write_clients(out, request_config(r)->clients);
        write_loop_latency(out, loop_latency_counts(request_config(r)->latency));
    }
    if (out == NULL || fclose(out) != 0) {
        free(text);
        request_reply_error(r, "internal", "no memory");
        return;
    }
    training_figures_reply(r, text);
}
