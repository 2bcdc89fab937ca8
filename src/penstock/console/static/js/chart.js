// A small area chart of the last values, drawn as SVG and read out as one sentence.

import { h, put, svg } from "./dom.js";

const WIDTH = 600;
const HEIGHT = 132;
const BOTTOM = 16;

export function chart(title, { kind, format, points = 60 }) {
  const figure = h("span", { class: "figure" }, "–");
  const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": title });
  const top = h("span", { class: "soft" });
  const element = h("section", { class: `card chart ${kind}` },
    h("div", { class: "chart-head" }, h("h2", {}, title), figure), drawing, h("div", { class: "row soft" }, "last two minutes", h("span", { class: "grow" }), top));
  const values = [];

  return {
    element,
    push(value) {
      values.push(value);
      if (values.length > points) values.shift();
      const most = Math.max(...values, 1e-9);
      const x = (index) => (WIDTH * (points - values.length + index)) / (points - 1);
      const y = (number) => HEIGHT - BOTTOM - (number / most) * (HEIGHT - BOTTOM - 8);
      const line = values.map((number, index) => `${x(index).toFixed(1)},${y(number).toFixed(1)}`).join(" ");
      const base = HEIGHT - BOTTOM;
      put(drawing,
        [0, 0.5, 1].map((part) => svg("line", { class: "grid", x1: 0, x2: WIDTH, y1: y(most * part), y2: y(most * part), "vector-effect": "non-scaling-stroke" })),
        svg("polygon", { class: "area", points: `${x(0).toFixed(1)},${base} ${line} ${x(values.length - 1).toFixed(1)},${base}` }),
        svg("polyline", { class: "line", points: line, "vector-effect": "non-scaling-stroke" }));
      const dot = svg("ellipse", { class: "dot", cx: x(values.length - 1), cy: y(value), rx: 3.5, ry: 3.5 });
      drawing.append(dot);
      figure.textContent = format(value);
      top.textContent = `peak ${format(Math.max(...values))}`;
      drawing.setAttribute("aria-label", `${title}: ${format(value)} now, at most ${format(Math.max(...values))} in the last two minutes`);
    },
  };
}
