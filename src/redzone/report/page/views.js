// The parts of the report besides the list.
function accessesView() {
  const select = (name, label, options, filter = true) =>
    h("select", { "aria-label": label, class: filter ? "filter" : "", onchange: (e) => { state[name] = e.target.value; apply(); } }, options.map(([value, text]) => h("option", { value, selected: String(state[name]) === String(value) }, text)));
  let waiting = 0;
  const tools = h("div", { class: "tools" },
    h("input", { type: "search", id: "search", placeholder: "Search  ( / )", "aria-label": "Search accesses", value: state.text,
      oninput: (e) => { state.text = e.target.value; cancelAnimationFrame(waiting); waiting = requestAnimationFrame(apply); } }),
    VERDICTS.filter((v) => accesses.some((a) => a.verdict === v)).map((v) => h("button", { type: "button", class: `chip v-${v}`, "data-verdict": v, "aria-pressed": "true", onclick: () => toggle(v) }, v)),
    select("effect", "Reads or writes", [["", "reads and writes"], ["read", "reads"], ["write", "writes"]]),
    functions.length > 1 ? select("fn", "Function", [["", "every function"], ...functions.map((f, i) => [i, f.name])]) : "",
    select("sort", "Sort", [["severity", "worst first"], ["program", "program order"], ["place", "by file"], ["rule", "by rule"], ["bytes", "most bytes first"]], false),
    h("button", { type: "button", id: "group", onclick: regroup }, "Alike: grouped"),
    h("span", { class: "found", role: "status" }));
  const list = h("div", { class: "list", role: "listbox", tabindex: 0, "aria-label": "Accesses", onscroll: () => drawList(false),
    onclick: (e) => { const row = e.target.closest(".row"); if (row) choose(accesses[Number(row.dataset.id) - 1], { scroll: false }); } }, h("div", { class: "rows" }));
  return [tools, h("div", { class: "panes" }, list, h("article", { class: "detail", "aria-live": "polite" }, h("p", { class: "none" }, accesses.length ? "Choose an access." : "Nothing is accessed at computed positions.")))];
}

function toggle(verdict) {
  if (!state.hidden.delete(verdict)) state.hidden.add(verdict);
  apply();
}
function regroup() {
  state.grouped = !state.grouped;
  if (state.grouped && state.chosen) state.chosen = firsts.get(state.chosen);
  syncGrouping();
  apply();
}
/** Only one verdict, or every one again. */
function only(verdict) {
  const others = VERDICTS.filter((v) => v !== verdict);
  const alone = others.every((v) => state.hidden.has(v)) && !state.hidden.has(verdict);
  state.hidden = new Set(alone ? [] : others);
}

const cards = (items, nothing) => (items.length ? h("div", { class: "cards" }, items) : h("p", { class: "none" }, nothing));

function conditionsView() {
  return cards(causes.map((c) => h("section", { class: "card", id: `condition-${c.id}` },
    h("h2", {}, h("code", {}, c.text)), h("p", { class: "soft" }, [c.origin, functions[c.fn].name].filter(Boolean).join(" · ")),
    h("p", { class: "fixit" }, c.fix),
    c.witness ? h("p", { class: "say v-unsafe" }, "An access leaves its array with ", h("code", {}, c.witness)) : "",
    h("div", { class: "links" }, c.ids.slice(0, 60).map((id) => h("a", { href: `#access-${id}` }, `#${id} ${accesses[id - 1].effect} ${aval(accesses[id - 1])} ${base(accesses[id - 1].location)}`)), c.ids.length > 60 ? h("span", {}, `and ${c.ids.length - 60} more`) : ""))), "No access depends on a condition on the inputs.");
}

function warningsView() {
  const items = lints.map((l) => h("section", { class: "card v-warning", id: `warning-${l.id}` }, h("span", { class: "tag" }, `${l.code} ${codes[l.code]?.name ?? ""}`), h("h2", {}, l.message),
    h("p", { class: "soft" }, place(l.location)), sourceView({ ...l.location, index: l.location.span }, "warning"), h("p", { class: "fixit" }, l.fix)));
  for (const u of raw.unused) items.push(h("section", { class: "card v-warning" }, h("span", { class: "tag" }, "RZ902 unused-suppression"), h("h2", {}, u.text), h("p", { class: "soft" }, u.place)));
  for (const f of functions) for (const note of f.notes) items.push(h("section", { class: "card" }, h("p", {}, note), h("p", { class: "soft" }, f.name)));
  for (const f of functions) for (const [name, n] of Object.entries(f.unmodelled)) items.push(h("section", { class: "card" }, h("p", {}, "No rule for ", h("code", {}, name), `, met ${count(n, "time")}: its result counts as any value.`), h("p", { class: "soft" }, f.name)));
  return cards(items, "No warnings.");
}

const LANES = 40;
function bufferCard(b, i) {
  const list = b.accesses.map((id) => accesses[id - 1]);
  const groups = new Map();
  for (const a of list) {
    const key = JSON.stringify([a.pattern, a.effect, a.verdict, a.location.file, a.location.line]);
    if (groups.has(key)) groups.get(key).n += 1; else groups.set(key, { a, n: 1 });
  }
  const lanes = [...groups.values()].sort((x, y) => RANK[x.a.verdict] - RANK[y.a.verdict] || x.a.id - y.a.id);
  const known = isNumber(b.bytes) && b.bytes > 0;
  return h("section", { class: "card", id: `buffer-${i + 1}` },
    h("h2", {}, h("code", {}, b.name), ` ${aval(b)}`), h("p", { class: "soft" }, [b.origin, functions[b.fn].name, known ? bytes(b.bytes) : "size not known here", count(list.length, "access", "accesses")].join(" · ")),
    known ? h("div", { class: "lane" }, h("span", { class: "lab soft" }, "bytes touched"), heat(list, b.bytes)) : "",
    lanes.slice(0, LANES).map(({ a, n }) => h("a", { class: `lane v-${a.verdict}`, href: `#access-${a.id}`, title: `${a.effect} ${a.pattern.kind}, bytes ${range(a.pattern.low, a.pattern.high)}` },
      h("span", { class: "lab" }, h("b", {}, a.verdict), ` ${a.effect} ${base(a.location)}${n > 1 ? ` ×${n}` : ""}`), known ? strip(b.bytes, [a], { over: over(a) }) : h("span", {}, a.pattern.kind))),
    lanes.length > LANES ? h("p", { class: "soft" }, `and ${lanes.length - LANES} more places`) : "",
    known ? h("p", { class: "soft key" }, h("span", {}, h("i", { style: "background:var(--read)" }), "read"), h("span", {}, h("i", { style: "background:var(--write)" }), "write"), h("span", {}, h("i", { style: "background:var(--out)" }), "can leave the array"), h("span", {}, `0 … ${number(b.bytes - 1)} B`)) : "");
}

/** Buffers are drawn when they come near: a program may have thousands. */
function buffersView() {
  if (!buffers.length) return cards([], "No array is accessed at computed positions.");
  const order = buffers.map((b, i) => [b, i]).sort(([a], [b]) => a.worst - b.worst || b.accesses.length - a.accesses.length);
  const holder = h("div", { class: "cards" });
  const watch = new IntersectionObserver((entries) => {
    for (const e of entries) if (e.isIntersecting) { watch.unobserve(e.target); const [b, i] = order[Number(e.target.dataset.at)]; const card = bufferCard(b, i); card.className = e.target.className; e.target.replaceWith(card); }
  }, { rootMargin: "600px" });
  order.forEach(([, i], at) => { const empty = h("section", { class: "card", id: `buffer-${i + 1}`, "data-at": at, style: "min-height:150px" }); holder.append(empty); watch.observe(empty); });
  return holder;
}
