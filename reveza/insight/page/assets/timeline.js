// The time line: what is shown of it, and how the reader moves in it.

import {byId, element, setText} from "./dom.js";
import {draw, kAxis, layout, rectangles} from "./drawing.js";
import * as format from "./format.js";
import {History, kHistory, kKinds} from "./history.js";
import {palette, watchPalette} from "./palette.js";
import {t} from "./texts.js";

const kMinSpan = 0.02;  // seconds
const kMany = 200;  // events
const kBehind = 0.25;  // of the live edge: events are asked for ten times a second

export const history = new History();
const view = {from: 0, to: 60, now: 0, gpu: 0, lanes: [], selected: -1, peak: 0};
let span = 60;
let following = true;
let clockOffset = null;  // from performance.now() to the daemon's clock
let place = layout(600, 0);
let dirty = true;
const frames = {count: 0};
const pointers = new Map();

export function addTimeline(message) {
  history.addTimeline(message);
  if (message.now !== null) {
    const offset = message.now - performance.now() / 1000;
    // Smooths the time that messages need.
    const far = clockOffset === null || Math.abs(offset - clockOffset) > 1;
    clockOffset = far ? offset : clockOffset + 0.1 * (offset - clockOffset);
  }
  // While the view follows, what is new comes into sight with the next pixel.
  if (!following || message.lanes || message.events.length > kMany || message.now === null) dirty = true;
}

export function addSnapshot(snapshot) {
  history.addSnapshot(snapshot);
  const gpus = snapshot.gpus.map((gpu) => gpu.index);
  if (gpus.length > 0 && !gpus.includes(view.gpu)) view.gpu = gpus[0];
  const select = byId("gpu");
  if (select.options.length !== gpus.length) {
    select.replaceChildren(...snapshot.gpus.map((gpu) =>
      element("option", {value: gpu.index}, `GPU ${gpu.index}`)));
    select.hidden = gpus.length < 2;
  }
  if (!following) dirty = true;
}

// Returns what the tests and the page's reader may know: the view, and how much is there.
export function state() {
  return {from: view.from, to: view.to, now: view.now, following, lanes: view.lanes.length,
          events: history.events, frames: frames.count, rectangles: rectangles(), alive: history.now !== null};
}

export function restart() {
  history.clear();
  clockOffset = null;
}

function setFollowing(on) {
  following = on;
  byId("follow").setAttribute("aria-pressed", String(on));
  dirty = true;
}

// Moves and scales the view; `at`: the share of its width that stays.
function zoom(factor, at = following ? 1 : 0.5) {
  const fixed = view.from + at * span;
  span = Math.min(kHistory, Math.max(kMinSpan, span * factor));
  if (!following) {
    view.from = fixed - at * span;
    view.to = view.from + span;
  }
  dirty = true;
}

function pan(seconds) {
  if (seconds === 0) return;
  setFollowing(false);
  const latest = view.now - kBehind + span / 2;
  view.to = Math.min(view.to + seconds, Math.max(latest, view.to));
  view.from = view.to - span;
}

function frame() {
  requestAnimationFrame(frame);
  const alive = history.now !== null;
  if (clockOffset !== null && alive) view.now = performance.now() / 1000 + clockOffset;
  const ratio = window.devicePixelRatio || 1;
  if (following && alive) {
    // What moves by a small part of a pixel looks the same.
    const moved = (view.now - kBehind - view.to) / span * (place.width - place.left) * ratio;
    if (!dirty && moved < 0.25) return;
    view.to = view.now - kBehind;
    view.from = view.to - span;
  } else if (!dirty) {
    return;
  }
  dirty = false;
  ++frames.count;
  view.lanes = history.visibleLanes(view.from);
  const canvas = byId("canvas");
  place = layout(byId("stage").clientWidth, view.lanes.length);
  const width = Math.round(place.width * ratio);
  const height = Math.round(place.height * ratio);
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
    canvas.style.height = `${place.height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.strokeStyle = palette().faint;
  draw(context, history, view, place, ratio);
  setText(byId("range"), t("range", {from: format.clock(view.from + history.offset),
                                     span: format.duration(span)}));
}

function rowAt(y) {
  const row = Math.floor((y - place.lanesTop) / place.laneHeight);
  return row >= 0 && row < view.lanes.length ? row : -1;
}

export function kindText(kind) {
  return t(`kind_${kKinds[kind].replaceAll(" ", "_")}`);
}

// Describes what a program did at a time.
function describe(row, time) {
  const number = view.lanes[row];
  const lane = history.lanes[number];
  const found = history.spanAt(number, time, view.now);
  const title = `${lane.name} (${lane.pid})`;
  if (!found) return [title, t("idle")];
  const [kind, begin, finish, , moved] = found;
  const lines = [title, `${kindText(kind)}: ${format.duration((finish ?? view.now) - begin)}`];
  if (moved > 0) lines.push(format.bytes(moved));
  const why = kind < 3 ? lane.reasonAt(time) : "";
  if (why) lines.push(why);
  return lines;
}

function describeMemory(time) {
  const sample = history.memory.findLast((one) => one.time <= time);
  const card = sample?.cards.get(view.gpu);
  if (!card) return null;
  const parts = [...card.of].sort((a, b) => b[1] - a[1]).slice(0, 12);
  return [t("memory_of_card"),
          ...parts.map(([number, size]) => `${history.lanes[number].name}: ${format.bytes(size)}`)];
}

function showTip(x, y) {
  const tip = byId("tip");
  const time = view.from + (x - place.left) / (place.width - place.left) * span;
  const row = rowAt(y);
  let lines = null;
  if (x >= place.left && row >= 0) lines = describe(row, time);
  if (x >= place.left && y >= kAxis && y < place.memoryTop + place.memoryHeight) {
    lines = describeMemory(time);
  }
  tip.hidden = lines === null;
  if (lines === null) return;
  tip.replaceChildren(...lines.map((text, i) => element(i === 0 ? "strong" : "span", {}, text)));
  const left = Math.min(x + 14, place.width - tip.offsetWidth - 4);
  tip.style.left = `${Math.max(0, left)}px`;
  tip.style.top = `${y + 16}px`;
}

// Says in words what a program does, for those who cannot see the canvas.
function announce() {
  if (view.selected < 0) return;
  setText(byId("timeline-summary"), describe(view.selected, view.now - kBehind).join(", "));
}

function onKey(event) {
  const actions = {
    ArrowLeft: () => pan(-span / 8),
    ArrowRight: () => pan(span / 8),
    "+": () => zoom(1 / 1.5),
    "=": () => zoom(1 / 1.5),
    "-": () => zoom(1.5),
    Home: () => {
      span = kHistory;
      dirty = true;
    },
    End: () => setFollowing(true),
    ArrowDown: () => select(1),
    ArrowUp: () => select(-1),
  };
  const action = actions[event.key];
  if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  action();
}

function select(step) {
  if (view.lanes.length === 0) return;
  view.selected = Math.min(view.lanes.length - 1, Math.max(0, view.selected + step));
  dirty = true;
  announce();
}

// One finger or button pans, two fingers zoom.
function onPointerMove(event) {
  const box = byId("stage").getBoundingClientRect();
  const before = pointers.get(event.pointerId);
  if (!before) {
    showTip(event.clientX - box.left, event.clientY - box.top);
    return;
  }
  const width = place.width - place.left;
  if (pointers.size === 1) {
    pan((before.x - event.clientX) / width * span);
  } else {
    const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
    const now = Math.abs(other.x - event.clientX);
    const then = Math.abs(other.x - before.x);
    if (now > 8 && then > 8) zoom(then / now);
  }
  pointers.set(event.pointerId, {x: event.clientX});
}

function onWheel(event) {
  if (event.ctrlKey || event.shiftKey) {
    event.preventDefault();
    const box = byId("stage").getBoundingClientRect();
    const at = (event.clientX - box.left - place.left) / (place.width - place.left);
    const amount = event.deltaY || event.deltaX;
    zoom(Math.exp(amount / 400), following ? 1 : Math.min(1, Math.max(0, at)));
  } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    event.preventDefault();
    pan(event.deltaX / (place.width - place.left) * span);
  }
}

export function showTexts() {
  byId("legend").replaceChildren(...kKinds.map((kind, number) =>
    element("li", {class: `kind-${number}`}, kindText(number))));
  byId("canvas").setAttribute("aria-label", t("timeline_label"));
  byId("stage").setAttribute("aria-label", t("timeline_label"));
  dirty = true;
}

export function startTimeline() {
  const stage = byId("stage");
  byId("zoom-in").addEventListener("click", () => zoom(1 / 2));
  byId("zoom-out").addEventListener("click", () => zoom(2));
  byId("earlier").addEventListener("click", () => pan(-span / 2));
  byId("later").addEventListener("click", () => pan(span / 2));
  byId("follow").addEventListener("click", () => setFollowing(!following));
  byId("gpu").addEventListener("change", (event) => {
    view.gpu = Number(event.target.value);
    dirty = true;
  });
  stage.addEventListener("keydown", onKey);
  stage.addEventListener("wheel", onWheel, {passive: false});
  stage.addEventListener("pointerdown", (event) => {
    pointers.set(event.pointerId, {x: event.clientX});
    stage.setPointerCapture(event.pointerId);
  });
  stage.addEventListener("pointermove", onPointerMove);
  for (const end of ["pointerup", "pointercancel"]) {
    stage.addEventListener(end, (event) => pointers.delete(event.pointerId));
  }
  stage.addEventListener("pointerleave", () => { byId("tip").hidden = true; });
  window.addEventListener("resize", () => { dirty = true; });
  watchPalette(() => { dirty = true; });
  setInterval(announce, 5000);
  requestAnimationFrame(frame);
}
