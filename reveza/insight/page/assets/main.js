// The page of `reveza web`: connects its parts to the stream of the server.

import * as api from "./api.js";
import {byId, setText, startDialog} from "./dom.js";
import {showJobs, startJobs} from "./jobs.js";
import {showMachine, showMachineTexts, startMachine} from "./machine.js";
import {startPerfetto} from "./perfetto.js";
import {showProgramTexts, showPrograms} from "./programs.js";
import {currentLanguage, loadTexts, setLanguage, t} from "./texts.js";
import * as timeline from "./timeline.js";
import {startUsage} from "./usage.js";

let state = "connecting";
let snapshot = null;

function showConnection() {
  const key = state === "open" && snapshot && !snapshot.daemon ? "no_daemon" : state;
  document.body.dataset.connection = key;
  setText(byId("connection"), t(`connection_${key}`, {version: snapshot?.daemon?.version ?? ""}));
}

function showSnapshot() {
  if (!snapshot) return;
  showPrograms(snapshot);
  showJobs(snapshot);
  showMachine(snapshot);
  showConnection();
}

function showTexts() {
  setText(byId("language"), t("other_language"));
  byId("gpu").setAttribute("aria-label", t("card"));
  byId("program-rows").dataset.none = t("no_programs");
  byId("job-list").dataset.none = t("no_jobs");
  timeline.showTexts();
  showProgramTexts();
  showMachineTexts();
  showConnection();
  showSnapshot();
}

function onMessage(type, data) {
  if (type === "timeline") {
    timeline.addTimeline(data);
  } else if (type === "snapshot") {
    snapshot = data;
    timeline.addSnapshot(data);
    showSnapshot();
  }
}

function onState(now) {
  // The server sends everything again.
  if (now === "lost") timeline.restart();
  state = now;
  showConnection();
}

async function start() {
  await loadTexts();
  showTexts();
  byId("language").addEventListener("click", () => {
    setLanguage(currentLanguage() === "en" ? "pt" : "en");
    showTexts();
  });
  startDialog();
  timeline.startTimeline();
  startMachine();
  startUsage();
  startPerfetto();
  api.follow(onMessage, onState);
  startJobs();
}

// For tests, and for whoever looks from the console.
window.reveza = {state: timeline.state};
start();
