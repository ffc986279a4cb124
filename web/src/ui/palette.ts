// Colours of spans. Eight hues that stay apart for people with deuteranopia and protanopia (a test
// simulates both), after Paul Tol's "muted" set; then a neutral one for sessions and what is dimmed.
import { neighbours_of } from "../data/neighbours";
import type { Page } from "../data/page";

export const kHues = 8;
export const kNeutral = 8;
export const kDim = 9;

export const kLight = ["#4584ca", "#d1b52e", "#45a983", "#b73f63", "#74cad8", "#7a5aa5", "#999f32", "#a85a2a", "#a9b0bc", "#dde1e7"];
export const kDark = ["#649cf1", "#febd51", "#25a8b0", "#eb728a", "#b0dcec", "#ad92d4", "#abc071", "#d2603a", "#5c6574", "#2b323d"];

// Text that stands on the colour: 4.5:1 or more.
export const ink_on = (hex: string): string => (luminance(hex) > 0.179 ? "#000000" : "#ffffff");

export function channels(hex: string): [number, number, number] {
  const value = parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

export function luminance(hex: string): number {
  const [r, g, b] = channels(hex).map((c) => {
    const s = c / 255;
    return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function hash(text: string): number {
  let h = 2166136261;
  for (let i = 0; i < Math.min(text.length, 200); ++i) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return h >>> 0;
}

// One colour per name, the same in every view. Names with the most time choose first, stages before all others; each
// takes the hue that it shares least with its neighbours (data/neighbours.ts), then with what is stacked above and below,
// then the one that the fewest names have. Sessions are neutral: all else is inside them.
export function name_colours(page: Page): Uint8Array {
  const out = new Uint8Array(page.names.length).fill(kNeutral);
  const { near, far, time } = neighbours_of(page);
  const total = new Map(page.report?.stages.map((s) => [`${s.kind} ${s.name}`, s.total_ns]));
  const rank = { stage: 0, load: 0, step: 1, block: 1 } as { [kind: string]: number | undefined };
  const names = page.names
    .map((text, id) => ({ id, text, first: rank[page.kinds[id]!] ?? 2, ns: total.get(`${page.kinds[id]} ${text}`) ?? time[id]! }))
    .filter(({ id }) => page.kinds[id] !== "session")
    .sort((a, b) => a.first - b.first || b.ns - a.ns || hash(a.text) - hash(b.text));
  const used = new Float64Array(kHues);
  for (const { id } of names) {
    const [touching, stacked] = [near[id]!, far[id]!].map((others) => {
      const shared = new Float64Array(kHues);
      for (const [other, times] of others) if (out[other]! < kHues) shared[out[other]!]! += times;
      return shared;
    }) as [Float64Array, Float64Array];
    let best = 0;
    for (let hue = 1; hue < kHues; ++hue) {
      if ((touching[hue]! - touching[best]! || stacked[hue]! - stacked[best]! || used[hue]! - used[best]!) < 0) best = hue;
    }
    out[id] = best;
    ++used[best]!;
  }
  return out;
}
