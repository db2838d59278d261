# properties.py SOCKET PORT TOKENS FOLDER: requests made from the daemon's own /openapi.json, valid and not, and what
# every answer must be: never an error of the daemon's own (5xx), a status and a body that the document describes, and
# one within a minute. A few requests are under way at a time, each on a connection that is kept for the next one as
# long as the answers do not say that it ends.
#
# Environment: PROPERTY_REQUESTS (10000), PROPERTY_SECONDS (50; no new request after so long), PROPERTY_SEED (14;
# "random").
import http.client, json, os, random, re, socket, sys, time
import jsonschema
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

path, port, folder = sys.argv[1], int(sys.argv[2]), sys.argv[4]
tokens = dict(zip(("admin", "operator", "reader"), sys.argv[3].split()))
wanted = int(os.environ.get("PROPERTY_REQUESTS", 10000))
until = time.monotonic() + float(os.environ.get("PROPERTY_SECONDS", 50))
chosen = os.environ.get("PROPERTY_SEED", "14")
chosen = random.randrange(1 << 32) if chosen == "random" else int(chosen)
ANSWER_S = 60  # for what never comes; how long answers take is told at the end
AT_ONCE = 4, 16  # requests, at least and at most
IDLE_S = 30  # the daemon may end a connection that is not used for longer
SHRINK_MAX = 200  # tries to make what failed smaller
HEAD_MAX = 24 << 10  # what is larger may not fit into a connection's memory, and is refused below this interface


class Connection:
    """One request after the other; each is sent, and then its answer is read."""

    def __init__(self, over_tcp):
        self.over_tcp, self.s, self.used = over_tcp, None, 0

    def close(self):
        if self.s is not None:
            self.s.close()
        self.s = None

    def send(self, data):
        if time.monotonic() - self.used > IDLE_S:
            self.close()
        if self.s is None:
            self.known = not self.over_tcp  # to the daemon
            self.s = socket.socket(socket.AF_INET if self.over_tcp else socket.AF_UNIX)
            self.s.settimeout(ANSWER_S)
            self.s.connect(("127.0.0.1", port) if self.over_tcp else path)
        try:
            self.s.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has been refused before it was read whole

    def receive(self, data, head_only=False):
        """Status, headers, body; None for the body of a reply that does not end."""
        reply = http.client.HTTPResponse(self.s, method="HEAD" if head_only else "GET")
        reply.begin()
        endless = reply.getheader("content-type", "").startswith("text/event-stream") or (b"follow=1" in data and reply.status == 200)
        body = None if endless else reply.read()
        # over TCP, the daemon ends a connection on which nothing has come with a valid token ten seconds after it was
        # made
        self.known = self.known or b" /v1/" in data and b" /v1/sessions" not in data and b"Authorization:" in data and 200 <= reply.status < 300
        if endless or reply.will_close or not self.known:
            self.close()
        self.used = time.monotonic()
        return reply.status, reply.headers, body


def ask(method, path, body=""):
    connection = Connection(False)
    request = f"{method} {path} HTTP/1.1\r\nHost: stretto\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
    connection.send(request)
    return json.loads(connection.receive(request)[2])


document = ask("GET", "/openapi.json")
document = json.loads(json.dumps(document).replace("#/components/schemas/", "#/$defs/"))
defs = document["components"]["schemas"]
validators = {}


def resolve(thing):
    while "$ref" in thing:
        kind, name = thing["$ref"].rsplit("/", 2)[1:]
        thing = defs[name] if kind == "$defs" else document["components"][kind][name]
    return thing


def validator(schema):
    key = json.dumps(schema, sort_keys=True)
    if key not in validators:
        validators[key] = jsonschema.Draft202012Validator(dict(schema, **{"$defs": defs}))
    return validators[key]


# --- what is sent

# What strategies are mapped by is named, and chances are drawn from lists: of a lambda, hypothesis would look for the
# source each time.
def many_a(n):
    return "a" * n


def after_true(rest):
    return ["true"] + rest


def grid_of(n):
    return {"grid": {"x": list(range(n))}}


def start_of(text):
    return text[:300]


def without_slash(text):
    return "/" not in text


def one_in(n):
    return st.sampled_from([False] * (n - 1) + [True])


numbers = st.one_of(st.integers(0, 12), st.sampled_from([-1, 999, 2**31, 2**53, 2**63 - 1, 2**63, 10**30]))
texts = st.one_of(st.sampled_from(["", "x", "0", "-1", "1.5", "true", "%", "%00", "\x7f", "ä", "\u202e", "a b", "\n", "null", "💥"]),
                  st.text(max_size=12), st.integers(1, 3000).map(many_a))
scalars = st.one_of(st.none(), st.booleans(), numbers, st.floats(allow_nan=False, allow_infinity=False), texts)
anything = st.recursive(scalars, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)), max_leaves=6)
durations = st.sampled_from(["30s", "1m", "2h", "01:30:00", "1d"])

# What the document leaves open, by the names of keys. No program is started that does anything, and most ensembles go
# to a batch system that is not here, so that ten thousand requests start no thousand processes.
by_name = {
    "command": st.lists(st.sampled_from(["true", "no-such-program", "{x}", "{{", "", "ä"]), min_size=0, max_size=3).map(after_true),
    "adapter": st.sampled_from(["slurm"] * 12 + ["local", "pbs", "nope"]),
    "parameters": st.one_of(
        st.integers(1, 4).map(grid_of),
        st.sampled_from([{"grid": {"x": [1], "y": ["a", 0.5]}}, {"method": "halton", "count": 3, "space": {"x": [0, 1]}},
                         {"method": "monte-carlo", "count": 1000000, "seed": 1, "space": {"x": [0.5, 1.5]}},
                         {"method": "latin", "count": 2, "seed": 2, "space": {"x": [-1, 1]}}, {"file": "/nowhere/x.csv"},
                         {"grid": {}}, {"grid": {"x": []}}, {}])),
    "fields": st.one_of(st.just({"f": {"dtype": "float32", "shape": [2]}}), st.dictionaries(texts, anything, max_size=2)),
    "buffer": st.one_of(st.just({}), st.just({"policy": "reservoir", "capacity": 10, "threshold": 1, "batch": 2}), anything),
    "walltime": durations, "silence": durations, "failure_after": durations, "expires": st.one_of(durations, st.just("never")),
    "memory": st.sampled_from(["1MiB", "2GiB", "0", "-1", "1e30"]),
    "retries": st.integers(0, 1),
    "umask": st.sampled_from(["0077", "022", "0999"]),
}


strategies = {}


def from_schema(schema, name=""):
    """A strategy for values that fit; made once, since making them takes longer than drawing from them."""
    key = name if name in by_name else json.dumps(schema, sort_keys=True)
    if key not in strategies:
        strategies[key] = by_name[name] if name in by_name else make_strategy(resolve(schema))
    return strategies[key]


def make_strategy(schema):
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    for key in ("oneOf", "anyOf"):
        if key in schema:
            return st.one_of([from_schema(s) for s in schema[key]])
    kind = schema.get("type")
    if isinstance(kind, list):
        return st.one_of([from_schema(dict(schema, type=k)) for k in kind])
    if kind == "integer":
        low, high = schema.get("minimum", 0), schema.get("maximum", 1 << 40)
        return st.one_of(st.integers(low, min(high, low + 4)), st.sampled_from([low, high]))
    if kind == "number":
        return st.floats(schema.get("minimum", 0), schema.get("maximum", 1e6))
    if kind == "boolean":
        return st.booleans()
    if kind == "string":
        return st.from_regex(schema["pattern"], fullmatch=True).map(start_of) if "pattern" in schema else texts
    if kind == "array":
        return st.lists(from_schema(schema.get("items", {})), min_size=schema.get("minItems", 0), max_size=3)
    if kind == "object":
        properties = {k: from_schema(v, k) for k, v in schema.get("properties", {}).items()}
        required = {k: v for k, v in properties.items() if k in schema.get("required", [])}
        return st.fixed_dictionaries(required, optional={k: v for k, v in properties.items() if k not in required})
    return anything


def places(value, at=()):
    yield at
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, at + (key,))


def mutated(draw, value):
    """The value with something in it replaced, removed or added."""
    value = json.loads(json.dumps(value))
    at = draw(st.sampled_from(list(places(value))))
    if not at:
        return draw(anything)
    parent = value
    for key in at[:-1]:
        parent = parent[key]
    what = draw(mutations)
    if "command" in at and what != "remove":
        parent[at[-1]] = draw(no_texts)  # never a program of any name
    elif what == "replace":
        parent[at[-1]] = draw(anything)
    elif what == "remove":
        del parent[at[-1]]
    elif isinstance(parent, dict):
        parent[draw(texts)] = draw(anything)
    else:
        parent.append(draw(anything))
    return value


broken = st.sampled_from([b"", b"{", b"[" * 3000, b'{"a":' * 2000, b'{"name": "a", "name": "b"}', b'{"name": "\\ud800"}', b'{"name": "\xff"}',
                          b"null", b"[]", b"0", b"1e400", b'"x"', b"{}x", b'{"width": 1e3}', b'{"width": 99999999999999999999}', b"\x00", b"\xef\xbb\xbf{}"])
operations = [(pattern, method.upper()) for pattern, item in document["paths"].items() for method in item if method != "parameters"
              for _ in range(4 if "requestBody" in item[method] else 1)]  # there is more to vary in a body
methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "FOO"]


def quoted(text):
    return "".join(chr(b) if chr(b).isalnum() and b < 128 or chr(b) in "-._~" else f"%{b:02X}" for b in text.encode("utf-8", "surrogatepass"))


odd = one_in(10)
any_method = st.sampled_from(methods)
any_operation = st.sampled_from(operations)
known_ids = st.integers(0, 8)
odd_ids = st.one_of(numbers, texts.filter(without_slash))
odd_values = st.one_of(numbers, texts)
files = st.sampled_from([folder + "/backup.db", "/nowhere/at/all", "relative", ""])
odd_names = st.one_of(texts, st.sampled_from(["limit", "cursor", "x"]))
odd_headers = st.sampled_from(["Range", "If-None-Match", "If-Match", "If-Modified-Since", "Accept", "Expect", "Idempotency-Key", "Last-Event-ID",
                               "Accept-Encoding", "Upgrade", "X-Any", "TE"])
header_values = st.one_of(st.sampled_from(["*", "bytes=0-0", "bytes=-1", "bytes=5-", "bytes=9-1", "bytes=0-1,3-4", '"x"', 'W/"x"', "text/event-stream",
                                           "100-continue", "gzip"]), texts)
content_types = st.sampled_from(["text/plain", "application/json; charset=utf-8", "application/x", ""])
any_role = st.sampled_from(list(tokens))
mutations = st.sampled_from(["replace", "replace", "remove", "add"])
no_texts = st.one_of(st.none(), st.booleans(), numbers)
one_in_three = one_in(3)
one_in_twenty = one_in(20)
flips = st.booleans()


@st.composite
def requests(draw):
    pattern, method = draw(any_operation)
    item = document["paths"][pattern]
    if draw(one_in_twenty):
        method = draw(any_method)
    operation = item.get({"HEAD": "get"}.get(method, method.lower()))
    parameters = [resolve(p) for p in item.get("parameters", []) + (operation or {}).get("parameters", [])]
    target, query, headers, body = pattern, [], [], None
    for p in parameters:
        if p["in"] == "path":
            value = draw(odd_ids if draw(odd) else known_ids)
            target = target.replace("{%s}" % p["name"], quoted(str(value)))
        elif p["name"] == "file":  # the daemon writes there
            if draw(odd):
                query.append(("file", draw(files)))
        elif draw(one_in_three):
            value = draw(odd_values if draw(odd) else from_schema(p["schema"]))
            value = ",".join(value) if p.get("explode") is False and isinstance(value, list) else str(value)
            (query if p["in"] == "query" else headers).append((p["name"], value))
    if draw(odd):
        query.append((draw(odd_names), draw(texts)))
    if draw(odd):
        headers.append((draw(odd_headers), draw(header_values)))
    content = (operation or {}).get("requestBody", {}).get("content", {}).get("application/json")
    if content is not None or draw(odd):
        value = draw(from_schema(content["schema"]) if content is not None else anything)
        if draw(one_in_three):
            value = mutated(draw, value)
        body = draw(broken) if draw(odd) else json.dumps(value, ensure_ascii=draw(flips)).encode("utf-8", "surrogatepass")
        if not draw(odd):
            headers.append(("Content-Type", "application/json"))
        elif draw(flips):
            headers.append(("Content-Type", draw(content_types)))
    over_tcp = draw(odd)
    if over_tcp:
        headers.append(("Authorization", "Bearer " + tokens[draw(any_role)]))
    if query:
        target += "?" + "&".join(f"{quoted(k)}={quoted(v)}" for k, v in query)
    clean = lambda v: re.sub(r"[\x00-\x1f\x7f]", "", v).encode("utf-8", "surrogatepass")
    head = f"{method} {target} HTTP/1.1\r\nHost: localhost\r\n".encode()
    head += b"".join(k.encode() + b": " + clean(v) + b"\r\n" for k, v in headers)
    if body is not None:
        head += b"Content-Length: %d\r\n" % len(body)
    return pattern, method, over_tcp, head + b"\r\n" + (body or b""), len(head)


# --- what comes

statuses, latencies, failing, made = {}, [], [], 0
connections = {(over_tcp, i): Connection(over_tcp) for over_tcp in (False, True) for i in range(AT_ONCE[1])}


class TimeIsUp(KeyboardInterrupt):
    """Ends hypothesis at once, where any other exception would be a failure for it to look into."""



def problem_fits(status, data):
    problem = json.loads(data)
    errors = [e.message for e in validator({"$ref": "#/$defs/Problem"}).iter_errors(problem)]
    assert not errors, errors
    assert status == problem["status"] == defs["Problem"]["x-status"][problem["code"]], problem


def may_be_busy(pattern, request, under_way):
    """Whether it is one of two that want a backup at the same time, or of three that have a file of parameters read."""
    if pattern == "/v1/backup":
        return sum(other[2] == pattern for other in under_way) > 1
    return b".csv" in request and sum(b".csv" in other[5] for other in under_way) > 2


def check(pattern, method, status, headers, data, head_size, busy):
    kind = headers.get("content-type", "").split(";")[0]
    operation = document["paths"][pattern].get({"HEAD": "get"}.get(method, method.lower()))
    assert status < 500 or busy and (method == "HEAD" or json.loads(data)["code"] == "busy"), data
    if head_size > HEAD_MAX and kind != "application/problem+json" and status in (413, 414, 431):
        return
    if method == "HEAD":
        assert data == b"", data
        assert status == 304 or kind, "no content type"
        return
    if method == "OPTIONS" and status == 204:
        return
    if status == 304:
        assert data == b"" and operation is not None and "304" in operation["responses"]
        return
    if kind == "application/problem+json":
        return problem_fits(status, data)
    assert operation is not None, f"status {status} of a method that is not described"
    reply = operation["responses"].get(str(status))
    assert reply is not None, f"status {status} is not described"
    content = resolve(reply)["content"]
    assert kind in content, f"type {kind} is not described"
    if kind == "application/json":
        errors = [f"{e.json_path}: {e.message}" for e in validator(content[kind]["schema"]).iter_errors(json.loads(data))]
        assert not errors, errors[:3]


@seed(chosen)
@settings(max_examples=wanted, deadline=None, database=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate, Phase.shrink],
          report_multiple_bugs=False, print_blob=False)
@given(st.lists(requests(), min_size=AT_ONCE[0], max_size=AT_ONCE[1]))
def every_answer_is_described(some):
    if not failing and (time.monotonic() > until or made >= wanted):
        raise TimeIsUp()
    under_way = [(connections[request[2], i], time.monotonic(), *request) for i, request in enumerate(some)]
    for connection, _, _, _, _, data, _ in under_way:
        connection.send(data)
    try:
        for request in under_way:
            finish(*request, under_way)
    except Exception as e:
        for connection in connections.values():
            connection.close()  # which answer comes next over it is not known any more
        if not failing:
            print("FAILING:", type(e).__name__, str(e)[:1000], request[5][:600], flush=True)
        failing.append(e)
        if len(failing) > SHRINK_MAX:
            raise TimeIsUp()
        raise


def finish(connection, began, pattern, method, over_tcp, data, head_size, under_way):
    """Read the answer, and see whether it is one that the document describes."""
    global made
    try:
        status, headers, reply = connection.receive(data, method == "HEAD")
    except socket.timeout:
        raise AssertionError(f"no answer within {ANSWER_S} s")
    made += 1
    latencies.append(time.monotonic() - began)
    statuses[status] = statuses.get(status, 0) + 1
    if status == 401:  # another request has revoked the token: the next ones get a new one
        for role in [role for role, token in tokens.items() if token.encode() in data]:
            tokens[role] = ask("POST", "/v1/tokens", json.dumps({"role": role}))["token"]
    if reply is not None:
        check(pattern, method, status, headers, reply, head_size, may_be_busy(pattern, data, under_way))


failed = False
try:
    every_answer_is_described()
except TimeIsUp:
    failed = bool(failing)
except Exception as e:
    failed = True
    text = "".join(getattr(e, "__notes__", [])) or str(e)
    print("FAILED:", type(e).__name__, str(e)[:2000], text[:2000] if text != str(e) else "", flush=True)
print(f"seed {chosen}: {made} requests, statuses {dict(sorted(statuses.items()))}, the slowest answer {max(latencies, default=0):.2f} s, "
      f"{sum(l > 1 for l in latencies)} over 1 s, {time.process_time():.0f} s of this program")
sys.exit(1 if failed or made == 0 else 0)
