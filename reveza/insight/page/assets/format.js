// Numbers as text. Values that are unknown are a dash, never 0.

import {locale, t} from "./texts.js";

const kDash = "–";

function number(value, digits) {
  return value.toLocaleString(locale(), {maximumFractionDigits: digits,
                                         minimumFractionDigits: digits});
}

export function bytes(value) {
  if (value === null || value === undefined) return kDash;
  let unit = 0;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    ++unit;
  }
  return `${number(value, unit === 0 || value >= 100 ? 0 : 1)} ${units[unit]}`;
}

export function percent(share, digits = 0) {
  if (share === null || share === undefined) return kDash;
  return `${number(share * 100, digits)} %`;
}

export function count(value) {
  return value === null || value === undefined ? kDash : number(value, 0);
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return kDash;
  if (seconds < 0.001) return `${number(seconds * 1e6, 0)} µs`;
  if (seconds < 1) return `${number(seconds * 1e3, seconds < 0.1 ? 1 : 0)} ms`;
  if (seconds < 60) return `${number(seconds, 1)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds % 3600 / 60)} min`;
  return t("days", {days: number(seconds / 86400, 1)});
}

// The wall time of seconds since the epoch.
export function clock(seconds, withFraction = false) {
  return new Date(seconds * 1000).toLocaleTimeString(
      locale(), withFraction ? {hour: "2-digit", minute: "2-digit", second: "2-digit",
                                fractionalSecondDigits: 3} : {});
}

export function date(seconds) {
  return new Date(seconds * 1000).toLocaleString(locale());
}
