/* Placeholders: the text up to the first newline, filled from the JSON object behind it. */
#include "tests/fuzz/fuzz.h"

#include "daemon/spec/template.h"

static bool known(void *values, const char *name)
{
    json_t *value = json_object_get(values, name);

    return json_is_string(value) || json_is_number(value) || json_is_boolean(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *newline = memchr(data, '\n', size);
    size_t head = newline != NULL ? (size_t)(newline - data) : size;
    char *text = text_of(data, head);
    struct text filled = {0};
    json_t *values = newline != NULL ? json_loadb((const char *)newline + 1, size - head - 1, 0, NULL) : NULL;
    struct error err = {.code = "", .text = ""};

    if (!json_is_object(values)) {
        json_decref(values);
        values = json_pack("{s:s, s:f, s:i, s:b}", "name", "{x}", "real", 0.1, "i", -7, "yes", 1);
    }
    if (template_check(text, known, values, "/command/0", &err) == 0) {
        MUST(template_fill(&filled, text, NULL, values, SIZE_MAX) == 0);
        MUST(filled.data != NULL && strlen(filled.data) == filled.size);
        if (strpbrk(text, "{}") == NULL)
            MUST(strcmp(filled.data, text) == 0);
        free(filled.data);
    } else {
        must_tell(&err);
    }
    json_decref(values);
    free(text);
    return 0;
}
