#include "api/web_tables.h"

#include "common/member_state.h"

#define JS(symbol, name, final, style, sign, place, fill, ink, dark_fill, dark_ink, help)                              \
    "  {name: '" name "', isFinal: " #final ", style: '" #style "', sign: '" sign "', place: " #place                  \
    ",\n    help: \"" help "\"},\n"
#define CSS_COLOURS(name, fill, ink) "  --" name ": " fill "; --ink-" name ": " ink ";\n"
#define CSS_LIGHT(symbol, name, final, style, sign, place, fill, ink, ...) CSS_COLOURS(name, fill, ink)
#define CSS_DARK(symbol, name, final, style, sign, place, fill, ink, dark_fill, dark_ink, ...)                         \
    CSS_COLOURS(name, dark_fill, dark_ink)
#define CSS_CLASS(symbol, name, ...) ".s-" name " { color: var(--ink-" name "); fill: var(--" name "); }\n"

/* clang-format off */
static const char js[] =
    "// The states of members by their codes, as common/member_state.h has them.\n"
    "export const MEMBER_STATES = [\n" MEMBER_STATES(JS) "];\n"
    "export const EVENT_KINDS = [\n"
#define EVENT_KIND(name) "  '" name "',\n"
#include "api/tbl/event_kinds.h"
#undef EVENT_KIND
    "];\n";
static const char css[] =
    ":root {\n" MEMBER_STATES(CSS_LIGHT) "}\n"
    "@media (prefers-color-scheme: dark) { :root {\n" MEMBER_STATES(CSS_DARK) "} }\n"
    MEMBER_STATES(CSS_CLASS);
/* clang-format on */

const struct embedded web_tables[] = {{"data/tables.js", js, sizeof js - 1}, {"tables.css", css, sizeof css - 1}, {0}};
