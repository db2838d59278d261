#!/usr/bin/env bash
# The dashboard is delivered: its files, what protects them, and what browsers keep of them.
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
start_daemon --listen tcp:127.0.0.1:0
URL=$(jq -r '.listeners[].url | select(startswith("http"))' "$STATE/listen.json")

# page PATH [CURL ARGUMENT...]: the status to stdout, head and body in $T. Over TCP, without a token.
page() {
	local path=$1
	shift
	: >"$T/body"
	curl -s -m 100 -D "$T/head" -o "$T/body" -w '%{http_code}' "$@" "$URL$path"
}
head_of() { tr -d '\r' <"$T/head" | sed -n "s/^$1: //Ip"; }

is "$(page / -H 'Accept: text/html,*/*;q=0.8') $(head_of content-type)" "200 text/html; charset=utf-8" "the page is for everybody"
cp body page.html
is "$(page / -H 'Accept: text/html' -H 'Sec-Fetch-Site: cross-site' -H 'Sec-Fetch-Dest: document' -H 'Referer: http://evil.example/')" 200 "a link of another site leads there"
is "$(page / -H 'Accept: text/html' -H 'Sec-Fetch-Site: cross-site' -H 'Sec-Fetch-Dest: iframe') $(jq -r .code body)" "403 origin_not_allowed" "a frame there does not"
is "$(page / -H 'Accept: text/html' -H 'Host: evil.example') $(jq -r .code body)" "403 host_not_allowed" "nor a name that is not the daemon's"
is "$(page /) $(jq -r .code body)" "401 token_missing" "who asks for JSON is told nothing without a token"
is "$(api GET / | jq -r .openapi)" /openapi.json "and with the right to it, where things are"
is "$(page /web/app.js -X POST -d x | head -c 3)" 401 "nothing but GET is open"

# Every file of web/, as the page names them
wrong=0 files=0 plain=0 packed=0
policy="default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; require-trusted-types-for 'script'"
for file in "$srcdir"/web/*.{html,css,js,svg} "$srcdir"/web/{data,widgets,views}/*.js "$srcdir"/web/vendor/*.{css,js}; do
	name=${file#"$srcdir"/web/} files=$((files + 1))
	path=/web/$name accept='*/*'
	[ "$name" != index.html ] || path=/ accept=text/html
	status=$(page "$path" -H "Accept: $accept")
	cmp -s body "$file" || { wrong=$((wrong + 1)); diag "$name: $status, not what is in web/"; }
	plain=$((plain + $(wc -c <body)))
	for header in "content-security-policy|$policy; trusted-types 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'" \
		"x-content-type-options|nosniff" "referrer-policy|no-referrer" "cache-control|no-cache" "x-frame-options|DENY" \
		"cross-origin-resource-policy|same-origin" "cross-origin-opener-policy|same-origin"; do
		[ "$(head_of "${header%%|*}")" = "${header#*|}" ] || { wrong=$((wrong + 1)); diag "$name: ${header%%|*}: $(head_of "${header%%|*}")"; }
	done
	tag=$(head_of etag)
	[ "$(page "$path" -H "Accept: $accept" -H "If-None-Match: $tag") $(wc -c <body) $(head_of etag)" = "304 0 $tag" ] || { wrong=$((wrong + 1)); diag "$name: $tag is not kept"; }
	[ "$(page "$path" -H "Accept: $accept" -H 'If-None-Match: W/"x"')" = 200 ] || { wrong=$((wrong + 1)); diag "$name: another tag is taken for its own"; }
	page "$path" -H "Accept: $accept" -H 'Accept-Encoding: gzip' >status
	if [ "$(head_of content-encoding)" = gzip ]; then gzip -d <body >unpacked; else cp body unpacked; fi
	cmp -s unpacked "$file" && [ "$(head_of etag)" = "$tag" ] || { wrong=$((wrong + 1)); diag "$name: not the same when compressed"; }
	[ "$name" = vendor/uplot.js ] || packed=$((packed + $(wc -c <body))) # which is asked for with the first curve
done
is "$wrong" 0 "$files files are served as they are, protected, kept by browsers and compressed"
diag "$plain bytes; the first view is sent $packed"
ok "the first view is sent fewer than 100 KB" test "$packed" -lt 100000
is "$(page /web/app.js -H 'Accept-Encoding: gzip;q=0') $(head_of content-encoding)" "200 " "who takes no compression gets none"
is "$(page /web/app.css) $(head_of content-type)" "200 text/css; charset=utf-8" "style sheets are such"
is "$(page /web/app.js) $(head_of content-type)" "200 text/javascript; charset=utf-8" "scripts are such"
is "$(page /web/icon.svg) $(head_of content-type)" "200 image/svg+xml" "and pictures"
for path in /web/nothing.js /web/app.js.gz /web/index.html /web/x/app.js /web/api.js "/web/$(printf 'x%.0s' {1..500}).js" /web/app; do
	is "$(page "$path") $(jq -r .code body)" "404 file_not_found" "there is no ${path:0:30}"
done
is "$(page /web/../app.js --path-as-is) $(page /web/) $(page /web/data/../app.js --path-as-is)" "404 401 401" "nor anything beside them"

# The page works below any path, offline, and shows all that happens.
is "$(grep -o -h -E '(src|href)="[^"]*"' page.html | grep -v -E '="(web/([a-z]+/)?[a-z_]+\.[a-z]+|#.*)"')" "" "its URLs are relative"
is "$(cd "$srcdir/web" && grep -n -E 'https?://' ./*.html ./*.css ./*.js {data,widgets,views}/*.js | grep -v 'http://www.w3.org/2000/svg')" "" "and none is of another site"
is "$(cd "$srcdir/web" && grep -n -E 'innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function|style=' ./*.html ./*.js {data,widgets,views}/*.js)" "" "text is only ever put in as text"
page /web/data/tables.js >status
kinds=$(cd "$srcdir" && grep -r -h -o -E '"(ensemble|members?|attempt|training)\.[a-z_]+"' --include='*.c' daemon | tr -d '"' | sort -u)
for kind in $kinds; do grep -q "'$kind'" body || echo "$kind"; done >unheard
is "$(cat unheard)" "" "it hears of all $(wc -w <<<"$kinds") kinds of events"
modules=$(cd "$srcdir/web" && printf '%s\n' *.js {data,widgets,views}/*.js data/tables.js | sort)
is "$(grep -o 'web/[a-z_/]*\.js' page.html | sed 's|web/||' | sort)" "$modules" "all modules are asked for at once"

# What is from npm is what the lock file names
"$srcdir/build-aux/web-vendor" --check >vendor.out 2>&1
case $? in
77) skip "npm or its registry cannot be reached" && diag "$(cat vendor.out)" ;;
*) is "$(cat vendor.out)" "" "the libraries are those of the lock file" ;;
esac

# What a session is sent, in a window of its own
login=$(stretto --json dashboard | jq -r .login)
page /v1/sessions -H "Origin: $URL" -H 'Content-Type: application/json' -d "{\"login\": \"$login\"}" >status
place=$(jq -r .place body) cookie=$(head_of set-cookie)
is "$(page "/${place}v1/ensembles" -H "Cookie: ${cookie%%;*}") $(head_of content-security-policy)" "200 default-src 'none'; frame-ancestors 'none'; sandbox" \
	"what a session is sent does nothing by itself"
done_testing
