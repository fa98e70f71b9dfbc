// The machine: processors, memory and pressure; and what the doctor finds.

import uPlot from "./uPlot.esm.js";

import * as api from "./api.js";
import {button, byId, element, setText, showDialog} from "./dom.js";
import * as format from "./format.js";
import {palette, watchPalette} from "./palette.js";
import {t} from "./texts.js";

const kSamples = 1800;  // half a second each

const data = [[], [], [], [], []];
let chart = null;

function series(label, colour, dash) {
  return {label: t(label), stroke: colour, width: 1.5, dash,
          value: (_, value) => format.percent(value, 1)};
}

function makeChart() {
  chart?.destroy();
  const {text, grid, programs} = palette();
  const axis = {stroke: text, grid: {stroke: grid, width: 1}, ticks: {stroke: grid, width: 1}};
  const place = byId("pressure-chart");
  chart = new uPlot({
    width: place.clientWidth || 600, height: 180,
    scales: {y: {range: (_, low, high) => [0, Math.max(0.1, high)]}},
    axes: [{...axis, values: (_, ticks) => ticks.map((time) => format.clock(time))},
           {...axis, size: 64, values: (_, ticks) => ticks.map((share) => format.percent(share))}],
    series: [{label: t("time"), value: (_, time) => time === null ? "–" : format.clock(time)},
             series("processors", programs[0]), series("cpu_pressure", programs[1], [6, 3]),
             series("memory_pressure", programs[2], [2, 2]), series("io_pressure", programs[3], [8, 2, 2, 2])],
  }, data, place);
}

function pressureOf(machine, resource) {
  const some = machine.pressure[resource]?.some;
  return some ? some.avg10 / 100 : null;
}

export function showMachine(snapshot) {
  const {machine} = snapshot;
  const used = machine.memory ? machine.memory.total - machine.memory.available : null;
  const facts = [
    ["processors", `${format.percent(machine.cpu)} ${t("of_cores", {count: format.count(machine.cores)})}`],
    ["memory", machine.memory ? t("of", {part: format.bytes(used), all: format.bytes(machine.memory.total)})
                              : "–"],
    ["cpu_pressure", format.percent(pressureOf(machine, "cpu"), 1)],
    ["memory_pressure", format.percent(pressureOf(machine, "memory"), 1)],
    ["io_pressure", format.percent(pressureOf(machine, "io"), 1)],
    ["host_memory", snapshot.daemon ? t("of", {part: format.bytes(snapshot.daemon.host_reserved),
                                               all: format.bytes(snapshot.daemon.host_budget)}) : "–"],
  ];
  const list = byId("machine-facts");
  if (list.children.length !== facts.length) {
    list.replaceChildren(...facts.map(() =>
      element("div", {}, element("dt", {}), element("dd", {}))));
  }
  facts.forEach(([key, text], i) => {
    setText(list.children[i].children[0], t(key));
    setText(list.children[i].children[1], text);
  });
  const values = [snapshot.time, machine.cpu, pressureOf(machine, "cpu"),
                  pressureOf(machine, "memory"), pressureOf(machine, "io")];
  values.forEach((value, i) => {
    data[i].push(value);
    if (data[i].length > kSamples) data[i].shift();
  });
  chart?.setData(data);
}

// Shows a page of the doctor: Markdown, whose marks are left as they are but for headings and code.
export function pageBody(text) {
  const body = element("div", {class: "page"});
  let code = null;
  for (const line of text.split("\n")) {
    const indented = line.startsWith("    ") || code?.fenced;
    if (line.startsWith("```")) {
      code = code?.fenced ? null : {fenced: true, node: element("pre", {tabindex: "0"})};
      if (code) body.append(code.node);
    } else if (indented) {
      if (!code) {
        code = {fenced: false, node: element("pre", {tabindex: "0"})};
        body.append(code.node);
      }
      code.node.append(`${line}\n`);
    } else if (line.startsWith("#")) {
      code = null;
      body.append(element("h3", {}, line.replace(/^#+ /, "")));
    } else if (line !== "") {
      const last = body.lastElementChild;
      if (code === null && last?.tagName === "P" && !last.dataset.ended) last.append(` ${line}`);
      else body.append(element("p", {}, line));
      code = null;
    } else if (body.lastElementChild?.tagName === "P") {
      body.lastElementChild.dataset.ended = "1";
    }
  }
  return body;
}

async function explain(id) {
  const body = element("div", {}, t("loading"));
  showDialog(id, body);
  try {
    const {text} = await api.get("api/explanation", {id});
    body.replaceChildren(pageBody(text));
  } catch (error) {
    setText(body, t("failed", {error: error.message}));
  }
}

function findingNode(finding) {
  const node = element("article", {class: `card finding ${finding.severity}`},
      element("h4", {}, `${t(`severity_${finding.severity}`)}: ${finding.id}`),
      element("p", {}, finding.observed + (finding.limit ? ` (${finding.limit})` : "")));
  if (finding.why) node.append(element("p", {}, finding.why));
  if (finding.fix) node.append(element("pre", {tabindex: "0"}, finding.fix));
  node.append(button(t("explain"), () => explain(finding.id),
                     {"aria-label": `${t("explain")}: ${finding.id}`}));
  return node;
}

async function examine() {
  const list = byId("findings");
  const start = byId("examine");
  start.disabled = true;
  list.replaceChildren(element("p", {}, t("examining")));
  try {
    const {findings} = await api.get("api/findings");
    const worth = findings.filter((finding) => finding.severity !== "fine");
    list.replaceChildren(
        element("p", {}, t("findings_count", {count: worth.length, all: findings.length})),
        ...worth.map(findingNode));
  } catch (error) {
    list.replaceChildren(element("p", {}, t("failed", {error: error.message})));
  }
  start.disabled = false;
}

export function showMachineTexts() {
  makeChart();
}

export function startMachine() {
  byId("examine").addEventListener("click", examine);
  window.addEventListener("resize", () => {
    chart?.setSize({width: byId("pressure-chart").clientWidth, height: 180});
  });
  watchPalette(makeChart);
}
