#include "tasks/train/saved.h"

#include "common/files.h"
#include "common/log.h"
#include "common/xalloc.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int no_memory_for_list(struct error *err)
{
    return error_set(err, "train_memory", "no memory for the list of checkpoints");
}

char *saved_path(const struct train_config *config, const char *name, const char *file)
{
    return file == NULL ? alloc_printf("%s/%s", config->checkpoint.dir, name)
                        : alloc_printf("%s/%s/%s", config->checkpoint.dir, name, file);
}

static char *part_path(const struct train_config *config, const char *name, int rank)
{
    char file[32];

    snprintf(file, sizeof file, "rank%d.json", rank);
    return saved_path(config, name, file);
}

static int write_json(const char *path, json_t *value, struct error *err)
{
    int rc = path != NULL && value != NULL ? file_write_json(path, value, 0600, err) : no_memory_for_list(err);

    json_decref(value);
    return rc;
}

int saved_part_write(const struct train_config *config, const char *name, const struct saved_part *part,
                     struct error *err)
{
    char *path = part_path(config, name, config->rank);
    json_t *json = json_pack(
        "{s:i, s:i, s:i, s:f, s:b, s:I, s:I, s:I, s:I, s:o}", "version", 1, "rank", config->rank, "ranks",
        config->ranks, "time", part->time, "last", part->last, "step", (json_int_t)part->step, "batches",
        (json_int_t)part->batches, "drawn", (json_int_t)part->drawn, "whole", (json_int_t)part->whole, "state",
        part->state ? json_pack("{s:I, s:s}", "size", (json_int_t)part->size, "digest", part->digest) : json_null());
    int rc = write_json(path, json, err);

    free(path);
    return rc;
}

static int64_t integer_at(const json_t *json, const char *key)
{
    return json_integer_value(json_object_get(json, key));
}

int saved_part_read(const struct train_config *config, const char *name, int rank, struct saved_part *part,
                    struct error *err)
{
    char *path = part_path(config, name, rank);
    json_t *json = path != NULL ? file_read_json(path, err) : NULL;
    const json_t *state = json_object_get(json, "state");
    const char *digest = json_string_value(json_object_get(state, "digest"));
    int failed = errno;

    free(path);
    if (path == NULL)
        return no_memory_for_list(err);
    *part = (struct saved_part){.ranks = (int)integer_at(json, "ranks"),
                                .last = json_is_true(json_object_get(json, "last")),
                                .time = json_number_value(json_object_get(json, "time")),
                                .step = integer_at(json, "step"),
                                .batches = (uint64_t)integer_at(json, "batches"),
                                .drawn = (uint64_t)integer_at(json, "drawn"),
                                .whole = (uint64_t)integer_at(json, "whole"),
                                .state = digest != NULL,
                                .size = integer_at(state, "size")};
    snprintf(part->digest, sizeof part->digest, "%s", digest != NULL ? digest : "");
    json_decref(json);
    errno = failed;
    return json != NULL ? 0 : -1;
}

/* Returns the entry of a checkpoint in the list, made of the parts of all ranks; NULL if one is missing (errno
 * ENOENT), or with err. */
static json_t *make_entry(const struct train_config *config, const char *name, struct error *err)
{
    struct saved_part part, sum = {0};
    json_t *entry;

    for (int rank = 0; rank < config->ranks; rank++) {
        if (saved_part_read(config, name, rank, &part, err) < 0)
            return NULL;
        if (rank == 0)
            sum = part;
        if (rank > 0) {
            if (!sum.state && part.state) {
                memcpy(sum.digest, part.digest, sizeof sum.digest);
                sum.state = true;
            }
            sum.drawn += part.drawn;
            sum.size += part.size;
            sum.last = sum.last && part.last;
            sum.time = part.time < sum.time ? part.time : sum.time;
        }
    }
    if (!sum.state) {
        error_set(err, "train_checkpoint", "no rank has saved a state");
        errno = EINVAL;
        return NULL;
    }
    entry = json_pack("{s:s, s:I, s:I, s:I, s:i, s:f, s:I, s:s, s:I, s:b}", "name", name, "generation",
                      (json_int_t)config->generation, "step", (json_int_t)sum.step, "batches", (json_int_t)sum.batches,
                      "ranks", config->ranks, "time", sum.time, "size", (json_int_t)sum.size, "digest", sum.digest,
                      "drawn", (json_int_t)sum.drawn, "last", sum.last);
    if (entry == NULL) {
        no_memory_for_list(err);
        errno = ENOMEM;
    }
    return entry;
}

static char *saved_list_path(const struct train_config *config)
{
    return alloc_printf("%s/checkpoints.json", config->checkpoint.dir);
}

static bool is_named(const json_t *entry, const char *name)
{
    const char *its = json_string_value(json_object_get(entry, "name"));

    return its != NULL && strcmp(its, name) == 0;
}

/* Returns the list's array, a new reference: an empty one if there is no list yet; NULL with err. */
static json_t *read_saved_list(const struct train_config *config, struct error *err)
{
    char *path = saved_list_path(config);
    json_t *file = path != NULL ? file_read_json(path, err) : NULL, *list;

    if (path == NULL)
        no_memory_for_list(err);
    else if (file == NULL && errno == ENOENT)
        file = json_object();
    free(path);
    if (file == NULL)
        return NULL;
    list = json_incref(json_object_get(file, "checkpoints"));
    json_decref(file);
    return json_is_array(list) ? list : json_array();
}

/* Writes the list; `list` is taken over. */
static int write_saved_list(const struct train_config *config, json_t *list, struct error *err)
{
    char *path = saved_list_path(config);
    int rc = write_json(path, json_pack("{s:i, s:o}", "version", 1, "checkpoints", list), err);

    free(path);
    return rc;
}

/* Removes the entries of this name from the list. */
static void remove_from_list(json_t *list, const char *name)
{
    for (size_t i = json_array_size(list); i-- > 0;)
        if (is_named(json_array_get(list, i), name))
            json_array_remove(list, i);
}

/* The order of a name, gG[.R]-sS[-b]: generation, restart, step, and whether it is that step's second one. */
static bool parse_name(const char *name, int64_t order[4])
{
    int end = 0;

    order[1] = 0;
    if (sscanf(name, "g%" SCNd64 "-s%" SCNd64 "%n", &order[0], &order[2], &end) != 2 &&
        sscanf(name, "g%" SCNd64 ".%" SCNd64 "-s%" SCNd64 "%n", &order[0], &order[1], &order[2], &end) != 3)
        return false;
    order[3] = strcmp(name + end, "-b") == 0;
    return order[3] || name[end] == '\0';
}

bool saved_is_older(const char *name, const char *than)
{
    int64_t its[4], other[4];

    if (!parse_name(name, its) || !parse_name(than, other))
        return false;
    for (int i = 0; i < 4; i++)
        if (its[i] != other[i])
            return its[i] < other[i];
    return false;
}

static bool is_checkpoint_listed(const json_t *list, const char *name)
{
    const json_t *entry;
    size_t i;

    json_array_foreach ((json_t *)list, i, entry)
        if (is_named(entry, name))
            return true;
    return false;
}

/* Returns whether this generation went on from that checkpoint, so that its samples may still be read. */
static bool is_in_use(const struct train_config *config, const char *name)
{
    return config->checkpoint.resume != NULL && strcmp(config->checkpoint.resume, name) == 0;
}

/* Takes out what former generations saved after the checkpoint that this one went on from: a user chose an earlier
 * one, or the start. */
static void take_out_left(const struct train_config *config, json_t *list)
{
    for (size_t i = 0; i < json_array_size(list);) {
        const json_t *entry = json_array_get(list, i);

        if (config->checkpoint.resume != NULL && is_named(entry, config->checkpoint.resume))
            return;
        if (integer_at(entry, "generation") < (int64_t)config->generation)
            json_array_remove(list, i);
        else
            i++;
    }
}

/* Removes the checkpoints that are older than the newest, not in the list, and not in use. */
static void remove_others(const struct train_config *config, const json_t *list, const char *newest)
{
    DIR *dir = opendir(config->checkpoint.dir);
    const struct dirent *entry;
    char *path;

    if (dir == NULL) {
        log_warn("old checkpoints are not removed: %s: %s", config->checkpoint.dir, strerror(errno));
        return;
    }
    while ((entry = readdir(dir)) != NULL) {
        if (!saved_is_older(entry->d_name, newest) || is_checkpoint_listed(list, entry->d_name) ||
            is_in_use(config, entry->d_name))
            continue;
        path = saved_path(config, entry->d_name, NULL);
        if (path != NULL)
            state_remove(path);
        free(path);
    }
    closedir(dir);
}

bool saved_is_written(const struct train_config *config, const char *name)
{
    struct error err;
    json_t *entry = make_entry(config, name, &err);

    json_decref(entry);
    return entry != NULL;
}

int saved_add(const struct train_config *config, const char *name, struct error *err)
{
    json_t *entry = make_entry(config, name, err), *list;
    int rc;

    if (entry == NULL)
        return errno == ENOENT ? 0 : -1;
    list = read_saved_list(config, err);
    if (list == NULL) {
        json_decref(entry);
        return -1;
    }
    remove_from_list(list, name);
    take_out_left(config, list);
    json_array_insert_new(list, 0, entry);
    while (json_array_size(list) > (size_t)config->checkpoint.keep)
        json_array_remove(list, json_array_size(list) - 1);
    rc = write_saved_list(config, json_incref(list), err);
    if (rc == 0)
        remove_others(config, list, name);
    json_decref(list);
    return rc < 0 ? -1 : 1;
}

int saved_drop(const struct train_config *config, const char *name, struct error *err)
{
    json_t *list = read_saved_list(config, err);

    if (list == NULL)
        return -1;
    remove_from_list(list, name);
    return write_saved_list(config, list, err);
}

char *saved_newest(const struct train_config *config, int64_t *step, struct error *err)
{
    json_t *list = read_saved_list(config, err);
    const json_t *entry = NULL, *item;
    const char *name;
    char *copy = NULL;
    size_t i;

    json_array_foreach (list, i, item)
        if (entry == NULL && integer_at(item, "generation") == config->generation)
            entry = item;
    name = json_string_value(json_object_get(entry, "name"));
    if (list != NULL && (copy = strdup(name != NULL ? name : "")) == NULL)
        no_memory_for_list(err);
    *step = integer_at(entry, "step");
    json_decref(list);
    return copy;
}

bool saved_is_whole(const struct train_config *config, const char *name)
{
    struct error ignored; /* it is looked for again */
    json_t *list = read_saved_list(config, &ignored);
    bool listed = list != NULL && is_checkpoint_listed(list, name);

    json_decref(list);
    return listed;
}
