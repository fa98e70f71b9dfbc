// Makes and changes elements. Texts are set as text, never as HTML: names of programs, jobs and
// files come from others.

// element("td", {class: "name"}, "text", child, ...)
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") {
      for (const [event, handler] of Object.entries(value)) made.addEventListener(event, handler);
    } else if (value === true) {
      made.setAttribute(name, "");
    } else if (value !== false && value !== null && value !== undefined) {
      made.setAttribute(name, value);
    }
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export const byId = (id) => document.getElementById(id);

// Changes a text only if it differs, so that screen readers and selections are left alone.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function button(text, handler, attributes = {}) {
  return element("button", {type: "button", on: {click: handler}, ...attributes}, text);
}

// Keeps a child of `parent` for each item, in order, and changes only what differs.
// `key(item)`: what identifies it; `make(item)` returns a node; `update(node, item)` shows it.
export function keepChildren(parent, items, key, make, update) {
  const known = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let place = parent.firstElementChild;
  for (const item of items) {
    const name = key(item);
    let child = known.get(name);
    if (child) {
      known.delete(name);
    } else {
      child = make(item);
      child.dataset.key = name;
    }
    update(child, item);
    if (child === place) {
      place = place.nextElementSibling;
    } else {
      parent.insertBefore(child, place);
    }
  }
  for (const child of known.values()) child.remove();
}

let onDialogClose = null;

function endDialog() {
  onDialogClose?.();
  onDialogClose = null;
}

// Shows a dialog in place of the one that is open; `onClose` is called when it is closed.
export function showDialog(title, body, onClose = null) {
  endDialog();
  onDialogClose = onClose;
  setText(byId("dialog-title"), title);
  byId("dialog-body").replaceChildren(body);
  const dialog = byId("dialog");
  if (!dialog.open) dialog.showModal();
}

export function startDialog() {
  byId("dialog").addEventListener("close", endDialog);
  byId("dialog-close").addEventListener("click", () => byId("dialog").close());
}
