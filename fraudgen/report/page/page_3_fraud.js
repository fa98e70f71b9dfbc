// Charts about frauds.

function fraudTypes(events, width) {
  const rows = events.fraud_types;
  const names = rows.map((each) => each.type);
  return picture(width, {
    height: names.length * 27 + 12,
    marginLeft: 12 + 7.6 * d3.max(names, (name) => name.length),
    marginRight: 150,
    marginTop: 4,
    marginBottom: 8,
    x: { axis: null, domain: [0, d3.max(rows, (each) => each.rows)] },
    y: { domain: names, label: null, tickSize: 0, padding: 0.28 },
    marks: [
      Plot.barX(rows, { x: "rows", y: "type", fill: fraudColor, rx: 3 }),
      Plot.text(rows, {
        x: "rows", y: "type", textAnchor: "start", dx: 7, fill: "var(--ink)",
        text: (each) => count(each.rows), fontWeight: 600,
      }),
      Plot.text(rows, {
        y: "type", frameAnchor: "right", textAnchor: "end", dx: 146, ...softText,
        text: (each) => text("types_mean", { amount: money(each.amount / each.rows) }),
      }),
    ],
  });
}

// Delay classes of the page: the number of classes of the data that each combines.
const delayClasses = [1, 2, 2, 2, 2, 1];
const delayColors = ["blue-1", "blue-2", "blue-3", "blue-4", "blue-6", "never"]
  .map((name) => `var(--${name})`);
const delayNames = () => [0, 1, 2, 3, 4, "never"].map((key) => text(`delay_${key}`));

function delays(events, width) {
  const parts = events.fraud_types.flatMap(({ type, rows, delays: counts }) => {
    let from = 0;
    let low = 0;
    return delayClasses.map((many, step) => {
      const share = sum(counts.slice(from, from += many)) / rows;
      return { type, step, share, low, high: low += share };
    });
  }).filter((part) => part.share > 0);
  const names = events.fraud_types.map((each) => each.type);
  return picture(width, {
    height: names.length * 27 + 34,
    marginLeft: 12 + 7.6 * d3.max(names, (name) => name.length),
    marginRight: 20,
    marginTop: 4,
    marginBottom: 28,
    x: { domain: [0, 1], label: null, tickFormat: percent, ticks: 5 },
    y: { domain: names, label: null, tickSize: 0, padding: 0.28 },
    marks: [
      Plot.rect(parts, {
        x1: "low", x2: "high", y: "type", fill: (part) => delayColors[part.step], insetRight: 1,
      }),
      tip(parts, Plot.pointer({
        x: (part) => (part.low + part.high) / 2, y: "type",
        title: (part) => `${part.type}\n${delayNames()[part.step]}: ${percent(part.share)}`,
      })),
    ],
  });
}

// Bars start at 0.5, the value of random guessing.
function separation(events, width) {
  const rows = events.separation.slice(0, 14).map((each) => ({
    ...each, name: each.column === "" ? text("separation_hour") : each.column,
  }));
  const names = rows.map((each) => each.name);
  return picture(width, {
    height: names.length * 25 + 44,
    marginLeft: 12 + 6.9 * d3.max(names, (name) => name.length),
    marginRight: 30,
    marginTop: 6,
    marginBottom: 32,
    x: {
      domain: [0.5, 1], label: null, grid: true, ticks: 5,
      tickFormat: (value) => decimal(value, 1),
    },
    y: { domain: names, label: null, tickSize: 0, padding: 0.3 },
    marks: [
      Plot.barX(rows, { x1: 0.5, x2: 1, y: "name", fill: "var(--track)", rx: 3 }),
      Plot.barX(rows, { x1: 0.5, x2: "area", y: "name", fill: honestColor, rx: 3 }),
      Plot.text(rows, {
        x: "area", y: "name", text: (each) => decimal(each.area, 2), textAnchor: "start", dx: 6,
        fill: "var(--ink)", fontWeight: 600,
      }),
      tip(rows, Plot.pointerY({
        x: "area", y: "name", title: (each) => (each.column === "" ? each.name : meaning(each)),
      })),
    ],
  });
}

// The accounts of a chain, starting with the victim, with arrival and departure of the money.
function chainLanes(hops) {
  const lanes = [];
  const of = (key, name) => {
    let lane = lanes.find((each) => each.key === key);
    if (lane === undefined) {
      lane = { key, name, index: lanes.length, times: [] };
      lanes.push(lane);
    }
    return lane;
  };
  const short = (account) => (account ? ` …${account.slice(-4)}` : "");
  const known = new Set(hops.map((hop) => hop.account));
  const arrows = hops.map((hop) => {
    const at = timeOf(hop.at);
    const who = hop.place === 0 ? text("chain_victim") : text("chain_mule", { number: hop.place });
    const from = of(hop.account || hop.customer, who + short(hop.account));
    const next = hop.receiver === "" ? text("chain_cash")
      : known.has(hop.receiver) ? text("chain_mule", { number: hop.place + 1 })
      : text("chain_outside");
    const to = of(hop.receiver || "cash", next + short(hop.receiver));
    from.times.push(at);
    to.times.push(at);
    return { ...hop, at, from, to };
  });
  return { lanes, arrows };
}

// Payments too close for separate labels share one.
function chainLabels(arrows, timeOfPixel) {
  const labels = [];
  for (const arrow of arrows) {
    const last = labels.at(-1);
    if (last && last.lane === arrow.from.key && arrow.at - last.at < 95 * timeOfPixel) {
      last.at = arrow.at;
      last.words += ` + ${money(arrow.amount)}`;
    } else {
      labels.push({ at: arrow.at, lane: arrow.from.key, words: money(arrow.amount) });
    }
  }
  return labels;
}

function chain(hops, width) {
  const { lanes, arrows } = chainLanes(hops);
  const drawn = Math.max(width, 760);
  const span = d3.extent(arrows, (arrow) => arrow.at);
  const room = Math.max(60e3, span[1] - span[0]);
  const most = d3.max(arrows, (arrow) => arrow.amount);
  const thick = (amount) => 2 + 5 * Math.sqrt(amount / most);
  const stays = lanes.map(({ key, index, times }) => ({
    key, first: index === 0 ? new Date(span[0] - room * 0.03) : d3.min(times), last: d3.max(times),
  }));
  return picture(drawn, {
    height: lanes.length * 64 + 30,
    marginLeft: 132,
    marginRight: 100,
    marginTop: 14,
    marginBottom: 34,
    x: {
      type: "utc", domain: [new Date(span[0] - room * 0.04), new Date(+span[1] + room * 0.02)],
      label: null, tickFormat: clock, ticks: 8,
    },
    y: {
      type: "point", domain: lanes.map((lane) => lane.key), label: null, tickSize: 0,
      tickFormat: (key) => lanes.find((lane) => lane.key === key).name, padding: 0.35,
    },
    marks: [
      Plot.ruleY(lanes, { y: "key", stroke: "var(--line)" }),
      Plot.link(stays, {
        x1: "first", x2: "last", y1: "key", y2: "key", stroke: honestColor, strokeWidth: 5,
        strokeOpacity: 0.45, strokeLinecap: "round",
      }),
      Plot.arrow(arrows, {
        x1: "at", x2: "at", y1: (arrow) => arrow.from.key, y2: (arrow) => arrow.to.key,
        stroke: fraudColor, strokeWidth: (arrow) => thick(arrow.amount), headLength: 5, headAngle: 55,
        insetStart: 6, insetEnd: 9,
      }),
      Plot.dot(arrows, {
        x: "at", y: (arrow) => arrow.from.key, r: 5, fill: "var(--card)", stroke: fraudColor,
        strokeWidth: 2.2,
      }),
      Plot.dot(arrows, { x: "at", y: (arrow) => arrow.to.key, r: 5, fill: fraudColor }),
      Plot.text(chainLabels(arrows, room / (drawn - 232)), {
        x: "at", y: "lane", dy: 32, dx: 12, textAnchor: "start", fill: "var(--ink)",
        fontWeight: 600, fontSize: 12, text: "words", stroke: "var(--card)", strokeWidth: 4,
      }),
      tip(arrows, Plot.pointer({
        x: "at", y: (arrow) => arrow.from.key,
        title: (arrow) => `${day(arrow.at)}, ${clock(arrow.at)}\n${arrow.type} · ${arrow.role}\n`
          + money(arrow.amount),
      })),
    ],
  });
}

function chainWords(hops) {
  const first = timeOf(hops[0].at);
  const minutes = Math.round((timeOf(hops.at(-1).at) - first) / 60e3);
  const time = minutes < 120 ? text("chain_time_minutes", { minutes: count(minutes) })
    : minutes < 2880 ? text("chain_time_hours", { hours: count(minutes / 60) })
    : text("chain_time_days", { days: count(minutes / 1440) });
  const mules = new Set(hops.filter((hop) => hop.place > 0).map((hop) => hop.account)).size;
  return text("chain_text", {
    ring: facts.chain.ring, time, day: day(first),
    amount: money(sum(hops.filter((hop) => hop.place === 0).map((hop) => hop.amount))),
    accounts: mules === 1 ? text("chain_accounts_1") : text("chain_accounts", { count: mules }),
  });
}
