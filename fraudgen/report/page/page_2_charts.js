// Charts. Each function takes the available width and returns an element.

const kSteps = 7;
const honestColor = "var(--honest)";
const fraudColor = "var(--fraud)";
const softText = { fill: "var(--soft)", fontSize: 11 };

// Options shared by all plots.
function picture(width, options) {
  return Plot.plot({
    width,
    style: { background: "transparent", color: "var(--soft)", fontSize: "11.5px" },
    color: { type: "identity" },
    ...options,
  });
}

// Tooltip.
const tip = (data, options) =>
  Plot.tip(data, { lineHeight: 1.35, textPadding: 9, stroke: "var(--never)", ...options });
const bothShares = (name, each) => `${name}\n${text("honest")}: ${percent(each.honest)}\n`
  + `${text("fraud")}: ${percent(each.fraud)}`;

// Shares of the honest rows and of the frauds, from counts.
function shares(counts) {
  const honest = d3.sum(counts, (each) => each.honest) || 1;
  const fraud = d3.sum(counts, (each) => each.fraud) || 1;
  return counts.map((each) => ({ ...each, honest: each.honest / honest, fraud: each.fraud / fraud }));
}

// Colour step of a value between 0 and the maximum.
const stepOf = (value, least, most) =>
  most > least ? Math.min(kSteps - 1, Math.floor(((value - least) / (most - least)) * kSteps)) : 0;

function overTime(events, width) {
  const { rows, unit } = days(events);
  const one = (side, color, top) =>
    picture(width, {
      height: 132,
      marginLeft: 46,
      marginRight: 12,
      marginTop: 26,
      x: { type: "utc", label: null, tickFormat: (date) => month(date), ticks: width / 110 },
      y: { label: null, grid: true, ticks: 4, tickFormat: compact, zero: true, nice: true,
        tickSize: 0 },
      marks: [
        Plot.areaY(rows, {
          x: "at", y: side, fill: color, fillOpacity: unit === "day" ? 0.18 : 0.25, curve: "step",
        }),
        Plot.lineY(rows, {
          ...(unit === "day" && rows.length > 20
            ? Plot.windowY({ k: 7, anchor: "middle" }, { x: "at", y: side })
            : { x: "at", y: side }),
          stroke: color, strokeWidth: 1.8,
        }),
        Plot.text([top], {
          frameAnchor: "top-left", dy: -20, text: (words) => words, fill: color, fontWeight: 600,
          fontSize: 12.5,
        }),
        Plot.ruleY([0], { stroke: "var(--line)" }),
        tip(rows, Plot.pointerX({
          x: "at", y: side, title: (each) => `${day(each.at)}\n${count(each[side])}`,
        })),
      ],
    });
  return make("div", {}, one("honest", honestColor, text("days_honest")),
    one("fraud", fraudColor, text("days_fraud")));
}

// Rows per day, or per week or month for long periods.
function days(events) {
  const all = events.days.map(([at, honest, fraud]) => ({ at: timeOf(at), honest, fraud }));
  const long = all.length > 2600;
  if (all.length <= 800) return { rows: all, unit: "day" };
  const start = long ? d3.utcMonth : d3.utcMonday;
  const rows = d3.rollups(all, (part) => ({
    honest: d3.sum(part, (each) => each.honest),
    fraud: d3.sum(part, (each) => each.fraud),
  }), (each) => +start(each.at)).map(([at, both]) => ({ at: new Date(at), ...both }));
  return { rows, unit: long ? "month" : "week" };
}

// Heat map by weekday and hour.
function week(cells, color, value, describe, width) {
  const least = d3.min(cells, value);
  const most = d3.max(cells, value);
  return picture(width, {
    height: 7 * 26 + 28,
    marginLeft: 38,
    marginRight: 2,
    marginTop: 4,
    marginBottom: 24,
    x: {
      type: "band", domain: d3.range(24), padding: 0.07, label: null, tickSize: 0,
      tickFormat: (hour) => (hour % 3 === 0 ? `${hour}h` : ""),
    },
    y: {
      type: "band", domain: d3.range(7), padding: 0.07, label: null, tickSize: 0,
      tickFormat: (index) => weekday(index, "short").replace(".", ""),
    },
    marks: [
      Plot.cell(cells, {
        x: "hour", y: "day", rx: 3,
        fill: (each) => `var(--${color}-${stepOf(value(each), least, most)})`,
      }),
      tip(cells, Plot.pointer({ x: "hour", y: "day", title: describe })),
    ],
  });
}

function weekCells(events) {
  return pairs(events.hours).map((both, i) => ({ day: Math.floor(i / 24), hour: i % 24, ...both }));
}

// Histogram of amounts, honest and fraudulent.
function amounts(events, width) {
  const { bins_per_decade: fine, median } = events.amounts;
  const wide = 4; // fine bins in one of the picture
  const groups = d3.groups(shares(pairs(events.amounts)), (_, i) => Math.floor(i / wide));
  const bins = groups.map(([i, part]) => ({
    low: 10 ** ((i * wide) / fine) / 100,
    high: 10 ** (((i + 1) * wide) / fine) / 100,
    honest: d3.sum(part, (each) => each.honest),
    fraud: d3.sum(part, (each) => each.fraud),
  }));
  const used = bins.filter((bin) => bin.honest > 2e-5 || bin.fraud > 2e-5);
  if (used.length === 0) return make("p", {}, "–");
  const domain = [used[0].low, used.at(-1).high];
  const shown = bins.filter((bin) => bin.low >= domain[0] * 0.99 && bin.high <= domain[1] * 1.01);
  const layer = (side, color) => [
    Plot.rectY(shown, {
      x1: "low", x2: "high", y: side, fill: color, fillOpacity: 0.24, insetLeft: 0, insetRight: 0,
    }),
    Plot.line(shown.flatMap((bin) => [[bin.low, bin[side]], [bin.high, bin[side]]]),
      { stroke: color, strokeWidth: 1.6, strokeLinejoin: "round" }),
  ];
  const medians = [
    { at: median.honest, color: honestColor },
    { at: median.fraud, color: fraudColor },
  ].filter((each) => each.at > 0).sort((a, b) => a.at - b.at);
  const label = (each, textAnchor) => Plot.text([each], {
    x: "at", text: () => text("median", { amount: money(each.at) }), fill: each.color,
    frameAnchor: "top", textAnchor, dx: textAnchor === "end" ? -6 : 6, dy: -22, fontSize: 11.5,
    fontWeight: 600,
  });
  return picture(width, {
    height: 290,
    marginLeft: 50,
    marginRight: 20,
    marginTop: 34,
    marginBottom: 26,
    x: { type: "log", domain, label: null, ticks: 6, tickFormat: decades, tickSize: 4 },
    y: { label: null, grid: true, tickFormat: percent, ticks: 5, nice: true, tickSize: 0 },
    marks: [
      ...layer("honest", honestColor),
      ...layer("fraud", fraudColor),
      Plot.ruleX(medians, { x: "at", stroke: "color", strokeDasharray: "4,3", insetTop: -26 }),
      ...medians.map((each, i) => label(each, i === 0 && medians.length > 1 ? "end" : "start")),
      Plot.ruleY([0], { stroke: "var(--line)" }),
      tip(shown, Plot.pointerX({
        x: (bin) => Math.sqrt(bin.low * bin.high), y: (bin) => Math.max(bin.honest, bin.fraud),
        title: (bin) => bothShares(`${money(bin.low)} – ${money(bin.high)}`, bin),
      })),
    ],
  });
}

// Labels at powers of ten only.
const decades = (value) =>
  Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-6 ? shortMoney(value) : "";

// Dumbbell chart: share of honest rows and of frauds by value.
function dumbbells(category, most, width) {
  const rows = shares(category.values)
    .sort((a, b) => b.honest + b.fraud - a.honest - a.fraud)
    .slice(0, most);
  const names = rows.map((each) => each.value);
  const right = d3.max(rows, (each) => Math.max(each.honest, each.fraud));
  return picture(width, {
    height: names.length * 25 + 40,
    marginLeft: 12 + 7.2 * d3.max(names, (name) => name.length),
    marginRight: 24,
    marginTop: 6,
    marginBottom: 30,
    x: { domain: [0, right], nice: true, grid: true, label: null, tickFormat: percent, ticks: 5 },
    y: { type: "point", domain: names, label: null, tickSize: 0, padding: 0.6 },
    marks: [
      Plot.link(rows, {
        x1: "honest", x2: "fraud", y1: "value", y2: "value", stroke: "var(--never)", strokeWidth: 3,
        strokeLinecap: "round",
      }),
      Plot.dot(rows, { x: "honest", y: "value", fill: honestColor, r: 5 }),
      Plot.dot(rows, { x: "fraud", y: "value", fill: fraudColor, r: 5, symbol: "diamond2" }),
      tip(rows, Plot.pointerY({
        x: (each) => Math.max(each.honest, each.fraud), y: "value",
        title: (each) => bothShares(each.value, each),
      })),
    ],
  });
}

// Tile map: column and row of each state, roughly by geography.
const places = {
  RR: [1, 0], AP: [2, 0], AM: [1, 1], PA: [2, 1], MA: [3, 1], CE: [4, 1], RN: [5, 1], AC: [0, 2],
  RO: [1, 2], TO: [2, 2], PI: [3, 2], PE: [4, 2], PB: [5, 2], MT: [1, 3], GO: [2, 3], BA: [3, 3],
  SE: [4, 3], AL: [5, 3], MS: [1, 4], DF: [2, 4], MG: [3, 4], ES: [4, 4], SP: [2, 5], RJ: [3, 5],
  PR: [2, 6], SC: [2, 7], RS: [1, 7],
};

function stateRows(events) {
  return pairs(events.states).map((both, i) => {
    const [column, row] = places[facts.states[i].code];
    return { ...facts.states[i], ...both, column, row };
  });
}

// `value` determines the colour, `words` is the label below the state.
function map(states, color, value, words, width) {
  const [least, most] = d3.extent(states, value);
  const side = Math.min(62, (width - 8) / 6);
  const deep = (each) => stepOf(value(each), least, most) >= 4;
  const ink = (each) => (deep(each) ? "var(--on-deep)" : "var(--on-pale)");
  const drawn = picture(side * 6 + 8, {
    height: side * 8 + 8,
    margin: 4,
    x: { type: "band", domain: d3.range(6), padding: 0.06, axis: null },
    y: { type: "band", domain: d3.range(8), padding: 0.06, axis: null },
    marks: [
      Plot.cell(states, {
        x: "column", y: "row", rx: 8,
        fill: (each) => `var(--${color}-${stepOf(value(each), least, most)})`,
      }),
      Plot.text(states, {
        x: "column", y: "row", text: "code", fill: ink, fontWeight: 650, fontSize: 14, dy: -7,
      }),
      Plot.text(states, {
        x: "column", y: "row", text: words, fill: ink, fontSize: 11, dy: 10, fillOpacity: 0.9,
      }),
      tip(states, Plot.pointer({
        x: "column", y: "row",
        title: (each) => `${each.name}\n${text("map_customers")}: ${count(each.customers)}\n`
          + `${text("rows")}: ${count(each.all)}\n${text("frauds")}: ${count(each.fraud)} `
          + `(${percent(each.share)})`,
      })),
    ],
  });
  drawn.style.margin = "0 auto";
  return drawn;
}
