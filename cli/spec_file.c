#include "cli/spec_file.h"

#include "cli/spec_rules.h"
#include "common/jsonx.h"
#include "common/xalloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPEC_MAX ((size_t)64 << 20)
#define CODE "spec_file"

static char *read_spec_text(FILE *in, const char *shown, size_t *size, struct error *err)
{
    size_t room = 1 << 16, n;
    char *text = xcalloc(room, 1);

    *size = 0;
    while ((n = fread(text + *size, 1, room - 1 - *size, in)) > 0) {
        *size += n;
        if (*size > SPEC_MAX) {
            error_set(err, CODE, "%s: larger than 64 MiB: no spec is", shown);
            goto fail;
        }
        if (room - 1 - *size == 0) {
            room *= 2;
            text = xrealloc(text, room, 1);
        }
    }
    if (ferror(in)) {
        error_errno(err, CODE, "%s: cannot be read", shown);
        goto fail;
    }
    text[*size] = '\0';
    return text;
fail:
    free(text);
    return NULL;
}

static int check_syntax(const char *text, size_t size, const char *shown, struct error *err)
{
    json_error_t where;
    json_t *spec = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &where);
    int rc = 0;

    if (spec == NULL)
        return error_set(err, CODE, "%s:%d:%d: %s", shown, where.line, where.column, where.text);
    if (!json_is_object(spec))
        rc = error_set(err, CODE, "%s:1:1: a spec is a JSON object, not %s", shown, jsonx_type_name(spec));
    json_decref(spec);
    return rc;
}

/* Returns the absolute folder that a spec's relative paths start from; NULL with err. */
static char *folder_of(const char *name, struct error *err)
{
    char *copy = xstrdup(strcmp(name, "-") == 0 ? "." : name), *slash = strrchr(copy, '/'), *folder;

    if (slash == copy)
        slash[1] = '\0';
    else if (slash != NULL)
        *slash = '\0';
    folder = realpath(slash != NULL ? copy : ".", NULL);
    if (folder == NULL)
        error_errno(err, CODE, "%s: its folder", name);
    free(copy);
    return folder;
}

/* Makes the path of a relative file of parameters absolute, since the daemon does not know the user's working
 * directory. Returns -1 with err. */
static int settle_parameter_file(json_t *spec, const char *folder, const char *name, bool *changed, struct error *err)
{
    json_t *parameters = json_object_get(json_object_get(spec, "members"), "parameters");
    const char *file = json_string_value(json_object_get(parameters, "file"));
    char *path;
    int rc;

    if (file == NULL || file[0] == '\0' || file[0] == '/')
        return 0;
    path = xasprintf("%s/%s", strcmp(folder, "/") == 0 ? "" : folder, file);
    rc = json_object_set_new(parameters, "file", json_string(path));
    if (rc < 0)
        error_set(err, CODE, "%s: the path %s is not UTF-8", name, path);
    *changed = true;
    free(path);
    return rc;
}

/* Replaces the names of the user's files. Returns text, or its replacement (text is then freed); NULL with err. */
static char *resolve_spec_files(char *text, size_t size, const char *name, struct error *err)
{
    json_t *spec = json_loadb(text, size, 0, NULL);
    bool changed = false,
         names_files = json_object_get(spec, "rules") != NULL ||
                       json_object_get(json_object_get(json_object_get(spec, "members"), "parameters"), "file") != NULL;
    char *folder = names_files ? folder_of(name, err) : NULL;
    int rc = !names_files ? 0
             : folder == NULL || settle_parameter_file(spec, folder, name, &changed, err) < 0 ||
                     spec_rules_settle(spec, folder, &changed, err) < 0
                 ? -1
                 : 0;

    if (rc < 0 || changed) {
        free(text);
        text = rc == 0 ? jsonx_dumps(spec, JSON_COMPACT) : NULL;
    }
    free(folder);
    json_decref(spec);
    return text;
}

char *spec_file_read(const char *name, struct error *err)
{
    int standard_input = strcmp(name, "-") == 0;
    const char *shown = standard_input ? "standard input" : name;
    FILE *in = standard_input ? stdin : fopen(name, "re");
    size_t size;
    char *text;

    if (in == NULL) {
        error_errno(err, CODE, "%s: cannot be opened", shown);
        return NULL;
    }
    text = read_spec_text(in, shown, &size, err);
    if (!standard_input)
        fclose(in);
    if (text != NULL && jsonx_skip_mark(text, size) != text) {
        size -= 3;
        memmove(text, text + 3, size + 1);
    }
    if (text && check_syntax(text, size, shown, err) < 0) {
        free(text);
        return NULL;
    }
    return text != NULL ? resolve_spec_files(text, size, name, err) : NULL;
}
