#!/bin/bash
# Cancelling jobs of PBS: what one qdel may name, an order that PBS takes and does not carry out, and a PBS that takes
# none.
# shellcheck disable=SC2016,SC2119 # for wait_for; pbs_config needs no words
TEST_LIMIT=200
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/pbs.sh
. "$srcdir/tests/t/pbs.sh"

# Writes down what each order names. While "lame" is there it says that it did it, and does nothing; while "deaf" is
# there nobody answers.
cat >noted <<END
#!/bin/bash
verb=\$(basename "\$0")
echo "\$*" >>$T/\$verb.noted
echo "\$verb \$*" >>$T/all.noted
[ ! -e $T/lame ] || exit 0
[ ! -e $T/deaf ] || { echo "\$verb: cannot connect to server testpbs (errno=15010)" >&2; exit 255; }
exec "$T/\$(cat $T/kind)/bin/\$verb" "\$@"
END
chmod +x noted
mkdir orders
ln noted orders/qdel
ln noted orders/qsig
members() { # COUNT
	jq -n --arg home "$HOME" --argjson n "$1" '{name: "orders", adapter: "pbs", width: $n, members: {retries: 0, resources: {walltime: "10m", cpus_per_task: 4},
		parameters: {grid: {x: [range($n)]}}, command: ["sh", "-c", "echo {x} >>\($home)/ran; while :; do sleep 0.1; done"]}}' >spec.json
	rm -f "$HOME/ran"
	: >"$HOME/ran"
}
in_state() { pbs_jobs | grep -c " $1\$"; }
begin() { # KIND GATHER [KEY=VALUE]...
	kind=$1
	echo "$kind" >kind
	rm -rf "${T:?}/$kind" # jobs of one before
	pbs_start "$kind" "${@:3}"
	pbs_config qdel "\"$T/orders/qdel\"" qsig "\"$T/orders/qsig\"" gather "\"$2\""
	start_daemon --config config.json
	: >qdel.noted
	: >qsig.noted
}
end() {
	stop_daemon
	is "$DAEMON_STATUS" 0 "$kind: the daemon ends well"
	pbs_stop
}
waiting_ones() { # COUNT: two run, the others wait, which the daemon knows
	members "$1"
	id=$(submit spec.json)
	ok "$kind: two run, the others wait" wait_for 40 '[ "$(wc -l <"$HOME/ran") $(in_state R) $(in_state Q)" = "2 2 '$(($1 - 2))'" ]'
	ok "$kind: the daemon knows" wait_for 40 '[ "$(api GET "/v1/ensembles/$id" | jq -c "[.members.submitted, .members.running]")" = "['$(($1 - 2))',2]" ]'
}
all_cancelled() { # COUNT WHAT
	ok "$kind: $2: the members are cancelled" wait_for 60 'stretto members '"$id"' --state cancelled --json | jq -e ".members | length == '"$1"'"'
	ok "$kind: $2: in PBS, too" wait_for 20 '! pbs_jobs | grep -v " [FC]$"'
	is "$(wc -l <"$HOME/ran")" 2 "$kind: $2: none of those that waited has started"
}

# --- several arrays and single jobs at once; of one array, a job in the middle is gone
for kind in openpbs torque; do
	begin $kind 200ms array_max=6
	waiting_ones 16
	# somebody qdel.noted one in the middle of an array: what is left of that is two ranges, and it goes again,
	# alone
	deleted=$(pbs_jobs | awk '$3 == "Q" && $2 ~ /\[/ { split($2, id, /[][]/); is[id[1] " " id[2]] = $2 }
		END { for (at in is) { split(at, i, " "); if ((i[1] " " i[2] - 1) in is && (i[1] " " i[2] + 1) in is) print is[at] } }' | sort -V | tail -n 1)
	[ -n "$deleted" ] || bail "no array has three that wait"
	"$PBS_DIR/bin/qdel" "$deleted"
	ok "$kind: it is submitted again" wait_for 40 '[ "$(in_state Q)" = 14 ] && api GET "/v1/jobs?ensemble=$id&state=submitted&limit=100" | jq -e ".jobs | length == 14"'
	stretto cancel "$id" >/dev/null
	ok "$kind: the jobs are cancelled" wait_for 30 '[ -s qdel.noted ] && [ "$(in_state Q)" = 0 ] || ! qstat >/dev/null 2>&1'
	qstat >/dev/null || bail "the server of PBS has died"
	all_cancelled 16 "of several arrays"
	if [ $kind = openpbs ]; then
		is "$(grep -c '\[.* \| .*\[' qdel.noted)" 0 "openpbs: a qdel that names a job of an array names nothing else"
		ok "openpbs: of an array a range" grep -q '\[[0-9]*-[0-9]*\]' qdel.noted
		is "$(sed -n "s/^\(${deleted%%[*}\)\[\([0-9]*\)-\([0-9]*\)\].*/\2 \3/p" qdel.noted |
			awk -v n="$(sed 's/.*\[\([0-9]*\)\].*/\1/' <<<"$deleted")" '$1 <= n && n <= $2' | wc -l)" 0 "openpbs: and no range goes over a gap"
	else
		# on a slow machine the order is given once more
		is "$(sort -u qdel.noted | wc -l)" 1 "torque: one qdel names them all"
	fi
	is "$(pbs jobs | wc -l)" 17 "$kind: PBS has had no others"
	end
done

# --- more than one turn of the daemon's loop cancels: all that wait are out of the queue before one that runs is told to
# end
begin openpbs 200ms
waiting_ones 300
rm -f all.noted
before=$(pbs connections)
stretto cancel "$id" >/dev/null
all_cancelled 300 "of many turns"
# jobs that are named, of arrays by ranges, before the first that runs is; orders may be repeated
named=$(awk '$1 == "qsig" { exit }
	{ for (i = 2; i <= NF; i++) if ($i ~ /^[0-9]/) {
		n = split($i, id, /[][]/); split(n > 1 ? id[2] : "0", range, "-")
		for (j = range[1]; j <= (range[2] == "" ? range[1] : range[2]); j++) is[id[1] " " j] } }
	END { print length(is) }' all.noted)
is "$named" 298 "the waiting ones go first"
# Each array is a qdel, and so are all single jobs; on a slow machine an order is given once more, or jobs are sought one
# array at a time. How many arrays there are is a matter of how quickly jobs follow each other.
arrays=$(pbs_jobs | awk '{ sub(/[[.].*/, "", $2); is[$2] } END { print length(is) }')
ok "300 jobs are few arrays ($arrays)" [ "$arrays" -le 30 ]
ok "the orders make few connections" [ "$(wc -l <all.noted)" -le $((2 * arrays + 4)) ]
listings=$(pbs counts | sed -n 's/^qstat //p')
ok "no listing asks job by job" [ $(($(pbs connections) - before)) -le $((listings + $(wc -l <all.noted) + 2 * arrays)) ]
end

# --- PBS says that it does it, and does nothing; who cancels once more is not put off
begin openpbs 200ms
waiting_ones 12
touch lame
stretto cancel "$id" >/dev/null
ok "the jobs are cancelled, of which nothing comes" wait_for 30 '[ -s qdel.noted ] && [ -s qsig.noted ]'
is "$(in_state R) $(in_state Q)" "2 10" "PBS has them still"
is "$(api GET "/v1/ensembles/$id" | jq -c '[.members.submitted, .members.running]')" "[10,2]" "and the ensemble is not over"
rm lame
stretto cancel "$id" >/dev/null
all_cancelled 12 "cancelled once more"
end

# --- nobody answers an order: the others are not tried, one after another, and one line tells of it
begin openpbs 0s
waiting_ones 8
touch deaf
stretto cancel "$id" >/dev/null
ok "orders that are not taken are told" wait_for 30 'grep -q "adapter pbs does not take orders to cancel jobs (qdel: cannot connect" "$DAEMON_LOG"'
# each order may be given once more, by a daemon that tries again by itself
given() { echo "$(sort -u qdel.noted | wc -l) $(sort -u qsig.noted | wc -l)"; }
is "$(given)" "1 0" "where the first is not answered, the others are not given"
rm deaf
stretto cancel "$id" >/dev/null
all_cancelled 8 "taken again"
is "$(given)" "1 1" "all single jobs by one qdel"
is "$(grep -c "orders to cancel jobs (" "$DAEMON_LOG")" 1 "one line for all jobs"
ok "and one when it is over" grep -q "adapter pbs takes orders to cancel jobs again, after \(8\|16\|24\) that it did not take" "$DAEMON_LOG"
end
done_testing
