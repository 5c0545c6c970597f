// Tabs, links, keys, and the theme.
const TABS = [
  ["accesses", "Accesses", () => accesses.length, accessesView],
  ["conditions", "Conditions", () => causes.length, conditionsView],
  ["buffers", "Buffers", () => buffers.length, buffersView],
  ["warnings", "Warnings", () => lints.length + raw.unused.length, warningsView],
  ["time", "Time", () => null, timeView],
];
const main = document.getElementById("main");
let current = "";

function open(tab) {
  if (tab === current) return;
  current = tab;
  const [, , , view] = TABS.find(([id]) => id === tab);
  main.replaceChildren(...[view()].flat(9));
  main.setAttribute("role", "tabpanel");
  for (const button of document.querySelectorAll(".tabs button")) {
    button.setAttribute("aria-selected", String(button.dataset.tab === tab));
    button.tabIndex = button.dataset.tab === tab ? 0 : -1;
  }
  if (tab === "accesses") { syncGrouping(); apply(); if (state.chosen) choose(state.chosen, { link: false }); }
}

function route() {
  const [, kind, id] = /^#([a-z]+)(?:-(\d+))?$/.exec(location.hash) ?? [];
  if (kind === "access" && accesses[Number(id) - 1]) {
    open("accesses");
    choose(accesses[Number(id) - 1], { link: false });
    if (current && document.activeElement?.closest?.(".first, .card, .lane, .detail") !== undefined) document.querySelector(".tools")?.scrollIntoView({ block: "start" });
    return;
  }
  const parts = { buffer: "buffers", condition: "conditions", warning: "warnings" };
  if (parts[kind]) {
    open(parts[kind]);
    const target = document.getElementById(`${kind}-${id}`);
    target?.scrollIntoView({ block: "start" });
    for (const card of document.querySelectorAll(".card.lit")) card.classList.remove("lit");
    requestAnimationFrame(() => document.getElementById(`${kind}-${id}`)?.classList.add("lit"));
    return;
  }
  if (TABS.some(([tab]) => tab === kind)) { open(kind); return; }
  open("accesses");
  if (!state.chosen && shown.length && matchMedia("(min-width: 901px)").matches) choose(shown[0], { link: false });
}

document.querySelector(".tabs").append(...TABS.map(([id, name, size]) => h("button", { type: "button", role: "tab", "data-tab": id, onclick: () => { history.pushState(null, "", `#${id}`); route(); } }, name, " ", size() === null ? "" : h("small", {}, size().toLocaleString("en")))));
for (const button of document.querySelectorAll(".count")) {
  button.addEventListener("click", () => { only(button.dataset.only); history.replaceState(null, "", "#accesses"); open("accesses"); apply(); document.querySelector(".tools").scrollIntoView({ block: "start" }); });
}

const THEMES = ["auto", "light", "dark"];
function setTheme(name) {
  if (name === "auto") delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = name;
  document.getElementById("theme").textContent = `Theme: ${name}`;
  try { localStorage.setItem("redzone-theme", name); } catch { /* a page from a file may have no storage */ }
}
function nextTheme() { setTheme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme ?? "auto") + 1) % 3]); }
document.getElementById("theme").addEventListener("click", nextTheme);
try { const kept = localStorage.getItem("redzone-theme"); if (THEMES.includes(kept)) setTheme(kept); } catch { /* none kept */ }

const help = document.getElementById("help");
document.getElementById("help-open").addEventListener("click", () => help.showModal());
const tabBy = (by) => { const at = TABS.findIndex(([id]) => id === current); const [id] = TABS[(at + by + TABS.length) % TABS.length]; history.pushState(null, "", `#${id}`); route(); };
const list = () => document.querySelector(".list");
const page = () => Math.max(1, Math.floor((list()?.clientHeight ?? 540) / ROW) - 1);
const KEYS = {
  j: () => step(1), ArrowDown: () => step(1), k: () => step(-1), ArrowUp: () => step(-1), PageDown: () => step(page()), PageUp: () => step(-page()),
  Home: () => choose(shown[0]), End: () => choose(shown[shown.length - 1]), n: nextFinding, g: regroup, 0: clear, c: () => document.getElementById("copy")?.click(),
};
const ANYWHERE = { "/": () => { history.replaceState(null, "", "#accesses"); open("accesses"); document.getElementById("search").focus(); document.getElementById("search").select(); }, "?": () => help.showModal(), t: nextTheme, "[": () => tabBy(-1), "]": () => tabBy(1) };
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  const typing = event.target.matches?.("input, select, textarea");
  if (event.key === "Escape") { if (typing) { event.target.blur(); list()?.focus({ preventScroll: true }); } else document.querySelector(".panes")?.classList.remove("open"); return; }
  if (event.target.closest?.(".tabs") && (event.key === "ArrowLeft" || event.key === "ArrowRight")) { tabBy(event.key === "ArrowLeft" ? -1 : 1); document.querySelector(".tabs [aria-selected=true]").focus(); event.preventDefault(); return; }
  if (typing) { if (event.key === "Enter" || (event.key === "ArrowDown" && event.target.id === "search")) { list()?.focus({ preventScroll: true }); if (shown.length) choose(shown[0]); event.preventDefault(); } return; }
  if (event.key in ANYWHERE) { ANYWHERE[event.key](); event.preventDefault(); return; }
  if (current !== "accesses") return;
  // Space and the arrows scroll the page unless the list is what is looked at.
  const moves = event.key.length > 1;
  if (moves && !event.target.closest?.(".list") && event.target !== document.body) return;
  if (event.key >= "1" && event.key <= "6") { toggle(VERDICTS[event.key - 1]); event.preventDefault(); return; }
  if (event.key in KEYS) { KEYS[event.key](); event.preventDefault(); }
});
addEventListener("hashchange", route);
addEventListener("popstate", route);
addEventListener("resize", () => { drawList(); if (state.chosen && current === "accesses") showDetail(state.chosen, false); });
route();
