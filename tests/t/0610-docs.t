#!/bin/bash
# Scripts and manual pages are clean, and the pages name what there is.
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

if command -v shellcheck >/dev/null; then
	for script in bootstrap quickstart check build-aux/install-packages build-aux/find-python tests/t/lib.sh \
		tests/t/0600-cli.t tests/t/0610-docs.t tests/t/0690-readme.t tests/bench/run tests/bench/lib.sh tests/bench/dispatch.sh; do
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

page=$srcdir/docs/man/stretto.1
for command in $(stretto --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
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
	ok "strettod(8) has the setting $key" grep -q -E "^\.Cm .*\b$key\b" "$srcdir/docs/man/strettod.8"
done
is "$(strettod --help-config | grep -c '^ ')" "$((2 * $(strettod --help-config | grep -c -v '^ ')))" \
	"every setting has a meaning and a default"

status_is 0 "quickstart --help" "$srcdir/quickstart" --help
status_is 2 "quickstart refuses what it does not know" "$srcdir/quickstart" --frobnicate

done_testing
