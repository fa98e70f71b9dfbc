// The texts of the page in the language of its reader, from texts.json.

let all = {en: {}, pt: {}};
let language = "en";

const kStored = "reveza-language";

export async function loadTexts() {
  all = await (await fetch("texts.json")).json();
  const stored = localStorage.getItem(kStored);
  const wanted = stored ?? navigator.language ?? "en";
  setLanguage(wanted.startsWith("pt") ? "pt" : "en", false);
}

export function currentLanguage() {
  return language;
}

// The locale that numbers and dates are written in.
export function locale() {
  if (navigator.language?.startsWith(language)) return navigator.language;
  return language === "pt" ? "pt-BR" : "en";
}

export function setLanguage(wanted, keep = true) {
  language = wanted;
  if (keep) localStorage.setItem(kStored, wanted);
  document.documentElement.lang = language === "pt" ? "pt-BR" : "en";
  for (const node of document.querySelectorAll("[data-text]")) {
    node.textContent = t(node.dataset.text);
  }
}

// t("steps_done", {done: 3, all: 9}) replaces {done} and {all}.
export function t(key, values = {}) {
  const text = all[language][key] ?? key;
  return text.replace(/\{(\w+)\}/g, (mark, name) => values[name] ?? mark);
}
