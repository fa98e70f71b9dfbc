"use strict";

// What the program left in the page: the words of both languages, and the facts.
const allTexts = JSON.parse(document.getElementById("texts").textContent);
const facts = JSON.parse(document.getElementById("facts").textContent);
let language = facts.language;

function text(key, values = {}) {
  return allTexts[language][key].replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
}

// Numbers, money and days, as the reader's language writes them.
const locale = () => (language === "pt" ? "pt-BR" : "en-US");
const formats = new Map();

function formatter(kind, options) {
  const key = locale() + kind + JSON.stringify(options);
  if (!formats.has(key)) formats.set(key, new Intl[kind](locale(), options));
  return formats.get(key);
}

const count = (value) => formatter("NumberFormat", { maximumFractionDigits: 0 }).format(value);
const compact = (value) =>
  formatter("NumberFormat", { notation: "compact", maximumSignificantDigits: 3 }).format(value);
const decimal = (value, places) =>
  formatter("NumberFormat", { minimumFractionDigits: places, maximumFractionDigits: places })
    .format(value);
const money = (value) =>
  formatter("NumberFormat", { style: "currency", currency: "BRL" }).format(value);
const shortMoney = (value) =>
  formatter("NumberFormat", {
    style: "currency", currency: "BRL", notation: "compact", minimumFractionDigits: 0,
    maximumFractionDigits: value < 1 ? 2 : value < 1000 ? 0 : 1,
  }).format(value);

// Two digits that matter: 2 %, 0.071 %.
const percent = (share) =>
  formatter("NumberFormat", { style: "percent", maximumSignificantDigits: share < 1 ? 2 : 3 })
    .format(share);

function size(bytes) {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let unit = 0;
  while (bytes >= 999.5 && unit + 1 < units.length) {
    bytes /= 1000;
    unit += 1;
  }
  const digits = unit === 0 || bytes >= 99.5 ? 0 : bytes >= 9.95 ? 1 : 2;
  return `${decimal(bytes, digits)} ${units[unit]}`;
}

// Times of the data are Brasilia's and have no zone; taken as if they were UTC, nothing moves them.
const timeOf = (text) => new Date(`${text.slice(0, 23)}${text.length > 10 ? "Z" : ""}`);
const day = (date) =>
  formatter("DateTimeFormat", {
    day: "numeric", month: "short", year: "numeric", timeZone: "UTC",
  }).format(date);
// The year stands only where it begins.
const month = (date) => {
  const name = formatter("DateTimeFormat", { month: "short", timeZone: "UTC" }).format(date)
    .replace(".", "");
  return date.getUTCMonth() === 0 ? `${name} ${date.getUTCFullYear()}` : name;
};
const clock = (date) =>
  formatter("DateTimeFormat", {
    hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: "UTC",
  }).format(date);
// From Monday, which 5 January 1970 was.
const weekday = (index, style) =>
  formatter("DateTimeFormat", { weekday: style, timeZone: "UTC" })
    .format(new Date(Date.UTC(1970, 0, 5 + index)));

// An element with attributes and children; text is always text, never markup.
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

// What a column or a table is, in the reader's language.
const meaning = (described) => described[language];
const sum = (values) => values.reduce((total, value) => total + value, 0);
const pairs = (both) => both.honest.map((honest, i) => ({ honest, fraud: both.fraud[i] }));
