// Colours of the canvases, from the style sheet, which knows whether the page is light or dark.

import {kKinds} from "./history.js";

const kHues = 12;  // --program-0 ... in style.css

let read = null;

export function palette() {
  if (read) return read;
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  read = {
    text: colour("text"),
    faint: colour("faint"),
    grid: colour("grid"),
    panel: colour("panel"),
    out: colour("copy-out"),
    into: colour("copy-in"),
    kinds: kKinds.map((kind) => colour(kind.replaceAll(" ", "-"))),
    programs: Array.from({length: kHues}, (_, i) => colour(`program-${i}`)),
    font: style.getPropertyValue("--font").trim() || "sans-serif",
  };
  return read;
}

export function programColour(number) {
  const {programs} = palette();
  return programs[number % programs.length];
}

// Calls `changed` whenever the reader switches between light and dark.
export function watchPalette(changed) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    read = null;
    changed();
  });
}
