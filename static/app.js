// Cardworth: what the pages need beyond htmx. Every page works without this file; it opens figures in place,
// draws charts when they come near, and keeps focus where the reader is.
"use strict";

const WIDE = matchMedia("(min-width: 64rem)");
const DARK = matchMedia("(prefers-color-scheme: dark)");
const FRAGMENT = { headers: { "HX-Request": "true" } };

/* The question stays open beside the result where the CSS for it is not understood. */
function openQuestion() {
  const ask = document.querySelector("details.ask");
  if (ask && WIDE.matches && !CSS.supports("selector(::details-content)")) ask.open = true;
}

/* Figures: a click or Enter fills the one popover of the page; Esc closes it and focus returns. */
const popover = () => document.getElementById("figure");
let opener = null;

async function openFigure(link) {
  const box = popover();
  if (!box || !box.showPopover) return false;
  const answer = await fetch(link.href, FRAGMENT);
  if (!answer.ok) return false;
  box.innerHTML = await answer.text();
  if (box.matches(":popover-open")) box.hidePopover();
  opener = link;
  place(box, link);
  box.setAttribute("aria-labelledby", "figure-title");
  box.tabIndex = -1;
  box.showPopover();
  place(box, link);
  box.focus({ preventScroll: true });
  return true;
}

// Styles set through the CSSOM are allowed by the content security policy; attributes are not.
function place(box, link) {
  const at = link.getBoundingClientRect();
  const width = box.offsetWidth || 368;
  const height = box.offsetHeight || 200;
  const left = Math.max(8, Math.min(at.left, innerWidth - width - 8));
  const below = at.bottom + 6;
  const top = below + height > innerHeight - 8 && at.top > height + 12 ? at.top - height - 6 : below;
  box.style.setProperty("left", `${left}px`);
  box.style.setProperty("top", `${Math.max(8, Math.min(top, innerHeight - height - 8))}px`);
  box.style.setProperty("right", "auto");
  box.style.setProperty("bottom", "auto");
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a.fig");
  if (!link || event.defaultPrevented || event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
  event.preventDefault();
  openFigure(link).then((shown) => { if (!shown) location.assign(link.href); },
    () => location.assign(link.href));
});

document.addEventListener("toggle", (event) => {
  if (event.target !== popover() || event.newState !== "closed" || !opener) return;
  const inside = document.activeElement === document.body || popover().contains(document.activeElement);
  if (inside && opener.isConnected) opener.focus({ preventScroll: true });
}, true);

/* Rows: the second click on "Details" closes what the first one opened. */
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-row]");
  if (!link) return;
  const next = link.closest("tr").nextElementSibling;
  if (next && next.classList.contains("open")) {
    event.preventDefault();
    event.stopImmediatePropagation();
    next.remove();
    setRow(link, false);
  }
}, true);

function setRow(link, open) {
  link.setAttribute("aria-expanded", String(open));
  const word = link.querySelector("[data-more]");
  word.textContent = open ? word.dataset.less : word.dataset.more;
}

/* htmx: focus, failures, charts of the new result. */
let submitted = false;

// While somebody types, the fault stands at its field; the list of all of them would push the form down.
function setSubmitted(now) {
  submitted = now;
  document.getElementById("ask")?.classList.toggle("typing", !now);
}

document.addEventListener("submit", () => setSubmitted(true), true);
document.addEventListener("input", () => setSubmitted(false), true);

/* One step back for each change: further strokes in a field renew the entry that its first one made. */
const step = { typed: "", made: "", left: false };

document.addEventListener("input", (event) => {
  if (event.target.form?.id === "ask" && event.target.name) step.typed = event.target.name;
}, true);
document.addEventListener("change", (event) => {
  if (event.target.form?.id === "ask") { step.typed = event.target.name; step.left = true; }
}, true);
document.addEventListener("htmx:before:history:update", (event) => {
  const { sourceElement, history: entry } = event.detail;
  if (sourceElement?.id !== "ask") return;
  const same = entry.path === location.pathname + location.search;
  if (same || (step.made && step.made === step.typed)) entry.type = "replace";
  step.made = step.left ? "" : step.typed;
  step.left = false;
});

document.addEventListener("htmx:before:request", (event) => {
  const source = event.detail.ctx?.sourceElement;
  if (source?.id !== "ask") return;
  const box = popover();
  if (box?.matches(":popover-open")) box.hidePopover();
  box?.removeAttribute("style");
  document.getElementById("main")?.setAttribute("aria-busy", "true");
});

document.addEventListener("htmx:after:swap", (event) => {
  const source = event.detail.ctx?.sourceElement;
  if (source?.matches?.("a[data-row]")) setRow(source, true);
  // What the reader opened stays open through a swap; what holds a fault opens.
  for (const bad of document.querySelectorAll("#fields details:not([open]) [aria-invalid]")) {
    for (let at = bad.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
  }
  settle();
  setUpPicker();
  holdActions();
  watchAnswer();
  if (source?.id !== "ask" || !submitted) return;
  submitted = false;
  const summary = document.querySelector(".errsum");
  (summary || document.getElementById("main")).focus();
});

for (const name of ["htmx:finally:request", "htmx:after:request"]) {
  document.addEventListener(name, () => document.getElementById("main")?.removeAttribute("aria-busy"));
}

for (const name of ["htmx:response:error", "htmx:error"]) {
  document.addEventListener(name, (event) => {
    const status = event.detail.ctx?.response?.status ?? 0;
    const aborted = event.detail.error?.name === "AbortError";
    const box = document.getElementById("failure");
    if (box && !aborted && (status === 0 || status >= 500)) box.hidden = false;
  });
}

/* A form with faults: the answer of the last valid question stays, but nothing is made of it. */
function holdActions() {
  const held = Boolean(document.querySelector("#fields .errsum"));
  for (const actions of document.querySelectorAll("#main .acts, #main .cols")) actions.inert = held;
  const note = document.getElementById("outdated");
  if (note) note.hidden = !held;
}

/* The link of the question: copied where the browser lets us, else opened as any link. */
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-copy]");
  if (!link || event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
  event.preventDefault();
  copy(link.href).then((done) => {
    if (!done) { location.assign(link.href); return; }
    const word = link.textContent;
    link.textContent = link.dataset.copy;
    const said = document.getElementById("said");
    if (said) said.textContent = link.dataset.copy;
    setTimeout(() => { link.textContent = word; }, 2000);
  });
});

// Without https there is no clipboard object; the older way still works there.
async function copy(text) {
  if (navigator.clipboard) {
    try { await navigator.clipboard.writeText(text); return true; } catch { /* refused: the older way */ }
  }
  const box = document.createElement("textarea");
  box.value = text;
  box.className = "vh";
  document.body.append(box);
  box.select();
  const done = document.execCommand("copy");
  box.remove();
  return done;
}

/* On a phone the question stays at the top; once the answer is out of sight it says the answer too. */
const passed = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const gone = !entry.isIntersecting && entry.boundingClientRect.top < 0;
    document.querySelector("details.ask")?.classList.toggle("past", gone);
  }
});

function watchAnswer() {
  const answer = document.querySelector(".res .ans > :first-child");
  passed.disconnect();
  if (answer) passed.observe(answer);
}

/* Model picker: a combobox over the datalist, which is all there is without this file. The list lies outside
   the fields, so that an answer that comes while the reader types does not take it away. */
const PICK_SHOWN = 40;
const SIZE = /^\d+(\.\d+)?\s*(k|m|b|t|万|亿)$/i;
const pick = { box: null, list: null, at: -1, found: [] };
let offered = null;

function offers() {
  offered ??= [...document.querySelectorAll("#models option")].map((option) => ({
    name: option.value, key: option.value.toLowerCase(), size: option.textContent, shape: option.dataset.shape || "",
  }));
  return offered;
}

function setUpPicker() {
  const field = document.getElementById("model");
  pick.box = document.getElementById("pick");
  pick.list = document.getElementById("pick-list");
  if (!field || !pick.box || !pick.box.showPopover) return;
  const said = { role: "combobox", "aria-autocomplete": "list", "aria-controls": "pick-list",
    "aria-expanded": String(isPicking()) };
  for (const [name, value] of Object.entries(said)) field.setAttribute(name, value);
  field.removeAttribute("list");
}

const isPicking = () => Boolean(pick.box?.matches(":popover-open"));

function showPicker(field, all) {
  const typed = field.value.trim().toLowerCase();
  const words = all ? [] : typed.split(/\s+/).filter(Boolean);
  pick.found = offers().filter((offer) => words.every((word) => offer.key.includes(word)));
  // The whole name stands first, then what begins with the words, then what only holds them.
  const near = (offer) => (offer.key === typed ? 2 : Number(offer.key.startsWith(words[0])));
  if (words.length) pick.found.sort((a, b) => near(b) - near(a));
  const exact = pick.found.findIndex((offer) => offer.key === typed);
  const from = all && exact >= 0 ? Math.max(0, exact - 3) : 0;
  const shown = pick.found.slice(from, from + PICK_SHOWN);
  pick.found = shown.length ? shown : [];
  pick.list.replaceChildren(...shown.map(pickRow));
  document.getElementById("pick-count").textContent = `${shown.length} / ${offers().length}`;
  if (!shown.length) { hidePicker(field); return; }
  if (!isPicking()) pick.box.showPopover();
  const at = field.closest(".model").getBoundingClientRect();
  const width = Math.min(Math.max(at.width, 480), innerWidth - 16);
  pick.box.style.setProperty("width", `${width}px`);
  pick.box.style.setProperty("left", `${Math.max(8, Math.min(at.left, innerWidth - width - 8))}px`);
  pick.box.style.setProperty("top", `${field.getBoundingClientRect().bottom + 2}px`);
  field.setAttribute("aria-expanded", "true");
  // After typing nothing is chosen yet: the first arrow goes to the first row, which is the nearest.
  activate(field, all ? pick.found.findIndex((offer) => offer.key === typed) : -1);
}

function pickRow(offer, index) {
  const row = document.createElement("li");
  row.id = `pick-${index}`;
  row.setAttribute("role", "option");
  row.setAttribute("aria-selected", "false");
  for (const [tag, text, css] of [["b", offer.name, ""], ["span", offer.size, "num"], ["span", offer.shape, ""]]) {
    const part = document.createElement(tag);
    part.textContent = text;
    if (css) part.className = css;
    row.append(part, " ");
  }
  return row;
}

function activate(field, index) {
  pick.list.children[pick.at]?.setAttribute("aria-selected", "false");
  pick.at = index;
  const row = pick.list.children[index];
  if (!row) { field.removeAttribute("aria-activedescendant"); return; }
  row.setAttribute("aria-selected", "true");
  row.scrollIntoView({ block: "nearest" });
  field.setAttribute("aria-activedescendant", row.id);
}

function hidePicker(field) {
  if (isPicking()) pick.box.hidePopover();
  // The places are styles of the element: htmx keeps copies of the page, and the policy refuses styles in them.
  pick.box?.removeAttribute("style");
  pick.at = -1;
  field?.setAttribute("aria-expanded", "false");
  field?.removeAttribute("aria-activedescendant");
}

function choose(field, index) {
  const offer = pick.found[index];
  hidePicker(field);
  if (!offer) return;
  field.value = offer.name;
  field.focus();
  field.dispatchEvent(new Event("change", { bubbles: true }));
}

document.addEventListener("input", (event) => {
  const field = event.target;
  if (field.id !== "model" || field.getAttribute("role") !== "combobox") return;
  const text = field.value.trim().toLowerCase();
  showPicker(field, false);
  // Half a name is no question yet: it is asked when it is whole, picked or left.
  if (!SIZE.test(text) && !offers().some((offer) => offer.key === text)) event.stopPropagation();
}, true);

document.addEventListener("click", (event) => {
  const field = document.getElementById("model");
  if (!field || field.getAttribute("role") !== "combobox") return;
  if (event.target === field) {
    if (!isPicking()) { field.select(); showPicker(field, true); }
  } else if (isPicking() && !pick.box.contains(event.target)) hidePicker(field);
  const row = event.target.closest?.("#pick-list li");
  if (row) choose(field, [...pick.list.children].indexOf(row));
});

document.addEventListener("keydown", (event) => {
  const field = event.target;
  if (field.id !== "model" || field.getAttribute("role") !== "combobox" || event.isComposing) return;
  const last = pick.found.length - 1;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    if (!isPicking()) { showPicker(field, true); return; }
    const down = event.key === "ArrowDown";
    activate(field, down ? (pick.at >= last ? 0 : pick.at + 1) : (pick.at <= 0 ? last : pick.at - 1));
  } else if (event.key === "Enter" && isPicking() && pick.at >= 0) {
    event.preventDefault();
    choose(field, pick.at);
  } else if (event.key === "Escape" && isPicking()) {
    event.preventDefault();
    hidePicker(field);
  } else if (event.key === "Tab") hidePicker(field);
}, true);

document.addEventListener("focusout", (event) => {
  if (event.target.id === "model" && !pick.box?.contains(event.relatedTarget)) setTimeout(() => {
    if (document.activeElement?.id !== "model") hidePicker(event.target);
  }, 150);
});
document.addEventListener("scroll", (event) => {
  if (isPicking() && !pick.box.contains(event.target)) hidePicker(document.getElementById("model"));
}, { capture: true, passive: true });

/* Charts: drawn when they come near the viewport; the table under each is there from the start. */
const theme = () => document.documentElement.dataset.theme || (DARK.matches ? "dark" : "light");
let plotly = null;

function loadPlotly() {
  plotly ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = document.body.dataset.plotly;
    script.onload = () => done(window.Plotly);
    script.onerror = failed;
    document.head.append(script);
  });
  return plotly;
}

const CHINESE = {
  moduleType: "locale", name: "zh-CN", dictionary: {},
  format: {
    days: ["星期日", "星期一", "星期二", "星期三", "星期四", "星期五", "星期六"],
    shortDays: ["周日", "周一", "周二", "周三", "周四", "周五", "周六"],
    months: ["一月", "二月", "三月", "四月", "五月", "六月", "七月", "八月", "九月", "十月", "十一月", "十二月"],
    shortMonths: ["1月", "2月", "3月", "4月", "5月", "6月", "7月", "8月", "9月", "10月", "11月", "12月"],
    date: "%Y-%m-%d", decimal: ".", thousands: ",",
  },
};

async function draw(box) {
  box.dataset.drawn = theme();
  const address = new URL(box.dataset.figure, location.href);
  address.searchParams.set("theme", theme());
  const [Plotly, answer] = await Promise.all([loadPlotly(), fetch(address)]);
  if (!answer.ok || !box.isConnected) return;
  const figure = await answer.json();
  if (box.clientWidth < 520) {
    // On a narrow drawing labels would cover the points; a touch shows them, and the table has them all.
    for (const note of figure.layout.annotations || []) {
      if (note.name === "first" || note.name === "front") note.visible = false;
      if (note.name === "phone") note.visible = true;
    }
  }
  const locale = document.body.dataset.locale;
  if (locale === "zh-CN") Plotly.register(CHINESE);
  await Plotly.newPlot(box, figure.data, figure.layout, {
    displaylogo: false, displayModeBar: false, responsive: true, showSendToCloud: false, plotlyServerURL: "",
    scrollZoom: false, doubleClick: false, locale,
  });
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", box.dataset.label);
}

const near = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting || entry.target.dataset.drawn) continue;
    near.unobserve(entry.target);
    draw(entry.target).catch(() => { entry.target.hidden = true; });
  }
}, { rootMargin: "400px" });

function settle() {
  for (const box of document.querySelectorAll(".draw[data-figure]:not([data-drawn])")) {
    box.hidden = false;
    near.observe(box);
  }
}

DARK.addEventListener("change", () => {
  for (const box of document.querySelectorAll(".draw[data-drawn]")) {
    if (box.dataset.drawn !== theme()) draw(box).catch(() => {});
  }
});

// Opened from where it sticks: the form begins at the top of the page, far above.
document.addEventListener("toggle", (event) => {
  if (event.target.matches?.("details.ask") && event.target.open && !WIDE.matches) event.target.scrollIntoView();
}, true);

document.addEventListener("DOMContentLoaded", () => { openQuestion(); setUpPicker(); settle(); watchAnswer(); });
WIDE.addEventListener("change", openQuestion);
