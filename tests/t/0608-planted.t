#!/usr/bin/env bash
# The tests catch the bugs that they are known to catch: a sample of those of tests/planted/, seen by unit tests. All
# others by hand: tests/planted/plant.py
TEST_LIMIT=300
. "${srcdir:-.}/tests/t/lib.sh"

[ -x "$builddir/tests/unit/test_frame" ] || skip_all "the unit tests are not built (no cmocka)"
[[ $builddir = "$srcdir"/* ]] || skip_all "the build directory is not inside the sources"
cd "$builddir" || bail "no build directory"
python3 "$srcdir/tests/planted/plant.py" --sample >"$T/planted" 2>"$T/complaints" || true
is "$(cat "$T/complaints")" "" "the program has nothing to complain of"
while IFS= read -r line; do
	case $line in
	*': caught by '*) pass "${line%% in *}" ;;
	*' caught') ;;
	*) fail "$line" ;;
	esac
done <"$T/planted"
cd "$T" || exit
ok "there is a sample" test $TESTS_RUN -gt 6
done_testing
