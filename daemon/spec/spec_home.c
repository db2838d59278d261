#include "daemon/spec/internal.h"

#include "scheduler-adapters/resources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keys that are often written one level too high or too low, by the object of the spec in which they belong. Those of
 * resources are not listed here. */
static const struct {
    const char *object, *keys[16];
} homes[] = {
    {"/members/parameters", {"grid", "method", "count", "seed", "space", "exclude", "file"}},
    {"/members",
     {"command", "parameters", "resources", "retries", "success", "env", "silence", "artefacts", "results", "metrics",
      "umask"}},
    {"/training", {"ranks", "fields", "buffer", "failure_after", "streams"}},
    {"",
     {"width", "pack", "share", "adapter", "training", "members", "allocation", "elastic", "early_stopping",
      "follow_up", "max_failures"}},
};

static const char *home_of(const char *key)
{
    if (resource_find(key) != NULL)
        return "/members/resources";
    for (size_t i = 0; i < sizeof homes / sizeof *homes; i++)
        for (size_t k = 0; k < sizeof homes[i].keys / sizeof *homes[i].keys && homes[i].keys[k] != NULL; k++)
            if (strcmp(homes[i].keys[k], key) == 0)
                return homes[i].object;
    return NULL;
}

void spec_tell_home(struct error *err)
{
    static const char known[] = "; known here: ";
    const char *key = strrchr(err->pointer, '/'), *rest = strstr(err->text, known), *home;
    char place[80], text[sizeof err->text];

    if (strcmp(err->code, "spec_unknown_key") != 0 || key == NULL || rest == NULL || (home = home_of(key + 1)) == NULL)
        return;
    /* a training has resources, too */
    snprintf(place, sizeof place, "%s", home);
    if (strncmp(err->pointer, "/training/", 10) == 0 && strcmp(home, "/members/resources") == 0)
        snprintf(place, sizeof place, "/training/resources");
    if ((size_t)(key - err->pointer) == strlen(place) && strncmp(err->pointer, place, strlen(place)) == 0)
        return; /* it is there: another key excludes it */
    if (snprintf(text, sizeof text, "%.*s, which belongs %s%s%s", (int)(rest - err->text), err->text,
                 place[0] != '\0' ? "in " : "at the top", place, rest) < (int)sizeof text)
        memcpy(err->text, text, sizeof text);
}
