#!/bin/bash
# Suggests trials at random with curl and jq, and prints how they end: random.sh ID TRIALS NAME=LOW..HIGH...
# It may be ended at any moment and started again: a trial is always suggested alike, and by its name made once.
set -eu
id=$1 trials=$2
shift 2
socket=${STRETTO_URL:-unix:${XDG_STATE_HOME:-$HOME/.local/state}/stretto/stretto.sock}
url=http://stretto/v1/ensembles/$id

# call OPTION... URL: again while the daemon is away; status 22 where it refuses
call() {
	local status=0
	curl -sS --fail-with-body --retry 60 --retry-delay 1 --unix-socket "${socket#unix:}" "$@" || status=$?
	case $status in 0 | 22) return $status ;; esac
	sleep 1
	call "$@"
}

# suggestion NUMBER NAME=LOW..HIGH...: as JSON
suggestion() {
	printf '%s\n' "${@:2}" | awk -F '=|[.][.]' -v seed="$1" \
		'BEGIN { srand(seed) } { printf "%s %.17g\n", $1, $2 + rand() * ($3 - $2) }' |
		jq -Rn --arg name "trial-$1" '{name: $name, parameters: [inputs | split(" ") | {(.[0]): .[1] | tonumber}] | add}'
}

body=$(for number in $(seq "$trials"); do suggestion "$number" "$@"; done | jq -s '{suggestions: .}')
call -H 'Content-Type: application/json' --data "$body" "$url/suggestions" >/dev/null ||
	[ "$(call "$url" | jq .open)" = false ] # it was closed in a former life of this script, and has ended
call -X POST "$url/close" >/dev/null

after=0 ended=null
while [ "$ended" = null ]; do
	ended=$(call "$url" | jq .ended) # before the results, so that the last look sees them all
	page=$(call "$url/results?after=$after&limit=1000")
	jq -r '.results[] | [.name, .state, .parameters, (.metrics | map_values(.last))]
		| map(tostring) | join("  ")' <<<"$page"
	after=$(jq .next <<<"$page")
	sleep 0.5
done
