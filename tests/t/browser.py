# browser.py SOCKET SPEC ENSEMBLE CHROMIUM DIR: what pages can do through a port that is forwarded to the daemon's Unix socket, as
# `ssh -L 8080:/path/stretto.sock` does it. Prints one line a try, "WHERE TRY: RESULT", as the pages themselves saw it.
#
# /attack and /report are the attacker's site; everything else goes to the daemon, byte for byte but for the Connection header. So
# http://evil.example:PORT/attack stands for a name that came to mean this machine after the page was loaded (DNS rebinding), and
# http://other.example:PORT for a page of another site.
import http.server, json, os, socket, subprocess, sys, threading

daemon, spec, ensemble, chromium, folder = sys.argv[1:]
reports, done = {}, threading.Event()

PAGE = """<!doctype html><script>
const where = %(where)s, target = %(target)s, results = {};
async function attempt(name, path, options) {
  try {
    const answer = await fetch(target + path, options);
    let text = await answer.text(), code = '';
    try { code = ' ' + JSON.parse(text).code } catch (e) {}
    results[name] = answer.type === 'opaque' ? 'unreadable' : answer.status + code;
  } catch (e) { results[name] = 'failed'; }
}
(async () => {
  const body = %(spec)s, json = {'Content-Type': 'application/json'};
  await attempt('read', '/v1/ensembles', {});
  await attempt('read without referrer', '/v1/ensembles', {referrerPolicy: 'no-referrer'});
  await attempt('cancel', '/v1/ensembles/%(ensemble)s/cancel', {method: 'POST'});
  await attempt('cancel without cors', '/v1/ensembles/%(ensemble)s/cancel', {method: 'POST', mode: 'no-cors', referrerPolicy: 'no-referrer'});
  await attempt('submit', '/v1/ensembles', {method: 'POST', headers: json, body});
  await attempt('submit as text', '/v1/ensembles', {method: 'POST', mode: 'no-cors', headers: {'Content-Type': 'text/plain'}, body});
  await attempt('resize', '/v1/ensembles/%(ensemble)s', {method: 'PATCH', headers: json, body: '{"width": 1}'});
  const form = document.createElement('form'), frame = document.createElement('iframe');
  frame.name = 'frame';
  form.method = 'POST'; form.target = 'frame'; form.action = target + '/v1/ensembles/%(ensemble)s/cancel';
  document.body.append(frame, form);
  await new Promise(resolve => { frame.onload = resolve; form.submit(); });
  await fetch('/report', {method: 'POST', body: JSON.stringify({where, results})});
  %(next)s
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

    def page(self):
        own = f"http://localhost:{port}"
        where, target, following = {
            "/attack-by-name": ("another name", "", f"location = 'http://other.example:{port}/attack-across'"),
            "/attack-across": ("another site", own, f"location = '{own}/attack-from-here'"),
            "/attack-from-here": ("own origin", "", ""),
        }[self.path]
        self.reply((PAGE % {"where": json.dumps(where), "target": json.dumps(target), "spec": json.dumps(spec), "ensemble": ensemble,
                            "next": following}).encode())

    def relay(self):
        head = self.raw_requestline
        for name, value in self.headers.raw_items():
            if name.lower() != "connection":
                head += f"{name}: {value}\r\n".encode()
        with socket.socket(socket.AF_UNIX) as upstream:
            upstream.connect(daemon)
            upstream.sendall(head + b"Connection: close\r\n\r\n" + self.body)
            while data := upstream.recv(65536):
                self.wfile.write(data)

    def handle_request(self):
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.startswith("/attack"):
            self.page()
        elif self.path == "/report":
            report = json.loads(self.body)
            reports[report["where"]] = report["results"]
            self.reply(b"{}")
            if len(reports) == 3:
                done.set()
        elif self.path == "/favicon.ico":
            self.reply(b"")
        else:
            self.relay()

    do_GET = do_POST = do_PATCH = do_OPTIONS = do_HEAD = handle_request


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
port = server.server_address[1]
threading.Thread(target=server.serve_forever, daemon=True).start()
with open(os.path.join(folder, "chromium.log"), "wb") as log:
    browser = subprocess.Popen(
        [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", f"--user-data-dir={folder}/profile",
         "--remote-debugging-port=0", "--host-resolver-rules=MAP *.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
         f"http://evil.example:{port}/attack-by-name"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    finished = done.wait(200)
    browser.terminate()
    try:
        browser.wait(20)
    except subprocess.TimeoutExpired:
        browser.kill()
        browser.wait()
for where, results in reports.items():
    for attempt, result in results.items():
        print(f"{where}: {attempt}: {result}")
sys.exit(0 if finished else 1)
