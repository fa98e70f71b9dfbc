// Page layout; rebuilt when language or width change.

let drawings = [];

// A card with a chart, drawn once the width of the card is known.
function card(name, title, words, draw, { wide = false, key = null } = {}) {
  const place = make("div", { class: "chart", "data-chart": name });
  drawings.push({ place, draw });
  return make("section", { class: wide ? "card wide" : "card" }, make("h3", {}, title),
    make("p", {}, words), place, key);
}

function drawAll() {
  let failed = 0;
  for (const { place, draw } of drawings) {
    try {
      place.replaceChildren(draw(Math.floor(place.clientWidth)));
    } catch (error) {
      failed += 1;
      console.error(`${place.dataset.chart}: ${error.stack ?? error}`);
      place.replaceChildren(make("p", { class: "failed" }, text("failed")));
    }
  }
  document.body.dataset.charts = drawings.length - failed;
  document.body.dataset.failed = failed;
}

const swatch = (color, words) =>
  make("span", {}, make("i", { style: `background: ${color}` }), words);
const twoColors = () => make("div", { class: "key" }, swatch(honestColor, text("honest")),
  swatch(fraudColor, text("fraud")));
const steps = (color, low, high) => make("div", { class: "key" }, make("span", {}, low),
  make("span", { class: "steps" }, ...d3.range(kSteps).map((step) =>
    make("i", { style: `background: var(--${color}-${step})` }))), make("span", {}, high));

// Cards whose colours show the rows or the share of frauds of each cell.
function scaleCard(color, value, format) {
  return (name, title, words, cells, draw) => {
    const [low, high] = d3.extent(cells, value);
    return card(name, title, words, draw, { key: steps(color, format(low), format(high)) });
  };
}
const rowsCard = scaleCard("blue", (each) => each.all, compact);
const sharesCard = scaleCard("orange", (each) => each.share, percent);

function tile(value, words, style = "") {
  return make("div", { class: `tile ${style}` }, make("b", {}, value), make("span", {}, words));
}

function tiles() {
  const found = [];
  for (const events of facts.events) {
    found.push(tile(count(events.rows), text(`tile_${events.table}`)));
    found.push(tile(count(events.frauds), text("tile_frauds",
      { share: percent(events.frauds / Math.max(1, events.rows)) }), "fraud"));
  }
  const customers = facts.tables.find((table) => table.table === "customers");
  if (customers) found.push(tile(count(customers.rows), text("tile_customers")));
  const all = facts.events.flatMap((events) => [events.days[0], events.days.at(-1)])
    .filter((each) => each).map((each) => each[0]).sort();
  if (all.length > 0) {
    const [from, to] = [timeOf(all[0]), timeOf(all.at(-1))];
    found.push(tile(count((to - from) / 864e5 + 1), text("tile_days",
      { from: day(from), to: day(to) })));
  }
  const bytes = sum(facts.tables.map((table) => table.bytes));
  found.push(tile(size(bytes), text("tile_size", {
    files: count(sum(facts.tables.map((table) => table.files))), format: facts.made_by.format,
  })));
  return make("div", { class: "tiles" }, ...found);
}

function timeCards(events) {
  const cells = weekCells(events);
  const when = (each) => text("rows_of_hour", {
    day: weekday(each.day, "long"), from: `${each.hour}h`, to: `${(each.hour + 1) % 24}h`,
  });
  return [
    card(`${events.table}-days`, text("days_title"), text(`days_text_${days(events).unit}`),
      (width) => overTime(events, width), { wide: true }),
    rowsCard(`${events.table}-hours`, text("hours_title"), text("hours_text"), cells,
      (width) => week(cells, "blue", (each) => each.all,
        (each) => `${when(each)}\n${text("rows")}: ${count(each.all)}`, width)),
    sharesCard(`${events.table}-hours-fraud`, text("hours_fraud_title"), text("hours_fraud_text"),
      cells, (width) => week(cells, "orange", (each) => each.share,
        (each) => `${when(each)}\n${text("frauds")}: ${count(each.fraud)} (${percent(each.share)})`,
        width)),
  ];
}

function categoryCards(events) {
  const most = 12;
  const shown = events.categories.filter((each) => each.values.length > 1);
  return shown.map((category, i) => {
    const left = category.values.length - most;
    const words = text("category_text")
      + (left > 0 ? ` ${text("category_others", { count: count(left) })}` : "");
    return card(`${events.table}-${category.column}`, meaning(category), words,
      (width) => dumbbells(category, most, width),
      { key: twoColors(), wide: i === shown.length - 1 && i % 2 === 0 });
  });
}

function mapCards(events) {
  const states = stateRows(events);
  if (sum(states.map((state) => state.all)) === 0) return [];
  const sampled = facts.sampled ? ` ${text("map_sampled")}` : "";
  return [
    rowsCard(`${events.table}-map`, text("map_title"), text("map_text") + sampled, states,
      (width) => map(states, "blue", (each) => Math.sqrt(each.all), (each) => compact(each.all),
        width)),
    sharesCard(`${events.table}-map-fraud`, text("map_fraud_title"),
      text("map_fraud_text") + sampled, states,
      (width) => map(states, "orange", (each) => each.share,
        (each) => (each.all ? percent(each.share) : "–"), width)),
  ];
}

function fraudCards(events) {
  if (events.fraud_types.length === 0) return [];
  const found = [card(`${events.table}-types`, text("types_title"), text("types_text"),
    (width) => fraudTypes(events, width), { wide: !events.has_delays })];
  if (events.has_delays) {
    const never = sum(events.fraud_types.map((type) => type.delays.at(-1)));
    found.push(card(`${events.table}-delays`, text("delays_title"), text("delays_text", {
      never: percent(never / Math.max(1, events.frauds)), false: count(events.false_reports),
    }), (width) => delays(events, width), {
      key: make("div", { class: "key" },
        ...delayNames().map((name, i) => swatch(delayColors[i], name))),
    }));
  }
  if (events.table === "transactions" && facts.chain.hops.length > 0) {
    found.push(card("chain", text("chain_title"), chainWords(facts.chain.hops),
      (width) => chain(facts.chain.hops, width), { wide: true }));
  }
  found.push(card(`${events.table}-separation`, text("separation_title"), text("separation_text"),
    (width) => separation(events, width), { wide: true }));
  return found;
}

function eventSection(events) {
  return [
    make("h2", {}, text(`section_${events.table}`)),
    make("p", {}, text(`section_${events.table}_text`)),
    make("div", { class: "cards" },
      ...timeCards(events),
      card(`${events.table}-amounts`, text("amounts_title"), text("amounts_text"),
        (width) => amounts(events, width), { wide: true, key: twoColors() }),
      ...categoryCards(events), ...mapCards(events), ...fraudCards(events)),
  ];
}

function dataSection() {
  const made = facts.made_by;
  const rows = [
    ["fact_program", made.program], ["fact_model", made.model], ["fact_seed", String(made.seed)],
    ["fact_difficulty", made.difficulty === undefined ? null : decimal(made.difficulty, 2)],
    ["fact_format", made.codec ? `${made.format}, ${made.codec}` : made.format],
    ["fact_configuration", made.configuration],
  ].filter(([, value]) => value !== null);
  const heads = ["table_name", "table_meaning", "table_files", "table_rows", "table_bytes"];
  const numbers = new Set(heads.slice(2));
  const head = make("tr", {}, ...heads.map((key) =>
    make("th", numbers.has(key) ? { class: "number" } : {}, text(key))));
  const body = facts.tables.map((table) => make("tr", {},
    make("td", {}, make("code", {}, table.table)), make("td", {}, meaning(table)),
    make("td", { class: "number" }, count(table.files)),
    make("td", { class: "number" }, count(table.rows)),
    make("td", { class: "number" }, size(table.bytes))));
  return [
    make("h2", {}, text("facts_title")), make("p", {}, text("facts_text")),
    make("div", { class: "cards" },
      make("section", { class: "card wide scroll" },
        make("dl", {}, ...rows.flatMap(([key, value]) =>
          [make("dt", {}, text(key)), make("dd", {}, make("code", {}, value))])),
        make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)))),
    make("footer", {}, text("footer")),
  ];
}

const isDark = () => (document.documentElement.dataset.theme
  ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

function choices() {
  const other = make("button", { type: "button" }, text("language_other"));
  other.addEventListener("click", () => {
    language = language === "en" ? "pt" : "en";
    show();
  });
  const theme = make("button", { type: "button" }, text(isDark() ? "theme_light" : "theme_dark"));
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    theme.textContent = text(isDark() ? "theme_light" : "theme_dark");
  });
  return make("div", { class: "choices" }, other, theme);
}

function notices() {
  const found = [];
  if (!facts.whole) found.push(text("notice_part"));
  return found.map((words) => make("p", { class: "notice" }, words));
}

function show() {
  drawings = [];
  document.documentElement.lang = language === "pt" ? "pt-BR" : "en";
  document.title = text("page_title", { name: facts.name });
  document.getElementById("page").replaceChildren(
    make("header", {},
      make("div", {}, make("h1", {}, facts.name),
        make("p", {}, text(`subtitle_${facts.made_by.model}`))),
      choices()),
    ...notices(), tiles(), ...facts.events.flatMap(eventSection), ...dataSection());
  drawAll();
}

let waiting = null;
let drawnAt = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === drawnAt) return;
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    drawnAt = innerWidth;
    drawAll();
  }, 120);
});
show();
