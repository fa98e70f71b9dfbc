// Draws the time line on a canvas: memory of the card above, a lane for each program, traffic of the
// link below. Pure of state: everything is in `view` and `history`.

import * as format from "./format.js";
import {isWait} from "./history.js";
import {palette, programColour} from "./palette.js";
import {t} from "./texts.js";

export const kAxis = 22;
const kMemory = 90;
const kLane = 22;
const kTraffic = 70;
const kGap = 10;
const kStep = 2;  // pixels between points of curves

// Returns where things are, for a width in pixels and a number of lanes.
export function layout(width, lanes) {
  const left = width < 560 ? 84 : 150;
  const lanesTop = kAxis + kMemory + kGap;
  const trafficTop = lanesTop + lanes * kLane + kGap;
  return {width, left, memoryTop: kAxis, memoryHeight: kMemory, lanesTop, laneHeight: kLane,
          trafficTop, trafficHeight: kTraffic, height: trafficTop + kTraffic + 4};
}

// view: {from, to (seconds of the daemon's clock), now, gpu, lanes (numbers), selected}
export function draw(context, history, view, place) {
  const colours = palette();
  context.clearRect(0, 0, place.width, place.height);
  context.font = `12px ${colours.font}`;
  context.textBaseline = "middle";
  const scale = (place.width - place.left) / (view.to - view.from);
  const x = (time) => place.left + (time - view.from) * scale;
  drawAxis(context, history, view, place, x, colours);
  context.save();
  context.beginPath();
  context.rect(place.left, 0, place.width - place.left, place.height);
  context.clip();
  drawMemory(context, history, view, place, x, colours);
  view.lanes.forEach((number, row) => {
    drawLane(context, history.lanes[number], view, place.lanesTop + row * kLane, place, x, colours);
  });
  drawTraffic(context, history, view, place, x, colours);
  context.restore();
  drawLabels(context, history, view, place, colours);
}

// Returns a round number of seconds for about `count` marks in `span`.
function roundStep(span, count) {
  const rough = span / count;
  const steps = [1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120,
                 300, 600, 900, 1800];
  return steps.find((step) => step >= rough) ?? 3600;
}

function drawAxis(context, history, view, place, x, colours) {
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

function drawMemory(context, history, view, place, x, colours) {
  const samples = visibleSamples(history.memory, view, x);
  const bottom = place.memoryTop + kMemory;
  context.fillStyle = colours.panel;
  context.fillRect(place.left, place.memoryTop, place.width - place.left, kMemory);
  if (samples.length === 0) return;
  const total = samples.at(-1)[1].cards.get(view.gpu)?.total || 1;
  const end = Math.min(x(view.now), place.width);
  const base = new Float64Array(samples.length);
  const present = new Set();
  for (const [, sample] of samples) {
    for (const number of sample.cards.get(view.gpu)?.of.keys() ?? []) present.add(number);
  }
  for (const number of [...present].sort((a, b) => a - b)) {
    // From left to right along the top, and back along the bottom; each sample holds until the next.
    const back = [];
    context.beginPath();
    samples.forEach(([at, sample], i) => {
      const height = (sample.cards.get(view.gpu)?.of.get(number) ?? 0) / total * kMemory;
      const until = i + 1 < samples.length ? samples[i + 1][0] : Math.max(end, at);
      const y = bottom - base[i];
      base[i] = Math.min(kMemory, base[i] + height);
      context.lineTo(at, bottom - base[i]);
      context.lineTo(until, bottom - base[i]);
      back.push([at, y], [until, y]);
    });
    for (let i = back.length - 1; i >= 0; --i) context.lineTo(...back[i]);
    context.closePath();
    context.fillStyle = programColour(number);
    context.fill();
  }
}

// Where a span is in its lane: what happens at the same time has a part of the height each, so that
// colours are not all that tells them apart.
function partOf(kind) {
  if (isWait(kind)) return [0.42, 0.16];
  switch (kind) {
    case 6: case 8: case 11:
      return [0.12, 0.36];  // out, up
    case 7: case 9: case 10:
      return [0.52, 0.36];  // in, down
    default:
      return [0.12, 0.76];
  }
}

function drawLane(context, lane, view, top, place, x, colours) {
  const spans = lane.spans;
  const begin = spans.find("finish", view.from);
  const until = view.to + lane.longest;
  for (const waits of [true, false]) {
    // The last pixel of each kind: what is narrower than a pixel is drawn once.
    const drawn = new Float64Array(colours.kinds.length).fill(-1);
    for (let i = begin; i < spans.limit && spans.finish[i] <= until; ++i) {
      const kind = spans.kind[i];
      if (isWait(kind) !== waits || spans.begin[i] > view.to) continue;
      const right = x(spans.finish[i]);
      if (right < drawn[kind] + 1 && drawn[kind] >= 0) continue;
      const left = Math.max(x(spans.begin[i]), place.left - 2);
      const [y, height] = partOf(kind);
      context.fillStyle = colours.kinds[kind];
      context.fillRect(left, top + y * kLane, Math.max(1, right - left), height * kLane);
      drawn[kind] = Math.floor(Math.max(right, left + 1));
    }
  }
  for (const [kind, started] of [...lane.open].sort((a, b) => a[0] - b[0])) {
    const left = Math.max(x(started), place.left - 2);
    const right = Math.min(x(view.now), place.width);
    if (right <= left) continue;
    const [y, height] = partOf(kind);
    context.fillStyle = colours.kinds[kind];
    context.fillRect(left, top + y * kLane, Math.max(1, right - left), height * kLane);
  }
}

function drawTraffic(context, history, view, place, x, colours) {
  context.fillStyle = colours.panel;
  context.fillRect(place.left, place.trafficTop, place.width - place.left, kTraffic);
  const columns = history.traffic.get(view.gpu);
  const middle = place.trafficTop + kTraffic / 2;
  view.peak = 0;
  if (columns) {
    const begin = Math.max(columns.first, columns.find("time", view.from) - 1);
    let end = begin;
    for (; end < columns.limit && columns.time[end] <= view.to; ++end) {
      view.peak = Math.max(view.peak, columns.out[end], columns.in[end]);
    }
    const unit = (kTraffic / 2 - 2) / (view.peak || 1);
    for (const [column, sign, colour] of [["out", -1, colours.out], ["in", 1, colours.into]]) {
      context.fillStyle = colour;
      let last = -Infinity;
      let highest = 0;
      for (let i = begin; i < end; ++i) {
        const at = x(columns.time[i]);
        highest = Math.max(highest, columns[column][i]);
        if (at - last < kStep) continue;
        const before = i > begin ? x(columns.time[i - 1]) : at - kStep;
        const height = highest * unit;
        context.fillRect(before, sign < 0 ? middle - height : middle, Math.max(1, at - before), height);
        last = at;
        highest = 0;
      }
    }
  }
  context.fillStyle = colours.faint;
  context.fillRect(place.left, Math.round(middle), place.width - place.left, 1);
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
