// Colours of spans. Eight hues that stay apart for people with deuteranopia and protanopia (a test
// simulates both), after Paul Tol's "muted" set; then a neutral one for sessions and what is dimmed.
import type { Page } from "../data/page";

export const kHues = 8;
export const kNeutral = 8;
export const kDim = 9;

export const kLight = ["#4584ca", "#d1b52e", "#45a983", "#b73f63", "#74cad8", "#7a5aa5", "#999f32", "#714b16", "#a9b0bc", "#dde1e7"];
export const kDark = ["#649cf1", "#febd51", "#25a8b0", "#eb728a", "#b0dcec", "#ad92d4", "#abc071", "#6d5d48", "#5c6574", "#2b323d"];

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

// One colour per name, the same in every view: the stages with the most time get the first hues.
export function name_colours(page: Page): Uint8Array {
  const out = Uint8Array.from(page.names, (name, i) => (page.kinds[i] === "session" ? kNeutral : hash(name) % kHues));
  const place = new Map(page.names.map((name, i) => [name, i]));
  let next = 0;
  const stages = (page.report?.stages ?? []).filter((s) => s.kind === "stage" || s.kind === "load");
  for (const stage of [...stages].sort((a, b) => b.total_ns - a.total_ns)) {
    const i = place.get(stage.name);
    if (i !== undefined && next < kHues) out[i] = next++;
  }
  page.kinds.forEach((kind, i) => {
    if (kind === "step" && next < kHues) out[i] = next++;
  });
  return out;
}
