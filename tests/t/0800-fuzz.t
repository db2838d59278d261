#!/usr/bin/env bash
# The fuzzers of tests/fuzz, each for a few seconds from a fixed seed. tests/fuzz/run runs them for longer.
TEST_LIMIT=1200
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

case ${STRETTO_SANITIZE:-no} in *thread*) skip_all "what is built for the thread sanitizer cannot be linked into them" ;; esac
echo 'int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { return 0; }' >"$T/probe.c"
command -v clang >"$T/out" || skip_all "clang is missing (Debian: clang)"
clang -fsanitize=fuzzer,address,undefined -o "$T/probe" "$T/probe.c" >"$T/out" 2>&1 ||
	skip_all "this clang has no libFuzzer: $(tail -n 1 "$T/out")"

for name in spec template rows words records frame http; do
	[ "$(find "$srcdir/tests/fuzz/corpus/$name" -type f | wc -l)" -ge 3 ] || fail "the corpus of $name is not there"
	if "$srcdir/tests/fuzz/run" --runs $name >"$T/out" 2>&1; then
		pass "$(cat "$T/out")"
	else
		fail "$name"
		diag "$(cat "$T/out")"
	fi
done
done_testing
