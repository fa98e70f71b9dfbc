// What programs have used of the GPUs, from the daemon's database.

import * as api from "./api.js";
import {byId, element} from "./dom.js";
import * as format from "./format.js";
import {t} from "./texts.js";

// The sum of what it waited for, whatever the reasons are called.
function waited(row) {
  return Object.entries(row).reduce((sum, [name, value]) =>
    sum + (name.startsWith("wait_") ? value : 0), 0);
}

async function load() {
  const list = byId("usage-list");
  try {
    const answer = await api.get("api/usage");
    const rows = answer.sort((a, b) => b.gpu_s - a.gpu_s);
    if (rows.length === 0) {
      list.replaceChildren(element("p", {}, t("no_usage")));
      return;
    }
    const most = rows[0].gpu_s || 1;
    list.replaceChildren(element("div", {class: "scroll", tabindex: "0", role: "group",
                                         "aria-label": t("usage")},
        element("table", {},
        element("thead", {}, element("tr", {}, ...["program", "user", "gpu_time", "waited", "moved_out",
                                                   "moved_in"].map((key) =>
          element("th", {scope: "col"}, t(key))))),
        element("tbody", {}, ...rows.map((row) => element("tr", {},
            element("th", {scope: "row", class: "name"}, row.name ?? ""),
            element("td", {}, String(row.user ?? "")),
            element("td", {class: "number"}, format.duration(row.gpu_s), " ",
                    element("meter", {min: 0, max: most, value: row.gpu_s,
                                      "aria-label": t("gpu_time")})),
            element("td", {class: "number"}, format.duration(waited(row))),
            element("td", {class: "number"}, format.bytes(row.bytes_out)),
            element("td", {class: "number"}, format.bytes(row.bytes_in))))))));
  } catch (error) {
    list.replaceChildren(element("p", {}, t("failed", {error: error.message})));
  }
}

export function startUsage() {
  byId("load-usage").addEventListener("click", load);
}
