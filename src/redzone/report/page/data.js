// The data of the page, and small words about it.
const raw = JSON.parse(document.getElementById("data").textContent);
const unpacked = ({ keys, pool, rows }) =>
  rows.map((row) => Object.fromEntries(keys.map((key, i) => [key, pool[row[i]]])));
const accesses = unpacked(raw.accesses);
const { functions, buffers, causes, lints, sources, codes } = raw;
const VERDICTS = ["unsafe", "unknown", "requires", "declared", "masked", "safe"];
const RANK = Object.fromEntries(VERDICTS.map((v, i) => [v, i]));
const SHORT = { bfloat16: "bf16", float: "f", uint: "u", int: "i", complex: "c", bool: "bool" };

// Taken from the page itself, which then names no address at all.
const SVG = document.querySelector("svg").namespaceURI;

/** An element with attributes and children; text is always text, never markup. */
function h(tag, attributes, ...children) {
  const svg = ["svg", "g", "rect", "line", "path", "text", "title", "defs", "pattern", "circle"].includes(tag);
  const node = svg ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(9)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}

const dtype = (name) => name.replace(/^(bfloat|float|uint|int|complex)(\d\w*)$/, (_, k, n) => ({ bfloat: "bf", float: "f", uint: "u", int: "i", complex: "c" })[k] + n);
const aval = (a) => `${dtype(a.dtype)}[${a.shape.join(",")}]`;
const place = (l) => (l.file ? `${l.file}:${l.line}` : "<unknown>");
const base = (l) => (l.file ? `${l.file.split("/").pop()}:${l.line}` : "<unknown>");
const isNumber = (n) => typeof n === "number" && Number.isFinite(n);
const big = (n) => (typeof n === "string" && /^-?\d+$/.test(n) ? Number(n) : n);
const count = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : many ?? one + "s"}`;

function number(n) {
  if (n === null || n === undefined) return "?";
  const limits = { 2147483647: "2³¹−1", "-2147483648": "−2³¹", 4294967295: "2³²−1" };
  return limits[n] ?? (isNumber(n) ? String(n).replace("-", "−") : String(n));
}
const range = (lo, hi) => (String(lo) === String(hi) ? number(lo) : `${number(lo)} … ${number(hi)}`);

function bytes(n) {
  if (!isNumber(n)) return "? B";
  for (const unit of ["B", "KiB", "MiB", "GiB", "TiB"]) {
    if (n < 1024 || unit === "TiB") return `${n < 10 && unit !== "B" ? n.toFixed(1) : Math.round(n)} ${unit}`;
    n /= 1024;
  }
}
function seconds(s) {
  if (s >= 1) return `${s.toFixed(s < 10 ? 2 : 1)} s`;
  return s >= 1e-3 ? `${(s * 1e3).toFixed(1)} ms` : `${Math.round(s * 1e6)} µs`;
}
const outside = (b) => {
  const [lo, hi, min, max] = [b.lo, b.hi, b.min, b.max].map(big);
  if (![lo, hi, min, max].every(isNumber)) return null;
  return lo < min || hi > max;
};
const finding = (a) => (a.verdict === "unsafe" || a.verdict === "unknown") && !a.suppressed;
for (const a of accesses) {
  a.hay = [a.verdict, a.rule, codes[a.rule]?.name, a.effect, a.primitive, a.mode, aval(a), a.message, place(a.location),
    a.location.function, a.location.text, functions[a.fn].name, a.pattern.kind, a.decided_by,
    a.buffer === null ? "" : buffers[a.buffer].name].join("\n").toLowerCase();
}
