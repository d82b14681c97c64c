/** Draws the evaluation report from the data in the page, in English or Chinese. */
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const words = JSON.parse(document.getElementById("words").textContent);
let language = location.hash === "#zh" || (!location.hash && navigator.language.startsWith("zh")) ? "zh" : "en";

/** An element with attributes and children. */
function make(name, attributes = {}, ...children) {
  const svg = ["svg", "rect", "text"].includes(name);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
const say = (key) => words[language][key];
const figure = (value, digits = 2) => value === null || value === undefined ? "–" : value.toFixed(digits);

function scores() {
  const table = make("table");
  const comparing = data.comparison !== null;
  const heads = ["system", "metric", "score", "interval", ...(comparing ? ["chance"] : []), "signature"];
  table.append(make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, say(head))))));
  const body = make("tbody");
  for (const system of data.systems) {
    for (const score of system.scores) {
      const beside = comparing && data.comparison.results.find((r) => r.system === system.name && r.metric === score.name);
      const interval = score.mean === null ? "–" : `${figure(score.mean)} ± ${figure(score.half_interval)}`;
      const row = make("tr", {}, make("td", {}, system.name), make("td", {}, score.name),
        make("td", { class: "number" }, figure(score.score)), make("td", { class: "number" }, interval));
      if (comparing) row.append(make("td", { class: "number" }, beside.p_value === null ? say("baseline") : beside.difference === 0 ? say("same") : `p = ${figure(beside.p_value, 4)}`));
      row.append(make("td", {}, make("code", {}, score.signature)));
      body.append(row);
    }
  }
  table.append(body);
  return make("div", { class: "scroll" }, table);
}

function byLength(system) {
  const classes = system.by_length;
  const width = Math.max(320, classes.length * 90), height = 180;
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": say("by_length") });
  const top = Math.max(1, ...classes.map((c) => c.chrf));
  classes.forEach((c, index) => {
    const tall = 120 * c.chrf / top, left = index * 90 + 20;
    const range = c.longest === null ? `≥ ${c.shortest}` : `${c.shortest}–${c.longest}`;
    svg.append(make("rect", { x: left, y: 140 - tall, width: 50, height: tall }),
      make("text", { x: left + 25, y: 135 - tall, "text-anchor": "middle" }, figure(c.chrf, 1)),
      make("text", { x: left + 25, y: 156, "text-anchor": "middle" }, range),
      make("text", { x: left + 25, y: 172, "text-anchor": "middle" }, `n = ${c.sentences}`));
  });
  const table = make("table", {}, make("thead", {}, make("tr", {},
    ...["length", "sentences", "BLEU", "chrF2"].map((key) => make("th", { scope: "col", class: "number" }, say(key) ?? key)))));
  table.append(make("tbody", {}, ...classes.map((c) => make("tr", {},
    ...[c.longest === null ? `≥ ${c.shortest}` : `${c.shortest}–${c.longest}`, String(c.sentences), figure(c.bleu), figure(c.chrf)]
      .map((text) => make("td", { class: "number" }, text))))));
  return make("div", {}, make("div", { class: "scroll" }, svg), make("p", { class: "note" }, say("axis")), make("div", { class: "scroll" }, table));
}

/** Bytes → weights: one byte a weight, 255 = 1, in the order layer, head, target, source. */
function weights(sentence) {
  const bytes = Uint8Array.from(atob(sentence.attention), (letter) => letter.charCodeAt(0));
  const { layers, heads } = sentence, rows = sentence.target.length, columns = sentence.tokens.length;
  return (layer, head, row, column) => {
    const one = (l, h) => bytes[((l * heads + h) * rows + row) * columns + column] / 255;
    if (layer !== null && head !== null) return one(layer, head);
    let sum = 0, count = 0;
    for (let l = 0; l < layers; l++) for (let h = 0; h < heads; h++) {
      if ((layer === null || l === layer) && (head === null || h === head)) { sum += one(l, h); count++; }
    }
    return sum / count;
  };
}

function attention(sentence) {
  const weight = weights(sentence), box = make("div", { class: "map" });
  const choice = (name, count) => {
    const select = make("select", {}, make("option", { value: "" }, say("all")),
      ...Array.from({ length: count }, (_, index) => make("option", { value: index }, String(index + 1))));
    box.append(make("label", {}, `${say(name)} `, select));
    return select;
  };
  const layer = choice("layer", sentence.layers), head = choice("head", sentence.heads);
  const place = make("div", { class: "scroll" });
  box.append(place);
  const draw = () => {
    const l = layer.value === "" ? null : Number(layer.value), h = head.value === "" ? null : Number(head.value);
    const table = make("table", { "aria-label": say("attention") });
    table.append(make("thead", {}, make("tr", {}, make("td"), ...sentence.tokens.map((token) => make("th", { scope: "col" }, token)))));
    table.append(make("tbody", {}, ...sentence.target.map((token, row) => make("tr", {}, make("th", { scope: "row" }, token),
      ...sentence.tokens.map((source, column) => {
        const value = weight(l, h, row, column), label = `${token} → ${source}: ${value.toFixed(3)}`;
        const cell = make("td", { title: label, "aria-label": label });
        cell.style.background = `color-mix(in srgb, var(--bar) ${Math.round(100 * value)}%, transparent)`;
        return cell;
      })))));
    place.replaceChildren(table);
  };
  layer.addEventListener("change", draw);
  head.addEventListener("change", draw);
  draw();
  return box;
}

function sentence(item) {
  const list = make("dl", {}, ...[["source", item.source], ["reference", item.reference], ["translation", item.text]]
    .flatMap(([key, text]) => [make("dt", {}, say(key)), make("dd", {}, text)]));
  const box = make("div", { class: "sentence" },
    make("div", { class: "note" }, `${say("line")} ${item.number} · chrF2 ${figure(item.chrf, 1)} · log P/${say("token")} ${figure(item.score)}`), list);
  if (item.warnings.length) box.append(make("div", { class: "note" }, item.warnings.join(" · ")));
  if (item.attention) {
    const button = make("button", { type: "button", "aria-expanded": "false" }, say("show"));
    button.addEventListener("click", () => {
      const open = box.querySelector(".map");
      if (open) open.remove(); else box.append(attention(item));
      button.setAttribute("aria-expanded", String(!open));
    });
    box.append(button);
  }
  return box;
}

function draw() {
  document.documentElement.lang = language;
  document.title = say("title");
  const other = language === "en" ? "zh" : "en";
  const toggle = make("button", { type: "button", lang: other }, words[other].name);
  toggle.addEventListener("click", () => { language = other; history.replaceState(null, "", `#${other}`); draw(); });
  const parts = [make("header", {}, make("h1", {}, say("title")), toggle),
    make("p", { class: "note" }, `${data.sentences} ${say("pairs")}`), scores()];
  if (data.comparison !== null) parts.push(make("p", { class: "note" }, say("paired")));
  for (const system of data.systems) {
    const name = data.systems.length > 1 ? ` · ${system.name}` : "";
    parts.push(make("h2", {}, say("by_length") + name), byLength(system));
    parts.push(make("h2", {}, say("worst") + name), make("p", { class: "note" }, say("worst_note")), ...system.worst.map(sentence));
  }
  document.getElementById("page").replaceChildren(...parts);
}
draw();
