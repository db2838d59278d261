/* Paths and patterns of files below a directory of the member, in which {placeholders} stand for its parameters. */
#include "daemon/spec/paths.h"

#include "daemon/spec/internal.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int spec_check_path(const struct spec *spec, const char *path, const char *pointer, const char *what, struct error *err)
{
    if (*path == '\0')
        return error_at(err, "spec_impossible_value", pointer, "a path is not empty");
    if (template_check(path, spec_known_placeholder, spec->params, pointer, err) < 0)
        return -1;
    return spec_check_relative(path, pointer, what, err);
}

/* Adds a value, in which nothing has the meaning that it has in a pattern. */
static void put_plain(struct text *out, const json_t *value)
{
    struct text plain = {0};

    text_put(&plain, "", 0);
    template_put_value(&plain, value);
    for (const char *c = plain.data; *c; c++) {
        if (strchr("*?[\\", *c) != NULL)
            text_put(out, "\\", 1);
        text_put(out, c, 1);
    }
    free(plain.data);
}

char *spec_fill_path(const char *path, const struct template_word *words, const json_t *values, struct error *err)
{
    char name[TEMPLATE_NAME_MAX + 1];
    struct text out = {0};

    if (!template_is_full(path, words, values, name)) {
        error_set(err, "spec_impossible_value", "nothing fills {%.60s} in the path \"%.80s\"", name, path);
        return NULL;
    }
    if (template_fill_by(&out, path, words, values, put_plain, PATH_MAX) < 0)
        error_set(err, "spec_impossible_value", "the path \"%.80s\" is too long once it is filled", path);
    else if (out.size > 0 && spec_check_relative(out.data, "", "its directory", err) == 0)
        return out.data;
    else if (out.size == 0)
        error_set(err, "spec_impossible_value", "the path \"%.80s\" is empty once it is filled", path);
    free(out.data);
    return NULL;
}

bool spec_path_varies(const char *path)
{
    return path != NULL && strpbrk(path, "{}") != NULL;
}
