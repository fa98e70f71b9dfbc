// The daemon's trace, as `reveza trace` writes it: opened in Perfetto, or saved as a file.

import * as api from "./api.js";
import {byId, element, setText} from "./dom.js";
import {t} from "./texts.js";

const kPerfetto = "https://ui.perfetto.dev";
const kPingEvery = 100;
const kPatience = 10_000;

function save(bytes) {
  const url = URL.createObjectURL(new Blob([bytes], {type: "application/json"}));
  const link = element("a", {href: url, download: "reveza-trace.json"});
  link.click();
  // The download has begun with its own reference.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// Resolves to whether Perfetto answers in the window, which it does once it has loaded.
function answers(target) {
  return new Promise((resolve) => {
    const started = Date.now();
    const done = (good) => {
      clearInterval(timer);
      removeEventListener("message", onMessage);
      resolve(good);
    };
    const onMessage = (event) => {
      if (event.origin === kPerfetto && event.data === "PONG") done(true);
    };
    addEventListener("message", onMessage);
    const timer = setInterval(() => {
      if (target.closed || Date.now() - started > kPatience) done(false);
      else target.postMessage("PING", kPerfetto);
    }, kPingEvery);
  });
}

async function openPerfetto() {
  // At once, because browsers open windows only for what the reader does.
  const target = navigator.onLine ? open(kPerfetto) : null;
  const message = byId("trace-message");
  try {
    const buffer = await api.getBytes("api/trace");
    if (target && await answers(target)) {
      target.postMessage({perfetto: {buffer, title: "Reveza", fileName: "reveza-trace.json"}}, kPerfetto,
                         [buffer]);
      setText(message, "");
      return;
    }
    target?.close();
    save(buffer);
    setText(message, t("no_perfetto"));
  } catch (error) {
    target?.close();
    setText(message, t("failed", {error: error.message}));
  }
}

async function saveTrace() {
  try {
    save(await api.getBytes("api/trace"));
    setText(byId("trace-message"), "");
  } catch (error) {
    setText(byId("trace-message"), t("failed", {error: error.message}));
  }
}

export function startPerfetto() {
  byId("perfetto").addEventListener("click", openPerfetto);
  byId("save").addEventListener("click", saveTrace);
}
