"use strict";
// Everything that came from a wire reaches the page as a text node only.
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const STEP_ROWS = 100;   // rows of a table that are drawn at once
const PRINT_ROWS = 1000; // and at most on paper
const PRINT_STORIES = 50; // of gaps, besides the chosen one's
const say = (number) => data.texts[number];

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// ---- Numbers and times

function duration(ns) {
  const size = Math.abs(ns);
  if (size < 1e3) return `${ns} ns`;
  if (size < 1e6) return `${(ns / 1e3).toFixed(1)} us`;
  if (size < 1e9) return `${(ns / 1e6).toFixed(1)} ms`;
  return `${(ns / 1e9).toFixed(3)} s`;
}

const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
const notDrawn = (count, word) => `${plural(count, `more ${word}`)} ${count === 1 ? "is" : "are"} not drawn`;
const after = (ns) => (ns > 0 ? "+" : "") + (ns === 0 ? "0" : duration(ns));

function clock(capture, ns) {
  if (ns === null || capture.start === null) return "";
  const at = BigInt(capture.start) + BigInt(ns);
  const micros = String((at / 1000n) % 1000000n).padStart(6, "0");
  return `${new Date(Number(at / 1000000n)).toISOString().slice(11, 19)}.${micros} UTC`;
}

// What a cell is sorted by: a number with its unit, or null where nothing can be told.
const UNITS = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };
function figure(cell) {
  const found = /^[-+]?[\d,]+(\.\d+)?/.exec(cell);
  if (!found) return null;
  const unit = /^ (ns|us|ms|s)\b/.exec(cell.slice(found[0].length));
  return Number(found[0].replaceAll(",", "")) * (unit ? UNITS[unit[1]] : 1);
}

// What was typed into a filter, in the words of the page: long identities are short here.
const SHORT = Object.entries(data.names).map(([short, whole]) => [whole, short]);
const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean)
  .map((word) => SHORT.reduce((told, [whole, short]) => told.replaceAll(whole, short), word));

// A text that a narrow column breaks behind the separators of a path, not anywhere.
const breakable = (text) => text.split(/(?<=[/>,])(?=\S)/).flatMap((part, at) => (at ? [element("wbr"), part] : [part]));

// ---- Tables: only the rows that are looked at are drawn, and the columns that have room

class Table {
  constructor(place, told) {
    this.told = told;
    this.name = place.previousElementSibling.id;
    this.words = null;
    this.order = told.rows.map((_, at) => at);
    this.sorted = { column: -1, down: false };
    this.count = STEP_ROWS;
    this.chosen = null;
    this.filter = element("input", { type: "search", placeholder: "Only rows with these words",
      "aria-label": `${told.title}: show only rows with these words` });
    this.said = element("span", { class: "dim", role: "status" });
    this.body = element("tbody");
    this.heads = told.columns.map(([header, right], column) => {
      const button = element("button", { type: "button" }, header);
      button.addEventListener("click", () => this.sort(column));
      return element("th", { scope: "col", class: right ? "right" : null, "aria-sort": "none" }, button);
    });
    this.width = 0;
    this.hidden = new Set();
    this.all = element("input", { type: "checkbox" });
    this.all.addEventListener("change", () => this.fit());
    this.left = element("span");
    this.rest = element("label", { class: "dim", hidden: true }, this.all, " ", this.left);
    this.more = element("button", { type: "button" }, "Show more rows");
    this.more.addEventListener("click", () => { this.count += STEP_ROWS; this.redraw(); });
    this.filter.addEventListener("input", () => { this.count = STEP_ROWS; this.redraw(); });
    place.append(
      element("div", { class: "tools" }, this.filter, this.said, this.rest),
      this.wide = element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": told.title },
        element("table", {}, element("caption", { class: "unseen" }, told.title),
          element("thead", {}, element("tr", {}, ...this.heads)), this.body)),
      element("div", { class: "tools" }, this.more));
    if (told.more) {
      place.append(element("p", { class: "dim" },
        `... and ${told.more.toLocaleString("en")} more; --limit 0 shows all`));
    }
    this.draw();
    new ResizeObserver(() => {
      if (Math.abs(place.clientWidth - this.width) > 1) this.fit();
    }).observe(place);
  }

  fits() { return this.wide.scrollWidth <= this.wide.clientWidth; }

  // Other rows, which may need more room.
  redraw() {
    this.draw();
    if (!this.all.checked && !this.fits()) this.fit();
  }

  // Leave out the columns of least worth until the rest has room; on paper, and if all are wanted, none.
  fit() {
    this.width = this.wide.parentElement.clientWidth;
    this.hidden.clear();
    this.draw();
    const columns = this.told.columns.map(([header, , worth], at) => ({ header, worth, at }));
    const cheap = columns.filter(({ worth }) => worth < 9).sort((a, b) => a.worth - b.worth || b.at - a.at);
    const least = paper || this.fits() ? [] : cheap;
    const hide = (at, hidden) => {
      this.hidden[hidden ? "add" : "delete"](at);
      this.draw();
      return this.fits();
    };
    if (!this.all.checked && least.some(({ at }) => hide(at, true))) {
      // a wide one may have gone for what now has room
      for (const { at } of least.toReversed()) if (this.hidden.has(at) && !hide(at, false)) hide(at, true);
    }
    this.rest.hidden = !least.length;
    const left = columns.filter(({ at }) => this.hidden.has(at)).map(({ header }) => header);
    this.left.textContent = left.length ? `all columns (without room: ${left.join(", ")})` : "all columns";
  }

  matching() {
    const words = wordsOf(this.filter.value);
    if (!words.length) return this.order;
    this.words ||= this.told.rows.map((row) => row.join(" ").toLowerCase());
    return this.order.filter((at) => words.every((word) => this.words[at].includes(word)));
  }

  sort(column) {
    const down = this.sorted.column === column && !this.sorted.down;
    this.sorted = { column, down };
    const cells = this.told.rows.map((row) => row[column]);
    const numeric = this.told.columns[column][1];
    const keys = numeric ? cells.map(figure) : cells.map((cell) => (cell === "-" ? null : cell));
    const sign = down ? -1 : 1;
    this.order.sort((a, b) => {
      const [one, other] = [keys[a], keys[b]];
      if (one === null || other === null) return (one === null) - (other === null) || a - b;
      return one < other ? -sign : one > other ? sign : a - b;
    });
    this.heads.forEach((head, at) => head.setAttribute("aria-sort",
      at !== column ? "none" : down ? "descending" : "ascending"));
    this.redraw();
  }

  draw() {
    const rows = this.matching();
    const all = this.told.rows.length;
    this.heads.forEach((head, at) => { head.hidden = this.hidden.has(at); });
    this.body.replaceChildren(...rows.slice(0, this.count).map((at) => this.row(at)));
    this.more.hidden = rows.length <= this.count;
    this.said.textContent = rows.length === all ? plural(all, "row")
      : `${rows.length.toLocaleString("en")} of ${plural(all, "row")}`;
  }

  row(at) {
    const cells = this.told.rows[at].map((cell, column) => {
      const shown = element("td", { hidden: this.hidden.has(column),
        class: this.told.columns[column][1] ? "right" : cell.length <= 18 ? "line" : "text" });
      if (this.name === "gaps" && column === 0) {
        shown.append(element("a", { href: `#gap-${cell}`, "aria-label": `story of gap ${cell}` }, cell));
      } else shown.append(...(shown.className === "text" ? breakable(cell) : [cell]));
      return shown;
    });
    const made = element("tr", { id: this.name === "gaps" ? null : `${this.name}-${at}` }, ...cells);
    made.classList.toggle("chosen", this.chosen === at);
    return made;
  }

  // Show one row, whatever is filtered.
  choose(at, scroll) {
    this.chosen = at;
    if (scroll && !this.matching().includes(at)) this.filter.value = "";
    const place = this.matching().indexOf(at);
    if (scroll && place >= this.count) this.count = place + 1;
    this.draw();
    if (scroll) this.body.rows[place].scrollIntoView({ block: "center" });
  }
}

const tables = {};
for (const place of document.querySelectorAll("[data-table]")) {
  const table = new Table(place, data.tables[Number(place.dataset.table)]);
  tables[table.name] = table;
}

// ---- Findings

const sift = document.getElementById("sift");
if (sift) {
  const articles = [...document.querySelectorAll("article")];
  const words = articles.map((article) => article.textContent.toLowerCase());
  sift.hidden = false;
  sift.addEventListener("input", () => {
    const wanted = wordsOf(sift.value);
    articles.forEach((article, at) => {
      article.classList.toggle("sifted", !wanted.every((word) => words[at].includes(word)));
    });
  });
}

for (const code of document.querySelectorAll("article code")) {
  const button = element("button", { type: "button", class: "copy", "aria-label": "Copy the filter" }, "Copy");
  button.addEventListener("click", async () => {
    let done = true;
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch { // a page opened as a file may not have a clipboard
      getSelection().selectAllChildren(code);
      done = document.execCommand("copy");
    }
    button.textContent = done ? "Copied" : "Select it and press Ctrl-C";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  code.after(button);
}

// ---- Pictures

const pictures = new Set();
let paper = false;
const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// A plot as wide as its place; make(width) gives uPlot's options and data.
class Picture {
  constructor(place, make) {
    Object.assign(this, { place, make, width: 0, plot: null });
    this.watch = new ResizeObserver(() => {
      if (Math.abs(place.clientWidth - this.width) > 1) this.draw();
    });
    this.watch.observe(place);
    pictures.add(this);
    this.draw();
  }

  draw() {
    const width = this.place.clientWidth;
    if (!width) return;
    const seen = this.plot && { min: this.plot.scales.x.min, max: this.plot.scales.x.max };
    this.plot?.destroy();
    this.width = width;
    const style = getComputedStyle(this.place);
    const [options, series] = this.make(width - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight));
    this.plot = new uPlot(options, series, this.place);
    if (seen && seen.min !== null) this.plot.setScale("x", seen);
  }

  end() {
    this.watch.disconnect();
    pictures.delete(this);
    this.plot?.destroy();
    this.place.remove();
  }
}

const redraw = () => { for (const picture of pictures) picture.draw(); };
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
addEventListener("beforeprint", () => {
  paper = true;
  for (const table of Object.values(tables)) { table.held = table.count; table.count = PRINT_ROWS; table.fit(); }
  for (const one of document.querySelectorAll("details")) { one.dataset.was = one.open; one.open = true; }
  if (data.gaps.length) panel.after(storiesOnPaper());
  redraw();
});
addEventListener("afterprint", () => {
  paper = false;
  for (const table of Object.values(tables)) { table.count = table.held; table.fit(); }
  for (const one of document.querySelectorAll("details")) one.open = one.dataset.was === "true";
  document.getElementById("stories")?.remove();
  redraw();
});

const axis = (more) => ({ stroke: ink("dim"), font: "12px system-ui, sans-serif",
  grid: { stroke: ink("line"), width: 1 }, ticks: { stroke: ink("line"), width: 1 }, ...more });
const seconds = (plot, splits) => splits.map((at) => `${Number(at.toPrecision(7))} s`);

function zoomButtons(picture) {
  const [low, high] = picture.whole;
  const move = (way) => {
    let { min, max } = picture.plot.scales.x;
    [min, max] = way(min, max);
    const length = Math.min(max - min, high - low);
    min = Math.min(Math.max(min, low), high - length);
    picture.plot.setScale("x", { min, max: min + length });
  };
  const button = (text, label, way) => {
    const made = element("button", { type: "button", "aria-label": label }, text);
    made.addEventListener("click", () => move(way));
    return made;
  };
  return [
    button("+", "Zoom in", (a, b) => [a + (b - a) / 4, b - (b - a) / 4]),
    button("−", "Zoom out", (a, b) => [a - (b - a) / 2, b + (b - a) / 2]),
    button("◀", "Earlier", (a, b) => [a - (b - a) / 2, b - (b - a) / 2]),
    button("▶", "Later", (a, b) => [a + (b - a) / 2, b + (b - a) / 2]),
    button("Whole", "Show the whole capture", () => [low, high]),
  ];
}

const LANE = 30;
const MARGIN = 48;
const MOST_LANES = 40;
const MOST_WINDOWS = 6;
const lanesOf = (capture) => {
  const own = data.streams.map((stream, at) => ({ at, stream, gaps: [] })).filter(({ stream }) => stream[0] === capture);
  const by = new Map(own.map((lane) => [lane.at, lane]));
  for (const gap of data.gaps) if (gap.capture === capture) by.get(gap.stream)?.gaps.push(gap);
  const lossy = own.filter((lane) => lane.gaps.length);
  return lossy.length ? lossy : own;
};

const endOf = (gap) => (gap.came === null ? gap.shown : Math.max(gap.came, gap.shown));

function timelineOf(place, capture) {
  const all = lanesOf(capture);
  const lanes = all.slice(0, MOST_LANES);
  const told = data.captures[capture];
  const length = Math.max(told.length / 1e9, 1e-6);
  const whole = [-length * 0.01, length * 1.01];
  const near = (plot, event) => {
    const box = plot.over.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const lane = lanes[Math.floor(y / LANE)];
    let [found, best] = [null, 12];
    for (const gap of lane ? lane.gaps : []) {
      if (gap.shown === null) continue;
      const [from, to] = [gap.shown, endOf(gap)].map((ns) => plot.valToPos(ns / 1e9, "x"));
      const far = Math.max(from - x, x - to, 0);
      if (far < best) [found, best] = [gap, far];
    }
    return found;
  };
  const draw = (plot) => {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    const at = (ns) => plot.valToPos(ns / 1e9, "x", true);
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.textAlign = "left";
    ctx.textBaseline = "alphabetic";
    lanes.forEach(({ stream, gaps }, row) => {
      const middle = bbox.top + (row * LANE + 22) * ratio;
      if (stream[2] !== null && stream[3] !== null) {
        ctx.fillStyle = ink("lane");
        ctx.fillRect(at(stream[2]), middle - ratio, Math.max(at(stream[3]) - at(stream[2]), ratio), 2 * ratio);
      }
      for (const gap of gaps) {
        if (gap.shown === null) continue;
        const [from, to] = [at(gap.shown), at(endOf(gap))];
        ctx.fillStyle = ink(gap.came === null ? "error" : "good");
        if (gap.came === null) {
          ctx.font = `${14 * ratio}px system-ui, sans-serif`;
          ctx.fillText("✕", from - 5 * ratio, middle + 5 * ratio);
        } else {
          ctx.globalAlpha = 0.6; // where several are missing it is darker
          ctx.fillRect(from, middle - 4 * ratio, Math.max(to - from, 2 * ratio), 8 * ratio);
          ctx.globalAlpha = 1;
        }
      }
      ctx.fillStyle = ink("ink");
      ctx.font = `${12 * ratio}px system-ui, sans-serif`;
      ctx.fillText(stream[1], bbox.left + 2 * ratio, middle - 9 * ratio);
    });
    ctx.restore();
  };
  const box = element("div", { class: "picture", role: "img",
    "aria-label": `Timeline of ${told.name}: ${plural(all.length, "stream")}, `
      + `${plural(all.reduce((sum, lane) => sum + lane.gaps.length, 0), "gap")}; the table of gaps has the same` });
  place.append(box);
  const picture = new Picture(box, (width) => [{
    width, height: lanes.length * LANE + 46, legend: { show: false },
    padding: [4, 12, 0, 0],
    scales: { x: { time: false, min: whole[0], max: whole[1] }, y: { range: [0, 1] } },
    // as wide a margin as the picture below has, so that times stand below each other
    axes: [axis({ values: seconds, size: 40 }), axis({ size: MARGIN, values: () => [], grid: { show: false }, ticks: { show: false } })],
    series: [{}, { show: false }],
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false } },
    hooks: {
      draw: [draw],
      ready: [(plot) => {
        let from = 0;
        plot.over.addEventListener("mousedown", (event) => { from = event.clientX; });
        plot.over.addEventListener("click", (event) => {
          const gap = Math.abs(event.clientX - from) < 4 && near(plot, event);
          if (gap) location.hash = `gap-${gap.number}`;
        });
        plot.over.addEventListener("mousemove", (event) => {
          const gap = near(plot, event);
          plot.over.style.cursor = gap ? "pointer" : "";
          plot.over.title = gap ? `gap ${gap.number}: ${say(gap.outcome)}` : "";
        });
      }],
      setScale: [(plot, scale) => {
        if (scale === "x") picturesBeside(place, plot);
      }],
    },
  }, [whole, [null, null]]]);
  picture.whole = whole;
  place.prepend(element("div", { class: "tools" }, ...zoomButtons(picture),
    element("span", { class: "dim" }, "Drag to zoom, a double click shows all; a click on a gap tells its story.")));
  const key = element("ul", { class: "key" },
    element("li", {}, element("b", { class: "good" }, "▬"), " missing, until it came"),
    element("li", {}, element("b", { class: "error" }, "✕"), " a gap shows, and nothing comes"));
  if (all.length > lanes.length) key.append(element("li", {}, notDrawn(all.length - lanes.length, "stream")));
  if (tables.gaps?.told.more) key.append(element("li", {}, "only gaps that the table has are drawn"));
  place.append(key);
  const windows = data.windows.filter((own) => own.capture === capture);
  const below = windows.slice(0, MOST_WINDOWS).map((own) => windowOf(place, own, whole));
  if (windows.length > below.length) place.append(element("p", { class: "dim" }, notDrawn(windows.length - below.length, "window")));
  return [picture, ...missingOf(place, capture, whole), ...below];
}

// How many messages the gaps had that were open at each time, from when a gap showed to when all of
// it had come. Messages, packets and frames that carry them are numbers of their own.
function missingOf(place, capture, whole) {
  const units = new Map();
  for (const gap of data.gaps) {
    if (gap.capture !== capture || gap.shown === null) continue;
    const unit = say(gap.unit);
    const changes = units.get(unit) || units.set(unit, []).get(unit);
    changes.push([gap.shown, gap.count]);
    if (gap.came !== null) changes.push([endOf(gap), -gap.count]);
  }
  return [...units].map(([unit, changes]) => missingOfUnit(place, unit, changes, whole));
}

function missingOfUnit(place, unit, changes, whole) {
  changes.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  const [times, counts] = [[whole[0]], [0]];
  for (const [ns, count] of changes) { times.push(ns / 1e9); counts.push(counts.at(-1) + count); }
  times.push(whole[1]);
  counts.push(counts.at(-1));
  const title = `${unit[0].toUpperCase()}${unit.slice(1)}s in open gaps`;
  place.append(element("h3", {}, title));
  const most = counts.reduce((a, b) => Math.max(a, b), 0);
  const box = element("div", { class: "picture", role: "img",
    "aria-label": `${title} over time: at most ${most}, ${counts.at(-1)} at the end` });
  place.append(box);
  return new Picture(box, (width) => [{
    width, height: 140, legend: { show: false }, padding: [8, 12, 0, 0],
    scales: { x: { time: false, min: whole[0], max: whole[1] }, y: { range: [0, Math.max(most, 1) * 1.05] } },
    axes: [axis({ values: seconds, size: 40 }), axis({ size: MARGIN, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1e5, 1e6] })],
    series: [{}, { stroke: ink("error"), width: 1.5, points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }) }],
    cursor: { points: { show: false }, drag: { x: false, y: false, setScale: false } },
  }, [times, counts]]);
}

// How full a window was, or how much was not acknowledged.
function windowOf(place, told, whole) {
  const [times, counts] = [[whole[0]], [null]];
  for (const [ns, count] of told.steps) { times.push(ns / 1e9); counts.push(count); }
  times.push(whole[1]);
  counts.push(counts.at(-1));
  const near = told.limit !== null && told.limit <= 8 * told.most;
  const scale = [0, Math.max(near ? told.limit : 0, told.most, 1) * 1.1];
  const said = told.limit === null ? "" : `; room for ${told.limit.toLocaleString("en")}`;
  const title = `${told.title}: up to ${told.most.toLocaleString("en")}${said}`;
  place.append(element("h3", {}, title));
  const box = element("div", { class: "picture", role: "img", "aria-label": `${title}, over time` });
  place.append(box);
  return new Picture(box, (width) => [{
    width, height: 120, legend: { show: false }, padding: [8, 12, 0, 0],
    scales: { x: { time: false, min: whole[0], max: whole[1] }, y: { range: scale } },
    axes: [axis({ values: seconds, size: 40 }), axis({ size: MARGIN,
      values: (plot, splits) => splits.map((at) => at.toLocaleString("en", { notation: "compact" })) })],
    series: [{}, { stroke: ink("warning"), width: 1.5, points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }) },
      { stroke: ink("dim"), width: 1, dash: [6, 4], points: { show: false } }],
    cursor: { points: { show: false }, drag: { x: false, y: false, setScale: false } },
  }, [times, counts, times.map(() => (near ? told.limit : null))]]);
}

// What is below the timeline shows the same stretch of time.
function picturesBeside(place, plot) {
  for (const picture of pictures) {
    if (picture.plot && picture.plot !== plot && place.contains(picture.place)) {
      const { min, max } = plot.scales.x;
      const own = picture.plot.scales.x;
      if (own.min !== min || own.max !== max) picture.plot.setScale("x", { min, max });
    }
  }
}

const timeline = document.getElementById("timeline");
let drawn = { capture: -1, pictures: [] };
const chooser = element("select", { "aria-label": "Which capture is drawn" });
const stage = element("div");

function drawTimeline(capture) {
  if (drawn.capture === capture) return;
  for (const picture of drawn.pictures) picture.end();
  stage.replaceChildren();
  chooser.value = String(capture);
  drawn = { capture, pictures: timelineOf(stage, capture) };
}

{
  const lossy = new Set([...data.gaps, ...data.windows].map((one) => one.capture));
  const timed = data.captures.map((_, at) => at)
    .filter((at) => data.captures[at].start !== null && data.streams.some((stream) => stream[0] === at));
  timed.sort((a, b) => lossy.has(b) - lossy.has(a) || a - b);
  if (timed.length) {
    for (const at of timed) chooser.append(element("option", { value: at }, data.captures[at].name));
    chooser.addEventListener("change", () => drawTimeline(Number(chooser.value)));
    if (timed.length > 1) timeline.append(element("div", { class: "tools" }, chooser));
    timeline.append(stage);
    drawTimeline(timed[0]);
  } else timeline.append(element("p", {}, "No numbered stream with times in these captures."));
}

// ---- One gap: seqnos against time, and its story

const MARKS = [["+", "●", "info", "data"], ["o", "○", "good", "copy or repair"],
  ["?", "▲", "warning", "asked for"], ["a", "–", "dim", "ACK"], ["x", "✕", "error", "did not come"]];
const MOST_SEQNOS = 64;

// [ns after the gap showed, seqno from the gap's first, mark]
function marksOf(gap) {
  const found = (gap.points || []).map(([ns, seqno, mark]) => [ns - gap.shown, seqno, mark]);
  const numbers = gap.ranges.flatMap(([a, b]) =>
    Array.from({ length: Math.max(Math.min(b, MOST_SEQNOS - 1) - a + 1, 0) }, (_, at) => a + at));
  // what events show has its own time; the story knows when all had come
  const seen = new Set(found.filter(([, , mark]) => mark !== "a").map(([, seqno]) => seqno));
  let last = 0;
  for (const [ns, , , , , , mark] of gap.steps) {
    if (ns === null) continue;
    last = Math.max(last, ns - gap.shown);
    if (!mark || mark === "x") continue;
    for (const seqno of numbers) if (mark === "?" || !seen.has(seqno)) found.push([ns - gap.shown, seqno, mark]);
  }
  // what did not come is marked behind all that was done for it
  if (gap.came === null) for (const seqno of numbers) found.push([last + Math.max(last / 10, 1e6), seqno, "x"]);
  return found;
}

function sequenceOf(box, gap) {
  const marks = marksOf(gap);
  const seqnos = marks.map((mark) => mark[1]);
  const times = marks.map((mark) => mark[0]);
  const ends = (values) => [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
  const [low, high] = ends(seqnos);
  const [first, last] = ends([...times, 0]);
  const margin = Math.max((last - first) / 20, 1000);
  const whole = [(first - margin) / 1e6, (last + margin) / 1e6];
  const start = BigInt(gap.first);
  const long = gap.first.length > 10;
  const name = (offset) => (long ? (offset < 0 ? `${offset}` : `+${offset}`) : String(start + BigInt(offset)));
  const draw = (plot) => {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    const shown = plot.valToPos(0, "x", true);
    ctx.fillStyle = ink("lane");
    ctx.fillRect(shown - ratio / 2, bbox.top, ratio, bbox.height);
    ctx.font = `${12 * ratio}px system-ui, sans-serif`;
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    for (const [mark, glyph, colour] of MARKS) {
      ctx.fillStyle = ink(colour);
      for (const [ns, seqno, own] of marks) {
        if (own === mark) ctx.fillText(glyph, plot.valToPos(ns / 1e6, "x", true), plot.valToPos(seqno, "y", true));
      }
    }
    ctx.restore();
  };
  return new Picture(box, (width) => [{
    width, height: 300, legend: { show: false }, padding: [10, 28, 0, 0],
    scales: { x: { time: false, min: whole[0], max: whole[1] }, y: { range: [low - 1, high + 1] } },
    axes: [
      axis({ values: (plot, splits) => splits.map((at) => after(Math.round(at * 1e6))), size: 40, space: 70 }),
      axis({ values: (plot, splits) => splits.map((at) => (Number.isInteger(at) ? name(at) : "")),
        size: 30 + 7 * Math.max(name(low).length, name(high).length),
        incrs: [1, 2, 5, 10, 20, 50, 100] }),
    ],
    series: [{}, { show: false }],
    cursor: { points: { show: false }, drag: { x: true, y: false } },
    hooks: { draw: [draw] },
  }, [whole, [null, null]]]);
}

const panel = document.getElementById("gap");
const byNumber = new Map(data.gaps.map((gap, at) => [gap.number, at]));
let sequence = null;

function link(hash, text) { return element("a", { href: `#${hash}` }, text); }

function titleOf(at, more) {
  const gap = data.gaps[at];
  const { rows, columns } = tables.gaps.told;
  const seqnos = rows[at][columns.findIndex(([header]) => header === "seqnos")];
  return element("h3", more, `Gap ${gap.number}: ${say(gap.system)} ${seqnos}, ${say(gap.outcome)}`);
}

function storyOf(gap) {
  const capture = data.captures[gap.capture];
  return [element("ol", { class: "story" }, ...gap.steps.map(([ns, since, name, frame, by, says]) =>
    element("li", {}, element("span", { class: "when", title: clock(capture, ns) }, since === null ? "" : after(since)),
      element("span", {}, element("strong", {}, say(name)), say(frame) ? ` in frame ${say(frame)}` : "",
        say(by) ? ` by ${say(by)}` : "", `: ${say(says)}`)))), ...gap.lines.map((line) => element("p", {}, say(line)))];
}

// On paper nobody can click: the stories of the gaps that the list shows follow the chosen one's.
function storiesOnPaper() {
  const listed = tables.gaps.matching().filter((at) => at !== tables.gaps.chosen);
  const told = listed.slice(0, PRINT_STORIES);
  const more = listed.length - told.length;
  return element("div", { id: "stories" },
    ...told.map((at) => element("article", {}, titleOf(at, {}), ...storyOf(data.gaps[at]))),
    ...(more ? [element("p", {}, `${plural(more, "more gap")} of the list ${more === 1 ? "has its story" : "have their stories"} on the page only.`)] : []));
}

function tellGap(at, scroll) {
  const gap = data.gaps[at];
  sequence?.end();
  sequence = null;
  const step = (by, text, label) => {
    const made = element("button", { type: "button", "aria-label": label, disabled: !data.gaps[at + by] }, text);
    made.addEventListener("click", () => { location.hash = `gap-${data.gaps[at + by].number}`; });
    return made;
  };
  const title = titleOf(at, { id: "gap-title", tabindex: "-1" });
  const picture = element("div", { class: "picture", role: "img",
    "aria-label": `Sequence numbers of gap ${gap.number} against time; the story beside it says the same` });
  const links = [];
  if (gap.stream !== null && tables.streams) links.push(link(`streams-${gap.stream}`, "its stream"));
  for (const number of gap.findings) links.push(link(`finding-${number}`, `finding ${number}`));
  const key = element("ul", { class: "key" }, ...MARKS.map(([, glyph, colour, text]) =>
    element("li", {}, element("b", { class: colour === "dim" ? null : colour }, glyph), ` ${text}`)));
  const size = gap.ranges.reduce((sum, [a, b]) => sum + b - a + 1, 0);
  if (gap.ranges.at(-1)[1] >= MOST_SEQNOS && size > 1) key.append(element("li", {}, "only the first seqnos are drawn"));
  if (!gap.points) key.append(element("li", {}, "other messages are not drawn: the page has only the story of this gap"));
  panel.hidden = false;
  panel.replaceChildren(
    element("div", { class: "tools" }, step(-1, "◀ Gap before", "The gap before"), step(1, "Next gap ▶", "The next gap")),
    title,
    element("div", { class: "beside" },
      element("div", {}, picture, key),
      element("div", {}, ...storyOf(gap),
        element("p", {}, ...links.flatMap((one, place) => (place ? [", ", one] : [one]))))));
  if (gap.shown === null) picture.replaceChildren(element("p", {}, "Nobody knows when this gap showed."));
  else if (marksOf(gap).length) sequence = sequenceOf(picture, gap);
  else picture.replaceChildren(element("p", {}, "Nothing of it has a time in this capture."));
  drawTimeline(gap.capture);
  tables.gaps.choose(at, false);
  if (scroll) {
    panel.scrollIntoView({ block: "start" });
    title.focus({ preventScroll: true });
  }
}

// ---- Links inside the page

function follow(scroll) {
  const [, name, number] = /^#(.+)-(\d+)$/.exec(location.hash) || [];
  if (name === "gap" && byNumber.has(Number(number))) tellGap(byNumber.get(Number(number)), scroll);
  else if (tables[name] && tables[name].told.rows[Number(number)]) tables[name].choose(Number(number), true);
  const aim = location.hash.startsWith("#rule-") && document.getElementById(location.hash.slice(1));
  if (aim) aim.open = true;
}
addEventListener("hashchange", () => follow(true));
if (data.gaps.length && !/^#gap-/.test(location.hash)) tellGap(0, false);
follow(true);
})();
