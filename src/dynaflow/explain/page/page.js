"use strict";
// Draws every run of #runs into its .chart, all on one time axis. Names reach the page as text.
addEventListener("error", (event) => {
  document.documentElement.dataset.error = event.message;
});

const GUTTER = 116, ROW = 34, GAP = 6, AXIS = 26, HUES = 8;
const runs = JSON.parse(document.getElementById("runs").textContent);
const longest = Math.max(1, ...runs.map((run) => run.total));
const view = { begin: 0, end: longest }; // the part of the axis that is shown, in ns
const charts = [];

function svg(tag, attributes = {}, parent = null) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (parent) parent.append(made);
  return made;
}

function html(tag, className, text, parent) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

function duration(ns, digits = 1) {
  if (Math.abs(ns) < 1000) return `${Math.round(ns)} ns`;
  const units = [["µs", 1e3], ["ms", 1e6], ["s", 1e9]];
  const [unit, size] = units.find(([, each]) => Math.abs(ns) < each * 999.95) ?? units[2];
  return `${(ns / size).toFixed(digits)} ${unit}`;
}

function color(step) {
  const [first, last] = step.microbatches;
  return last - first > 1 ? "var(--merged)" : `var(--mb${first % HUES})`;
}

function microbatches(step) {
  const [first, last] = step.microbatches;
  return last - first > 1 ? `micro-batches ${first}-${last - 1}` : `micro-batch ${first}`;
}

// --- drawing --------------------------------------------------------------------------------

function texture(id, size, attributes, [shape, inside]) {
  const pattern = { id, width: size, height: size, patternUnits: "userSpaceOnUse", ...attributes };
  const made = svg("pattern", pattern, document.getElementById("textures"));
  svg(shape, { fill: "var(--stripe)", ...inside }, made);
}
function addTextures() {
  const hidden = { width: 0, height: 0, style: "position:absolute" };
  svg("defs", { id: "textures" }, svg("svg", hidden, document.body));
  texture("network", 7, { patternTransform: "rotate(45)" }, ["rect", { width: 3, height: 7 }]);
  texture("memory", 6, {}, ["circle", { cx: 2, cy: 2, r: 1.3 }]);
}

function spoken(step, run) {
  const [lane, begin, length] = [run.lanes[step.lane].name, step.begin, step.end - step.begin];
  return `${step.label}, lane ${lane}, begins at ${duration(begin)}, takes ${duration(length)}`;
}

function addStep(chart, step, index) {
  const y = step.lane * (ROW + GAP), box = { y: y + 3, height: ROW - 6, rx: 4 };
  const group = svg("g", { class: "step", tabindex: index === 0 ? 0 : -1, role: "img" });
  chart.bars.append(group);
  group.setAttribute("aria-label", spoken(step, chart.run));
  group.classList.toggle("on-path", step.critical);
  const parts = [svg("rect", { class: "bar", ...box, fill: color(step) }, group)];
  if (step.cost !== "compute") {
    parts.push(svg("rect", { class: "texture", ...box, fill: `url(#${step.cost})` }, group));
  }
  if (step.critical) {
    parts.push(svg("rect", { class: "critical", y: y + ROW - 2, height: 2.5 }, group));
  }
  const text = svg("text", { y: y + ROW / 2 + 4 }, group);
  const bar = { step, index, chart, group, parts, text, shown: true };
  group.addEventListener("pointerenter", () => point(bar));
  group.addEventListener("pointerleave", () => point(focused()));
  group.addEventListener("focus", () => { reveal(step); point(bar); });
  group.addEventListener("blur", () => point(null));
  group.addEventListener("dblclick", (event) => { event.stopPropagation(); zoomTo(step); });
  chart.steps.push(bar);
}

function addChart(run, place) {
  const height = run.lanes.length * (ROW + GAP) + AXIS;
  const root = svg("svg", { height, role: "group" }, place);
  const counts = `${run.steps.length} steps on ${run.lanes.length} lanes`;
  root.setAttribute("aria-label", `${run.name}: ${counts}`);
  const chart = { run, root, height, steps: [], rows: [] };
  run.lanes.forEach((lane, i) => {
    const box = { x: GUTTER, y: i * (ROW + GAP), height: ROW, rx: 5 };
    chart.rows.push(svg("rect", { class: lane.network ? "row network" : "row", ...box }, root));
  });
  chart.grid = svg("g", { class: "grid" }, root);
  const clip = `plot${charts.length}`;
  const clipPath = svg("clipPath", { id: clip }, svg("defs", {}, root));
  chart.clip = svg("rect", { x: GUTTER - 1, y: 0, height }, clipPath);
  const plot = svg("g", { "clip-path": `url(#${clip})` }, root);
  chart.beyond = svg("rect", { class: "beyond", y: 0, height: height - AXIS }, plot);
  chart.end = svg("line", { class: "end", y1: 0, y2: height - AXIS }, plot);
  chart.bars = svg("g", { transform: `translate(${GUTTER} 0)` }, plot);
  chart.waits = svg("g", { transform: `translate(${GUTTER} 0)` }, plot);
  run.lanes.forEach((lane, i) => {
    const y = i * (ROW + GAP) + ROW / 2;
    const name = svg("text", { class: "lane-name", x: 0, y: y - 1 }, root);
    name.textContent = fitting(lane.name, GUTTER - 12, "600 12px system-ui");
    svg("title", {}, name).textContent = lane.name;
    const note = svg("text", { class: "lane-note", x: 0, y: y + 13 }, root);
    note.textContent = `${lane.network ? "⇄ network · " : ""}${lane.busy}`;
  });
  run.steps.forEach((step, i) => addStep(chart, step, i));
  charts.push(chart);
}

const measure = document.createElement("canvas").getContext("2d");
function fits(text, width, font) {
  measure.font = font;
  return measure.measureText(text).width <= width;
}
function fitting(text, width, font) {
  if (fits(text, width, font)) return text;
  let length = Math.min(text.length, Math.floor(width / 5));
  while (length > 1 && !fits(`${text.slice(0, length)}…`, width, font)) --length;
  return length > 1 ? `${text.slice(0, length)}…` : "";
}
// "layers.0.attn.1" is best told by its end; the micro-batch is its colour already.
function shortened(label, width) {
  const font = "11px system-ui";
  if (width < 12) return "";
  const names = label.split(".").slice(0, -1);
  const choices = [label, ...names.map((_, i) => names.slice(i).join("."))];
  const whole = choices.find((text) => fits(text, width, font));
  return whole ?? fitting(names.at(-1) ?? label, width, font);
}

function place(bar, scale, width) {
  const x = (bar.step.begin - view.begin) * scale;
  const long = Math.max((bar.step.end - bar.step.begin) * scale - 0.8, 1);
  const shown = x + long >= 0 && x <= width;
  if (shown !== bar.shown) bar.group.style.display = shown ? "" : "none";
  bar.shown = shown;
  if (!shown) return;
  // Far outside of the view a coordinate would lose its digits.
  const left = Math.max(x, -9), right = Math.min(x + long, width + 9);
  for (const part of bar.parts) {
    part.setAttribute("x", left);
    part.setAttribute("width", Math.max(right - left, 1));
  }
  const from = Math.max(x, 0) + 7, room = Math.min(x + long, width) - from - 4;
  bar.text.setAttribute("x", from);
  bar.text.textContent = shortened(bar.step.label, room);
}

function ticks(width) {
  const rough = (view.end - view.begin) / Math.max(width / 110, 1);
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const found = [];
  for (let at = Math.ceil(view.begin / step) * step; at <= view.end; at += step) found.push(at);
  return found;
}

function tickLabel(at) {
  return at === 0 ? "0" : duration(at, 6).replace(/\.0+ |(\.\d*?)0+ /, "$1 ");
}

function draw() {
  pending = false;
  for (const chart of charts) {
    const width = Math.max(chart.root.clientWidth - GUTTER, 50);
    const scale = width / (view.end - view.begin);
    chart.width = width;
    chart.clip.setAttribute("width", width + 2);
    for (const row of chart.rows) row.setAttribute("width", width);
    const end = Math.max(GUTTER + (chart.run.total - view.begin) * scale, GUTTER - 9);
    chart.beyond.setAttribute("x", Math.min(end, GUTTER + width));
    chart.beyond.setAttribute("width", Math.max(GUTTER + width - end, 0));
    chart.end.setAttribute("x1", Math.min(end, GUTTER + width + 9));
    chart.end.setAttribute("x2", Math.min(end, GUTTER + width + 9));
    chart.grid.replaceChildren();
    for (const at of ticks(width)) {
      const x = GUTTER + (at - view.begin) * scale;
      svg("line", { x1: x, x2: x, y1: 0, y2: chart.height - AXIS + 4 }, chart.grid);
      const anchor = x > GUTTER + width - 24 ? "end" : x < GUTTER + 16 ? "start" : "middle";
      const style = `text-anchor:${anchor}`;
      svg("text", { x, y: chart.height - 6, style }, chart.grid).textContent = tickLabel(at);
    }
    for (const bar of chart.steps) place(bar, scale, width);
  }
  point(pointed);
}

let pending = false;
function redraw() {
  if (!pending) requestAnimationFrame(draw);
  pending = true;
}

// --- what is pointed at ---------------------------------------------------------------------

const tip = html("div", "tip", undefined, document.body);
tip.hidden = true;
tip.setAttribute("role", "status");
let pointed = null;

function focused() {
  for (const chart of charts) {
    const found = chart.steps.find((bar) => bar.group === document.activeElement);
    if (found) return found;
  }
  return null;
}

function row(table, name, text) {
  const line = html("tr", "", undefined, table);
  html("th", "", name, line);
  html("td", "", text, line);
}

function describe(bar) {
  const { step, chart } = bar;
  tip.replaceChildren();
  html("b", "", step.label, tip);
  const lane = chart.run.lanes[step.lane].name;
  html("div", "", `${step.cost} on lane ${lane}, ${microbatches(step)}`, tip);
  const table = html("table", "", undefined, tip);
  row(table, "begins", duration(step.begin, 3));
  row(table, "takes", duration(step.end - step.begin, 3));
  if (step.waits.length === 0) row(table, "waits for", "no other lane");
  step.waits.forEach((i, nth) => {
    const awaited = chart.run.steps[i], before = duration(step.begin - awaited.end);
    row(table, nth === 0 ? "waits for" : "", `${awaited.label}, which ended ${before} before`);
  });
  if (step.critical) row(table, "", "on the critical path");
}

function drawWaits(bar) {
  const { step, chart } = bar;
  const x = (ns) => ((ns - view.begin) * chart.width) / (view.end - view.begin);
  const y = (lane) => lane * (ROW + GAP) + ROW / 2;
  for (const i of step.waits) {
    const awaited = chart.run.steps[i];
    const from = [x(awaited.end), y(awaited.lane)], to = [x(step.begin), y(step.lane)];
    const bend = Math.max((to[0] - from[0]) / 2, 14);
    const curve = `C${from[0] + bend},${from[1]} ${to[0] - bend},${to[1]} ${to}`;
    svg("path", { class: "wait", d: `M${from} ${curve}` }, chart.waits);
    svg("circle", { cx: to[0], cy: to[1], r: 3, fill: "var(--ink)" }, chart.waits);
    chart.steps[i].group.classList.add("awaited");
  }
}

function point(bar) {
  for (const chart of charts) chart.waits.replaceChildren();
  for (const other of document.querySelectorAll(".awaited")) other.classList.remove("awaited");
  pointed = bar;
  tip.hidden = bar === null;
  if (bar === null) return;
  describe(bar);
  drawWaits(bar);
  const box = bar.parts[0].getBoundingClientRect(), size = tip.getBoundingClientRect();
  const below = box.bottom + 8 + size.height < innerHeight;
  tip.style.left = `${Math.max(8, Math.min(box.left, innerWidth - size.width - 8))}px`;
  tip.style.top = `${below ? box.bottom + 8 : Math.max(8, box.top - size.height - 8)}px`;
}

// --- moving ---------------------------------------------------------------------------------

function show(begin, end) {
  const length = Math.min(Math.max(end - begin, 10), longest);
  view.begin = Math.min(Math.max(begin, 0), longest - length);
  view.end = view.begin + length;
  redraw();
}
function zoom(factor, at = (view.begin + view.end) / 2) {
  const length = Math.min(Math.max((view.end - view.begin) * factor, 10), longest);
  const part = (at - view.begin) / (view.end - view.begin);
  show(at - part * length, at - part * length + length);
}
function pan(part) {
  const by = (view.end - view.begin) * part;
  show(view.begin + by, view.end + by);
}
function reset() { show(0, longest); }
function zoomTo(step) {
  const margin = Math.max((step.end - step.begin) * 0.5, 10);
  show(step.begin - margin, step.end + margin);
}
function reveal(step) {
  if (step.end > view.begin && step.begin < view.end) return;
  const half = (view.end - view.begin) / 2, middle = (step.begin + step.end) / 2;
  show(middle - half, middle + half);
}

function timeAt(chart, event) {
  const x = event.clientX - chart.root.getBoundingClientRect().left - GUTTER;
  return view.begin + (x / chart.width) * (view.end - view.begin);
}

function listen(chart) {
  chart.root.addEventListener("wheel", (event) => {
    const out = event.deltaY > 0 && view.end - view.begin >= longest;
    if (out && event.deltaX === 0 && !event.shiftKey) return; // all is shown: the page scrolls
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      pan((event.deltaX || event.deltaY) / chart.width);
    } else {
      zoom(Math.exp(Math.max(-60, Math.min(event.deltaY, 60)) * 0.004), timeAt(chart, event));
    }
  }, { passive: false });
  let last = null;
  chart.root.addEventListener("pointerdown", (event) => { last = event.clientX; });
  addEventListener("pointermove", (event) => {
    if (last === null || event.clientX === last) return;
    chart.root.classList.add("dragged");
    pan((last - event.clientX) / chart.width);
    last = event.clientX;
  });
  addEventListener("pointerup", () => { last = null; chart.root.classList.remove("dragged"); });
  chart.root.addEventListener("dblclick", reset);
}

// The step before or after on the lane, or the nearest one on another lane.
function neighbour(bar, key) {
  const { chart, step } = bar;
  if (key === "ArrowLeft" || key === "ArrowRight") {
    const lane = chart.steps.filter((other) => other.step.lane === step.lane);
    return lane[lane.indexOf(bar) + (key === "ArrowRight" ? 1 : -1)];
  }
  const way = key === "ArrowDown" ? 1 : -1;
  for (let lane = step.lane + way; chart.run.lanes[lane]; lane += way) {
    const there = chart.steps.filter((other) => other.step.lane === lane);
    const distance = (other) => Math.abs(other.step.begin - step.begin);
    if (there.length > 0) return there.reduce((a, b) => (distance(b) < distance(a) ? b : a));
  }
  const other = charts[charts.indexOf(chart) + way];
  return other && other.steps[0];
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const bar = focused();
  const arrow = event.key.startsWith("Arrow");
  if (event.key === "+" || event.key === "=") zoom(0.7, bar ? bar.step.begin : undefined);
  else if (event.key === "-") zoom(1 / 0.7, bar ? bar.step.begin : undefined);
  else if (event.key === "0") reset();
  else if (event.key === "c") toggleCritical();
  else if (event.key === "Enter" && bar) zoomTo(bar.step);
  else if (event.key === "Escape" && bar) bar.group.blur();
  else if (event.shiftKey && event.key === "ArrowLeft") pan(-0.15);
  else if (event.shiftKey && event.key === "ArrowRight") pan(0.15);
  else if (arrow && bar) {
    const next = neighbour(bar, event.key);
    if (next) {
      for (const each of next.chart.steps) each.group.setAttribute("tabindex", -1);
      next.group.setAttribute("tabindex", 0);
      next.group.focus();
    }
  } else return;
  event.preventDefault();
}

// --- the page -------------------------------------------------------------------------------

let criticalButton = null;
function toggleCritical() {
  const on = document.body.classList.toggle("show-critical");
  criticalButton.setAttribute("aria-pressed", on);
}

function button(parent, text, label, action) {
  const made = html("button", "", text, parent);
  made.type = "button";
  made.title = label;
  made.setAttribute("aria-label", label);
  made.addEventListener("click", action);
  return made;
}

function sample(legend, text, fill, texture) {
  const item = html("span", "", undefined, legend);
  const box = svg("svg", { "aria-hidden": "true" }, item);
  svg("rect", { width: 16, height: 12, fill }, box);
  if (texture) svg("rect", { width: 16, height: 12, fill: `url(#${texture})` }, box);
  item.append(text);
}

function addTools() {
  const tools = document.querySelector(".tools"), legend = html("div", "legend", undefined, tools);
  const steps = runs.flatMap((run) => run.steps);
  const single = steps.filter((step) => step.microbatches[1] - step.microbatches[0] === 1);
  const used = [...new Set(single.map((step) => step.microbatches[0]))].sort((a, b) => a - b);
  for (const i of used.slice(0, HUES)) sample(legend, `micro-batch ${i}`, `var(--mb${i})`);
  if (single.length < steps.length) sample(legend, "merged", "var(--merged)");
  for (const cost of ["memory", "network"]) {
    if (steps.some((step) => step.cost === cost)) sample(legend, cost, "var(--merged)", cost);
  }
  const buttons = html("div", "buttons", undefined, tools);
  criticalButton = button(buttons, "Critical path", "Show the critical path (c)", toggleCritical);
  criticalButton.setAttribute("aria-pressed", "false");
  button(buttons, "−", "Zoom out (-)", () => zoom(1 / 0.7));
  button(buttons, "+", "Zoom in (+)", () => zoom(0.7));
  button(buttons, "Reset", "Show everything (0)", reset);
}

function addHelp() {
  const footer = html("footer", "", undefined, document.body);
  const keys = [["← →", "step"], ["↑ ↓", "lane"], ["+ −", "zoom"], ["shift ← →", "pan"]];
  keys.push(["enter", "zoom to step"], ["0", "everything"], ["c", "critical path"]);
  for (const [key, meaning] of keys) {
    const item = html("span", "", undefined, footer);
    html("kbd", "", key, item);
    item.append(` ${meaning}`);
  }
  html("span", "", "wheel to zoom, drag to move", footer);
}

addTextures();
addTools();
document.querySelectorAll(".chart").forEach((place, i) => addChart(runs[i], place));
charts.forEach(listen);
addHelp();
addEventListener("keydown", onKey);
addEventListener("resize", redraw);
addEventListener("scroll", () => point(null), { passive: true });
draw();
document.documentElement.dataset.rendered = charts.flatMap((chart) => chart.steps).length;
