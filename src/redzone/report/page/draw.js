// Drawings: an index against its buffer, the bytes of a buffer, where the time went.
let patterns = 0;
function hatching() {
  const id = `hatch${patterns++}`;
  const lines = h("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    h("rect", { width: 6, height: 6, class: "zonebox" }), h("line", { x1: 0, y1: 0, x2: 0, y2: 6, class: "hatch" }));
  return [h("defs", {}, lines), `url(#${id})`];
}

/** One dimension: the buffer in the middle, the red zone on both sides, what the index can be on top. */
function indexBar(access, bounds, witness, W) {
  const [lo, hi, min, max] = [bounds.lo, bounds.hi, bounds.min, bounds.max].map(big);
  const size = big(access.shape[bounds.dim]);
  const known = [lo, hi, min, max, size].every(isNumber);
  const near = 16, L = Math.round(W * 0.2), R = W - L, top = 46, tall = 26, far = W - near;
  const [defs, fill] = hatching();
  const svg = h("svg", { class: "draw bar-index", viewBox: `0 0 ${W} 92`, role: "img" }, defs);
  svg.append(h("title", {}, `dimension ${bounds.dim}: the index is ${range(bounds.lo, bounds.hi)}, it may be ${range(bounds.min, bounds.max)}`));
  const put = (tag, attributes, ...children) => svg.append(h(tag, attributes, ...children));
  put("rect", { x: near, y: top, width: L - near - 1, height: tall, fill, rx: 3 });
  put("rect", { x: R + 1, y: top, width: far - R - 1, height: tall, fill, rx: 3 });
  put("rect", { x: L, y: top, width: R - L, height: tall, class: "mem" });
  if (isNumber(size) && size > 1 && size <= 64) {
    for (let i = 1; i < size; i++) {
      const x = L + ((R - L) * i) / size;
      put("line", { x1: x, x2: x, y1: top, y2: top + tall, class: "memline" });
    }
  }
  const below = top + tall + 14;
  put("text", { x: L, y: below }, "0");
  put("text", { x: R, y: below, "text-anchor": "end" }, isNumber(size) ? number(size - 1) : `${access.shape[bounds.dim]} − 1`);
  if (W > 480) {
    put("text", { x: (L + R) / 2, y: below, "text-anchor": "middle" }, `dimension ${bounds.dim} of ${aval(access)}`);
    put("text", { x: near, y: below }, "red zone");
    put("text", { x: far, y: below, "text-anchor": "end" }, "red zone");
  } else put("text", { x: (L + R) / 2, y: below, "text-anchor": "middle" }, `dimension ${bounds.dim}`);
  if (!known) {
    // Sizes are symbols here: which side can be left is known, how far is not.
    const open = access.verdict !== "safe";
    put("rect", { x: L, y: top + 5, width: R - L, height: tall - 10, class: "in", opacity: 0.6, rx: 2 });
    if (open && isNumber(lo) && lo < 0) put("rect", { x: near, y: top + 5, width: L - near, height: tall - 10, class: "out", opacity: 0.6, rx: 2 });
    if (open && String(bounds.hi) !== String(bounds.max)) put("rect", { x: R, y: top + 5, width: far - R, height: tall - 10, class: "out", opacity: 0.6, rx: 2 });
    put("text", { x: W / 2, y: 26, "text-anchor": "middle", class: open ? "bad" : "big" }, `index ${range(bounds.lo, bounds.hi)}, may be ${range(bounds.min, bounds.max)}`);
    return svg;
  }
  // A window that starts at the largest legal index ends with the buffer.
  const windowSize = Math.max(1, size - max);
  const reach = Math.max(3, size / 2);
  const zone = (distance) => Math.min(1, Math.max(distance / reach, 0.07)) * (L - near);
  const x = (v) => (v < 0 ? L - zone(-v) : v > size ? R + zone(v - size) : L + ((R - L) * v) / Math.max(1, size));
  const from = lo, to = hi + windowSize;
  const bar = (a, b, name) => b > a && put("rect", { x: a, y: top + 5, width: Math.max(2, b - a), height: tall - 10, class: name, rx: 2 });
  bar(Math.max(x(from), L), Math.min(x(to), R), "in");
  if (from < 0) bar(x(from), Math.min(L, x(Math.min(0, to))), "out");
  if (to > size) bar(Math.max(R, x(Math.max(size, from))), x(to), "out");
  for (const [beyond, end, sign] of [[from < -reach, near, -1], [to - size > reach, far, 1]]) {
    if (beyond) put("path", { d: `M${end} ${top + 2} l${sign * 13} ${tall / 2 - 2} l${-sign * 13} ${tall / 2 - 2} z`, class: "out" });
  }
  const bad = lo < min || hi > max;
  const text = `index ${range(lo, hi)}, may be ${range(min, max)}${windowSize > 1 ? `, window of ${windowSize}` : ""}`;
  const half = Math.min(W / 2, 3.4 * text.length);
  put("text", { x: Math.min(Math.max((x(from) + x(to)) / 2, half), W - half), y: 12, "text-anchor": "middle", class: bad ? "bad" : "big" }, text);
  if (isNumber(witness)) {
    const leaves = witness < min || witness > max;
    const at = Math.min(far, Math.max(near, x(witness) + (witness >= 0 && witness < size ? (R - L) / size / 2 : witness < 0 ? 4 : 6)));
    put("path", { d: `M${at} ${top - 1} l-5 -8 l10 0 z`, class: leaves ? "out" : "in" });
    const right = at < W / 2;
    put("text", { x: at + (right ? 9 : -9), y: top - 4, "text-anchor": right ? "start" : "end", class: leaves ? "bad" : "" }, `witness ${number(witness)}`);
  }
  return svg;
}

/** Which of `width` columns an access touches: [from, to, how densely] in columns. */
function touched(pattern, size, width) {
  if (![pattern.low, pattern.high, size].every(isNumber) || size <= 0 || !pattern.bytes) return [];
  const at = (offset) => (offset / size) * width;
  const span = pattern.high - pattern.low + 1;
  const stride = pattern.strides.length ? Math.abs(pattern.strides[0]) : 0;
  const steps = stride ? Math.floor(span / stride) + 1 : 1;
  if (stride && steps > 1 && steps <= 120 && at(stride) >= 3) {
    const one = Math.max(1, Math.min(stride * 0.6, pattern.bytes / steps));
    return Array.from({ length: steps }, (_, k) => pattern.low + k * stride)
      .filter((offset) => offset <= pattern.high)
      .map((offset) => [at(offset), at(Math.min(offset + one, pattern.high + 1)), 1]);
  }
  return [[at(pattern.low), at(pattern.high + 1), Math.max(0.25, Math.min(1, pattern.bytes / span))]];
}

/** The bytes of a buffer as a strip, with the red zones beside it lit where an access leaves it. */
function strip(size, marks, { over = null, tall = false } = {}) {
  const W = 1000, L = 30, R = 970;
  const [defs, fill] = hatching();
  const svg = h("svg", { viewBox: `0 0 ${W} 20`, preserveAspectRatio: "none", "aria-hidden": "true" }, defs,
    h("rect", { x: 0, y: 2, width: L - 3, height: 16, fill }), h("rect", { x: R + 3, y: 2, width: W - R - 3, height: 16, fill }),
    h("rect", { x: L, y: 2, width: R - L, height: 16, class: "mem" }));
  for (const { pattern, effect } of marks) {
    for (const [from, to, dense] of touched(pattern, size, R - L)) {
      svg.append(h("rect", { x: L + from, y: 4, width: Math.max(1.5, to - from), height: 12, class: effect === "write" ? "wr" : "rd", opacity: dense }));
    }
  }
  if (over?.below) svg.append(h("rect", { x: 6, y: 4, width: L - 9, height: 12, class: "out" }));
  if (over?.above) svg.append(h("rect", { x: R + 3, y: 4, width: L - 9, height: 12, class: "out" }));
  return h("div", { class: tall ? "strip tall" : "strip" }, svg);
}

/** How many accesses touch each part of a buffer: reads above, writes below. */
function heat(list, size) {
  const BINS = 240;
  const bins = { read: new Float64Array(BINS + 1), write: new Float64Array(BINS + 1) };
  for (const a of list) {
    if (![a.pattern.low, a.pattern.high].every(isNumber) || !a.pattern.bytes) continue;
    const row = bins[a.effect] ?? bins.read;
    row[Math.floor((a.pattern.low / size) * BINS)] += 1;
    row[Math.min(BINS, Math.floor((a.pattern.high / size) * BINS) + 1)] -= 1;
  }
  const svg = h("svg", { viewBox: "0 0 1000 34", preserveAspectRatio: "none", role: "img" }, h("title", {}, "how many accesses touch each part"),
    h("rect", { x: 30, y: 16, width: 940, height: 2, class: "mem" }));
  for (const [effect, up] of [["read", true], ["write", false]]) {
    let running = 0;
    const values = Array.from(bins[effect].subarray(0, BINS), (d) => (running += d));
    const most = Math.max(1, ...values);
    values.forEach((value, i) => {
      if (value <= 0) return;
      const tall = 3 + 12 * (value / most);
      svg.append(h("rect", { x: 30 + (940 * i) / BINS, y: up ? 16 - tall : 18, width: 940 / BINS + 1, height: tall, class: up ? "rd" : "wr" }));
    });
  }
  return h("div", { class: "strip tall" }, svg);
}

const over = (a) => ({
  below: a.bounds.some((b) => isNumber(big(b.lo)) && big(b.lo) < big(b.min)),
  above: a.bounds.some((b) => isNumber(big(b.hi)) && isNumber(big(b.max)) && big(b.hi) > big(b.max)),
});
