# A Chromium that a test drives, by the DevTools protocol over a pipe. What it complains of (messages on the console,
# exceptions, violations of the Content-Security-Policy) is collected.
import base64, fcntl, http.server, json, os, random, select, socket, subprocess, threading, time

LIMIT = 120 * int(os.environ.get("STRETTO_TEST_PATIENCE", "5")) / 5  # seconds, for what never comes

WATCH = """performance.setResourceTimingBufferSize(1e6);
addEventListener('securitypolicyviolation', e => console.error('CSP: ' + e.violatedDirective + ' ' + e.blockedURI));
(() => { let heard = location.hash; const {replaceState} = history;
    history.replaceState = (...state) => (replaceState.apply(history, state), heard = location.hash);
    addEventListener('hashchange', () => (heard = location.hash), {capture: true});
    globalThis.hasHeard = () => heard === location.hash || new Promise(done => addEventListener('hashchange', done, {once: true})); })();
(() => { const real = fetch; let held = null, goOn = null;
    globalThis.fetch = async (...request) => { const answer = await real(...request); await held; return answer; };
    globalThis.hold = () => (held = new Promise(done => (goOn = done)), true);
    globalThis.letGo = () => (goOn(), held = null); })()"""

# To look for races: every answer that a page gets comes up to so many milliseconds late, by chance, and now and then
# what the test does next.
DELAY = int(os.environ.get("STRETTO_TEST_DELAY", "0"))
SLOW = f"""(() => {{ const real = fetch; globalThis.fetch = async (...request) => {{
    const answer = await real(...request);
    await new Promise(done => setTimeout(done, Math.random() * {DELAY}));
    return answer; }}; }})()"""


class Browser:
    def __init__(self, program, folder):
        self.number, self.rest, self.replies, self.complaints = 0, b"", {}, []
        theirs_in, self.to = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in os.pipe())
        self.back, theirs_out = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in os.pipe())
        self.log = open(os.path.join(folder, "chromium.log"), "ab")
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "bash", program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-gpu-watchdog", "--disable-hang-monitor", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-device-scale-factor=1",
             f"--user-data-dir={folder}/profile", "--remote-debugging-pipe",
             "--host-resolver-rules=MAP *.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, pass_fds=(theirs_in, theirs_out))
        os.close(theirs_in), os.close(theirs_out)
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log", "Network":
            self.call(f"{domain}.enable")
        self.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        if DELAY:
            self.call("Page.addScriptToEvaluateOnNewDocument", source=SLOW)

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def call(self, method, **parameters):
        if DELAY and random.random() < 0.2:
            time.sleep(random.uniform(0, DELAY / 1000))
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.send(json.dumps(message).encode() + b"\0")
        wanted, end = self.number, time.monotonic() + LIMIT
        while wanted not in self.replies:
            self.read(end)
        reply = self.replies.pop(wanted)
        if "error" in reply:
            raise RuntimeError(f"{method}: {reply['error']}")
        return reply["result"]

    def send(self, data):
        while data:  # a write that is held up by a signal, such as SIGSTOP, may be of a part only
            data = data[os.write(self.to, data):]

    def read(self, end):
        ready, _, _ = select.select([self.back], [], [], max(0, end - time.monotonic()))
        data = os.read(self.back, 1 << 20) if ready else b""
        if not data:
            raise RuntimeError("the browser has ended" if ready else "the browser does not answer")
        *whole, self.rest = (self.rest + data).split(b"\0")
        for text in whole:
            message = json.loads(text)
            if "id" in message:
                self.replies[message["id"]] = message
            else:
                self.hear(message["method"], message["params"])

    def hear(self, method, parameters):
        if method == "Runtime.consoleAPICalled":
            self.complaints.append("console: " + " ".join(str(a.get("value", a.get("description"))) for a in parameters["args"]))
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.complaints.append(f"exception: {details.get('exception', {}).get('description', details['text'])}")
        elif method == "Log.entryAdded":
            entry = parameters["entry"]
            self.complaints.append(f"log: {entry['text']} {entry.get('url', '')}")

    def js(self, expression):
        """Its value. If the address has just become another one, the page has heard of that before."""
        try:
            self.call("Runtime.evaluate", expression="globalThis.hasHeard?.()", awaitPromise=True)
        except RuntimeError:  # the page is about to be another one
            pass
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails'].get('exception', {}).get('description')}")
        return result["result"].get("value")

    def until(self, condition):
        """Wait until the expression is true, and return it."""
        end = time.monotonic() + LIMIT
        while True:
            try:
                value = self.js(condition)
            except RuntimeError as error:  # the page is about to be another one
                value = None
                if time.monotonic() > end:
                    raise RuntimeError(f"in vain: {condition}: {error}")
            if value:
                return value
            if time.monotonic() > end:
                raise RuntimeError(f"in vain: {condition}; the page says: {self.js('document.body.innerText')}")
            time.sleep(0.05)

    def open(self, url):
        """Returns when the page before has gone, unless it is the same page with another fragment."""
        self.js("globalThis.isLeft = true")
        if "loaderId" in self.call("Page.navigate", url=url):
            self.until("!globalThis.isLeft")

    def click(self, selector):
        """With the mouse, in its middle, as soon as it is there. If something else has come under the mouse meanwhile, since the page
        goes on, that does not hear of it, and the mouse is pressed anew; so it is where the element has moved before the mouse was
        released. An element that stays, was pressed and does not get the click is not pressed again."""
        element = f"document.querySelector({json.dumps(selector)})"
        end = time.monotonic() + LIMIT
        while True:
            at = self.until(f"""(() => {{ const e = {element}; if (!e || e.disabled) return null;
                e.scrollIntoView({{block: 'center'}}); const r = e.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2;
                const top = document.elementFromPoint(x, y);
                return r.width > 0 && top && (e.contains(top) || top.contains(e)) ? {{x, y}} : null; }})()""")
            self.js(f"""(() => {{ let hit = null; const kinds = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click'];
                let pressed, down;
                const look = event => {{
                    const e = {element};
                    if (hit === null) {{
                        hit = !!e && (e.contains(event.target) || event.target.contains(e));
                        [pressed, down] = [e, event.target];
                    }} else if (hit && e === pressed && event.target !== down && !e.contains(event.target)) {{
                        hit = false; // it has moved from under the mouse before that was released
                    }}
                    if (!hit) event.preventDefault(), event.stopImmediatePropagation();
                }};
                for (const kind of kinds) addEventListener(kind, look, {{capture: true}});
                globalThis.wasHit = () => {{
                    for (const kind of kinds) removeEventListener(kind, look, {{capture: true}});
                    return hit;
                }}; }})()""")
            for kind in "mousePressed", "mouseReleased":
                self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)
            try:
                missed = self.js("globalThis.wasHit()") is False
            except RuntimeError:  # the click has led to another page
                missed = False
            if not missed or time.monotonic() > end:
                return

    def press(self, key, code=None, shift=False, kind="keyDown"):
        text = {"Enter": "\r", " ": " "}.get(key) if kind == "keyDown" else None
        self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key, modifiers=8 if shift else 0, **({"text": text} if text else {}),
                  windowsVirtualKeyCode={"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}[key])

    def release(self, key, code=None, shift=False):
        self.press(key, code, shift, "keyUp")

    def key(self, key, code=None, shift=False):
        self.press(key, code, shift)
        self.release(key, code, shift)

    def tab_to(self, selector, most=200):
        """By the keyboard alone; how many times Tab it takes."""
        for pressed in range(most):
            if self.js(f"document.activeElement.matches({json.dumps(selector)})"):
                return pressed
            self.key("Tab")
        raise RuntimeError(f"Tab does not lead to {selector}")

    def type(self, text):
        self.call("Input.insertText", text=text)

    def look(self, width, dark=False, height=900, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def picture(self, path, whole=False, **options):
        data = self.call("Page.captureScreenshot", captureBeyondViewport=whole, **{"format": "png", **options})["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))


def forward(path):
    """A port that leads to a Unix socket, as `ssh -L` makes one."""
    listener = socket.create_server(("127.0.0.1", 0))

    def pump(source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def serve():
        while True:
            client, _ = listener.accept()
            daemon = socket.socket(socket.AF_UNIX)
            try:
                daemon.connect(path)
            except OSError:
                client.close()
                continue
            for ends in (client, daemon), (daemon, client):
                threading.Thread(target=pump, args=ends, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


def proxy(path, prefix):
    """A port of a proxy that serves the daemon below a path of its own."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def relay(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            rest = self.path[len(prefix) - 1:] if self.path.startswith(prefix) else "/nothing"
            head = f"{self.command} {rest} HTTP/1.1\r\n" + "".join(
                f"{name}: {value}\r\n" for name, value in self.headers.raw_items() if name.lower() != "connection")
            with socket.socket(socket.AF_UNIX) as daemon:
                daemon.connect(path)
                daemon.sendall(head.encode() + b"Connection: close\r\n\r\n" + body)
                try:
                    while data := daemon.recv(65536):
                        self.wfile.write(data)
                except OSError:
                    pass

        do_GET = do_POST = do_PATCH = do_DELETE = relay

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]
