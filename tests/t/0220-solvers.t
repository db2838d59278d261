#!/usr/bin/env bash
# docs/solver.md, as it stands: its listings are the files of examples/solver, its commands run, with nothing but what
# `make install` has put into a directory. Then: a solver gives the same fields in every language.
TEST_LIMIT=280 STRETTO_TEST_JQ=jq
PLAIN_PYTHON=yes
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

page=$srcdir/docs/solver.md
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with NumPy"

# --- the listings

while read -r file; do
	awk -v file="$file" '$0 == "<!-- file: " file " -->" { armed = 1; next }
		armed && /^```/ { if (inside) exit; inside = 1; next }
		inside { print }' "$page" >listing
	ok "the page has $file as it is" diff "$srcdir/$file" listing
done < <(sed -n 's/^<!-- file: \(.*\) -->$/\1/p' "$page")
is "$(sed -n 's/^<!-- file: \(.*\) -->$/\1/p' "$page" | sort)" \
	"$(cd "$srcdir" && find examples/solver -name '*.*' ! -name local.mk | sort)" "the page has all files"

# --- an installation, and compilers that make what can be loaded with it

status_is 0 "make install, into a directory" env MAKEFLAGS= MAKELEVEL= make -C "$builddir" install DESTDIR="$T/inst"
pc=$(dirname "$(find "$T/inst" -name stretto.pc)")
wrap() { # NAME COMMAND ARGUMENT...
	local name=$1
	shift
	printf '#!/bin/sh\nexec %s "$@"%s\n' "$*" "$last" >"$T/bin/$name"
	chmod +x "$T/bin/$name"
}
sanitize=
case ${STRETTO_SANITIZE:-no} in no) ;; *) sanitize=-fsanitize=$STRETTO_SANITIZE ;; esac
have=()
last=' -O0' # after the page's own -O2: sanitized code takes long to optimise
wrap cc "$(command -v cc) -Wall -Wextra -Werror $sanitize"
# Fortran has the sanitizer of memory alone, where it is one: the others see little of the long modules, and take twice
# as long. What is linked with it from C has them all.
sanitize_fortran=$sanitize of_c=
case $sanitize in *address*undefined*) sanitize_fortran=-fsanitize=address of_c=' -lubsan' ;; esac
if [ -e "$builddir/libstretto-fortran.la" ]; then
	last=" -O0$of_c"
	wrap gfortran "$(command -v gfortran) -Wall -Werror $sanitize_fortran"
	have+=(fortran)
fi
if [ -n "${STRETTO_MPIEXEC:-}" ]; then
	flavour=$(basename "$STRETTO_MPIEXEC")
	flavour=${flavour#mpiexec}
	flavour=${flavour#.hydra}
	last=' -O0'
	wrap mpicc "$(command -v "mpicc$flavour") -Wall -Wextra -Werror $sanitize"
	last=" -O0$of_c"
	[ ! -e "$T/bin/gfortran" ] || wrap mpifort "$(command -v "mpifort$flavour") -Wall -Werror $sanitize_fortran"
	have+=(mpi)
fi
last=
wrap pkg-config "$(command -v pkg-config) --define-prefix"
wrap python3 "$STRETTO_PYTHON -B"
export PKG_CONFIG_PATH=$pc LD_LIBRARY_PATH=${pc%/pkgconfig}
export MPIR_CVAR_POLLS_BEFORE_YIELD=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 \
	OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# --- the commands

echo '{"adapters": {"local": {"slots": 4}}}' >"$T/strettod.json"
start_daemon --config "$T/strettod.json"
mkdir "$T/work"
cd "$T/work" || exit 99
awk -v T="$T" '/^<!-- tested.* -->$/ { wants = $0; gsub(/^<!-- tested *| *-->$/, "", wants); armed = 1; next }
     armed && /^```sh$/ { n++; inside = 1; armed = 0; print wants > (T "/block." n ".wants"); next }
     /^```$/ { inside = 0 }
     inside { print > (T "/block." n) }' "$page"
ok "the page has tested commands" test -e "$T/block.7"
n=1
while [ -e "$T/block.$n" ]; do
	lacking=
	read -r -a wants <"$T/block.$n.wants"
	for want in "${wants[@]}"; do
		case " ${have[*]} " in *" $want "*) ;; *) lacking=$want ;; esac
	done
	if [ -n "$lacking" ]; then
		skip "block $n: no $lacking here"
	else
		grep -v '^#=>' "$T/block.$n" >"$T/commands"
		bash -e -o pipefail "$T/commands" >"$T/block.out" 2>&1 </dev/null
		status=$?
		if [ $status -eq 0 ]; then pass "block $n: $(head -n 1 "$T/commands")"; else
			fail "block $n: $(head -n 1 "$T/commands")"
			diag "exit status $status"
			diag "$(cat "$T/block.out")"
		fi
		while read -r regex; do
			ok "its output has $regex" grep -q -E -- "$regex" "$T/block.out"
		done < <(sed -n 's/^#=> //p' "$T/block.$n")
	fi
	n=$((n + 1))
done

# --- the same fields in every language

cat >compare.py <<'END'
"""Every solver's field of a step is that of the others."""
import sys
import numpy
import stretto.train

count, first, seen = int(sys.argv[1]), {}, set()
with stretto.train.open() as rx:
    for batch in rx.batches():
        for row, (member, step) in enumerate(zip(batch.member.tolist(), batch.step.tolist())):
            seen.add((member, step))
            fields = {name: array[row].copy() for name, array in batch.fields.items()}
            for name, field in first.setdefault(step, fields).items():
                worst = abs(field - fields[name]).max()
                assert worst < 1e-4, f"member {member}, step {step}, {name} differs by {worst}"
    assert seen == {(member, step) for member in range(count) for step in range(40)}, len(seen)
    # the rectangle is where it should be: rows 14 to 18, columns 4 to 9
    early, late = first[0]["temperature"], first[39]["temperature"]
    assert early.shape == (24, 32) and (early[15:18, 5:9] == 100).all() and early[:13].max() == 0, early
    assert early[:, :3].max() == 0 and early[:, 11:].max() == 0 and 0 < late.max() < 50
    assert abs(first[39]["profile"] - late.mean(axis=0)).max() < 1e-4
    rx.done()
END
cat >solver <<'END'
#!/bin/sh
case $1 in
*.py) exec python3 "$@" ;;
*mpi*) exec "$MPIEXEC" -n 3 "$@" ;;
*) exec "$@" ;;
esac
END
chmod +x solver
solvers=("$PWD/diffusion" "$PWD/diffusion.py")
for program in diffusion-fortran diffusion-mpi diffusion-mpi-fortran; do
	[ ! -x $program ] || solvers+=("$PWD/$program")
done
jq --arg dir "$PWD" --arg mpiexec "${STRETTO_MPIEXEC:-}" \
	'.members.command = [$dir + "/solver", "{solver}", "0.17"] | .members.env = {MPIEXEC: $mpiexec} |
	 .members.parameters = {grid: {solver: $ARGS.positional}} | .members.retries = 0 |
	 .training.command = ["python3", $dir + "/compare.py", "\($ARGS.positional | length)"]' \
	diffusion.json --args "${solvers[@]}" >all.json
id=$(submit all.json)
wait_ensemble "$id" 100
state=$(jq -r .training.state "$T/ensemble.json")
is "$state" "done" "${#solvers[@]} solvers give the same fields"
is "$(jq -r .members.succeeded "$T/ensemble.json")" ${#solvers[@]} "and end well"
[ "$state" = "done" ] || diag "$(find "$STATE" -path '*rank0/stderr' -newer all.json -exec tail -n 20 {} +)"
cd "$T" || exit 99
done_testing
