"use strict";
document.documentElement.classList.add("js");
const byKey = new Map();
for (const element of document.querySelectorAll("[data-k]")) {
  const key = element.dataset.k;
  if (!byKey.has(key)) byKey.set(key, []);
  byKey.get(key).push(element);
}
let current = null;

function reveal(pane) {
  const first = pane.offsetParent === null ? null : pane.querySelector(".on");
  if (!first) return;
  const top = first.getBoundingClientRect().top - pane.getBoundingClientRect().top;
  if (top < 0 || top > pane.clientHeight - 24) pane.scrollTop += top - pane.clientHeight / 3;
}

function select(key, origin) {
  if (key === undefined || key === current) return;
  for (const element of byKey.get(current) || []) {
    element.classList.remove("on");
    if (element.getAttribute("role") === "option") element.setAttribute("aria-selected", "false");
  }
  current = key;
  for (const element of byKey.get(key) || []) {
    element.classList.add("on");
    if (element.getAttribute("role") === "option") element.setAttribute("aria-selected", "true");
  }
  document.documentElement.classList.add("chosen");
  for (const pane of document.querySelectorAll(".pane")) if (!origin || !pane.contains(origin)) reveal(pane);
}

for (const list of document.querySelectorAll(".list")) {
  const options = [...list.querySelectorAll(".ln[data-k]")];
  for (const option of options) {
    option.setAttribute("role", "option");
    option.setAttribute("aria-selected", "false");
    option.tabIndex = -1;
  }
  if (!options.length) continue;
  list.tabIndex = -1;
  let active = options[0];
  active.tabIndex = 0;
  const go = (option) => {
    active.tabIndex = -1;
    active = option;
    active.tabIndex = 0;
    active.focus();
  };
  list.addEventListener("focusin", (event) => {
    const option = event.target.closest(".ln[data-k]");
    if (!option) return;
    active.tabIndex = -1;
    active = option;
    active.tabIndex = 0;
    select(option.dataset.k, option);
  });
  list.addEventListener("click", (event) => {
    const option = event.target.closest(".ln[data-k]");
    if (option) go(option), select(option.dataset.k, option);
  });
  list.addEventListener("mouseover", (event) => {
    const option = event.target.closest(".ln[data-k]");
    if (option) select(option.dataset.k, option);
  });
  list.addEventListener("keydown", (event) => {
    const at = options.indexOf(active);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: options.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    go(options[Math.max(0, Math.min(options.length - 1, to))]);
  });
}

for (const button of document.querySelectorAll(".box > button")) {
  for (const kind of ["focus", "click", "mouseenter"]) {
    button.addEventListener(kind, () => select(button.dataset.k, button));
  }
}

const tabs = [...document.querySelectorAll("[role=tab]")];
function open(tab) {
  for (const other of tabs) {
    const chosen = other === tab;
    other.setAttribute("aria-selected", String(chosen));
    other.tabIndex = chosen ? 0 : -1;
    document.getElementById(other.getAttribute("aria-controls")).hidden = !chosen;
  }
  for (const pane of document.querySelectorAll("[role=tabpanel]:not([hidden]) .pane")) reveal(pane);
}
tabs.forEach((tab, at) => {
  tab.addEventListener("click", () => open(tab));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(at + step + tabs.length) % tabs.length];
    open(next);
    next.focus();
  });
});
open(tabs[0]);
const first = document.querySelector(".refusal[data-k]") || document.querySelector(".source .ln:has(.loop, .cond, .select)");
if (first) select(first.dataset.k, null);
