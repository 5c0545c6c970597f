// Where the time went, as an icicle: what lies below a block is part of it.
const STAGES = {
  trace: "JAX traces the function", walk: "finding the accesses", slice: "keeping what reaches an index", facts: "ranges of values",
  exact: "exact sets (isl, z3)", conditions: "conditions on the inputs", witness: "inputs that break them", other: "the rest",
};
function leaf(name, value, children = []) { return { name, value, children }; }

/** Stages named `a/b` lie below `a`. */
function tree(timings) {
  const root = leaf("", 0);
  for (const [name, value] of Object.entries(timings)) {
    let at = root;
    for (const part of name.split("/")) {
      let next = at.children.find((c) => c.name === part);
      if (!next) at.children.push((next = leaf(part, 0)));
      at = next;
    }
    at.value = value;
  }
  const total = (node) => { const inner = node.children.reduce((s, c) => s + total(c), 0); return (node.value = Math.max(node.value, inner)); };
  total(root);
  return root.children;
}
const sum = (list) => list.reduce((s, c) => s + c.value, 0);
const told = (f) => raw.explanations.find((e) => e.name === f.name);

/** One function: JAX's time and redzone's own, by line where the check was explained. */
function timesOf(f) {
  const stages = tree(f.timings), why = told(f);
  const own = why?.tree ? why.tree.children : stages.filter((s) => s.name !== "trace");
  const jax = why?.jax ? ["trace", "lower", "compile"].map((n) => leaf(n, why.jax[n] ?? 0)).filter((c) => c.value > 0) : stages.filter((s) => s.name === "trace");
  const parts = [leaf(jax.length > 1 ? "JAX" : "JAX: trace", sum(jax), jax.length > 1 ? jax : []), leaf("redzone", why?.tree?.value ?? sum(own), own)].filter((c) => c.value > 0);
  return leaf(f.name, sum(parts), parts);
}
function timeTree() {
  const all = functions.filter((f) => Object.keys(f.timings).length).map(timesOf);
  if (all.length === 1) return all[0];
  return leaf(count(all.length, "function"), all.reduce((s, c) => s + c.value, 0), all);
}

function icicle(root) {
  const box = h("div", { class: "icicle", role: "group", "aria-label": "Time as an icicle chart" });
  const way = [root];
  function draw() {
    const focus = way[way.length - 1];
    const rows = [];
    const block = (node, depth, from, width, up) => {
      if (width < 0.0008) return;
      (rows[depth] ??= []).push(h("button", { type: "button", style: `left:${from * 100}%;width:${width * 100}%;--h:${hue(node)}${width > 0.035 ? "" : ";padding:0"}`, title: `${node.name}: ${seconds(node.value)}, ${((100 * node.value) / Math.max(root.value, 1e-12)).toFixed(1)} % of all${STAGES[node.name] ? ` (${STAGES[node.name]})` : ""}`,
        onclick: () => { if (up) way.length = way.indexOf(node) + 1; else if (node !== focus && node.children.length) way.push(node); else if (node === focus && way.length > 1) way.pop(); draw(); } }, width > 0.035 ? `${node.name} ${seconds(node.value)}` : ""));
      let at = from;
      if (!up) for (const child of [...node.children].sort((a, b) => b.value - a.value)) { const part = node.value > 0 ? (width * child.value) / node.value : 0; block(child, depth + 1, at, part, false); at += part; }
    };
    way.slice(0, -1).forEach((node, depth) => block(node, depth, 0, 1, true));
    block(focus, way.length - 1, 0, 1, false);
    box.replaceChildren(...rows.map((r) => h("div", { class: "ice" }, r)));
  }
  draw();
  return box;
}
const hue = (node) => { let n = 7; for (const c of node.name) n = (n * 31 + c.charCodeAt(0)) % 360; return node.name === "redzone" ? 4 : node.name.startsWith("JAX") ? 210 : n; };

function timeView() {
  const root = timeTree();
  if (!root.value) return cards([], "No times were recorded.");
  const totals = new Map();
  for (const f of functions) for (const [stage, s] of Object.entries(f.timings)) totals.set(stage, (totals.get(stage) ?? 0) + s);
  const traced = totals.get("trace") ?? 0;
  const own = [...totals].filter(([s]) => s !== "trace" && !s.includes("/")).reduce((n, [, s]) => n + s, 0);
  const rows = [...totals].sort((a, b) => b[1] - a[1]).map(([stage, s]) => h("tr", {}, h("td", {}, h("code", {}, stage)), h("td", { class: "soft" }, STAGES[stage] ?? ""), h("td", { class: "num" }, seconds(s)), h("td", { class: "num" }, `${((100 * s) / root.value).toFixed(1)} %`), h("td", {}, h("div", { class: "meter" }, h("i", { style: `width:${(100 * s) / root.value}%` })))));
  const first = h("section", { class: "card" },
    h("h2", {}, raw.explanations.length === 1 ? raw.explanations[0].sentence : traced ? `Checking took ${((100 * own) / traced).toFixed(1)} % of the time JAX needed to trace` : `Checking took ${seconds(own)}`),
    h("p", { class: "soft" }, `redzone ${seconds(own)}, JAX's tracing ${seconds(traced)}. Click a block to look into it.`), icicle(root),
    h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "stage"), h("th", {}, ""), h("th", { class: "num" }, "time"), h("th", { class: "num" }, "share"), h("th", {}, ""))), h("tbody", {}, rows))));
  return h("div", { class: "cards" }, first, raw.explanations.map(explanationCard));
}

/** What `--explain` found out: the costliest accesses, and what would make the check cheaper. */
function explanationCard(e) {
  const costs = e.accesses.slice(0, 10).map((c) => h("tr", {}, h("td", {}, h("code", {}, base(c.location))), h("td", {}, `${c.verdict} ${c.effect}, ${c.primitive}`), h("td", { class: "num" }, seconds(c.seconds)), h("td", { class: "soft" }, c.why.join("; "))));
  const lines = e.lines.slice(0, 10).map((l) => h("tr", {}, h("td", {}, h("code", {}, l.location?.file ? base(l.location) : l.name)), h("td", { class: "soft" }, l.location?.text ?? ""), h("td", { class: "num" }, seconds(l.seconds))));
  const table = (title, rows) => rows.length ? [h("h3", {}, title), h("div", { class: "scroll" }, h("table", {}, h("tbody", {}, rows)))] : [];

  return h("section", { class: "card detail" }, h("h2", {}, e.sentence ?? e.name), table("By line", lines), table("Costliest accesses", costs),
    e.advice?.length ? [h("h3", {}, "What would make it cheaper"), e.advice.map((item) => h("p", { class: "fixit" }, item.advice, h("span", { class: "soft" }, ` (up to ${seconds(item.seconds)})`)))] : "");
}
