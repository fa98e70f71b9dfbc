// The jobs of the job runner: those that run, from the stream, and the others, from their journals.

import * as api from "./api.js";
import {button, byId, element, keepChildren, setText, showDialog} from "./dom.js";
import * as format from "./format.js";
import {t} from "./texts.js";

const kListEvery = 5000;
const kLogEvery = 1000;

let running = [];
let listed = [];

async function control(id, action) {
  const message = byId("job-message");
  try {
    await api.post("api/job", {id, action});
    setText(message, t("changed", {program: id}));
  } catch (error) {
    setText(message, t("failed", {error: error.message}));
  }
}

// Shows the log of a step and reads on until the dialog is closed.
function showLog(id, step, label) {
  const text = element("pre", {class: "log", tabindex: "0"});
  let open = true;
  const read = async () => {
    if (!open) return;
    try {
      const {out, err} = await api.get("api/log", {id, step});
      const atEnd = text.scrollTop + text.clientHeight >= text.scrollHeight - 4;
      setText(text, (err ? `${out}\n— ${t("errors_of_step")} —\n${err}` : out) || t("no_output"));
      if (atEnd) text.scrollTop = text.scrollHeight;
    } catch (error) {
      setText(text, t("failed", {error: error.message}));
    }
    setTimeout(read, kLogEvery);
  };
  showDialog(t("log_of", {job: id, step: label || step}), text, () => { open = false; });
  read();
}

function stepRow(id, cells, step, label) {
  return element("tr", {}, ...cells.map((cell) => element("td", {}, cell)),
                 element("td", {}, button(t("log"), () => showLog(id, step, label),
                                          {"aria-label": `${t("log")}: ${label || step}`})));
}

function table(heads, rows) {
  return element("div", {class: "scroll"}, element("table", {},
      element("thead", {}, element("tr", {}, ...heads.map((head) =>
        element("th", {scope: "col"}, t(head))))),
      element("tbody", {}, ...rows)));
}

async function showDetails(id) {
  const body = element("div", {}, t("loading"));
  showDialog(t("details_of", {job: id}), body);
  try {
    const job = await api.get("api/job", {id});
    const live = running.find((one) => one.id === id);
    const parts = [];
    if (live?.running.length) {
      parts.push(element("h3", {}, t("running_steps")),
          table(["step", "label", "since", "memory", "output"], live.running.map((step) =>
            stepRow(id, [String(step.step), step.label, step.since ? format.clock(step.since) : "–",
                         format.bytes(step.memory)], step.step, step.label))));
    }
    if (job.why) {
      parts.push(element("h3", {}, t("why_job")),
                 element("pre", {class: "why", tabindex: "0"}, job.why));
    }
    parts.push(element("h3", {}, t("failed_steps")));
    parts.push(job.failed.length === 0 ? element("p", {}, t("no_failures")) :
      table(["step", "label", "outcome", "code", "attempts", "output"], job.failed.map((step) =>
        stepRow(id, [String(step.step), step.label, step.outcome, String(step.code),
                     String(step.attempts)], step.step, step.label))));
    parts.push(element("h3", {}, t("workers_tried")), element("pre", {tabindex: "0"}, job.tuning));
    body.replaceChildren(...parts);
  } catch (error) {
    setText(body, t("failed", {error: error.message}));
  }
}

function makeCard(job) {
  const name = element("h3", {});
  const bar = element("progress", {"aria-label": job.id});
  const facts = element("p", {class: "facts"});
  const why = element("p", {class: "note"});
  const actions = element("div", {class: "tools"},
      button("", () => control(job.id, actions.dataset.action), {class: "pause"}),
      button("", () => control(job.id, "stop"), {class: "stop"}),
      button("", () => showDetails(job.id), {class: "details"}));
  return element("article", {class: "card"}, name, bar, facts, why, actions);
}

function factsOf(job) {
  const {steps} = job;
  const parts = [t("steps_done", {done: format.count(steps.done), all: format.count(steps.all)})];
  if (steps.running) parts.push(t("steps_running", {count: format.count(steps.running)}));
  if (steps.failed) parts.push(t("steps_failed", {count: format.count(steps.failed)}));
  if (job.workers?.now !== undefined && job.workers.now !== null) {
    parts.push(t("workers", {count: format.count(job.workers.now)}));
  }
  if (job.eta_p50_seconds !== undefined && job.eta_p50_seconds !== null) {
    parts.push(t("eta", {likely: format.duration(job.eta_p50_seconds),
                         late: format.duration(job.eta_p90_seconds)}));
  }
  return parts.join(" · ");
}

function updateCard(card, job) {
  const [name, bar, facts, why, actions] = card.children;
  const known = t(`job_${job.state}`);
  setText(name, `${job.id} – ${known.startsWith("job_") ? job.state : known}`);
  bar.max = Math.max(1, job.steps.all ?? 1);
  bar.value = job.steps.done ?? 0;
  setText(facts, factsOf(job));
  setText(why, [job.waiting, job.workers?.reason].filter(Boolean).join(" · "));
  const live = Boolean(job.workers);
  const paused = job.state === "paused";
  actions.dataset.action = paused ? "resume" : "pause";
  const texts = {pause: t(paused ? "resume" : "pause"), stop: t("stop"), details: t("details")};
  for (const [kind, text] of Object.entries(texts)) {
    const control = actions.querySelector(`.${kind}`);
    setText(control, text);
    control.setAttribute("aria-label", `${text}: ${job.id}`);
    control.hidden = !live && kind !== "details";
  }
}

function show() {
  const ids = new Set(running.map((job) => job.id));
  const others = listed.filter((job) => !ids.has(job.id)).map((job) => ({
    ...job, state: job.error ?? job.state, steps: job.steps ?? {}}));
  const all = [...running, ...others];
  keepChildren(byId("job-list"), all, (job) => job.id, makeCard, updateCard);
  byId("job-list").toggleAttribute("data-empty", all.length === 0);
}

export function showJobs(snapshot) {
  running = snapshot.jobs;
  show();
}

export function startJobs() {
  const list = async () => {
    try {
      if (!document.hidden) listed = await api.get("api/jobs");
      show();
    } catch {
      // The state of the connection is shown above.
    }
    setTimeout(list, kListEvery);
  };
  list();
}
