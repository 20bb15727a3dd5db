"use strict";
// The page works without this script, but for its charts. Texts enter the document as text nodes or
// as HTML that Pliant has escaped.
(() => {
  const MOST_CHOSEN = 6;
  const SERIF = "system-ui, sans-serif";
  const ink = "var(--ink)", muted = "var(--muted)", line = "var(--line)";
  const CONFIG = {
    background: "transparent",
    font: SERIF,
    view: { stroke: line },
    axis: {
      labelColor: ink, titleColor: ink, gridColor: line, domainColor: muted, tickColor: muted,
      titleFontWeight: "normal", labelOverlap: true,
    },
    legend: { labelColor: ink, titleColor: ink },
    concat: { spacing: 8 },
  };
  const OPTIONS = { mode: "vega-lite", renderer: "svg", ast: true, actions: false, config: CONFIG };
  const drawn = new Map(); // name of a chart -> its specification as text, and its view
  const chosen = new Map(); // what a reader has set: names of boxes -> whether they are checked
  let state = JSON.parse(document.getElementById("state").textContent);

  // Charts

  async function draw(name, place, spec) {
    const text = JSON.stringify(spec);
    const before = drawn.get(name);
    if (before && before.text === text && before.place === place) return;
    drawn.set(name, { text, place });
    if (before && before.view) before.view.finalize();
    try {
      const inner = document.createElement("div"); // Vega gives it a label of its own
      place.replaceChildren(inner);
      const { view } = await window.vegaEmbed(inner, spec, OPTIONS);
      drawn.set(name, { text, place, view });
    } catch (error) {
      place.textContent = "This chart could not be drawn.";
      console.error(name, error);
    }
  }

  async function drawAll() {
    const figures = [...document.querySelectorAll("figure[data-chart]")];
    for (const figure of figures) {
      const name = figure.dataset.chart, place = figure.querySelector(".plot");
      if (name === "pairs") await draw(name, place, pairPlot(place.clientWidth));
      else if (state.charts[name]) await draw(name, place, state.charts[name]);
    }
    document.documentElement.dataset.drawn = state.version;
  }

  // The pair plot: a square of cells, with histograms on its diagonal

  function checked(kind) {
    const boxes = document.querySelectorAll(`#pair-controls input[data-${kind}]`);
    return [...boxes].filter((box) => box.checked).map((box) => box.dataset[kind]);
  }

  function filled(template, words) {
    if (Array.isArray(template)) return template.map((entry) => filled(entry, words));
    if (template && typeof template === "object") {
      const entries = Object.entries(template);
      return Object.fromEntries(entries.map(([name, entry]) => [name, filled(entry, words)]));
    }
    return typeof template === "string" && template in words ? words[template] : template;
  }

  function rows(columns, more) {
    const n = columns.length ? columns[0].length : 0;
    return Array.from({ length: n }, (_, k) => {
      const row = more(k);
      columns.forEach((column, i) => { row[`p${i}`] = column[k]; });
      return row;
    });
  }

  function pairPlot(width) {
    const pairs = state.pairs, parameters = checked("parameter").map(Number);
    const layers = new Set(["posterior", ...checked("layer")]);
    const n = parameters.length;
    if (!n) return { data: { values: [] }, mark: "point", width: 10, height: 10 };
    const size = Math.max(72, Math.min(n <= 2 ? 300 : 210, Math.floor((width - 70) / n) - 16));
    const datasets = {};
    for (const [kind, columns] of Object.entries(pairs.draws)) {
      const several = kind === "posterior" && pairs.several;
      const more = (k) => (kind === "posterior" ? { mode: several ? pairs.labels[k] + 1 : 1 } : {});
      if (layers.has(kind)) datasets[kind] = rows(columns, more);
    }
    if (layers.has("truth")) datasets.truth = rows(pairs.truth.map((x) => [x]), () => ({}));
    const tips = parameters.map((i) => (
      { field: `p${i}`, type: "quantitative", title: pairs.names[i], format: ".4~g" }));
    if (pairs.several) tips.push({ field: "mode", type: "ordinal", title: "mode" });
    const cells = [];
    parameters.forEach((row, i) => parameters.forEach((column, j) => {
      cells.push(cell(i, j, row, column, { pairs, layers, size, n, tips }));
    }));
    const resolve = { axis: { x: "independent", y: "independent" } };
    return { datasets, columns: n, concat: cells, align: "all", resolve };
  }

  function cell(i, j, row, column, { pairs, layers, size, n, tips }) {
    const frame = { width: size, height: size };
    if (j > i) {
      return { ...frame, view: { stroke: null }, data: { values: [] }, mark: "point" };
    }
    const bottom = i === n - 1, left = j === 0;
    if (i === j) {
      const marginal = state.charts[`marginal-${row}`].layer, kinds = pairs.kinds[row];
      const own = marginal.filter((_, k) => layers.has(kinds[k])).map((layer) => {
        const copy = structuredClone(layer);
        copy.encoding.x.title = bottom ? pairs.names[row] : null;
        copy.encoding.x.axis = axis(bottom);
        return copy;
      });
      return { ...frame, layer: own };
    }
    const words = {
      "@x": `p${column}`, "@y": `p${row}`, "@tips": tips,
      "@x-title": bottom ? pairs.names[column] : null, "@y-title": left ? pairs.names[row] : null,
    };
    const templates = Object.entries(pairs.templates.scatter);
    const own = templates.filter(([kind]) => layers.has(kind)).map(([, layer]) => {
      const copy = filled(layer, words);
      copy.encoding.x.axis = axis(bottom);
      copy.encoding.y.axis = axis(left);
      return copy;
    });
    return { ...frame, layer: own };
  }

  function axis(labels) {
    const common = { tickCount: 4, grid: false, titleLimit: 180 };
    return labels ? common : { ...common, labels: false, ticks: false };
  }

  // Controls

  function limitChoice() {
    const boxes = [...document.querySelectorAll("#pair-controls input[data-parameter]")];
    const full = boxes.filter((box) => box.checked).length >= MOST_CHOSEN;
    boxes.forEach((box) => { box.disabled = full && !box.checked; });
  }

  function key(box) {
    return box.dataset.parameter ? `parameter ${box.dataset.parameter}` : `layer ${box.dataset.layer}`;
  }

  function listenToPairs() {
    const controls = document.getElementById("pair-controls");
    if (!controls) return;
    controls.querySelectorAll("input").forEach((box) => {
      if (chosen.has(key(box))) box.checked = chosen.get(key(box));
      box.addEventListener("change", () => {
        chosen.set(key(box), box.checked);
        limitChoice();
        drawAll();
      });
    });
    limitChoice();
  }

  function sortBy(button) {
    const head = button.closest("th"), table = head.closest("table"), body = table.tBodies[0];
    const upwards = head.getAttribute("aria-sort") !== "ascending";
    const place = Number(button.dataset.sort);
    const value = (row) => row.cells[place].dataset.value ?? "";
    const number = (text) => (text === "" ? -Infinity : Number(text));
    const numeric = [...body.rows].every((row) => !Number.isNaN(number(value(row))));
    const compare = numeric
      ? (a, b) => number(value(a)) - number(value(b))
      : (a, b) => value(a).localeCompare(value(b), "en", { numeric: true });
    const ordered = [...body.rows].sort((a, b) => (upwards ? compare(a, b) : compare(b, a)));
    body.append(...ordered);
    table.querySelectorAll("th[aria-sort]").forEach((th) => th.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", upwards ? "ascending" : "descending");
  }

  async function copy(button) {
    const code = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      window.getSelection().selectAllChildren(code); // a page from a file may have no clipboard
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.sort !== undefined) sortBy(button);
    else if (button.classList.contains("copy")) copy(button);
    else if (button.id === "theme") {
      const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
      document.documentElement.dataset.theme = dark ? "light" : "dark";
      button.setAttribute("aria-pressed", String(!dark));
    }
  });

  let resized;
  window.addEventListener("resize", () => {
    clearTimeout(resized);
    resized = setTimeout(drawAll, 200);
  });
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((details) => { details.open = true; });
  });
  window.addEventListener("afterprint", () => opened.forEach((details) => { details.open = false; }));

  // Live: sections that have changed are replaced, in place

  function show(next) {
    for (const [name, html] of Object.entries(next.sections)) {
      if (state.sections && state.sections[name] === html) continue;
      const old = document.getElementById(name);
      if (!old) continue;
      const open = [...old.querySelectorAll("details")].map((details) => details.open);
      const focus = old.contains(document.activeElement) ? focused(old) : -1;
      const holder = document.createElement("template");
      holder.innerHTML = html;
      const fresh = holder.content.firstElementChild;
      old.querySelectorAll("figure[data-chart]").forEach((figure) => {
        // a chart stays where it is, so that only its specification decides whether it is redrawn
        const twin = fresh.querySelector(`figure[data-chart="${figure.dataset.chart}"] .plot`);
        const plot = figure.querySelector(".plot");
        if (!twin) return;
        plot.setAttribute("aria-label", twin.getAttribute("aria-label"));
        twin.replaceWith(plot);
      });
      fresh.querySelectorAll("details").forEach((details, i) => { details.open = open[i] ?? false; });
      old.replaceWith(fresh);
      if (focus >= 0) fresh.querySelectorAll(FOCUSABLE)[focus]?.focus();
    }
    const listening = !state.sections || state.sections.pairs !== next.sections.pairs;
    state = next;
    if (listening) listenToPairs();
    document.getElementById("live").textContent = next.told;
    return drawAll();
  }

  const FOCUSABLE = "a, button, input, summary, [tabindex]";

  function focused(section) {
    return [...section.querySelectorAll(FOCUSABLE)].indexOf(document.activeElement);
  }

  async function poll() {
    const live = document.getElementById("live");
    try {
      const answer = await fetch(`state?version=${state.version}`, { cache: "no-store" });
      if (answer.status === 200) await show(await answer.json());
      else if (answer.status !== 204) throw new Error(`status ${answer.status}`);
      if (state.live) setTimeout(poll, state.period);
    } catch {
      live.textContent = "The server has ended. This is the last state that it showed.";
    }
  }

  listenToPairs();
  drawAll().then(() => { if (state.live) setTimeout(poll, state.period); });
})();
