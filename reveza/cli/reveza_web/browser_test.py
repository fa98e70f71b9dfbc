#!/usr/bin/env python3
"""Opens the page of `reveza web` in headless Chromium, beside programs that share a card of fakecuda.

  browser_test.py BUILD CHARTS

CHARTS is the folder with axe-core. Ends with 77 (skipped) where there is no Chromium or no
reveza-web in BUILD.
"""

import base64
import json
import pathlib
import sys

from testing_chromium import Browser, Failure, Page, expect, find_chromium
from testing_world import World

SKIPPED = 77
HOSTILE = "<img src=x onerror=document.title=1>&amp;<b>"
JOB = "sums"


def opened(browser: Browser, url: str, **how: object) -> Page:
    page = browser.page(url, **how)
    page.wait("document.body.dataset.connection === 'open'", "the page is live")
    return page


def rows(page: Page) -> list[list[str]]:
    return page.run("[...document.querySelectorAll('#program-rows tr')]"
                    ".map((row) => [...row.children].map((cell) => cell.textContent))")


def check_content(page: Page) -> None:
    page.wait("document.querySelectorAll('#program-rows tr').length === 3", "three programs")
    page.wait("reveza.state().lanes === 3 && reveza.state().events > 20", "events of three programs")
    names = {row[0] for row in rows(page)}
    expect(names == {"train", "infer", HOSTILE}, f"the programs are {names}")
    expect(page.run("document.title") == "Reveza", "the name of a program ran as a script")
    expect(page.run("document.querySelectorAll('#programs img, #programs b').length") == 0,
           "the name of a program is HTML")
    train = next(row for row in rows(page) if row[0] == "train")
    page.wait("document.querySelectorAll('#program-rows .number')[3].textContent !== '–'", "wait p95")
    expect("weight 2" in train[4], f"the weight of train is not in {train}")
    expect(train[5].endswith("%") and train[8].endswith("MiB"), f"shares and memory of {train}")
    before = page.run("reveza.state()")
    page.wait(f"reveza.state().now > {before['now']} + 1 && reveza.state().events > {before['events']}",
              "it goes on")
    colours = page.run("""(() => {
      const canvas = document.getElementById('canvas');
      const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      const seen = new Set();
      for (let i = 0; i < data.length; i += 4) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
      return [...seen];
    })()""")
    for kind in ("--slice", "--wait-for-its-turn", "--copy-in", "--program-0"):
        wanted = page.run(f"getComputedStyle(document.documentElement).getPropertyValue('{kind}').trim()")
        expect(int(wanted[1:], 16) in colours, f"{kind} is not on the canvas")


def check_timeline(page: Page) -> None:
    """Zoom, pan and follow, by keyboard; and what is said of a lane."""
    page.run("document.getElementById('stage').focus()")
    wide = page.run("reveza.state().to - reveza.state().from")
    page.key("+", 187, "+")
    page.wait(f"reveza.state().to - reveza.state().from < {wide} * 0.7", "+ zooms in")
    page.key("ArrowLeft", 37)
    page.wait("!reveza.state().following", "an arrow stops following")
    stays = page.run("reveza.state().from")
    page.key("ArrowLeft", 37)
    page.wait(f"reveza.state().from < {stays}", "an arrow moves")
    page.key("End", 35)
    page.wait("reveza.state().following", "End follows")
    page.key("ArrowDown", 40)
    page.wait("document.getElementById('timeline-summary').textContent.length > 5",
              "the selected lane is described")
    # A wait tells its reason.
    box = page.run("(() => { const box = document.getElementById('stage').getBoundingClientRect();"
                   " return [box.left, box.top, box.width]; })()")
    told = set()
    for lane in range(3):
        for share in range(20, 100, 4):
            page.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + box[2] * share / 100,
                      y=box[1] + 122 + 11 + 22 * lane)
            told |= set(page.run("[...document.querySelectorAll('#tip > *')].map((one) => one.textContent)"))
    expect(any(text.startswith("waiting for its turn: ") for text in told), f"no wait in {told}")
    expect(any("has the GPU" in text or "turn" in text and ":" in text for text in told),
           f"no reason in {told}")


def check_changes(page: Page, world: World) -> None:
    """Pause, resume and set, as a reader would."""
    def policy_of(name: str) -> dict:
        clients = json.loads(world.run("status", "--json").stdout)["clients"]
        return next(client["policy"] for client in clients if client["name"] == name)

    button = "[...document.querySelectorAll('#program-rows tr')].find((row) => " \
             "row.children[0].textContent === 'infer')"
    page.run(f"{button}.querySelector('.pause').click()")
    page.wait_for(lambda: policy_of("infer")["paused"], "pause")
    page.wait(f"{button}.querySelector('.pause').textContent === 'Resume'", "the page shows it")
    page.run(f"{button}.querySelector('.pause').focus()")
    page.key("Enter", 13, "\r")
    page.wait_for(lambda: not policy_of("infer")["paused"], "resume by the keyboard")
    page.run(f"{button}.querySelector('.set').click()")
    page.run("(() => { const form = document.querySelector('.settings');"
             " form.querySelector('input').value = '3'; form.requestSubmit(); })()")
    page.wait_for(lambda: policy_of("infer")["weight"] == 3, "set")
    page.wait("!document.getElementById('dialog').open", "the dialog closes")
    page.run(f"{button}.querySelector('.set').click()")
    page.run("(() => { const form = document.querySelector('.settings');"
             " form.querySelector('input[type=text]').value = '900GiB'; form.requestSubmit(); })()")
    page.wait("document.querySelector('.settings [role=alert]').textContent.length > 10",
              "the daemon's refusal is shown")
    page.run("document.getElementById('dialog-close').click()")


def check_jobs(page: Page, world: World) -> None:
    step = "echo 'step <i>{n}</i>'; test {n} != 2 || { echo 'no <b>{n}</b>' >&2; exit 1; }"
    done = world.run("jobs", "run", "--name", JOB, "-j", "1", "--retries", "0", "--",
                     "sh", "-c", step, ":::", "n", "1", "2", "3")
    expect(done.returncode == 20, f"the job ended with {done.returncode}: {done.stderr}")
    done = world.run("jobs", "run", "--name", "sweep", "--", "true")
    expect(done.returncode == 0, f"the other job ended with {done.returncode}: {done.stderr}")
    for job in (f"{JOB} – failed", "sweep – done"):
        page.wait("[...document.querySelectorAll('#job-list h3')].some((head) => head.textContent === "
                  f"'{job}')", f"the job is listed: {job}")
    page.run("[...document.querySelectorAll('#job-list article')].find((card) =>"
             f" card.textContent.includes('{JOB}')).querySelector('.details').click()")
    page.wait("document.querySelector('#dialog-body .why')?.textContent"
              ".includes('its errors end with \"no <b>2</b>\"')", "the reason of a failure")
    page.wait("document.querySelectorAll('#dialog-body tbody tr').length === 1", "its failed step")
    page.run("document.querySelector('#dialog-body button').click()")
    page.wait("document.querySelector('pre.log')?.textContent.includes('step <i>2</i>')", "its log")
    page.run("document.getElementById('dialog-close').click()")


def check_machine(page: Page) -> None:
    page.wait("document.querySelectorAll('#machine-facts dd').length === 6", "facts of the machine")
    expect(page.run("document.querySelectorAll('#pressure-chart canvas').length") == 1, "no chart")
    page.run("document.getElementById('examine').click()")
    page.wait("document.querySelectorAll('#findings .finding').length > 0", "findings", 150)
    page.run("document.querySelector('#findings button').click()")
    page.wait("document.querySelectorAll('#dialog-body .page h3').length > 1", "the page of a finding")
    page.run("document.getElementById('dialog-close').click()")


def check_languages(page: Page) -> None:
    page.run("document.getElementById('language').click()")
    expect(page.run("document.documentElement.lang") == "pt-BR", "the page has another language")
    expect(page.run("document.getElementById('programs-title').textContent") == "Programas", "not translated")
    expect(page.run("document.getElementById('program-heads').textContent").startswith("Programa"), "heads")
    page.run("document.getElementById('language').click()")


def check_accessibility(page: Page, axe: pathlib.Path, where: str) -> None:
    page.run(axe.read_text("utf-8") + ";0")
    found = page.run("axe.run().then((result) => result.violations.map((one) =>"
                     " `${one.id}: ${one.nodes.map((node) => node.html).join(' ').slice(0, 300)}`))")
    expect(found == [], f"accessibility of {where}: {found}")


def check_telephone(browser: Browser, url: str, axe: pathlib.Path | None) -> None:
    page = opened(browser, url, width=390, height=844, mobile=True, dark=True)
    page.wait("document.querySelectorAll('#program-rows tr').length === 3", "programs on a telephone")
    expect(page.run("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than a telephone")
    if axe:
        check_accessibility(page, axe, "the dark page on a telephone")
    page.close()


def check_restart(page: Page, world: World) -> None:
    """The daemon is restarted under the page, which does not lose its lanes."""
    world.end(world.daemon)
    page.wait("document.body.dataset.connection === 'no_daemon' && !reveza.state().alive", "the daemon is gone")
    world.start_daemon()
    page.wait("document.body.dataset.connection === 'open' && reveza.state().alive", "the daemon is back")
    events = page.run("reveza.state().events")
    page.wait(f"reveza.state().events > {events} + 5", "events of the new daemon")
    expect(page.run("reveza.state().lanes") == 3, "the programs have new lanes")


PERFETTO = """<script>addEventListener("message", (event) => {
  if (event.data === "PING") event.source.postMessage("PONG", event.origin);
  else document.title = new TextDecoder().decode(event.data.perfetto.buffer).slice(0, 40);
});</script>"""


def check_trace(browser: Browser, page: Page, folder: pathlib.Path) -> None:
    """Save writes the trace; Perfetto, which stands in here, gets the same by messages."""
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    page.run("document.getElementById('save').click()")
    file = folder / "reveza-trace.json"
    page.wait_for(file.exists, "the trace is saved")
    expect(len(json.loads(file.read_text())["traceEvents"]) > 20, "the saved trace has no events")

    browser.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)
    # Not at once: the new window, and with it this page, waits for the debugger.
    page.run("setTimeout(() => document.getElementById('perfetto').click(), 10)")
    attached = browser.await_event("Target.attachedToTarget",
                                   lambda event: "openerId" in event["targetInfo"])
    session = attached["sessionId"]
    browser.call("Fetch.enable", session, patterns=[{"urlPattern": "https://ui.perfetto.dev/*"}])
    browser.call("Runtime.runIfWaitingForDebugger", session)
    asked = browser.await_event("Fetch.requestPaused")
    browser.call("Fetch.fulfillRequest", session, requestId=asked["requestId"], responseCode=200,
                 responseHeaders=[{"name": "Content-Type", "value": "text/html"}],
                 body=base64.b64encode(PERFETTO.encode()).decode())
    def title() -> str:
        answer = browser.call("Runtime.evaluate", session, expression="document.title")
        return answer["result"].get("value") or ""

    page.wait_for(lambda: title().startswith("{"), "Perfetto gets the trace")
    browser.call("Target.setAutoAttach", autoAttach=False, waitForDebuggerOnStart=False, flatten=True)
    browser.call("Target.closeTarget", targetId=attached["targetInfo"]["targetId"])


def check_wrong_token(browser: Browser, url: str) -> None:
    page = browser.page(url[:-4] + "0000")
    page.wait("document.body.dataset.connection === 'refused'", "the wrong token is refused")
    expect(page.run("document.querySelectorAll('#program-rows tr').length") == 0, "it shows programs")
    page.close()


def check_nothing_from_elsewhere(page: Page, url: str) -> None:
    origin = url.split("/#")[0]
    asked = {event["request"]["url"] for event in page.events("Network.requestWillBeSent")}
    strange = [one for one in asked if not one.startswith(origin)]
    expect(len(asked) > 10 and not strange, f"it loads {strange}")
    expect(not any("token" in one for one in asked if "#" not in one), "the token is in a request's URL")
    refused = page.run("fetch('https://example.com').then(() => 'loaded', () => 'refused')")
    expect(refused == "refused", "the policy lets it load from elsewhere")


# Adds 50 lanes with some spans each, over an hour, and as many samples.
MANY = """(async (perLane) => {
  const timeline = await import("./timeline.js");
  const lanes = Array.from({length: 50}, (_, i) => [`${i}`, 100 + i, `program ${i}`]);
  const kinds = ["wait for its turn", "copy in", "slice", "drain", "copy out"];
  const now = 100000;
  let events = [];
  const send = (more) => {
    timeline.addTimeline({now, offset: 1.7e9, lost: false, more, lanes, open: [],
                          events});
    events = [];
  };
  for (let turn = 0; turn < perLane; ++turn) {
    for (let lane = 0; lane < lanes.length; ++lane) {
      const begin = (now - 3599) * 1e6 + turn * 3.58e9 / perLane + lane * 3e4;
      events.push([lane, kinds[turn % kinds.length], 0, begin, 3e9 / perLane, 1 << 20, 0]);
    }
    if (events.length >= 4000) send(true);
  }
  send(false);
  const clients = lanes.map(([job, pid, name]) => ({job, pid, name, state: "running", why: "",
    gpus: [{gpu: 0, resident: 1 << 30, swapped: 0}]}));
  for (let sample = 0; sample < 7200; ++sample) {
    timeline.addSnapshot({time: 1.7e9 + now - 3600 + sample / 2, clients,
      gpus: [{index: 0, budget: 80 * 2 ** 30, link_out: sample % 7, link_in: sample % 5}]});
  }
})"""
# Counts the calls of each frame to the canvas while the view moves, and messages that come meanwhile.
FRAMES = """(async (messages) => {
  const timeline = await import("./timeline.js");
  for (const name of Object.getOwnPropertyNames(CanvasRenderingContext2D.prototype)) {
    const found = Object.getOwnPropertyDescriptor(CanvasRenderingContext2D.prototype, name);
    if (typeof found.value !== "function" || found.value.counted || name === "constructor") continue;
    const counted = function(...all) { ++window.canvasCalls; return found.value.apply(this, all); };
    counted.counted = true;
    CanvasRenderingContext2D.prototype[name] = counted;
  }
  const stage = document.getElementById("stage");
  const next = () => new Promise(requestAnimationFrame);
  const seen = [];
  for (let i = 0; i < 20; ++i) {
    await next();
    window.canvasCalls = 0;
    const before = timeline.state().frames;
    stage.dispatchEvent(new KeyboardEvent("keydown", {key: i % 2 ? "ArrowLeft" : "ArrowRight"}));
    for (let one = 0; one < messages; ++one) {
      timeline.addTimeline({now: 100000, offset: 1.7e9, lost: false, more: false, lanes: null, open: [],
                            events: [[one % 50, "slice", 0, 99999e6, 1e5, 0, 0]]});
    }
    await next();
    await next();
    const state = timeline.state();
    seen.push([state.frames - before, window.canvasCalls, state.rectangles]);
  }
  return seen;
})"""


def check_many(browser: Browser, url: str, per_lane: int = 2000) -> Page:
    """50 programs, 10^5 events and an hour of memory and traffic. Returns the page."""
    page = browser.page(url[:-4] + "0000")
    page.wait("document.body.dataset.connection === 'refused'", "no events of a daemon")
    page.run(f"{MANY}({per_lane})")
    page.run("document.getElementById('stage').focus()")
    page.key("Home", 36)
    page.wait("reveza.state().to - reveza.state().from === 3600 && reveza.state().lanes === 50",
              "an hour of 50 programs")
    expect(page.run("reveza.state().events") == 50 * per_lane, "events are missing")
    frames = page.run("reveza.state().frames")
    page.wait(f"reveza.state().frames > {frames} + 10", "it goes on")
    # Each lane has been drawn, also where many spans share a pixel.
    page.wait("""(() => {
      const canvas = document.getElementById('canvas');
      const scale = canvas.width / canvas.clientWidth;
      const x = canvas.width - Math.round(200 * scale);
      return Array.from({length: 50}, (_, row) => Math.round((122 + 22 * row + 11) * scale)).every((y) =>
        canvas.getContext('2d').getImageData(x, y, 8, 1).data.some((value, i) => i % 4 === 3 && value > 0));
    })()""", "every lane is drawn")
    return page


def check_frames(browser: Browser, url: str) -> None:
    """What a frame costs does not grow with events and messages: the canvas is called as often, and there are no more
    rectangles than pixels can show."""
    costs = {}
    for per_lane in (20, 5000, 10_000):
        page = check_many(browser, url, per_lane)
        frames = page.run(FRAMES + "(100)")
        expect(all(1 <= count <= 2 for count, _, _ in frames), f"100 messages are {frames} frames")
        costs[per_lane] = (max(calls / count for count, calls, _ in frames), max(many for _, _, many in frames))
        width = page.run("document.getElementById('canvas').width")
        kinds = 5
        expect(costs[per_lane][1] <= 50 * width * kinds + 60_000, f"{costs[per_lane][1]} rectangles in a frame")
        page.close()
    calls = [cost[0] for cost in costs.values()]
    expect(max(calls) <= min(calls) + 20 and max(calls) < 600, f"calls to the canvas of a frame: {costs}")
    expect(costs[10_000][1] < 1.2 * costs[5000][1], f"rectangles of a frame: {costs}")


def check_server_restart(browser: Browser, world: World) -> None:
    """Another server at the same address has another token."""
    server, url = world.start_web()
    page = opened(browser, url)
    world.end(server)
    page.wait("document.body.dataset.connection === 'lost'", "the connection is lost")
    world.start_web("--listen", url.split("//")[1].split("/")[0])
    page.wait("document.body.dataset.connection === 'refused'", "the old token is refused")
    page.close()


def check(chromium: str, world: World, axe: pathlib.Path | None) -> None:
    world.start_daemon()
    world.start_worker("train", 56, "--weight", "2")
    world.start_worker("infer", 40)
    world.start_worker(HOSTILE, 30)
    _, url = world.start_web()
    with Browser(chromium) as browser, Browser(chromium) as other:
        page = opened(browser, url)
        second = opened(other, url)
        check_content(page)
        check_timeline(page)
        check_changes(page, world)
        check_jobs(page, world)
        check_machine(page)
        check_languages(page)
        if axe:
            check_accessibility(page, axe, "the light page")
        check_telephone(browser, url, axe)
        check_nothing_from_elsewhere(page, url)
        complaints = [one for one in page.complaints() if "example.com" not in one and "status of 4" not in one]
        expect(complaints == [], f"the console: {complaints}")
        check_trace(browser, page, world.folder)
        check_restart(page, world)
        check_content(second)
        check_wrong_token(browser, url)
        check_many(browser, url).close()
        check_frames(browser, url)
        check_server_restart(browser, world)


def main(arguments: list[str]) -> int:
    build, charts = map(pathlib.Path, arguments)
    chromium = find_chromium()
    if chromium is None:
        print("skipped: there is no Chromium (tools/setup.sh browser installs it)")
        return SKIPPED
    if not (build / "bin" / "reveza-web").exists():
        print("skipped: reveza-web was not built")
        return SKIPPED
    axe = next(iter(sorted(charts.glob("axe-core-*/axe.min.js"))), None)
    with World(build.resolve()) as world:
        check(chromium, world, axe)
    print("the page has been used by two browsers" + ("" if axe else "; without axe-core"))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failure as failure:
        print(failure, file=sys.stderr)
        sys.exit(1)
