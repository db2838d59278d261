/* Short texts out of requests: what the first byte says decides which. */
#include "tests/fuzz/fuzz.h"

#include "api/host.h"
#include "api/range.h"
#include "api/routes.h"
#include "api/token.h"
#include "api/value.h"
#include "common/units.h"

static void path(const char *text)
{
    static const char *const methods[] = {"GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS", "", "G\x7f"};

    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        const struct route *route = NULL;
        int64_t ids[ROUTE_IDS] = {0};
        char allow[64];
        enum routes_answer answer = routes_find(methods[i], text, &route, ids, allow, sizeof allow);

        MUST((answer == ROUTES_FOUND) == (route != NULL));
        MUST(answer == ROUTES_NO_PATH || strstr(allow, "OPTIONS") != NULL);
        for (int n = 0; n < ROUTE_IDS; n++)
            MUST(ids[n] >= 0);
        /* one name a thing: numbers and the words of the table, and nothing else in them */
        MUST(answer != ROUTES_FOUND || text[strspn(text, "/abcdefghijklmnopqrstuvwxyz.-0123456789")] == '\0');
        MUST(answer != ROUTES_FOUND || strstr(text, "..") == NULL);
    }
}

static void range(const char *text)
{
    static const int64_t sizes[] = {0, 1, 10, INT64_MAX};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t first = -1, end = -1;
        enum range_answer answer = range_parse(text, sizes[i], &first, &end);

        MUST(first >= 0 && first <= end && end <= sizes[i]);
        MUST(answer != RANGE_PART || first < end);
        MUST(answer == RANGE_PART || (first == 0 && end == sizes[i]));
    }
}

static void token(const char *text)
{
    char secret[TOKEN_SECRET_SIZE], again[TOKEN_SECRET_SIZE], spelt[TOKEN_SIZE], hash[65];
    int64_t id = -1, id_again;

    if (token_parse(text, &id, secret) < 0)
        return;
    MUST(id >= 0 && strlen(secret) == TOKEN_SECRET_SIZE - 1);
    token_hash(secret, hash);
    MUST(strlen(hash) == 64);
    token_spell(id, secret, spelt);
    MUST(token_parse(spelt, &id_again, again) == 0);
    MUST(id == id_again && strcmp(secret, again) == 0);
}

static void host(const char *text)
{
    static const char *const names[] = {"login1.example.org", NULL};

    host_allowed(text, "127.0.0.1", -1, names);
    MUST(!host_allowed(text, "127.0.0.1", -1, NULL) || strstr(text, "evil") == NULL);
}

static void units(const char *text)
{
    int64_t n = -1;

    MUST(duration_parse(text, &n) < 0 || n >= 0);
    MUST(size_parse(text, &n) < 0 || n >= 0);
}

static void value(const char *text)
{
    json_t *json = value_text(text);
    char *line;

    MUST(json_is_string(json));
    line = value_dump(json);
    MUST(line == NULL || line[strlen(line) - 1] == '\n');
    free(line);
    json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const kinds[])(const char *text) = {path, range, token, host, units, value};
    char *text;

    if (size == 0)
        return 0;
    text = text_of(data + 1, size - 1);
    kinds[data[0] % (sizeof kinds / sizeof *kinds)](text);
    free(text);
    return 0;
}
