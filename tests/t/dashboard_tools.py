# SOCKET CHROMIUM DIR …: what the browser's parts of the tests of the dashboard share. They print TAP-like lines,
# "ok|not ok NAME". With STRETTO_PICTURES=DIR pictures of the pages are left there.
import http.client, json, os, re, socket, subprocess, sys, traceback
import chromium

path, program, folder = sys.argv[1:4]
pictures = os.environ.get("STRETTO_PICTURES")
bad = 0


class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(chromium.LIMIT)
        self.sock.connect(path)


def api(method, where, body=None):
    connection = Connection("stretto")
    connection.request(method, where, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"} if body else {})
    data = connection.getresponse().read()
    connection.close()
    return data


def get(where):
    return json.loads(api("GET", where))


def tell(good, name, more=""):
    global bad
    bad += not good
    print(f"{'ok' if good else 'not ok'} {name}")
    if not good:
        print(f"# {more}")


def equal(got, wanted, name):
    tell(got == wanted, name, f"got {got!r}, wanted {wanted!r}")


def agree(look, tell_wanted, name):
    """What look() tells is what tell_wanted() tells, at last: the page may be about to ask for it, and what the API says goes on."""
    end = chromium.time.monotonic() + chromium.LIMIT
    while True:
        try:
            got = look()
        except RuntimeError as error:  # what it looks at is not there yet
            got = str(error)
        wanted = tell_wanted()
        if got == wanted or chromium.time.monotonic() > end:
            return equal(got, wanted, name)
        chromium.time.sleep(0.05)


def comes_to(look, wanted, name):
    """What look() tells is what is wanted, at last."""
    agree(look, lambda: wanted, name)


def point(place, condition):
    """The mouse is at the place, wherever the page has moved that to meanwhile, until the expression is true."""
    end = chromium.time.monotonic() + chromium.LIMIT
    while True:
        browser.call("Input.dispatchMouseEvent", type="mouseMoved", **place())
        if js(f"!!({condition})"):
            return
        if chromium.time.monotonic() > end:
            raise RuntimeError(f"in vain: {condition}")
        chromium.time.sleep(0.05)


def link(port, *options, prefix="/"):
    made = json.loads(subprocess.run(["stretto", "--json", "dashboard", *options], check=True, stdout=subprocess.PIPE).stdout)
    return f"http://localhost:{port}{prefix}#login={made['login']}"


def visible(text):
    unseen = "([\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069])\\1*"
    return re.sub(unseen, lambda run: f"‹U+{ord(run[1]):04X}{f' × {len(run[0])}' if len(run[0]) > 1 else ''}›", text)


browser = chromium.Browser(program, folder)
js, until, click = browser.js, browser.until, browser.click
COUNTS = "Object.fromEntries([...document.querySelectorAll('.counts li')].map(e => [e.dataset.key, Number(e.querySelector('b').innerText.replaceAll(',', ''))]))"


def arrives(condition):
    """The page shows what its address says, and not what it showed before, and the expression is true."""
    until(f"!document.querySelector('main[aria-busy]') && !!({condition})")


def heading(text):
    arrives(f"document.querySelector('h1')?.innerText === {json.dumps(text)}")


def settled(id):
    """The page shows of this ensemble what the API says: they are asked until they agree, since members go on meanwhile."""
    shown = f"""(() => {{ const pill = document.querySelector('.head .pill');
        return pill && {{state: pill.innerText.split(' ').at(-1), counts: {COUNTS}, width: document.querySelector('[data-key=width] dd').innerText}}; }})()"""
    def agrees():
        ensemble, page = get(f"/v1/ensembles/{id}"), js(shown)
        return page and page["state"] == ensemble["state"] and page["counts"] == ensemble["members"] and page["width"] == f"{ensemble['width']:,}"
    end = chromium.time.monotonic() + chromium.LIMIT
    while not agrees():
        if chromium.time.monotonic() > end:
            return False
        chromium.time.sleep(0.05)
    return True


def fits(name):
    wide = [width for width in (360, 1024, 1920) if (browser.look(width), js("document.documentElement.scrollWidth > document.documentElement.clientWidth"))[1]]
    if pictures:
        os.makedirs(pictures, exist_ok=True)
        for width in 360, 1024, 1920:
            for dark in False, True:
                browser.look(width, dark)
                browser.picture(f"{pictures}/{name}-{width}-{'dark' if dark else 'light'}.png", whole=True)
    browser.look(1024)
    equal(wide, [], f"{name}: it fits on a phone, a tablet and a large screen")
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    roles = {"button", "link", "textbox", "combobox", "spinbutton", "checkbox", "image", "table", "dialog"}
    nameless = [n["role"]["value"] for n in nodes if not n.get("ignored") and n.get("role", {}).get("value") in roles
                and not n.get("name", {}).get("value", "").strip() and n["role"]["value"] != "table"]
    equal(nameless, [], f"{name}: all that can be used has a name for screen readers")
    axe(name)


def axe(name):
    """Nothing keeps people out, as far as axe-core can tell; in a world of its own, so that it meets the page and not its scripts. Meanwhile the
    page gets no answers, since axe-core is of no use on one that changes under it; where the page was about to, it is looked at again."""
    if not os.environ.get("AXE"):
        return
    with open(os.environ["AXE"]) as file:
        source = file.read()
    frame = browser.call("Page.getFrameTree")["frameTree"]["frame"]["id"]
    world = browser.call("Page.createIsolatedWorld", frameId=frame)["executionContextId"]
    browser.call("Runtime.evaluate", contextId=world, expression=source)
    js("hold()")
    found, of_colours = {}, {"runOnly": ["color-contrast", "link-in-text-block"]}  # nothing else is another thing in the dark
    for dark in False, True:
        browser.look(1024, dark)
        options = json.dumps({"resultTypes": ["violations"], **(of_colours if dark else {})})
        answer, end = None, chromium.time.monotonic() + chromium.LIMIT
        while (answer is None or answer["result"].get("value") == "changed") and chromium.time.monotonic() < end:
            answer = browser.call("Runtime.evaluate", contextId=world, awaitPromise=True, returnByValue=True, expression=f"""(() => {{
                const watch = new MutationObserver(() => (watch.isChanged = true));
                watch.observe(document.body, {{subtree: true, childList: true, characterData: true}});
                const over = result => watch.takeRecords().length > 0 || watch.isChanged ? 'changed' : result;
                return axe.run(document, {options}).then(({{violations}}) => over(violations.map(v => v.id + ': ' +
                    v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(' | '))), problem => over(String(problem))); }})()""")
        found["dark" if dark else "light"] = answer["result"].get("value", answer)
    js("letGo()")
    browser.look(1024)
    equal(found, {"light": [], "dark": []}, f"{name}: axe-core finds nothing, dark and light")


def quiet(name, but=None):
    """`but`: what stands in complaints that are expected, however often and late they come."""
    equal([c for c in browser.complaints if but is None or but not in c], [], f"{name}: no message on the console, and no violation of the policy")
    browser.complaints.clear()


def run(*parts):
    """Do them, and end the program with what came of it."""
    try:
        browser.look(1024)
        for part in parts:
            part()
    except Exception:
        tell(False, "the browser did all", traceback.format_exc().replace("\n", "\n# ") + f"\n# {browser.complaints}")
    finally:
        browser.close()
    sys.exit(1 if bad else 0)
