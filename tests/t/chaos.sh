# shellcheck shell=bash
# shellcheck disable=SC2154,SC2016 # lib.sh; for wait_for
# An ensemble with a training that is disturbed by a seed, on the daemon's own host or on a private Slurm: source it
# after lib.sh (and slurm.sh), and start the daemon with config.json.
#
#   chaos NAME SEED ROUNDS [ADAPTER]
#
# Each round disturbs something, by chance, and lets some members go on; three seeds with six rounds each, from one that
# 3 divides and 1 on, have everything. Then the ensemble has to end by itself, with books that balance, and with a model
# that has learnt from every sample, from each once.
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with NumPy"
MEMBERS=${MEMBERS:-12} STEPS=${STEPS:-60}
SAMPLES=$((MEMBERS * STEPS))

# chaos_disk: the state directory gets a small file system of its own, which can be filled. If that is not permitted
# no disk is full.
CHAOS_DISK=
chaos_disk() {
	mkdir -p "$STATE"
	mount -t tmpfs -o size=64m,mode=0700 tmpfs "$STATE" 2>/dev/null || return 0
	CHAOS_DISK=$STATE
	trap 'status=$?; [ "${KEEP:-}" != 1 ] || cp -a "$STATE" "$T/kept"; umount -l "$STATE" 2>/dev/null; [ -z "${SLURM_PID:-}" ] || batch_all_down; (exit $status); cleanup' EXIT
}

# Members and ranks are told to end after DUE seconds, 30. Members that hold the nodes which the ranks wait for end
# then, though what they sent is not held, when their time is over.
chaos_spec() { # NAME ADAPTER
	jq -n --arg name "$1" --arg adapter "$2" --arg rank "$srcdir/tests/t/goes-on-rank.py" --arg steps "$STEPS" --argjson members "$MEMBERS" \
		--arg go "$T/$1.go" --arg member "$builddir/tests/t/chaos-member" --argjson due "${DUE:-30}" '{name: $name, adapter: $adapter, width: 4,
		max_same_failures: null,
		members: {command: ["sh", "-c", "exec \"$0\" \"$1\" \"$2.$((STRETTO_MEMBER / 2))\"", $member, $steps, $go],
			parameters: {grid: {i: [range($members)]}}, retries: 1000, success: {file: "result"}, silence: "20s",
			resources: {walltime: "100s"},
			checkpoint: {before: "\(100 - $due)s", signal: "USR2", grace: "5s", attempts: 1000}},
		training: {command: ["python3", $rank, "disturbed", $steps], retries: 1000, steps: ($steps | tonumber), failure_after: "20s",
			resources: {walltime: "1h"},
			checkpoint: {every: "1h", before: "\(3600 - $due)s", grace: "10s"},
			fields: {place: {dtype: "int32", shape: [2]}},
			buffer: {policy: "fifo", capacity: 40, threshold: 0, batch: 5}}}' >"$T/$1.json"
}

chaos_training() { api GET "/v1/ensembles/$ID" | jq -c "$1"; }
chaos_runs() { [ "$(chaos_training '[.training.state, .training.wanted_ranks]')" = '["running",null]' ]; }
chaos_over() { [[ $(api GET "/v1/ensembles/$ID" | jq -r .state) = @(complete|cancelled|failed) ]]; }

# processes whose command has the pattern, and processes chosen from them by chance
chaos_found() { left_behind | while read -r pid; do grep -qs -e "$1" "/proc/$pid/cmdline" && echo "$pid"; done; }
chaos_one() {
	local found
	mapfile -t found < <(chaos_found "$1")
	VICTIM=
	[ ${#found[@]} -eq 0 ] || VICTIM=${found[RANDOM % ${#found[@]}]}
	[ -n "$VICTIM" ]
}
chaos_signal() { ! chaos_one "$2" || kill "-$1" "$VICTIM" 2>/dev/null; }
chaos_patch() { api PATCH "$1" "$2" >"$T/answer"; }
chaos_ranks() { chaos_patch "/v1/trainings/$TRAINING" "{\"ranks\": $1}"; }
chaos_again() { kill_daemon; chaos_frees; start_daemon --config "$T/config.json"; }
chaos_fills() { head -c 100m /dev/zero >"$CHAOS_DISK/filling" 2>/dev/null; }
chaos_frees() { [ -z "$CHAOS_DISK" ] || rm -f "$CHAOS_DISK/filling"; }
CHAOS_STOPPED=()
chaos_stop() { if chaos_one "$1" && kill -STOP "$VICTIM" 2>/dev/null; then CHAOS_STOPPED+=("$VICTIM"); fi; }
chaos_cont() { [ ${#CHAOS_STOPPED[@]} -eq 0 ] || kill -CONT "${CHAOS_STOPPED[@]}" 2>/dev/null; CHAOS_STOPPED=(); }

RANKS=goes-on-rank MEMBER=tests/t/chaos-member RUNNER=stretto-run
# chaos_deals SEED ADAPTER: the kinds in an order that three seeds have in common
chaos_deals() {
	local kinds=(rank member runner daemon ranks ranks+rank width stop-rank stop-member stop-runner stop-daemon cut-rank cut-member time-up) i
	[ -z "$CHAOS_DISK" ] || kinds+=(disk disk+rank disk+ranks)
	[ "$2" != slurm ] || kinds+=(controller freeze)
	[ -z "${KINDS:-}" ] || read -r -a kinds <<<"$KINDS"
	RANDOM=$((($1 - 1) / 3 + 1)) DECK=()
	while [ ${#kinds[@]} -gt 0 ]; do
		i=$((RANDOM % ${#kinds[@]}))
		DECK+=("${kinds[i]}")
		kinds=("${kinds[@]:0:i}" "${kinds[@]:i+1}")
	done
}
# chaos_disturb NUMBER: one disturbance, which is put into TOLD
chaos_disturb() {
	local kind=${DECK[$1 < ${#DECK[@]} ? $1 : RANDOM % ${#DECK[@]}]} n=$((1 + RANDOM % 3))
	case $kind in
	ranks*) TOLD+=" $kind=$n" ;;
	width) n=$((1 + RANDOM % 6)); TOLD+=" $kind=$n" ;;
	*) TOLD+=" $kind" ;;
	esac
	case $kind in
	rank) chaos_signal KILL $RANKS ;;
	member) chaos_signal KILL $MEMBER ;;
	runner) chaos_signal KILL $RUNNER ;;
	daemon) chaos_again ;;
	ranks) chaos_ranks $n ;;
	ranks+rank) chaos_ranks $n; chaos_signal KILL $RANKS ;;
	width) chaos_patch "/v1/ensembles/$ID" "{\"width\": $n}" ;;
	stop-rank) chaos_stop $RANKS ;;
	stop-member) chaos_stop $MEMBER ;;
	stop-runner) chaos_stop $RUNNER ;;
	stop-daemon) kill -STOP "$DAEMON_PID"; chaos_signal KILL $RANKS; sleep 1; kill -CONT "$DAEMON_PID" ;;
	cut-rank) ! chaos_one $RANKS || "$T/bin/python3" "$srcdir/tests/t/cut.py" "$VICTIM" ;;
	cut-member) ! chaos_one $MEMBER || "$T/bin/python3" "$srcdir/tests/t/cut.py" "$VICTIM" ;;
	time-up) chaos_signal TERM $RUNNER ;; # as a batch system does that preempts a job
	disk) chaos_fills; sleep 1 ;;
	disk+rank) chaos_fills; chaos_signal KILL $RANKS; sleep 1 ;;
	disk+ranks) chaos_fills; chaos_ranks $n; sleep 1 ;;
	controller) slurm restart ;; # one that is killed may number jobs anew, and then drains the nodes that have those of before
	freeze) slurm freeze; sleep 2; slurm thaw ;;
	esac
}

chaos() { # NAME SEED ROUNDS [ADAPTER]
	local name=$1 adapter=${4:-local} round i
	chaos_deals "$2" "$adapter"
	RANDOM=$2 TOLD=
	diag "$name: SEED=$2"
	chaos_spec "$name" "$adapter"
	ID=$(submit "$T/$name.json")
	[ "$ID" != null ] || bail "$name: it is refused: $(cat "$T/api.body")"
	RUN=$STATE/run/e$ID
	TRAINING=$(chaos_training .training.id)
	for ((round = 0; round < $3; round++)); do
		if ((round == 0 || RANDOM % 2)); then
			wait_for 240 'chaos_runs || chaos_over' || bail "$name:$TOLD: it does not run: $(chaos_training .)"
		fi
		! chaos_over || break
		chaos_disturb $((($2 - 1) % 3 * $3 + round))
		chaos_frees
		: >"$T/$name.go.$((round * (MEMBERS / 2 - 1) / $3))" # now and then two members more go on, but for the last two
		[ "$((RANDOM % 3))" = 0 ] || chaos_cont # what is not continued now is so later, or is replaced
	done
	[ "${SILENT:-}" = 1 ] || chaos_cont
	for ((i = 0; i < MEMBERS / 2; i++)); do : >"$T/$name.go.$i"; done
	diag "$name:$TOLD"
	wait_ensemble "$ID" 300 || bail "$name:$TOLD: it does not end: $(chaos_training .)"
	is "$(jq -c '[.state, .reason, .members.succeeded, .training.state, .training.unique, .training.drawn]' "$T/ensemble.json")" \
		"[\"complete\",null,$MEMBERS,\"done\",$SAMPLES,$SAMPLES]" "$name: it ends by itself, and its books balance, after$TOLD"
	is "$(jq -sc --argjson steps "$STEPS" 'map(.learnt[]) | [length, (map(.[0] * $steps + .[1]) | unique | length)]' \
		"$RUN/training/g$(jq .training.generation "$T/ensemble.json")"/rank?/learnt.json)" "[$SAMPLES,$SAMPLES]" \
		"$name: the model that is left has learnt from every sample, from each once"
	diag "$name: $(jq -c '.training | {generation, restarts, failures, received, duplicates}' "$T/ensemble.json")" \
		"attempts $(sqlite3 -readonly "$STATE/stretto.db" "SELECT group_concat(outcome || ' ' || n, ', ') FROM (SELECT outcome, count(*) n FROM attempt WHERE ensemble = $ID GROUP BY outcome)")"
}
