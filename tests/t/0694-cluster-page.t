#!/bin/bash
# docs/cluster.md without a batch system: its settings are accepted, its table names settings that there are, and its
# links lead somewhere. Its examples on Slurm are run by 0660, those for slurmrestd by 0655, and those for OAR by 0686.
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
page=$srcdir/docs/cluster.md

# --- the settings, with a group and a directory that are there
awk '$0 == "<!-- settings -->" { getline; while (getline > 0 && $0 != "```") print; exit }' "$page" >settings.json
is "$(jq -c '[.trusted_groups, (.adapters | keys)]' settings.json)" '[["abc"],["slurm"]]' "it has an example of settings"
mkdir -m 700 project
jq --arg dir "$T/project/runs" --arg group "$(id -gn)" '.run_dir = $dir | .trusted_groups = [$group]' settings.json >config.json
start_daemon --config config.json --run-dir "$T/project/runs"
ok "the daemon takes them" test -e "$T/project/runs/owner.json"
ok "and has the adapter" sh -c 'stretto adapters --json | jq -e ".adapters[] | select(.name == \"slurm\")"'
stop_daemon

# --- the table of an adapter's settings
strettod --help-config | sed -n 's/^adapters\.slurm\.//p' >known
echo max_jobs >>known # of every adapter: it is in the text of "adapters"
ok "max_jobs is a setting of every adapter" sh -c 'strettod --help-config | grep -q "max_jobs in any of them"'
sed -n '/^| setting | meaning |/,/^$/s/^| `\([a-z_]*\)`.*/\1/p' "$page" >told
is "$(wc -l <told)" 6 "the table has settings"
is "$(sort told | comm -23 - <(sort known))" "" "all of them are there"

# --- links of the pages that lead to files
for file in README.md docs/cluster.md docs/glossary.md docs/internals.md CONTRIBUTING.md tests/README.md CHANGELOG.md; do
	[ -e "$srcdir/$file" ] || continue
	is "$(grep -oE '\]\([^)#:]+[)#]' "$srcdir/$file" | sed 's/^](//; s/[)#]$//' | sort -u | while read -r target; do
		[ -e "$srcdir/$(dirname "$file")/$target" ] || echo "$target"
	done)" "" "the links of $file lead to files"
done
done_testing
