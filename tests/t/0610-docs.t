#!/bin/bash
# Scripts and manual pages are clean, and the pages name what there is.
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

if command -v shellcheck >/dev/null; then
	for script in bootstrap quickstart check build-aux/install-packages build-aux/find-python tests/t/lib.sh \
		tests/t/0210-stream-languages.t tests/t/0220-solvers.t tests/t/0230-stream-mpi.t tests/t/0600-cli.t \
		tests/t/0610-docs.t tests/t/0690-readme.t tests/bench/run tests/bench/lib.sh tests/bench/dispatch.sh; do
		# shellcheck disable=SC2016 # for the inner shell
		ok "shellcheck $script" bash -c 'cd "$srcdir" && exec shellcheck -x "$@"' - "$script"
	done
else
	skip "no shellcheck here"
fi

if command -v mandoc >/dev/null; then
	for page in "$srcdir"/docs/man/*.[0-9]; do
		is "$(mandoc -Tlint -W warning "$page" 2>&1)" "" "mandoc has nothing to say about ${page##*/}"
	done
else
	skip "no mandoc here"
fi

# Pages for developers name files of the sources, and functions with ().
named() { sed 's/^    .*//' "$srcdir/$1" | grep -oE "$2" | sort -u; }
for page in docs/internals.md tests/README.md CONTRIBUTING.md; do
	is "$(named "$page" '[a-z_0-9/-]+\.[cht]\b' | while read -r name; do
		(cd "$srcdir" && find api cli daemon scheduler-adapters tasks common tests -path "*$name" | grep -q -E "(^|/)$name$") || echo "$name"
	done)" "" "$page names files that are there"
	is "$(named "$page" '\b[a-z_0-9]+\(\)' | tr -d '()' | while read -r name; do
		grep -r -q --include='*.[ch]' -E "\b$name\(" "$srcdir"/{api,daemon,scheduler-adapters,tasks,common,tests} || echo "$name"
	done)" "" "$page names functions that are there"
done

# The states of members are those of the table, in the words and the order that it has.
states=$(sed -n 's/^ *X([A-Z]*, "\([a-z]*\)".*/.It Cm \1/p; s/^ *"\(.*\)").*/\1/p' "$srcdir/common/member_state.h")
is "$(sed -n '/^\.Fl -state :/,/^\.El/{/^\.\(Fl\|Bl\|El\)/d;p}' "$srcdir/docs/man/stretto.1")" "$states" "stretto(1) has the states of members"
is "$(sed -n 's/^\.It Cm //p' <<<"$states" | while read -r state; do
	grep -q -E "^- \*\*([a-z]+, )*$state\b" "$srcdir/docs/glossary.md" || echo "$state"
done)" "" "and so has the glossary"

# So are the policies of buffers.
policies=$(sed -n 's/^#define BUFFER_POLICIES(X) //p' "$srcdir/tasks/proto/buffer_policies.h" | grep -o '[a-z]*' | sort)
is "$(sed -n '/^\.It Cm policy/,/^Default/s/^\.Ql \([a-z]*\).*/\1/p' "$srcdir/docs/man/stretto-spec.5" | sort)" "$policies" "stretto-spec(5) has the policies of buffers"

page=$srcdir/docs/man/stretto.1
for command in $(stretto --help | sed -n 's/^  \([a-z-]*\) .*/\1/p'); do
	ok "stretto(1) has $command" grep -q "^\.It Ic $command\b" "$page"
	for option in $(stretto "$command" --help | grep -o -E -- '--[a-z]+' | sort -u | grep -v -E 'help|usage|version'); do
		ok "stretto(1) has $option of $command" grep -q -E -- " -${option#--}( |\$)" "$page"
	done
done
for option in $(strettod --help | grep -o -E -- '^ .*--[a-z-]+' | grep -o -E -- '--[a-z-]+' | sort -u |
	grep -v -E 'help|usage|version'); do
	ok "strettod(8) has $option" grep -q -E -- " -${option#--}( |\$)" "$srcdir/docs/man/strettod.8"
done

for key in $(strettod --help-config | grep -v '^ ' | sed 's/.*\.//'); do
	ok "strettod(8) has the setting $key" grep -q -E "^\.(It )?Cm .*\b$key\b" "$srcdir/docs/man/strettod.8"
done
is "$(strettod --help-config | grep -c '^ ')" "$((2 * $(strettod --help-config | grep -c -v '^ ')))" \
	"every setting has a meaning and a default"
page=$srcdir/docs/man/stretto.3
for function in $(grep -o -E '\bstretto_[a-z_]+\(' "$srcdir/tasks/member/stretto.h" | tr -d '(' | sort -u); do
	ok "stretto(3) has $function" grep -q "^\.Fn $function " "$page"
done
sed -n '/^\.Bd -literal/,/^\.Ed/{/^\./d;p}' "$page" >body
{
	printf '#include <err.h>\n#include <stretto.h>\nenum { NX = 4, NY = 3, STEPS = 2 };\nstatic double field[NY][NX];\n'
	printf 'static void advance(double f[NY][NX]) { f[0][0]++; }\nint main(void)\n{\n'
	cat body
	echo '}'
} >example.c
sanitize=()
case ${STRETTO_SANITIZE:-no} in no) ;; *) sanitize=("-fsanitize=$STRETTO_SANITIZE") ;; esac
ok "its example compiles" cc -Wall -Wextra -Werror "${sanitize[@]}" -I"$srcdir/tasks/member" -o example example.c \
	-L"$builddir/.libs" -Wl,-rpath,"$builddir/.libs" -lstretto
status_is 0 "and runs" ./example

status_is 0 "quickstart --help" "$srcdir/quickstart" --help
status_is 2 "quickstart refuses what it does not know" "$srcdir/quickstart" --frobnicate

done_testing
