// The list of accesses: filtered, sorted, and drawn only where it is looked at.
const ROW = 54;
const state = { text: "", hidden: new Set(), effect: "", fn: "", sort: "severity", grouped: true, chosen: null };
let shown = [];
const alike = new Map();

function groupKey(a) {
  return JSON.stringify([a.fn, a.location.file, a.location.line, a.effect, a.primitive, a.mode, aval(a), a.verdict, a.rule, a.suppressed, a.requires]);
}
/** The first access of each group, and how many there are in it. */
const firsts = (() => {
  const found = new Map();
  for (const a of accesses) {
    const key = groupKey(a);
    const first = found.get(key);
    if (first === undefined) { found.set(key, a); alike.set(a, [a]); }
    else alike.get(first).push(a);
  }
  const first = new Map();
  for (const [a, all] of alike) for (const one of all) first.set(one, a);
  return first;
})();

const ORDERS = {
  severity: (a, b) => a.suppressed - b.suppressed || RANK[a.verdict] - RANK[b.verdict] || (b.effect === "write") - (a.effect === "write") || a.id - b.id,
  program: (a, b) => a.id - b.id,
  place: (a, b) => a.location.file.localeCompare(b.location.file) || a.location.line - b.location.line || a.id - b.id,
  bytes: (a, b) => (b.pattern.bytes ?? -1) - (a.pattern.bytes ?? -1) || a.id - b.id,
  rule: (a, b) => (a.rule || "~").localeCompare(b.rule || "~") || a.id - b.id,
};

function apply() {
  const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
  const pass = (a) =>
    !state.hidden.has(a.verdict) && (!state.effect || a.effect === state.effect) &&
    (state.fn === "" || a.fn === Number(state.fn)) && words.every((w) => a.hay.includes(w));
  shown = accesses.filter((a) => pass(a) && (!state.grouped || firsts.get(a) === a));
  shown.sort(ORDERS[state.sort]);
  const all = accesses.reduce((n, a) => n + pass(a), 0);
  const told = document.querySelector(".found");
  if (told) told.textContent = `${all.toLocaleString("en")} of ${count(accesses.length, "access", "accesses")}` + (state.grouped && shown.length !== all ? ` in ${count(shown.length, "row")}` : "");
  for (const chip of document.querySelectorAll(".tools .chip")) chip.setAttribute("aria-pressed", String(!state.hidden.has(chip.dataset.verdict)));
  drawList();
}

function rowOf(a, index) {
  const n = state.grouped ? alike.get(a)?.length ?? 1 : 1;
  return h("div", { class: `row v-${a.verdict}${a.suppressed ? " off" : ""}`, role: "option", id: `row-${a.id}`, "aria-selected": String(a === state.chosen), "aria-posinset": index + 1, "aria-setsize": shown.length, style: `top:${index * ROW}px`, "data-id": a.id },
    h("span", { class: "a" }, h("span", { class: "vd" }, a.verdict), a.suppressed ? " (ignored)" : "", ` ${a.effect} ${aval(a)}`, n > 1 ? h("b", {}, ` ×${n}`) : ""),
    h("span", { class: "n" }, a.rule || "", ` #${a.id}`),
    h("span", { class: "b" }, `${base(a.location)}  ${a.location.text}`));
}

let drawn = "";
function drawList(force = true) {
  const list = document.querySelector(".list");
  if (!list) return;
  const rows = list.firstElementChild;
  rows.style.height = `${Math.max(1, shown.length) * ROW}px`;
  const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 6);
  const last = Math.min(shown.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + 6);
  const key = `${first}-${last}`;
  if (!force && key === drawn) return;
  drawn = key;
  const nodes = [];
  for (let i = first; i < last; i++) nodes.push(rowOf(shown[i], i));
  if (!shown.length) nodes.push(h("p", { class: "none" }, "Nothing matches. ", h("button", { type: "button", class: "act", onclick: clear }, "Clear the filters")));
  rows.replaceChildren(...nodes);
  list.setAttribute("aria-activedescendant", state.chosen ? `row-${state.chosen.id}` : "");
}

function clear() {
  Object.assign(state, { text: "", effect: "", fn: "" });
  state.hidden.clear();
  const tools = document.querySelector(".tools");
  if (tools) { tools.querySelector("input").value = ""; for (const s of tools.querySelectorAll("select.filter")) s.value = ""; }
  apply();
}

function choose(a, { scroll = true, link = true } = {}) {
  if (!a) return;
  if (state.grouped && firsts.get(a) !== a && !shown.includes(a)) { state.grouped = false; syncGrouping(); apply(); }
  if (!shown.includes(a)) { clear(); }
  state.chosen = a;
  const index = shown.indexOf(a);
  const list = document.querySelector(".list");
  if (list && scroll) {
    const top = index * ROW;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
  }
  drawList();
  showDetail(a);
  if (link) history.replaceState(null, "", `#access-${a.id}`);
}

function step(by) {
  const at = shown.indexOf(state.chosen);
  const next = at < 0 ? (by > 0 ? 0 : shown.length - 1) : Math.min(shown.length - 1, Math.max(0, at + by));
  choose(shown[next]);
}
function nextFinding() {
  const at = shown.indexOf(state.chosen);
  const order = [...shown.slice(at + 1), ...shown.slice(0, Math.max(0, at))];
  choose(order.find(finding));
}
function syncGrouping() {
  const button = document.getElementById("group");
  if (button) { button.setAttribute("aria-pressed", String(state.grouped)); button.textContent = state.grouped ? "Alike: grouped" : "Alike: each"; }
}
