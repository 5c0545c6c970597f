// Everything about one access.
const KINDS = {
  contiguous: "one run of neighbouring bytes", strided: "pieces at equal distances", broadcast: "the same place every time",
  block: "a box: rows of bytes at equal distances", permutation: "every place once, in another order",
  scattered: "places that depend on values", opaque: "not seen: foreign code",
};

function sourceView(location, verdict) {
  const lines = sources[location.file] ?? {};
  const from = location.line - 3, to = Math.max(location.line, location.span?.end_line ?? 0) + 3;
  const view = h("pre", { class: `src v-${verdict}` });
  for (let n = from; n <= to; n++) {
    const text = lines[n] ?? (n === location.line ? location.text : undefined);
    if (text === undefined) continue;
    view.append(h("div", { class: n === location.line ? "here" : "" }, h("span", { class: "ln" }, n), h("span", { class: "t" }, marked(text, n, location, lines[n] !== undefined))));
  }
  return view;
}

/** A line with its access underlined and the index in it lit. */
function marked(text, line, location, whole) {
  const chars = Array.from(text);
  const part = (span) => {
    if (!span || !whole || line < span.line || line > span.end_line) return null;
    const indent = chars.findIndex((c) => c.trim());
    return [line === span.line ? span.column - 1 : indent, line === span.end_line ? span.end_column - 1 : chars.length];
  };
  const access = part(location.span), index = part(location.index);
  if (!access && !index) return text || " ";
  const cuts = [...new Set([0, chars.length, ...(access ?? []), ...(index ?? [])])].sort((a, b) => a - b);
  const inside = (p, a, b) => p && p[0] <= a && b <= p[1];
  return cuts.slice(1).map((end, i) => {
    const piece = chars.slice(cuts[i], end).join("");
    if (inside(index, cuts[i], end)) return h("mark", { class: "ix" }, piece);
    return inside(access, cuts[i], end) ? h("mark", {}, piece) : piece;
  });
}

const say = (title, ...children) => [h("h3", {}, title), ...children];
const go = (a, text) => h("a", { href: `#access-${a.id}` }, text ?? `#${a.id}`);

function copyButton(text, id) {
  return h("button", { type: "button", class: "act", id, onclick: (event) => {
    const button = event.currentTarget;
    const done = (ok) => { button.textContent = ok ? "Copied" : "Select and copy by hand"; setTimeout(() => { button.textContent = "Copy"; }, 1500); };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(() => done(true), () => done(false)); else done(false);
  } }, "Copy");
}

function chainTable(a) {
  const limits = (l) => l.lo === null && l.hi === null ? "" : range(l.lo, l.hi);
  const last = a.chain.length - 1;
  const rows = a.chain.map((l, i) => h("tr", {}, h("td", {}, l.name), h("td", { class: "eq" }, l.primitive === "input" ? h("span", { class: "soft" }, l.equation) : l.equation),
    h("td", { class: i === last && finding(a) ? "num bad" : "num" }, limits(l)), h("td", { class: "at", title: l.location.text }, l.location.file ? base(l.location) : "")));
  return h("div", { class: "scroll" }, h("table", { class: "chain" }, h("thead", {}, h("tr", {}, h("th", {}, "value"), h("th", {}, "is"), h("th", { class: "num" }, "range"), h("th", {}, "line"))), h("tbody", {}, rows)));
}

function fixOf(a) {
  if (a.loss) return [h("p", { class: "fixit" }, "Promise it before this line: ", h("code", {}, a.loss.settle), ", or clip the index.",
    a.loss.arguments.length ? [" It depends on ", h("code", {}, a.loss.arguments.join(", ")), ", of which no range is promised."] : "")];
  const why = causes.filter((c) => c.ids.includes(a.id));
  if (why.length) return why.map((c) => h("p", { class: "fixit" }, c.fix, " ", h("a", { href: `#condition-${c.id}` }, "The condition and all that depend on it")));
  return a.fix ? [h("p", { class: "fixit" }, a.fix)] : [];
}

function detailOf(a) {
  const same = alike.get(firsts.get(a)) ?? [a];
  const code = codes[a.rule];
  const buffer = a.buffer === null ? null : buffers[a.buffer];
  const witness = a.witness?.index.map(big);
  const parts = [
    h("div", { class: `kicker v-${a.verdict}` }, h("button", { type: "button", class: "act back", onclick: () => document.querySelector(".panes").classList.remove("open") }, "← List"),
      h("span", { class: "pill" }, a.verdict), a.rule ? h("span", { title: code?.meaning }, `${a.rule} ${code?.name ?? ""}`) : "", a.suppressed ? h("span", {}, "ignored") : "", h("span", { class: "grow" }), h("a", { href: `#access-${a.id}`, title: "Link to this access" }, `#${a.id}`)),
    h("h2", {}, a.message || `${a.effect}s ${aval(a)} and stays inside`),
    h("p", { class: "soft" }, `${place(a.location)}${a.location.function ? ` in ${a.location.function}` : ""} · ${functions[a.fn].name}`),
  ];
  if (a.location.file) parts.push(sourceView(a.location, a.verdict));
  if (a.bounds.length) {
    parts.push(say("Index against the buffer"));
    const width = Math.max(300, Math.min(860, (document.querySelector(".detail")?.clientWidth || 700) - 40));
    a.bounds.forEach((b, k) => parts.push(indexBar(a, b, witness?.[k], width)));
  }
  if (a.witness) {
    const text = a.witness.shown || "any input";
    parts.push(say("An input that leaves the array"), h("p", { class: "say v-unsafe" }, copyButton(text, "copy"), h("code", {}, text), ` makes the index ${a.witness.index.length === 1 ? a.witness.index[0] : `(${a.witness.index.join(", ")})`}`, a.witness.path ? ` (${a.witness.path})` : "", "."));
  }
  if (a.requires.length) parts.push(say("Stays inside when"), a.requires.map((c) => h("p", { class: "say v-requires" }, h("code", {}, c.text))));
  if (a.chain.length) parts.push(say("How the index is made"), chainTable(a));
  if (a.loss?.equation) parts.push(h("p", { class: "soft" }, `Nothing tighter is known after ${a.loss.equation}`, a.loss.location.file ? ` at ${place(a.loss.location)}` : "", "."));
  const fix = fixOf(a);
  if (fix.length) parts.push(say("How to fix it"), fix);
  for (const l of a.lints) parts.push(h("p", { class: "say v-warning" }, h("b", {}, `${l.code} `), `${l.message} ${l.fix}`));
  parts.push(say("Memory"));
  if (buffer && isNumber(buffer.bytes)) parts.push(strip(buffer.bytes, [a], { over: over(a) }));
  const p = a.pattern;
  const facts = [["pattern", `${p.kind}${KINDS[p.kind] ? `: ${KINDS[p.kind]}` : ""}`]];
  if (p.strides.length) facts.push(["strides", p.strides.map((s) => `${number(s)} B`).join(" × ")]);
  if (p.bytes !== null) facts.push(["touches", `at most ${bytes(p.bytes)}, in bytes ${range(p.low, p.high)}${buffer && isNumber(buffer.bytes) ? ` of ${bytes(buffer.bytes)}` : ""}`]);
  if (buffer) facts.push(["array", [h("a", { href: `#buffer-${a.buffer + 1}` }, h("code", {}, buffer.name)), ` ${aval(buffer)}, ${buffer.origin}`]]);
  facts.push(["access", `${a.effect} by ${a.primitive}, mode ${a.mode || "none"}`]);
  if (a.decided_by) facts.push(["decided by", a.decided_by]);
  if (a.calls.length > 1) facts.push(["called from", a.calls.slice(1).map((c) => h("div", {}, h("code", {}, place(c)), ` ${c.text}`))]);
  if (same.length > 1) facts.push(["alike", h("div", { class: "links" }, same.slice(0, 24).map((one) => one === a ? h("b", {}, `#${one.id}`) : go(one)), same.length > 24 ? ` and ${same.length - 24} more` : "")]);
  parts.push(h("dl", { class: "facts" }, facts.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
  return parts;
}

function showDetail(a, open = true) {
  const detail = document.querySelector(".detail");
  if (!detail) return;
  // Drawings take the width they are given, so it must be there first.
  if (open) document.querySelector(".panes").classList.add("open");
  detail.replaceChildren(...detailOf(a).flat(9).filter((x) => x instanceof Node));
}
