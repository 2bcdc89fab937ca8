// Makes elements. Every string becomes a text node: nothing a message holds is ever read as HTML.

const SVG = "http://www.w3.org/2000/svg";

export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "selected") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  add(element, children);
  return element;
}

function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

export function put(element, ...children) {
  element.replaceChildren();
  add(element, children);
  return element;
}

let fields = 0;

export function field(label, control, hint) {
  control.id = `field-${(fields += 1)}`;
  const about = hint ? h("span", { class: "hint", id: `${control.id}-hint` }, hint) : null;
  if (about) control.setAttribute("aria-describedby", about.id);
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control, about);
}

export function select(options, value, props = {}) {
  const element = h("select", props, options.map(([key, text]) => h("option", { value: key }, text)));
  element.value = value;
  return element;
}

export function chip(text, kind = "") {
  return h("span", { class: `chip ${kind}` }, text);
}

export function stat(label, figure, isBad = false) {
  return h("div", { class: isBad ? "stat bad" : "stat" }, h("div", { class: "label" }, label), h("div", { class: "figure" }, figure));
}

export function notice(text, kind = "") {
  return h("div", { class: `notice ${kind}`, role: kind === "bad" ? "alert" : "status" }, text);
}
