"use strict";

// Data embedded by fraudgen: the texts of both languages, and the facts.
const allTexts = JSON.parse(document.getElementById("texts").textContent);
const facts = JSON.parse(document.getElementById("facts").textContent);
let language = facts.language;

function text(key, values = {}) {
  return allTexts[language][key].replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
}

// Localised numbers, money and dates.
const locale = () => (language === "pt" ? "pt-BR" : "en-US");
const formats = new Map();

function formatter(kind, options) {
  const key = locale() + kind + JSON.stringify(options);
  if (!formats.has(key)) formats.set(key, new Intl[kind](locale(), options));
  return formats.get(key);
}

const number = (value, options) => formatter("NumberFormat", options).format(value);
const count = (value) => number(value, { maximumFractionDigits: 0 });
const compact = (value) => number(value, { notation: "compact", maximumSignificantDigits: 3 });
const decimal = (value, places) =>
  number(value, { minimumFractionDigits: places, maximumFractionDigits: places });
const money = (value) => number(value, { style: "currency", currency: "BRL" });
const shortMoney = (value) => number(value, {
  style: "currency", currency: "BRL", notation: "compact", minimumFractionDigits: 0,
  maximumFractionDigits: value < 1 ? 2 : value < 1000 ? 0 : 1,
});

// Two significant digits: 2 %, 0.071 %.
const percent = (share) =>
  number(share, { style: "percent", maximumSignificantDigits: share < 1 ? 2 : 3 });

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

// Times have no zone (local time of Brasilia); treating them as UTC avoids shifts.
const timeOf = (text) => new Date(`${text.slice(0, 23)}${text.length > 10 ? "Z" : ""}`);
const inUtc = (date, options) =>
  formatter("DateTimeFormat", { timeZone: "UTC", ...options }).format(date);
const day = (date) => inUtc(date, { day: "numeric", month: "short", year: "numeric" });
// Shows the year only where it starts.
const month = (date) => {
  const name = inUtc(date, { month: "short" }).replace(".", "");
  return date.getUTCMonth() === 0 ? `${name} ${date.getUTCFullYear()}` : name;
};
const clock = (date) => inUtc(date, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
// From Monday (5 January 1970).
const weekday = (index, style) => inUtc(Date.UTC(1970, 0, 5 + index), { weekday: style });

// Creates an element with attributes and children. Text is never parsed as markup.
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

// Localised description of a column or table.
const meaning = (described) => described[language];
const sum = (values) => values.reduce((total, value) => total + value, 0);
const pairs = (both) => both.honest.map((honest, i) => {
  const fraud = both.fraud[i];
  const all = honest + fraud;
  return { honest, fraud, all, share: all ? fraud / all : 0 };
});
