#!/usr/bin/env bash
# Includes point down the house only.
. "${srcdir:-.}/tests/t/lib.sh"

# includes FOLDER: FILE:LINE:TEXT of every #include "…" in it
includes() { (cd "$srcdir" && grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' --include='*.[ch]' "$1"); }

# may FOLDER PREFIX...: its files include only what begins so
may() {
	local folder=$1 allowed
	shift
	allowed=$(IFS='|' && echo "$*")
	[ -n "$(includes "$folder")" ] || { fail "$folder/ includes something"; return; }
	is "$(includes "$folder" | grep -vE "\"(config\.h|${allowed//./\\.})")" "" "$folder/ includes only from: $*"
}

may common common/
may tasks common/ tasks/
# the installed header includes nothing of ours, and holds the numbers of the element types
may tasks/proto common/ tasks/proto/ tasks/member/stretto.h
is "$(includes tasks/member/stretto.h)" "" "the installed header includes nothing of ours"
may tasks/runner common/ tasks/proto/ tasks/runner/
may tasks/member common/ tasks/proto/ tasks/member/
may tasks/train common/ tasks/proto/ tasks/train/ tasks/member/stretto.h
may scheduler-adapters common/ tasks/proto/ scheduler-adapters/ oar.h
is "$(includes scheduler-adapters/oar | grep -v '"oar\.h"')" "" "the plugin for OAR includes what is installed, and nothing else of ours"
may cli common/ cli/
may api common/ daemon/ api/

# api/ stands above daemon/: only the composition root knows both.
is "$(includes daemon | grep -vE '^daemon/(main|app)\.[ch]:' |
	grep -vE '"(config\.h|common/|tasks/proto/|scheduler-adapters/|daemon/)')" "" "daemon/ includes only from below"
is "$(includes daemon | grep -E '^daemon/(main|app)\.[ch]:' |
	grep -vE '"(config\.h|common/|tasks/proto/|scheduler-adapters/|daemon/|api/api\.h)')" "" \
	"its composition root includes api/api.h besides"

# The engine's folders stand upon each other; engine.h and ports.h are all that others know of it.
below='daemon/engine/(engine|ports)\.h'
for folder in memory jobs members trainings ensembles; do
	below="$below|daemon/engine/$folder/"
	is "$(includes daemon/engine/$folder | grep -F '"daemon/engine/' | grep -vE "\"($below)")" "" \
		"daemon/engine/$folder/ includes only from below"
done
is "$(includes daemon | grep -v '^daemon/engine/' | grep -F '"daemon/engine/' | grep -vE '"daemon/engine/(engine|ports)\.h"'
	includes api | grep -F '"daemon/engine/' | grep -vF '"daemon/engine/engine.h"')" "" "other rooms include engine.h and ports.h alone"

# Every code with which a spec can be refused is in the table, or clients would be told of an internal error.
is "$(cd "$srcdir" && grep -rhoE '"(spec|resources)_[a-z_]+"' --include='*.c' daemon common scheduler-adapters | sort -u |
	while read -r code; do grep -qF "PROBLEM($code," api/tbl/problems.h || echo "$code"; done)" "" \
	"every code of a refusal is in api/tbl/problems.h"

# The product's C code is formatted as .clang-format says. Other versions of clang-format break lines elsewhere.
if [[ $(clang-format --version 2>&1) =~ version\ 14\. ]]; then
	is "$(cd "$srcdir" && find api cli common daemon scheduler-adapters tasks -name '*.[ch]' -print0 |
		xargs -0 clang-format --dry-run -Werror 2>&1 | grep -c 'code should be clang-formatted')" 0 \
		"the product's code is formatted as .clang-format says"
else
	skip "there is no clang-format 14 here"
fi

# clang-format leaves comments and literals as they are: their lines have at most 120 columns, too.
is "$(cd "$srcdir" && LC_ALL=C.UTF-8 grep -rcE '^.{121}' --include='*.[ch]' api cli common daemon \
	scheduler-adapters tasks | grep -v ':0$')" "" "no line of the product has more than 120 columns"

# So have those of the dashboard and of the documentation.
is "$(cd "$srcdir" && LC_ALL=C.UTF-8 grep -rnE '^.{121}' --include='*.js' --include='*.css' --include='*.html' --include='*.svg' \
	--exclude-dir=vendor web | cut -c1-80)" "" "no line of the dashboard has more than 120 columns"
is "$(cd "$srcdir" && LC_ALL=C.UTF-8 grep -nHE '^.{121}' README.md CHANGELOG.md CONTRIBUTING.md tests/README.md docs/*.md docs/man/* \
	examples/*/README.md | cut -c1-80)" "" "no line of the documentation has more than 120 columns"

# So have those of the build, of the API's description and of the schema.
is "$(cd "$srcdir" && LC_ALL=C.UTF-8 grep -rnE '^.{121}' --include=local.mk --include=openapi.yaml --include='*.sql' api cli common \
	daemon docs examples migrations scheduler-adapters tasks tests web | cut -c1-80)" "" "no line of a local.mk, of openapi.yaml or of the schema has more than 120 columns"

# A folder of the dashboard imports from itself and from those below: data/, widgets/, views/.
is "$(cd "$srcdir/web" && grep -n "from '\.\./" data/*.js; cd "$srcdir/web" && grep -nE "from '\.\./(views/|app)" widgets/*.js)" "" \
	"data/ imports from data/ only, and widgets/ from data/ besides"

# Each file of the engine includes its own header first, so that the header stands alone.
is "$(cd "$srcdir" && for file in daemon/engine/*.c daemon/engine/*/*.c; do
	[ ! -e "${file%.c}.h" ] || [ "$(grep -m 1 '^#include' "$file")" = "#include \"${file%.c}.h\"" ] || echo "$file"
done)" "" "each file of the engine includes its own header first"

# A kind of event that is not in the list cannot be asked for, and the dashboard does not hear of it.
written=$(cd "$srcdir" && grep -rhoE '"(allocation|attempt|members?|ensemble|training)\.[a-z_]+"' daemon --include='*.c' | sort -u; echo '"gap"')
is "$(cd "$srcdir" && sed -n 's/^EVENT_KIND(\(.*\))$/\1/p' api/tbl/event_kinds.h | sort)" "$(sort <<<"$written")" "the list of kinds of events is that of those written"
# A struct that grows without end holds the lives of several things.
is "$(cd "$srcdir" && python3 tests/struct_sizes.py daemon/engine/*.h daemon/engine/*/*.h)" "" "no struct of the engine has more than 25 fields or 6 booleans"

# Who searches for a function, or meets it in a debugger, finds one.
is "$(cd "$srcdir" && python3 tests/shared_names.py 1 api cli common daemon scheduler-adapters tasks)" "" \
	"at most 1 % of the functions share their name, and no structs do"

# The states of a job change by events alone, as the table in job_event.c says.
is "$(cd "$srcdir" && grep -nE 'states?(\.|->)(belief|proof|sent|pending) *[-+|&]?=[^=]|\<state *= *JOB_|= *\(struct job_states\)|\<job_states_(change|init)\(' \
	daemon/engine/*.[ch] daemon/engine/*/*.[ch] | grep -vE '^daemon/engine/memory/job_event\.[ch]:|^daemon/engine/memory/job\.c:[0-9]+:    job_states_(change|init)\(')" "" \
	"no file of the engine but job_event.c writes the states of a job"

# So do those of a training; its generation begins in renew.c.
is "$(cd "$srcdir" && grep -nE 'state(\.|s\.|s->)(stage|reading|reception|ending|need) *[-+|&]?=[^=]|\<state *= *TRAINING_|= *\((struct training_states|enum training_state)\)' \
	daemon/engine/*.[ch] daemon/engine/*/*.[ch] | grep -v '^daemon/engine/memory/training_event\.[ch]:')" "" \
	"no file of the engine but training_event.c writes the states of a training"
is "$(cd "$srcdir" && grep -nE '\<(row|own|training)(\.|->)(generation|wanted) *(\+\+|--|[-+]?=[^=])' daemon/engine/*.c daemon/engine/*/*.c |
	grep -vE '^daemon/engine/trainings/renew\.c:|^daemon/engine/trainings/training_resize\.c:[0-9]+: *own->wanted = ranks;')" "" \
	"a training's generation begins in renew.c, and its number of ranks is asked for in training_resize.c alone"

# No file of the engine can call back into one that called it, nor a folder: what follows further up is a fact.
is "$(python3 "$srcdir/tests/call_circle.py" "$builddir/daemon/engine" 2>&1)" "" "no files or folders of the engine call each other in a circle"

# A script that is in no list is run by nobody.
listed=$(printf 'list:\n\t@echo $(TESTS)\ninclude Makefile\n' | env -u MAKEFLAGS -u MFLAGS -u TESTS make -s -C "$builddir" -f - list)
is "$(cd "$srcdir" && for script in tests/t/*.t; do case " $listed " in *" $script "*) ;; *) echo "$script" ;; esac; done)" "" \
	"every script test is run by make check"

# One that is not runs by hand, and nowhere else.
is "$(find "$srcdir/tests/t" -name '*.t' ! -perm -u+x -printf '%f\n')" "" "every script test is executable"

done_testing
