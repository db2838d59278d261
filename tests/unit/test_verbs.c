/* The engine calls of each request that changes something, and the answers. */
#include "api/ensemble_json.h"
#include "api/handlers.h"
#include "common/log.h"
#include "daemon/store/suggestion.h"
#include "daemon/store/token.h"
#include "daemon/store/training.h"
#include "tests/unit/failing_store.h"
#include "tests/unit/fake_engine.h"
#include "tests/unit/fake_request.h"
#include "tests/unit/open_store.h"

#include <stdio.h>
#include <string.h>

/* --- an engine that notes what it is asked for, and refuses whatever is about ensemble or training 9 */

static char asked_for[512];
static bool made;

static int take(int64_t id, struct error *error, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int take(int64_t id, struct error *error, const char *fmt, ...)
{
    size_t n = strlen(asked_for);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(asked_for + n, sizeof asked_for - n, fmt, ap);
    va_end(ap);
    return id == 9 ? error_set(error, "ensemble_over", "it is over") : 0;
}

/* Gives a row as the engine would leave it. The store has another one, so that nobody can read it there. */
static int left(int rc, int64_t id, struct ensemble_row *row)
{
    *row = (struct ensemble_row){.id = id, .name = "as written", .adapter = "local", .count = 4, .created_ms = 1};
    return rc;
}

static int left_training(int rc, struct training_row *row)
{
    *row = (struct training_row){
        .id = 1, .ensemble = 1, .adapter = "as written", .ranks = 1, .generation = 1, .created_ms = 1};
    return rc;
}

static const char *changes_of(const json_t *changes)
{
    static char text[256];
    char *whole = json_dumps(changes, JSON_COMPACT | JSON_SORT_KEYS);

    snprintf(text, sizeof text, "%s", whole != NULL ? whole : "none");
    free(whole);
    return text;
}

static const char *states_of(const enum member_state *states, size_t n)
{
    static char text[128];

    text[0] = '\0';
    for (size_t i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i > 0 ? "," : "",
                 member_state_name(states[i]));
    return text;
}

int engine_pause(struct engine *engine, int64_t id, const char *by, struct ensemble_row *row, struct error *error)
{
    return left(take(id, error, "pause %lld %s", (long long)id, by), id, row);
}

int engine_resume(struct engine *engine, int64_t id, struct ensemble_row *row, struct error *error)
{
    return left(take(id, error, "resume %lld", (long long)id), id, row);
}

int engine_cancel(struct engine *engine, int64_t id, struct ensemble_row *row, struct error *error)
{
    return left(take(id, error, "cancel %lld", (long long)id), id, row);
}

int engine_close(struct engine *engine, int64_t id, struct ensemble_row *row, struct error *error)
{
    return left(take(id, error, "close %lld", (long long)id), id, row);
}

int engine_cancel_member(struct engine *engine, int64_t id, int64_t index, bool *cancelled, struct ensemble_row *row,
                         struct error *error)
{
    *cancelled = index == 2;
    return left(take(id, error, "cancel %lld.%lld", (long long)id, (long long)index), id, row);
}

int engine_resize(struct engine *engine, int64_t id, int64_t width, enum engine_shrink shrink, const char *by,
                  struct ensemble_row *row, struct error *error)
{
    return left(take(id, error, "resize %lld to %lld %s %s", (long long)id, (long long)width,
                shrink == ENGINE_SHRINK_NOW ? "now" : "later", by), id, row);
}

int engine_resize_training(struct engine *engine, int64_t id, int64_t ranks, const char *by,
                           struct training_row *row, struct error *error)
{
    return left_training(take(id, error, "resize training %lld to %lld %s", (long long)id, (long long)ranks, by), row);
}

int engine_resubmit_member(struct engine *engine, int64_t id, int64_t index, bool afresh, int64_t *n,
                           struct ensemble_row *row, struct error *error)
{
    *n = 1;
    return left(take(id, error, "resubmit %lld.%lld %s", (long long)id, (long long)index, afresh ? "afresh" : ""), id, row);
}

int engine_resubmit(struct engine *engine, int64_t id, const enum member_state *states, size_t n_states, bool afresh,
                    int64_t *n, struct ensemble_row *row, struct error *error)
{
    *n = 12;
    return left(take(id, error, "resubmit %lld %s %s", (long long)id, states_of(states, n_states), afresh ? "afresh" : ""), id, row);
}

int engine_resubmit_training(struct engine *engine, int64_t id, const struct engine_resubmission *wish,
                             struct training_row *row, struct error *error)
{
    return left_training(take(id, error, "resubmit training %lld %s %s %lld %s", (long long)id, wish->afresh ? "afresh" : "", wish->name != NULL ? wish->name : "-",
                (long long)wish->number, changes_of(wish->changes)), row);
}

int engine_follow_up(struct engine *engine, int64_t id, const struct engine_follow_up *wish, struct ensemble_row *row,
                     bool *is_new, struct error *error)
{
    *is_new = made;
    return left(take(id, error, "follow up %lld %s %s", (long long)id, states_of(wish->states, wish->n_states),
                changes_of(wish->changes)), 2, row);
}

int engine_follow_up_all(struct engine *engine, const json_t *changes, int limit, int64_t *after,
                         engine_follow_up_told *each, void *arg, struct error *error)
{
    struct ensemble_row row;
    struct error refused;

    take(0, error, "follow up all %s after %lld", changes_of(changes), (long long)*after);
    left(0, 2, &row);
    each(arg, 1, &row, NULL);
    error_at(&refused, "follow_up_needless", "/width", "no");
    each(arg, 7, NULL, &refused);
    *after = *after == 0 ? 70 : 0;
    return limit > 0 ? 0 : -1;
}

int engine_suggest(struct engine *engine, int64_t id, struct engine_suggestion *list, size_t n, struct error *error)
{
    for (size_t i = 0; i < n; i++) {
        list[i].index = 40 + (int64_t)i;
        list[i].made = made && i == 0;
        take(0, error, "%s %s %lld, ", list[i].name != NULL ? list[i].name : "-", changes_of(list[i].parameters),
             (long long)list[i].priority);
    }
    return take(id, error, "suggest %lld", (long long)id);
}

/* --- requests */

static int set_up(void **state)
{
    struct training_row training = {.ensemble = 1, .adapter = "local", .ranks = 1, .generation = 1, .created_ms = 1};
    struct token_row token = {.role = TOKEN_OPERATOR, .label = "cron", .created_ms = 1};

    if (open_store(state) != 0)
        return -1;
    fake_config = (struct api_config){.store = store};
    add_ensemble(4);
    add_ensemble(4);
    memset(token.hash, '1', 64);
    must(store_training_insert(store, &training, &err));
    must(store_token_insert(store, &token, &err));
    token.label[0] = '\0';
    memset(token.hash, '2', 64);
    must(store_token_insert(store, &token, &err));
    made = true;
    return 0;
}

static int tear_down(void **state)
{
    must(store_commit(store, &err));
    return close_store(state);
}

/* The answer shows the ensemble or the training that the engine has left, and not the one that the store has. */
static void is_as_written(const json_t *answer)
{
    const json_t *ensemble = json_object_get(answer, "ensemble"), *list = json_object_get(answer, "follow_ups");
    const char *name;

    if (json_is_integer(ensemble) && json_object_get(answer, "suggestions") != NULL)
        return;
    if (json_is_array(list))
        ensemble = json_array_size(list) > 0 && json_is_object(json_array_get(list, 0)) ? json_array_get(list, 0) : answer;
    else if (!json_is_object(ensemble))
        ensemble = answer;
    name = json_string_value(json_object_get(ensemble, json_object_get(ensemble, "ranks") != NULL ? "adapter" : "name"));
    if (name == NULL || strcmp(name, "as written") != 0)
        fail_msg("%s was read back", name != NULL ? name : "nothing");
}

/* What the engine is asked for by this body, and what is answered: the status, and this place in the answer. */
static void asks(void (*handler)(struct request *r), const struct asked *request, const char *wanted, int wanted_status,
                 const char *key, int64_t value)
{
    const json_t *answer, *place;
    int status;

    asked_for[0] = '\0';
    answer = ask(handler, request, &status);
    if (strcmp(asked_for, wanted) != 0 || status != wanted_status)
        fail_msg("%s: %d, \"%s\" and not \"%s\"", request->body != NULL ? request->body : "", status, asked_for,
                 wanted);
    if (status < 300)
        is_as_written(answer);
    place = key != NULL ? json_object_get(answer, key) : NULL;
    if (key != NULL && (json_is_boolean(place) ? json_is_true(place) : json_integer_value(place)) != value)
        fail_msg("%s: %s is not %lld", wanted, key, (long long)value);
    is_told_that_the_store_fails(handler, request);
}

#define ONE(text) &(struct asked){.ids = {1, 2}, .body = (text)}
#define OVER(text) &(struct asked){.ids = {9, 2}, .body = (text)}
#define SOCKET "over the daemon's Unix socket"

static void ensembles(void **state)
{
    asks(ensemble_pause_post, ONE(NULL), "pause 1 " SOCKET, 200, "id", 1);
    asks(ensemble_pause_post, &(struct asked){.ids = {1}, .caller = {.token = 1}}, "pause 1 by token 1 (cron)", 200, "id", 1);
    asks(ensemble_pause_post, &(struct asked){.ids = {1}, .caller = {.token = 2}}, "pause 1 by token 2", 200, "id", 1);
    asks(ensemble_pause_post, &(struct asked){.ids = {1}, .caller = {.token = 2, .session = 5}},
         "pause 1 in the dashboard (session 5)", 200, "id", 1);
    asks(ensemble_resume_post, ONE(NULL), "resume 1", 200, "id", 1);
    asks(ensemble_cancel_post, ONE(NULL), "cancel 1", 202, "id", 1);
    asks(ensemble_close_post, ONE(NULL), "close 1", 200, "id", 1);
    asks(ensemble_patch, ONE("{\"width\": 3}"), "resize 1 to 3 later " SOCKET, 200, "id", 1);
    asks(ensemble_patch, ONE("{\"width\": 1, \"when\": \"now\"}"), "resize 1 to 1 now " SOCKET, 200, "id", 1);
    asks(ensemble_patch, ONE("{\"width\": 1, \"when\": \"later\"}"), "resize 1 to 1 later " SOCKET, 200, "id", 1);
    asks(ensemble_patch, ONE("{\"width\": 1, \"when\": \"soon\"}"), "", 422, NULL, 0);
    asks(ensemble_patch, ONE("{\"width\": 0}"), "", 422, NULL, 0);
    asks(ensemble_patch, ONE("{\"when\": \"now\"}"), "", 422, NULL, 0);
    asks(ensemble_resubmit_post, ONE("{}"), "resubmit 1 failed,unfinished ", 202, "resubmitted", 12);
    asks(ensemble_resubmit_post, ONE("{\"states\": [\"unfinished\"], \"from\": \"start\"}"),
         "resubmit 1 unfinished afresh", 202, "resubmitted", 12);
    asks(ensemble_resubmit_post, ONE("{\"from\": \"checkpoint\"}"), "resubmit 1 failed,unfinished ", 202, NULL, 0);
    asks(ensemble_resubmit_post, ONE("{\"from\": \"here\"}"), "", 422, NULL, 0);
    asks(ensemble_resubmit_post, ONE("{\"states\": [\"succeeded\"]}"), "", 422, NULL, 0);
    asks(ensemble_resubmit_post, ONE("{\"states\": []}"), "", 422, NULL, 0);
    asks(member_cancel_post, ONE(NULL), "cancel 1.2", 202, "cancelled", 1);
    asks(member_cancel_post, &(struct asked){.ids = {1, 3}}, "cancel 1.3", 202, "cancelled", 0);
    asks(member_resubmit_post, ONE(NULL), "resubmit 1.2 ", 202, "resubmitted", 1);
    asks(member_resubmit_post, ONE("{\"from\": \"start\"}"), "resubmit 1.2 afresh", 202, "resubmitted", 1);
}

static void trainings(void **state)
{
    asks(training_patch, ONE("{\"ranks\": 3}"), "resize training 1 to 3 " SOCKET, 200, "id", 1);
    asks(training_patch, ONE("{\"ranks\": 0}"), "", 422, NULL, 0);
    asks(training_resubmit_post, ONE(NULL), "resubmit training 1  - 0 {}", 202, "id", 1);
    asks(training_resubmit_post, ONE("{\"from\": \"start\"}"), "resubmit training 1 afresh - 0 {\"from\":\"start\"}",
         202, "id", 1);
    asks(training_resubmit_post, ONE("{\"checkpoint\": \"g1\"}"), "resubmit training 1  g1 0 {\"checkpoint\":\"g1\"}",
         202, "id", 1);
    asks(training_resubmit_post, ONE("{\"checkpoint\": 4}"), "resubmit training 1  - 4 {\"checkpoint\":4}", 202, "id", 1);
    asks(training_resubmit_post, ONE("{\"checkpoint\": 0}"), "", 422, NULL, 0);
    asks(training_resubmit_post, ONE("{\"checkpoint\": 4, \"from\": \"start\"}"), "", 422, NULL, 0);
    asks(training_resubmit_post, ONE("{\"checkpoint\": \"g1\", \"from\": \"start\"}"), "", 422, NULL, 0);
}

static void follow_ups(void **state)
{
    asks(ensemble_follow_up_post, ONE("{}"), "follow up 1 unfinished {}", 201, "id", 2);
    assert_string_equal(header_of_answer("Location"), "/v1/ensembles/2");
    made = false;
    asks(ensemble_follow_up_post, ONE("{\"states\": [\"failed\"], \"width\": 2}"),
         "follow up 1 failed {\"states\":[\"failed\"],\"width\":2}", 200, "id", 2);
    asks(ensemble_follow_up_post, ONE("{\"states\": [\"running\"]}"), "", 422, NULL, 0);
    asks(follow_ups_post, ONE("{}"), "follow up all {} after 0", 200, "next", 70);
    asks(follow_ups_post, ONE("{\"width\": 2, \"after\": 5}"), "follow up all {\"width\":2} after 5", 200, "next", 0);
    asks(follow_ups_post, ONE("{\"states\": [\"failed\"]}"), "", 422, NULL, 0);
    asks(follow_ups_post, ONE("{\"after\": -1}"), "", 422, NULL, 0);
}

static void suggestions(void **state)
{
    static const char two[] =
        "{\"suggestions\": [{\"parameters\": {\"x\": 1}, \"name\": \"a\", \"priority\": -3}, {\"parameters\": {}}]}";
    char long_name[256], wanted[256];

    asks(suggestions_post, ONE(two), "a {\"x\":1} -3, - {} 0, suggest 1", 201, "ensemble", 1);
    made = false;
    asks(suggestions_post, ONE(two), "a {\"x\":1} -3, - {} 0, suggest 1", 200, "ensemble", 1);
    asks(suggestions_post, ONE("{\"suggestions\": []}"), "", 422, NULL, 0);
    asks(suggestions_post, ONE("{\"suggestions\": [{}]}"), "", 422, NULL, 0);
    asks(suggestions_post, ONE("{\"suggestions\": [1]}"), "", 422, NULL, 0);
    asks(suggestions_post, ONE("{\"suggestions\": [{\"parameters\": {}, \"name\": \"a\\nb\"}]}"), "", 422, NULL, 0);
    asks(suggestions_post, ONE("{\"suggestions\": [{\"parameters\": {}, \"name\": \"a\\u007fb\"}]}"), "", 422, NULL, 0);
    asks(suggestions_post, ONE("{\"suggestions\": [{\"parameters\": {}, \"priority\": 1000001}]}"), "", 422, NULL, 0);
    snprintf(long_name, sizeof long_name, "{\"suggestions\": [{\"parameters\": {}, \"name\": \"%0*d\"}]}",
             SUGGESTION_NAME, 1);
    asks(suggestions_post, ONE(long_name), "", 422, NULL, 0);
    snprintf(long_name, sizeof long_name, "{\"suggestions\": [{\"parameters\": {}, \"name\": \"%0*d\"}]}",
             SUGGESTION_NAME - 1, 1);
    snprintf(wanted, sizeof wanted, "%0*d {} 0, suggest 1", SUGGESTION_NAME - 1, 1);
    asks(suggestions_post, ONE(long_name), wanted, 200, "ensemble", 1);
}

/* One call has so many, that no turn is long. */
static void many_suggestions(void **state)
{
    json_t *body = json_pack("{s:[]}", "suggestions");
    int status;

    for (int n = 1; n <= 1001; n++) {
        json_array_append_new(json_object_get(body, "suggestions"), json_pack("{s:{s:i}}", "parameters", "x", n));
        if (n >= 1000) {
            char *text = json_dumps(body, 0);

            ask(suggestions_post, ONE(text), &status);
            assert_int_equal(status, n == 1000 ? 201 : 422);
            free(text);
        }
    }
    json_decref(body);
}

static void what_the_engine_refuses_is_refused(void **state)
{
    asks(ensemble_pause_post, OVER(NULL), "pause 9 " SOCKET, 409, NULL, 0);
    asks(ensemble_resume_post, OVER(NULL), "resume 9", 409, NULL, 0);
    asks(ensemble_cancel_post, OVER(NULL), "cancel 9", 409, NULL, 0);
    asks(ensemble_close_post, OVER(NULL), "close 9", 409, NULL, 0);
    asks(ensemble_patch, OVER("{\"width\": 3}"), "resize 9 to 3 later " SOCKET, 409, NULL, 0);
    asks(ensemble_resubmit_post, OVER("{}"), "resubmit 9 failed,unfinished ", 409, NULL, 0);
    asks(member_cancel_post, OVER(NULL), "cancel 9.2", 409, NULL, 0);
    asks(member_resubmit_post, OVER(NULL), "resubmit 9.2 ", 409, NULL, 0);
    asks(training_patch, OVER("{\"ranks\": 3}"), "resize training 9 to 3 " SOCKET, 409, NULL, 0);
    asks(training_resubmit_post, OVER(NULL), "resubmit training 9  - 0 {}", 409, NULL, 0);
    asks(ensemble_follow_up_post, OVER("{}"), "follow up 9 unfinished {}", 409, NULL, 0);
    asks(suggestions_post, OVER("{\"suggestions\": [{\"parameters\": {}}]}"), "- {} 0, suggest 9", 409, NULL, 0);
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {WITH_STORE(ensembles),        WITH_STORE(trainings),
                                       WITH_STORE(follow_ups),       WITH_STORE(suggestions),
                                       WITH_STORE(many_suggestions), WITH_STORE(what_the_engine_refuses_is_refused)};

    log_init("verbs", LOG_LEVEL_NONE);
    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
