// Keys, news and nothing else: every page works without it.
"use strict";

const places = { o: "/", i: "/inbox", p: "/patterns", f: "/failures", x: "/fixes", e: "/effect", k: "/knowledge" };
const off = "verify-run keys off";
let waitsForPlace = false;
let row = -1;

const rows = () => Array.from(document.querySelectorAll("table.rows tbody tr"));
const link = (rel) => document.querySelector(`a[rel="${rel}"]`);

function select(step) {
  const all = rows();
  if (all.length === 0) return;
  row = Math.min(Math.max(row + step, 0), all.length - 1);
  const anchor = all[row].querySelector(".main a, a");
  if (anchor) anchor.focus();
}

function nextTheme() {
  const now = document.documentElement.dataset.theme || "system";
  const next = { system: "light", light: "dark", dark: "system" }[now] || "system";
  const address = new URL(location.href);
  address.searchParams.set("theme", next);
  location.assign(address);
}

function explain() {
  const list = document.getElementById("keys");
  if (list) list.open = !list.open;
}

function press(event) {
  const field = event.target instanceof Element && event.target.closest("input, select, textarea, [contenteditable]");
  if (field || event.ctrlKey || event.metaKey || event.altKey || localStorage.getItem(off)) return;
  const key = event.key;
  if (waitsForPlace) {
    waitsForPlace = false;
    if (places[key]) location.assign(places[key]);
    return;
  }
  const actions = {
    g: () => { waitsForPlace = true; },
    j: () => select(1),
    k: () => select(-1),
    o: () => { const at = rows()[row]; const anchor = at && at.querySelector(".main a, a"); if (anchor) anchor.click(); },
    t: nextTheme,
    "/": () => document.querySelector("input[type=search]").focus(),
    "?": explain,
    "[": () => { const prev = link("prev"); if (prev) prev.click(); },
    "]": () => { const next = link("next"); if (next) next.click(); },
  };
  if (!actions[key]) return;
  event.preventDefault();
  actions[key]();
}

function offerSwitch() {
  const button = document.getElementById("keys-switch");
  if (!button) return;
  const show = () => { button.textContent = localStorage.getItem(off) ? "Turn keys on" : "Turn keys off"; };
  button.hidden = false;
  button.addEventListener("click", () => {
    if (localStorage.getItem(off)) localStorage.removeItem(off); else localStorage.setItem(off, "1");
    show();
  });
  show();
}

function listen() {
  const news = document.getElementById("news");
  if (!news || !window.EventSource) return;
  const names = ["failure:recorded", "fix:confirmed", "knowledge:created", "knowledge:promoted", "pattern:reused"];
  let count = 0;
  let source = null;
  const say = (text) => {
    news.textContent = text;
    news.href = location.pathname + location.search;
    news.hidden = false;
  };
  const hear = () => {
    count += 1;
    say(`${count} new`);
  };
  // A page that nobody sees takes no connection from the others.
  const open = () => {
    if (source || document.hidden) return;
    const end = news.dataset.end;
    // From the end of the page on: what came while it was out of sight is counted with the rest.
    if (end) count = 0;
    source = new EventSource(`/api/v1/events${end ? `?page=${end}` : ""}`);
    for (const name of names) source.addEventListener(name, hear);
    source.addEventListener("store:changed", (event) => { if (!JSON.parse(event.data).id) say("new"); });
  };
  const close = () => {
    if (source) source.close();
    source = null;
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
  open();
}

addEventListener("keydown", press);
offerSwitch();
listen();
