#!/usr/bin/env bash
# Includes point down the house only.
. "${srcdir:-.}/tests/t/lib.sh"

# may FOLDER ALLOWED: the folder's sources include only from the folders of the regular expression.
may() {
	local folder=$1 allowed=$2 files
	files=$(find "$srcdir/$folder" -name '*.[ch]')
	[ -n "$files" ] || { fail "$folder/ has sources"; return; }
	# shellcheck disable=SC2086 # names without blanks
	is "$(grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"' $files | sed "s|^$srcdir/||" |
		grep -vE '"config\.h"' | grep -vE "\"($allowed)/")" "" "$folder/ includes only from $allowed"
}

may common 'common'
may tasks 'common|tasks'
# stretto.h, which is installed and includes nothing of ours, holds the numbers of the element types
may tasks/proto 'common|tasks/proto')
may tasks/runner 'common|tasks/proto|tasks/runner'
may tasks/member 'common|tasks/proto|tasks/member'
may tasks/train 'common|tasks/proto|tasks/train'
may scheduler-adapters 'common|tasks/proto|scheduler-adapters'
may cli 'common|cli'
may api 'common|daemon|api'

# Above the daemon stands only api/, and only the composition root knows both.
is "$(cd "$srcdir/daemon" && grep -rlE 'include "api/' --include='*.[ch]' . | grep -vE '^\./(main|app)\.[ch]$')" "" \
	"nothing in daemon/ but the composition root includes api/"
is "$(cd "$srcdir/daemon" && grep -rnE '^#[[:space:]]*include "' --include='*.[ch]' . |
	grep -vE '"(config\.h|(common|daemon|scheduler-adapters|tasks/proto)/[^"]*)"' |
	grep -vE '^\./(main|app)\.[ch]:[^"]*"api/')" "" "daemon/ includes only from what is below"

done_testing
