# dashboard_ranks.py SOCKET CHROMIUM DIR: an operator asks for another number of ranks, in a real browser, and
# generations come and go.
#
# The daemon has ensemble 1, whose training has one rank and a checkpoint. Its first generation ends when it was asked
# to and DIR/leave is there; the second finds its checkpoint damaged and fails once DIR/die is there; the third goes on
# until DIR/go.
import json, os, subprocess
import chromium
from dashboard_tools import agree, browser, click, comes_to, equal, fits, folder, get, heading, js, link, path, quiet, run, tell, until

DIALOG = "document.querySelector('dialog[open]')?.innerText"
ENDS = {"out_of_time": "out of time", None: "running"}
# The rows of a table below a heading, by the labels of their cells
ROWS = """[...document.querySelectorAll('[data-key=%s] tbody tr')].map(tr => Object.fromEntries([['name', tr.querySelector('th').innerText],
    ...[...tr.querySelectorAll('td')].map(td => [td.dataset.label, td.innerText])]))"""
FACT = "document.querySelector('.facts [data-key=\"%s\"] dd')?.innerText"


def generations():
    return get("/v1/trainings/1/generations")["generations"]


def shown_as(one):
    return [str(one["number"]), ENDS.get(one["end"], one["end"]), str(one["ranks"]), one["reason"] or "",
            f"{one['resumed_from']}, step {one['resumed_step']}" if one["resumed_from"] else ""]


def reaches(generation):
    """The page shows this generation at work, and of all what the API says."""
    until(f"document.querySelector('#generations').closest('section').querySelectorAll('tbody tr').length === {generation}")
    until(f"{ROWS % 'generations'}[0].state.endsWith('running')")
    rows = lambda: [[row["name"], row["state"].split(" ", 1)[1], row["ranks"], row["how it ended"], row["went on from"]] for row in js(ROWS % "generations")]
    agree(rows, lambda: [shown_as(one) for one in generations()], f"generation {generation}: the page lists generations as the API does")


def checkpoints():
    return [[row["name"], row["state"].split(" ", 1)[1], row["use"]] for row in js(ROWS % "checkpoints")]


def ask_for(ranks):
    js("document.getElementById('ranks-wanted').focus(), document.getElementById('ranks-wanted').select()")
    browser.type(ranks)
    browser.key("Enter")
    return until(DIALOG)


def first():
    js("location.hash = '#/ensembles/1/training'")
    heading("Training of ranks #1")
    reaches(1)
    comes_to(checkpoints, [["g1-s10", "whole", "the next generation goes on from it"]], "a checkpoint is listed, with what it is for")
    comes_to(lambda: js(FACT % "failures"), "none, 3 retries left", "so are the retries that are left")
    tell(until(FACT % "last checkpoint").startswith("step 10, "), "and how old the newest checkpoint is", js(FACT % "last checkpoint"))
    equal(js("document.querySelector('[data-key=\"metric loss\"] .canvas').model.marks"), [], "no generation is marked but the first")


def restarted():
    told = """import('./web/views/training_summary.js').then(({figures}) => [0, 2].map(restarts =>
        figures({...%s, restarts}).querySelector('[data-key="ranks begun again in place"] dd')?.innerText ?? null))"""
    equal(js(told % json.dumps(get("/v1/trainings/1"))), [None, "2"], "ranks that began again in their job are counted, where any did")


def resize():
    text = ask_for("2")
    tell("Its rank saves a last checkpoint" in text and "Generation 2 goes on from there with 2 ranks" in text and "none runs again" in text,
         "before ranks are changed, it says what will happen", text)
    equal(js("document.activeElement.innerText"), "Let it be", "the safe answer has the focus")
    fits("ranks")
    browser.key("Escape")
    until("!document.querySelector('dialog')")
    equal(get("/v1/trainings/1")["wanted_ranks"], None, "Escape changes nothing")
    ask_for("2")
    click("dialog .primary")
    until("document.querySelector('[data-key=wanted]')?.innerText.startsWith('Generation 2 will have 2 ranks')")
    equal([get("/v1/trainings/1")[key] for key in ("ranks", "wanted_ranks")], [1, 2], "confirmed, they are wanted, here and there")
    comes_to(lambda: js(FACT % "ranks"), "1 (2 wanted), generation 1", "the figures say so")
    top = subprocess.run(["stretto", "top", "1"], check=True, stdout=subprocess.PIPE, text=True).stdout
    tell("ranks 1 (2 wanted), generation 1" in top and "checkpoint g1-s10, step 10, " in top, "so does stretto top", top)
    open(os.path.join(folder, "leave"), "w").close()
    reaches(2)
    until("!document.querySelector('[data-key=wanted]')")
    comes_to(lambda: js(ROWS % "generations")[1]["state"].split(" ", 1)[1], "resized", "the generation that made room is not called failed")


def damage():
    open(os.path.join(folder, "die"), "w").close()
    reaches(3)
    comes_to(checkpoints, [["g1-s20", "damaged", ""], ["g1-s10", "whole", "generation 3 went on from it; the next generation goes on from it"]],
          "a damaged checkpoint is told, and which one is gone on from")
    comes_to(lambda: js(FACT % "failures"), "1, 2 retries left", "a failure costs a retry")
    until("document.querySelector('[data-key=\"metric loss\"] .canvas').model.marks.length === 2")
    equal(js("document.querySelector('[data-key=\"metric loss\"] .canvas').model.marks"), [{"x": 11, "words": "3"}, {"x": 21, "words": "2"}],
          "the curve is marked where a generation began")
    fits("generations")
    click(".segments a[href*='x=time']")
    until("document.querySelector('[data-key=\"metric loss\"] .canvas').model.x === 'time'")
    marks = js("document.querySelector('[data-key=\"metric loss\"] .canvas').model.marks")
    tell([mark["words"] for mark in marks] == ["2", "3"] and marks[0]["x"] < marks[1]["x"], "along time, too", marks)


def ended():
    quiet("operator")
    browser.open("about:blank")
    browser.open(link(port))
    heading("Ensembles")
    js("location.hash = '#/ensembles/1/training'")
    heading("Training of ranks #1")
    until(f"{ROWS % 'generations'}.length === 3")
    equal(js("document.querySelectorAll('main button, main input').length"), 0, "a reader sees generations, and no controls")
    open(os.path.join(folder, "go"), "w").close()
    until(f"{ROWS % 'generations'}[0].state.endsWith('done')")
    comes_to(lambda: ["went on from it" in checkpoints()[1][2], "next" in checkpoints()[1][2]], [True, False], "at the end nothing goes on")
    quiet("reader")


def all_of_it():
    global port
    port = chromium.forward(path)
    browser.open(link(port, "--operator"))
    heading("Ensembles")
    first()
    restarted()
    resize()
    damage()
    ended()


run(all_of_it)
