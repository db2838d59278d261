# states.py SOCKET ENSEMBLE [SINCE]: keeps a copy of the states of an ensemble's members, by what changed since the
# event that it knows, until the ensemble is over and nothing is left to tell; then compares it with the states
# themselves. Prints how often what changed was told, and how many times it had to get the states themselves, or what
# differs.
import http.client, json, socket, sys, time



class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(sys.argv[1])


connection = Unix("stretto")
path = f"/v1/ensembles/{sys.argv[2]}"


def get(where):
    connection.request("GET", where)
    reply = connection.getresponse()
    return reply.status, reply.headers, reply.read()


NAMES = json.loads(get("/openapi.json")[2])["components"]["schemas"]["MemberState"]["enum"]


def whole():
    status, headers, body = get(path + "/states")
    assert status == 200, (status, body)
    return list(body.decode()), int(headers["Last-Event-ID"])


def is_over():
    ensemble = json.loads(get(path)[2])
    members = ensemble["members"]
    return ensemble["state"] in ("complete", "cancelled", "failed") and members["pending"] + members["submitted"] + members["running"] == 0


copy, event = whole()
told = gets = 0
while True:
    over = is_over()
    status, _, body = get(f"{path}/states?since={event}")
    answer = json.loads(body)
    if status == 410 and answer["code"] == "changes_not_kept":
        copy, event = whole()
        gets += 1
        continue
    assert status == 200, (status, body)
    for index, state in answer["members"].items():
        copy[int(index)] = str(NAMES.index(state))
    told += len(answer["members"])
    event = answer["event"]
    if over and not answer["more"]:
        break
    if not answer["members"]:
        time.sleep(0.05)  # the daemon needs the processor more
now, _ = whole()
differ = [(i, a, b) for i, (a, b) in enumerate(zip(copy, now)) if a != b]
print(f"differs: {differ[:10]}" if differ or len(copy) != len(now) else f"same after {told} changes, {gets} gets" if sys.argv[3:] else "same")
