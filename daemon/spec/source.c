#include "daemon/spec/source.h"

#include <stdarg.h>

#define CODE "spec_parameter_file"

void source_init(struct source *source, FILE *in)
{
    static const int mark[] = {0xef, 0xbb, 0xbf};

    *source = (struct source){in, 1, SOURCE_MAX};
    for (int i = 0; i < 3; i++) {
        if (getc_unlocked(in) != mark[i]) {
            rewind(in);
            return;
        }
    }
}

int source_check(const struct source *source, struct error *err)
{
    if (ferror(source->in))
        return error_errno(err, CODE, "line %lld: it cannot be read on", (long long)source->line);
    if (source->left < 0 && !feof(source->in))
        return error_set(err, CODE, "it has more than %lld bytes", (long long)SOURCE_MAX);
    return 0;
}

int source_refuse(int64_t line, struct error *err, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return line == 0 ? error_set(err, CODE, "%s", text) : error_set(err, CODE, "line %lld: %s", (long long)line, text);
}
