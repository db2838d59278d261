#include "cli/sweep_rules.h"

#include "cli/client.h"
#include "cli/render.h"
#include "common/text.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 100 /* of the table of what ran, for each ensemble */
#define NAMED 10 /* attempts, or variables, that a note names */
#define DIFFERS "differs"

/* An ensemble that is judged, with the rules and the attempts that its own are compared with. */
struct judging {
    const json_t *rules, *command; /* of its spec */
    int64_t ensemble;
    json_t *facts; /* what the report says of it */
    json_t
        *reference; /* "as at" of each file that the reference's attempts ran: an object of its SHA-256; NULL: none */
    json_t *variables;       /* the same of the variables of their environments */
    struct sweep_run **runs; /* by index */
    size_t n_runs;
};

static json_t *fact_list(json_t *facts, const char *key)
{
    json_t *list = json_object_get(facts, key);

    if (list == NULL) {
        list = json_array();
        json_object_set_new(facts, key, list);
    }
    return list;
}

/* Adds a sentence once. Takes the text over. */
static void add_fact_note(json_t *facts, const char *key, char *text)
{
    json_t *list = fact_list(facts, key), *value = json_string(text), *item;
    bool there = false;
    size_t i;

    json_array_foreach (list, i, item)
        there = there || json_equal(item, value);
    if (!there)
        json_array_append(list, value);
    json_decref(value);
    free(text);
}

static json_t *get_ran(struct cli *cli, int64_t ensemble, struct error *err)
{
    char *path = xasprintf("/v1/ensembles/%lld/ran", (long long)ensemble);
    json_t *reply = NULL;

    client_get(cli->client, path, &reply, NULL, err);
    free(path);
    return reply;
}

static char *file_key(const json_t *file)
{
    return xasprintf("%s %s", get_string(file, "as"), get_string(file, "at"));
}

static void put_into(json_t *sets, const char *key, const char *value)
{
    json_t *set = json_object_get(sets, key);

    if (set == NULL) {
        set = json_object();
        json_object_set_new(sets, key, set);
    }
    json_object_set_new(set, value, json_true());
}

/* Collects what the attempts of the reference ran. */
static int read_reference(struct cli *cli, struct judging *j, struct error *err)
{
    int64_t id = get_int(j->rules, "reference_ensemble");
    json_t *reply = id > 0 ? get_ran(cli, id, err) : NULL, *item, *file, *value;
    const char *name;
    size_t i, k;

    if (id > 0 && reply == NULL)
        return -1;
    if (json_array_size(json_object_get(reply, "ran")) > 0) {
        j->reference = json_object();
        j->variables = json_object();
    }
    json_array_foreach (json_object_get(reply, "ran"), i, item) {
        json_array_foreach (json_object_get(item, "files"), k, file) {
            char *key = file_key(file);

            put_into(j->reference, key, get_string(file, "sha256"));
            free(key);
        }
        json_object_foreach (json_object_get(item, "environment"), name, value)
            put_into(j->variables, name, json_string_value(value));
    }
    json_decref(reply);
    return 0;
}

/* Returns whether the reference lets a place vary, or one that it is in. */
static bool lets_vary(const struct judging *j, const char *at)
{
    const json_t *list = json_object_get(json_object_get(json_object_get(j->rules, "reference"), "rules"), "may_vary");
    const json_t *item;
    size_t i;

    json_array_foreach ((json_t *)list, i, item) {
        const char *place = json_string_value(item);
        size_t n = strlen(place);

        if (place[0] == '/' && strncmp(at, place, n) == 0 && (at[n] == '/' || at[n] == '\0'))
            return true;
    }
    return false;
}

static size_t argument_number(const char *at)
{
    const char *slash = strrchr(at, '/');

    return slash != NULL ? (size_t)strtoul(slash + 1, NULL, 10) : 0;
}

/* Returns whether a file is another one by design: its argument depends on parameters, or may vary. */
static bool may_file_vary(const struct judging *j, const json_t *file)
{
    const char *at = get_string(file, "at");
    const char *word = json_string_value(json_array_get(j->command, argument_number(at)));

    return lets_vary(j, at) || (strcmp(get_string(file, "as"), "argument") == 0 && word != NULL && strchr(word, '{'));
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* Returns the SHA-256 that the rules give a file with this name; NULL: they name none. */
static const char *digest_by_name(const struct judging *j, const char *path)
{
    const json_t *file;
    size_t i;

    json_array_foreach (json_object_get(j->rules, "files"), i, file)
        if (strcmp(base_of(get_string(file, "path")), base_of(path)) == 0)
            return get_string(file, "sha256");
    return NULL;
}

/* Judges one file that an attempt ran. Returns a word for the table, and what is wrong with it in *wrong, to be freed;
 * NULL if nothing is. */
static const char *judge_file(struct judging *j, const json_t *file, char **wrong)
{
    const char *as = get_string(file, "as"), *path = get_string(file, "path"), *sha = get_string(file, "sha256");
    const char *named =
        strcmp(as, "file") == 0
            ? get_string(json_array_get(json_object_get(j->rules, "files"), argument_number(get_string(file, "at"))),
                         "sha256")
            : NULL;
    char *key;
    const json_t *set;

    *wrong = NULL;
    if (may_file_vary(j, file))
        return "may vary";
    if (sha[0] == '\0' && strcmp(as, "argument") == 0) {
        add_fact_note(j->facts, "not_compared", xasprintf("%s, which is too large, or could not be read", path));
        return "not hashed";
    }
    if (sha[0] == '\0')
        *wrong = xasprintf("%s could not be read", path);
    else if (json_object_get(file, "end") != NULL)
        *wrong = xasprintf("%s was changed while it ran", path);
    else if (named != NULL && strcmp(named, sha) != 0)
        *wrong = xasprintf("%s is not the file of the rules", path);
    else if (named == NULL && strcmp(as, "argument") == 0 && digest_by_name(j, path) != NULL &&
             strcmp(digest_by_name(j, path), sha) != 0)
        *wrong = xasprintf("%s is not the %s of the rules", path, base_of(path));
    if (*wrong == NULL && json_object_get(file, "touched") != NULL)
        add_fact_note(j->facts, "differences",
                      xasprintf("%s was touched while it ran, and had the same content then", path));
    if (*wrong != NULL || named != NULL)
        return *wrong != NULL ? DIFFERS : "as in the rules";
    if (j->reference == NULL)
        return "not compared";
    key = file_key(file);
    set = json_object_get(j->reference, key);
    free(key);
    if (json_object_get(set, sha) != NULL)
        return "as in the reference";
    *wrong = xasprintf("%s %s is not that of the reference", as, path);
    return DIFFERS;
}

/* Adds to the rows of what ran: how many attempts ran this. */
static void count_file(json_t *facts, const json_t *file, const char *verdict, size_t attempts)
{
    json_t *rows = json_object_get(facts, "ran"), *row;
    char *key = xasprintf("%s %s %s", get_string(file, "at"), get_string(file, "path"), get_string(file, "sha256"));

    if (rows == NULL) {
        rows = json_object();
        json_object_set_new(facts, "ran", rows);
    }
    row = json_object_get(rows, key);
    if (row == NULL) {
        row = json_pack("{s:s, s:s, s:s, s:s, s:s}", "as", get_string(file, "as"), "at", get_string(file, "at"), "path",
                        get_string(file, "path"), "sha256", get_string(file, "sha256"), "compared", verdict);
        if (json_object_get(file, "end") != NULL)
            json_object_set(row, "end", json_object_get(file, "end"));
        json_object_set_new(rows, key, row);
    }
    json_object_set_new(row, "attempts", json_integer(get_int(row, "attempts") + (json_int_t)attempts));
    free(key);
}

static void name_variable(json_t *names, const char *name)
{
    json_object_set_new(names, name, json_true());
}

static void compare_variables(struct judging *j, const json_t *own)
{
    json_t *names = json_object_get(j->facts, "variables"), *value;
    const char *name;

    if (j->variables == NULL)
        return;
    if (names == NULL) {
        names = json_object();
        json_object_set_new(j->facts, "variables", names);
    }
    json_object_foreach ((json_t *)own, name, value)
        if (json_object_get(json_object_get(j->variables, name), json_string_value(value)) == NULL)
            name_variable(names, name);
    json_object_foreach (j->variables, name, value)
        if (json_object_get(own, name) == NULL)
            name_variable(names, name);
}

/* Takes the run of each attempt in the list out of the ranking. */
static void leave_attempts_out(struct judging *j, const json_t *attempts, const char *why)
{
    const json_t *attempt;
    size_t i;

    json_array_foreach ((json_t *)attempts, i, attempt) {
        size_t index = (size_t)json_integer_value(json_array_get(attempt, 0));
        struct sweep_run *run = index < j->n_runs ? j->runs[index] : NULL;

        if (run == NULL || run->fate == SWEEP_AGAINST)
            continue;
        run->fate = SWEEP_AGAINST;
        free(run->reason);
        run->reason = xasprintf("attempt %lld: %s", (long long)json_integer_value(json_array_get(attempt, 1)), why);
    }
}

static void judge_item(struct judging *j, const json_t *item)
{
    const json_t *attempts = json_object_get(item, "attempts"), *files = json_object_get(item, "files"), *file;
    char *wrong;
    size_t i;

    json_array_foreach ((json_t *)files, i, file) {
        const char *verdict = judge_file(j, file, &wrong);

        count_file(j->facts, file, verdict, json_array_size(attempts));
        if (wrong != NULL)
            leave_attempts_out(j, attempts, wrong);
        free(wrong);
    }
    compare_variables(j, json_object_get(item, "environment"));
}

/* Names attempts whose programs were not recorded. */
static void note_missing(struct judging *j, int64_t ensemble, const json_t *missing)
{
    struct text text = {0};
    size_t n = json_array_size(missing);

    if (n == 0)
        return;
    text_add(&text, "what %zu attempt%s ran that ended without a record, as those do that are lost:", n,
             n == 1 ? "" : "s");
    for (size_t i = 0; i < n && i < NAMED; i++) {
        const json_t *attempt = json_array_get(missing, i);

        text_add(&text, "%s %lld.%lld (attempt %lld)", i > 0 ? "," : "", (long long)ensemble,
                 (long long)json_integer_value(json_array_get(attempt, 0)),
                 (long long)json_integer_value(json_array_get(attempt, 1)));
    }
    text_string(&text, n > NAMED ? ", …" : "");
    add_fact_note(j->facts, "not_compared", text.data);
}

/* Names files of the rules that no command names: whether a program loads them is known to the program alone. */
static void note_unnamed(struct judging *j)
{
    const json_t *files = json_object_get(j->rules, "files"), *file, *row;
    json_t *rows = json_object_get(j->facts, "ran");
    const char *key;
    size_t i;

    json_array_foreach ((json_t *)files, i, file) {
        bool named = false;

        json_object_foreach (rows, key, row)
            named = named || (strcmp(get_string(row, "as"), "file") != 0 &&
                              strcmp(get_string(row, "sha256"), get_string(file, "sha256")) == 0);
        if (!named && rows != NULL)
            add_fact_note(j->facts, "not_compared",
                          xasprintf("whether the program loads %s, which the command does not name by its path",
                                    get_string(file, "path")));
    }
}

/* Judges the attempts of an ensemble, and those of the ensembles that it follows up. */
static int judge_family(struct cli *cli, struct judging *j, struct error *err)
{
    int64_t id = j->ensemble;

    while (id > 0) {
        char *path = xasprintf("/v1/ensembles/%lld", (long long)id);
        json_t *ensemble = NULL, *reply = get_ran(cli, id, err), *item;
        int rc = reply != NULL ? client_get(cli->client, path, &ensemble, NULL, err) : -1;
        size_t i;

        json_array_foreach (json_object_get(reply, "ran"), i, item)
            judge_item(j, item);
        note_missing(j, id, json_object_get(reply, "missing"));
        id = get_int(ensemble, "follow_up_of");
        if (rc == 0 && id > 0)
            add_fact_note(
                j->facts, "differences",
                xasprintf("runs went on from ensemble %lld, whose time is not in their figures", (long long)id));
        free(path);
        json_decref(reply);
        json_decref(ensemble);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* Says whether nothing was left out of the comparison. */
static void conclude_comparison(struct judging *j)
{
    const json_t *row;
    struct text names = {0};
    const char *key;
    json_t *value;
    size_t n = 0;

    if (json_object_size(json_object_get(j->facts, "ran")) == 0)
        add_fact_note(j->facts, "not_compared", xstrdup("what ran: no attempt has a record of it"));
    else if (json_object_get(j->rules, "reference") != NULL && j->reference == NULL)
        add_fact_note(
            j->facts, "not_compared",
            xstrdup(get_int(j->rules, "reference_ensemble") > 0
                        ? "programs, launchers, arguments and environment: no attempt of the reference has a record"
                        : "programs, launchers, arguments and environment: the reference is a spec that was "
                          "submitted along, and not an ensemble that ran here"));
    json_object_foreach (json_object_get(j->facts, "ran"), key, value) {
        row = value;
        if (strcmp(get_string(row, "compared"), DIFFERS) == 0)
            add_fact_note(j->facts, "differences", xasprintf("%s %s", get_string(row, "as"), get_string(row, "path")));
    }
    json_object_foreach (json_object_get(j->facts, "variables"), key, value)
        if (n++ < NAMED)
            text_add(&names, "%s%s", n > 1 ? ", " : "the environment: ", key);
    if (n > NAMED)
        text_add(&names, " and %zu more", n - NAMED);
    if (n > 0)
        add_fact_note(j->facts, "differences", names.data);
    note_unnamed(j);
}

static int compare_runs(struct cli *cli, struct judging *j, struct sweep *sweep, struct error *err)
{
    int rc;

    for (size_t i = 0; i < sweep->n_runs; i++)
        if (sweep->runs[i].ensemble == j->ensemble && (size_t)sweep->runs[i].index >= j->n_runs)
            j->n_runs = (size_t)sweep->runs[i].index + 1;
    j->runs = xcalloc(j->n_runs + 1, sizeof *j->runs);
    for (size_t i = 0; i < sweep->n_runs; i++)
        if (sweep->runs[i].ensemble == j->ensemble)
            j->runs[sweep->runs[i].index] = &sweep->runs[i];
    rc = read_reference(cli, j, err) < 0 || judge_family(cli, j, err) < 0 ? -1 : 0;
    if (rc == 0)
        conclude_comparison(j);
    free(j->runs);
    json_decref(j->reference);
    json_decref(j->variables);
    return rc;
}

int sweep_read_rules(struct cli *cli, struct sweep_query *query, struct sweep *sweep, struct error *err)
{
    const char *id;
    json_t *facts;
    void *next;

    json_object_foreach_safe (query->rules, next, id, facts) {
        struct judging j = {.rules = json_object_get(facts, "rules"),
                            .command = json_object_get(facts, "command"),
                            .ensemble = strtoll(id, NULL, 10),
                            .facts = facts};

        if (compare_runs(cli, &j, sweep, err) < 0)
            return -1;
    }
    return 0;
}

/* Prints which reference the runs were checked against, and by which files. */
static void print_references(const struct sweep_query *query, enum sheet_form form, FILE *to)
{
    static const char *const headers[] = {"ensemble", "reference", "may vary", "file", "SHA-256", NULL};
    struct sheet *sheet = sheet_create("Rules", headers);
    const char *id;
    json_t *facts;

    json_object_foreach (query->rules, id, facts) {
        const json_t *rules = json_object_get(facts, "rules"), *reference = json_object_get(rules, "reference"),
                     *files = json_object_get(rules, "files");
        const char *name = get_string(reference, "name");
        char *vary = json_dumps(json_object_get(json_object_get(reference, "rules"), "may_vary"), JSON_COMPACT);

        for (size_t i = 0; i == 0 || i < json_array_size(files); i++) {
            const json_t *file = json_array_get(files, i);

            sheet_cell(sheet, id);
            if (get_int(rules, "reference_ensemble") > 0)
                sheet_cellf(sheet, "%s (%lld)", name, (long long)get_int(rules, "reference_ensemble"));
            else
                sheet_cell(sheet, name[0] != '\0' ? name : "-");
            sheet_cell(sheet, vary != NULL ? vary : "-");
            sheet_cell(sheet, file != NULL ? get_string(file, "path") : "-");
            sheet_cell(sheet, file != NULL ? get_string(file, "sha256") : "-");
        }
        free(vary);
    }
    sheet_note(sheet, "The SHA-256 here are those that the rules give; the next table has those of what ran.");
    sheet_print(sheet, form, to);
    sheet_destroy(sheet);
}

static void note_list(struct sheet *sheet, const char *id, const char *what, const json_t *list)
{
    const json_t *item;
    size_t i;

    json_array_foreach ((json_t *)list, i, item)
        sheet_note(sheet, "Ensemble %s %s: %s.", id, what, json_string_value(item));
}

/* Prints which parts of an ensemble were compared, and which were not. */
static void note_verdict(struct sheet *sheet, const char *id, const json_t *facts)
{
    const json_t *differences = json_object_get(facts, "differences"), *rest = json_object_get(facts, "not_compared");

    note_list(sheet, id, "differs", differences);
    note_list(sheet, id, "was not compared", rest);
    if (json_object_get(json_object_get(facts, "rules"), "reference") != NULL && json_array_size(differences) == 0 &&
        json_array_size(rest) == 0)
        sheet_note(sheet,
                   "Ensemble %s: nothing else differs of the spec, of the files above, and of the environment. "
                   "Libraries and modules that programs load were not compared.",
                   id);
}

static void print_ran(const struct sweep_query *query, enum sheet_form form, FILE *to)
{
    static const char *const headers[] = {"ensemble", "as", "file", "SHA-256", ">attempts", "compared", NULL};
    struct sheet *sheet = sheet_create("What ran", headers);
    const char *id, *key;
    json_t *facts, *row;

    json_object_foreach (query->rules, id, facts) {
        size_t n = 0, all = json_object_size(json_object_get(facts, "ran"));

        json_object_foreach (json_object_get(facts, "ran"), key, row) {
            if (n++ >= ROWS)
                break;
            sheet_cell(sheet, id);
            sheet_cell(sheet, get_string(row, "as"));
            sheet_cell(sheet, get_string(row, "path"));
            sheet_cell(sheet, get_string(row, "sha256")[0] != '\0' ? get_string(row, "sha256") : "-");
            sheet_cellf(sheet, "%lld", (long long)get_int(row, "attempts"));
            sheet_cell(sheet, get_string(row, "compared"));
        }
        if (all > ROWS)
            sheet_note(sheet, "Ensemble %s: the first %d of %zu files; --json has all.", id, ROWS, all);
        note_verdict(sheet, id, facts);
    }
    sheet_note(sheet, "These were hashed on the first node of each job, at the start and at the end of each attempt.");
    sheet_print(sheet, form, to);
    sheet_destroy(sheet);
}

void sweep_print_rules(const struct sweep_query *query, enum sheet_form form, FILE *to)
{
    if (json_object_size(query->rules) == 0)
        return;
    print_references(query, form, to);
    print_ran(query, form, to);
}
