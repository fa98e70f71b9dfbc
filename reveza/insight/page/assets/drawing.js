// Draws the time line on a canvas: memory of the card above, a lane for each program, traffic of the
// link below. Pure of state: everything is in `view` and `history`.

import * as format from "./format.js";
import {isWait, kKinds} from "./history.js";
import {palette, programColour} from "./palette.js";
import {Raster} from "./raster.js";
import {t} from "./texts.js";

export const kAxis = 22;
const kMemory = 90;
const kLane = 22;
const kTraffic = 70;
const kGap = 10;
const kStep = 2;  // pixels between samples of the memory

const raster = new Raster();

// Returns how many rectangles the last frame had.
export function rectangles() {
  return raster.rectangles;
}

// Returns where things are, for a width in pixels and a number of lanes.
export function layout(width, lanes) {
  const left = width < 560 ? 84 : 150;
  const lanesTop = kAxis + kMemory + kGap;
  const trafficTop = lanesTop + lanes * kLane + kGap;
  return {width, left, memoryTop: kAxis, memoryHeight: kMemory, lanesTop, laneHeight: kLane,
          trafficTop, trafficHeight: kTraffic, height: trafficTop + kTraffic + 4};
}

// view: {from, to (seconds of the daemon's clock), now, gpu, lanes (numbers), selected}; `ratio`:
// pixels of the screen for one of the page.
export function draw(context, history, view, place, ratio) {
  const colours = palette();
  context.clearRect(0, 0, place.width, place.height);
  context.font = `12px ${colours.font}`;
  context.textBaseline = "middle";
  const width = place.width - place.left;
  drawAxis(context, history, view, place, colours);
  // Columns are pixels of the screen, rows those of the page.
  raster.clear(Math.round(width * ratio), place.height);
  const scale = raster.width / (view.to - view.from);
  const x = (time) => (time - view.from) * scale;
  drawMemory(history, view, place, x, colours);
  view.lanes.forEach((number, row) => {
    drawLane(history.lanes[number], view, place.lanesTop + row * kLane, x, colours);
  });
  drawTraffic(history, view, place, x, colours);
  raster.drawTo(context, place.left, 0, width, place.height);
  drawLabels(context, history, view, place, colours);
}

// Returns a round number of seconds for about `count` marks in `span`.
function roundStep(span, count) {
  const rough = span / count;
  const steps = [1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120,
                 300, 600, 900, 1800];
  return steps.find((step) => step >= rough) ?? 3600;
}

function drawAxis(context, history, view, place, colours) {
  const scale = (place.width - place.left) / (view.to - view.from);
  const x = (time) => place.left + (time - view.from) * scale;
  const step = roundStep(view.to - view.from, (place.width - place.left) / 110);
  context.textAlign = "center";
  const offset = history.offset;
  const first = Math.ceil((view.from + offset) / step) * step;
  for (let time = first; time < view.to + offset; time += step) {
    const at = x(time - offset);
    context.fillStyle = colours.grid;
    context.fillRect(Math.round(at), kAxis - 4, 1, place.height);
    if (at < place.left + 40 || at > place.width - 36) continue;
    context.fillStyle = colours.faint;
    context.fillText(format.clock(time, step < 1), at, kAxis / 2);
  }
}

// Returns the first sample at or after a time.
function firstSample(samples, time) {
  let low = 0;
  let high = samples.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (samples[middle].time < time) low = middle + 1; else high = middle;
  }
  return low;
}

// Returns one sample per step of pixels, with the one before the left edge.
function visibleSamples(samples, view, x) {
  const found = [];
  let last = -Infinity;
  for (let i = Math.max(0, firstSample(samples, view.from) - 1); i < samples.length; ++i) {
    const at = x(samples[i].time);
    if (at - last < kStep && found.length > 1) continue;
    found.push([at, samples[i]]);
    last = at;
    if (samples[i].time > view.to) break;
  }
  return found;
}

function drawMemory(history, view, place, x, colours) {
  const bottom = place.memoryTop + kMemory;
  raster.rect(0, raster.width, place.memoryTop, bottom, colours.panel);
  const samples = visibleSamples(history.memory, view, x);
  const end = Math.min(x(view.now), raster.width);
  samples.forEach(([at, sample], i) => {
    const card = sample.cards.get(view.gpu);
    if (!card) return;
    // Each sample holds until the next.
    const until = i + 1 < samples.length ? samples[i + 1][0] : Math.max(end, at);
    let used = 0;
    for (const [number, bytes] of card.of) {
      const before = used;
      used = Math.min(card.total, used + bytes);
      raster.rect(at, until, bottom - used / card.total * kMemory, bottom - before / card.total * kMemory,
                  programColour(number));
    }
  });
}

// A lane is drawn as bands of rows with the same pixels, each once; a span is in some of them.
const kBands = [[3, 9], [9, 11], [11, 13], [13, 19]];

// The first and last band of a kind: what happens at the same time has a part of the height each, so that
// colours are not all that tells them apart.
function bandsOf(kind) {
  if (isWait(kind)) return [1, 2];
  const name = kKinds[kind];
  if (name === "copy out" || name === "contexts out" || name === "demote") return [0, 1];  // up
  if (name === "copy in" || name === "contexts in" || name === "promote") return [2, 3];  // down
  return [0, 3];
}
const kBandsOf = kKinds.map((_, kind) => bandsOf(kind));
let bandPixels = [];

function drawLane(lane, view, top, x, colours) {
  const pixels = colours.kinds.map((colour) => raster.pixel(colour));
  const {begin, finish, kind, limit} = lane.spans;
  const {width} = raster;
  if (bandPixels.length === 0 || bandPixels[0].length !== width) {
    bandPixels = kBands.map(() => new Uint32Array(width));
  }
  for (const band of bandPixels) band.fill(0);
  const offset = x(0);
  const scale = x(1) - offset;
  // Of each kind: the pixels of the last span. One that adds none is not drawn, so that a frame costs what it
  // shows, however many spans there are.
  const drawn = kKinds.map(() => [0, 0]);
  const span = (one, earliest, latest) => {
    const left = Math.round(offset + earliest * scale);
    const right = Math.max(Math.round(offset + latest * scale), left + 1);
    const last = drawn[one];
    if (right <= 0 || (left >= last[0] && right <= last[1])) return;
    last[0] = left;
    last[1] = right;
    const [upper, lower] = kBandsOf[one];
    const from = Math.max(0, left);
    const end = Math.min(width, right);
    for (let band = upper; band <= lower; ++band) {
      const row = bandPixels[band];
      // Most spans of an hour are narrow.
      if (end - from < 8) for (let at = from; at < end; ++at) row[at] = pixels[one];
      else row.fill(pixels[one], from, end);
    }
    ++raster.rectangles;
  };
  const first = lane.spans.find("finish", view.from);
  const until = view.to + lane.longest;
  for (const waits of [true, false]) {
    for (let i = first; i < limit && finish[i] <= until; ++i) {
      if (isWait(kind[i]) === waits) span(kind[i], begin[i], finish[i]);
    }
  }
  const open = [...lane.open].sort((a, b) => a[0] - b[0]);
  for (const [one, from] of open) span(one, from, view.now);
  kBands.forEach(([upper, lower], band) => raster.repeat(bandPixels[band], top + upper, top + lower));
}

function drawTraffic(history, view, place, x, colours) {
  raster.rect(0, raster.width, place.trafficTop, place.trafficTop + kTraffic, colours.panel);
  const columns = history.traffic.get(view.gpu);
  const middle = place.trafficTop + kTraffic / 2;
  view.peak = 0;
  if (columns) {
    const first = Math.max(columns.first, columns.find("time", view.from) - 1);
    let end = first;
    for (; end < columns.limit && columns.time[end] <= view.to; ++end) {
      view.peak = Math.max(view.peak, columns.out[end], columns.in[end]);
    }
    const unit = (kTraffic / 2 - 2) / (view.peak || 1);
    for (let i = first + 1; i < end; ++i) {
      const [left, right] = [x(columns.time[i - 1]), x(columns.time[i])];
      if (columns.out[i] > 0) raster.rect(left, right, middle - columns.out[i] * unit, middle, colours.out);
      if (columns.in[i] > 0) raster.rect(left, right, middle, middle + columns.in[i] * unit, colours.into);
    }
  }
  raster.rect(0, raster.width, middle, middle + 1, colours.faint);
}

function fit(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && context.measureText(`${text.slice(0, end)}…`).width > width) --end;
  return `${text.slice(0, end)}…`;
}

function drawLabels(context, history, view, place, colours) {
  context.textAlign = "left";
  const width = place.left - 22;
  const line = (text, y, colour) => {
    context.fillStyle = colour;
    context.fillText(fit(context, text, width + 10), 6, y);
  };
  const total = history.memory.at(-1)?.cards.get(view.gpu)?.total;
  line(t("memory_of_card"), place.memoryTop + 12, colours.text);
  line(format.bytes(total), place.memoryTop + 30, colours.faint);
  view.lanes.forEach((number, row) => {
    const lane = history.lanes[number];
    const y = place.lanesTop + (row + 0.5) * kLane;
    context.fillStyle = programColour(number);
    context.fillRect(6, y - 5, 8, 10);
    context.fillStyle = row === view.selected ? colours.text : lane.live ? colours.text : colours.faint;
    context.fillText(fit(context, lane.name || String(lane.pid), width), 19, y);
    if (row === view.selected) context.strokeRect(1.5, y - kLane / 2 + 1.5, place.width - 3, kLane - 3);
  });
  line(t("link_out"), place.trafficTop + 12, colours.text);
  line(view.peak ? `${format.bytes(view.peak)}/s` : "", place.trafficTop + kTraffic / 2, colours.faint);
  line(t("link_in"), place.trafficTop + kTraffic - 12, colours.text);
}
