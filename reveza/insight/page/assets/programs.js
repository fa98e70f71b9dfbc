// The table of programs, and what the reader changes of them.

import * as api from "./api.js";
import {button, byId, element, keepChildren, setText, showDialog} from "./dom.js";
import * as format from "./format.js";
import {t} from "./texts.js";

// [key of the heading, class, text of a program]
const kColumns = [
  ["program", "name", (client) => client.name],
  ["pid", "number", (client) => client.pid === null ? "–" : String(client.pid)],
  ["state", "state", (client) => stateText(client)],
  ["entitled", "policy", (client) => client.policy ?? t("default_policy")],
  ["share_wanted", "number", (client) => format.percent(client.share_wanted)],
  ["share_got", "number", (client) => format.percent(client.share_got)],
  ["wait_p95", "number", (client) => format.duration(client.waits?.p95_seconds)],
  ["on_card", "number", (client) => format.bytes(onCard(client))],
  ["swapped", "number", (client) => format.bytes(client.swapped)],
  ["slices", "number", (client) => format.count(client.turns)],
];

let shown = [];

function onCard(client) {
  return client.resident === null ? null : client.resident + (client.fixed ?? 0);
}

function stateText(client) {
  const known = t(`state_${client.state}`);
  const state = known.startsWith("state_") ? client.state : known;
  if (client.unresponsive) return t("unresponsive");
  // The reason says what it waits for.
  return client.why || state;
}

async function change(content) {
  const message = byId("program-message");
  try {
    await api.post("api/program", content);
    setText(message, t("changed", {program: nameOf(content.program)}));
    return true;
  } catch (error) {
    setText(message, t("failed", {error: error.message}));
    return false;
  }
}

function nameOf(job) {
  return shown.find((client) => client.job === job)?.name ?? job;
}

function field(label, control) {
  return element("label", {}, element("span", {}, label), control);
}

function showSettings(client) {
  const weight = element("input", {type: "number", min: "0.01", max: "100", step: "any",
                                   placeholder: t("unchanged")});
  const priority = element("select", {}, element("option", {value: ""}, t("unchanged")),
      ...["low", "normal", "high"].map((name) => element("option", {value: name}, t(`priority_${name}`))));
  const memory = element("input", {type: "text", placeholder: "8GiB:12GiB"});
  const interactive = element("select", {}, element("option", {value: ""}, t("unchanged")),
      element("option", {value: "yes"}, t("yes")), element("option", {value: "no"}, t("no")));
  const error = element("p", {role: "alert"});
  const form = element("form", {class: "settings"},
      field(t("weight"), weight), field(t("priority"), priority), field(t("memory_request"), memory),
      field(t("interactive"), interactive), error, element("button", {type: "submit"}, t("apply")));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const wanted = {program: client.job, action: "set", weight: weight.value,
                    priority: priority.value, memory: memory.value.trim()};
    if (interactive.value) wanted.interactive = interactive.value === "yes";
    if (await change(wanted)) byId("dialog").close();
    else setText(error, byId("program-message").textContent);
  });
  showDialog(t("settings_of", {program: client.name}), form);
}

function makeRow(client) {
  const cells = kColumns.map(([, kind], i) =>
    i === 0 ? element("th", {scope: "row", class: kind}) : element("td", {class: kind}));
  const pause = button("", () => {
    change({program: client.job, action: pause.dataset.action});
  }, {class: "pause"});
  const set = button("", () => showSettings(shown.find((one) => one.job === client.job) ?? client),
                     {class: "set"});
  // Beside the name, so that they are in sight on a narrow screen too.
  cells.splice(1, 0, element("td", {class: "actions"}, pause, set));
  return element("tr", {}, ...cells);
}

function updateRow(row, client) {
  kColumns.forEach(([, , text], i) => setText(row.children[i === 0 ? 0 : i + 1], text(client)));
  row.children[0].title = client.command;
  const paused = client.state === "paused";
  const pause = row.querySelector(".pause");
  pause.dataset.action = paused ? "resume" : "pause";
  const action = t(paused ? "resume" : "pause");
  setText(pause, action);
  pause.setAttribute("aria-label", `${action}: ${client.name}`);
  const set = row.querySelector(".set");
  setText(set, t("set"));
  set.setAttribute("aria-label", `${t("set")}: ${client.name}`);
}

export function showPrograms(snapshot) {
  shown = snapshot.clients;
  byId("program-rows").toggleAttribute("data-empty", shown.length === 0);
  keepChildren(byId("program-rows"), shown, (client) => `${client.job} ${client.pid}`, makeRow,
               updateRow);
}

export function showProgramTexts() {
  const heads = kColumns.map(([key, kind]) => element("th", {scope: "col", class: kind}, t(key)));
  heads.splice(1, 0, element("th", {scope: "col"}, t("actions")));
  byId("program-heads").replaceChildren(...heads);
}
