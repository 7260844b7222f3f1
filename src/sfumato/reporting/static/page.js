// Draws every chart at the full width of the page, and again when the width changes.
// `vegaEmbed` and `lodashDebounce` come with the bundle.

const SMALLEST_PANEL = 150;
const PANEL_GAP = 26;
const AXIS_ROOM = 64;
const OWN_AXIS_ROOM = 46;
const NARROW = 480;

const EMBED_OPTIONS = {
  mode: "vega-lite",
  renderer: "svg",
  actions: false,
  ast: true, // interpret expressions, because the content security policy forbids eval
  defaultStyle: false,
  tooltip: { disableDefaultStyle: true, theme: "page" },
};

function rowsOf(columns) {
  const names = Object.keys(columns);
  return columns[names[0]].map((_, row) => Object.fromEntries(names.map((name) => [name, columns[name][row]])));
}

// As many panels per row as fit, with full rows; a single chart fills the width.
function fitted(whole, width) {
  const legend = { ...whole.config.legend, ...(width < NARROW ? { columns: 2 } : {}) };
  const spec = { ...whole, config: { ...whole.config, legend } };
  const { panels = 1, square = false, widest = width, ownAxis = false } = spec.usermeta ?? {};
  if (!("facet" in spec)) {
    return { ...spec, width: Math.min(width, widest), autosize: { type: "fit-x", contains: "padding" } };
  }
  const gap = PANEL_GAP + (ownAxis ? OWN_AXIS_ROOM : 0);
  const room = width - AXIS_ROOM;
  const most = Math.max(1, Math.floor((room + gap) / (SMALLEST_PANEL + gap)));
  let columns = Math.min(spec.columns ?? panels, panels, most);
  while (panels % columns) columns -= 1;
  const each = Math.floor((room - (columns - 1) * gap) / columns);
  const side = Math.min(each, columns === 1 ? 300 : each);
  return { ...spec, columns, spec: { ...spec.spec, width: side, ...(square ? { height: side } : {}) } };
}

async function draw(place) {
  const width = Math.floor(place.clientWidth);
  if (!width || place.dataset.width === String(width)) return;
  place.dataset.width = String(width);
  const { spec, rows } = JSON.parse(document.getElementById(`${place.dataset.chart}-data`).textContent);
  const picture = document.createElement("div");
  picture.setAttribute("aria-hidden", "true");
  const drawn = await vegaEmbed(picture, { ...fitted(spec, width), datasets: { ...spec.datasets, rows: rowsOf(rows) } }, EMBED_OPTIONS);
  if (place.dataset.width !== String(width)) return drawn.finalize();
  place.replaceChildren(picture);
  place.dataset.drawn = "true";
}

const places = [...document.querySelectorAll("[data-chart]")];
const redraw = lodashDebounce((entries) => entries.forEach(({ target }) => draw(target)), 120);
const watcher = new ResizeObserver(redraw);
for (const place of places) {
  await draw(place);
  watcher.observe(place);
}

// Open the source details for printing.
const opened = [];
window.addEventListener("beforeprint", () => {
  for (const each of document.querySelectorAll("details.origin:not([open])")) {
    each.open = true;
    opened.push(each);
  }
});
window.addEventListener("afterprint", () => {
  for (const each of opened.splice(0)) each.open = false;
});
