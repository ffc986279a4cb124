// Numbers as people read them. Three significant digits, a thin space before the unit, one minus sign.
const kSpace = "\u202f";

// Not toLocaleString(): its first call takes 30 ms.
const grouped = (value: number): string => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");

function digits(value: number): string {
  const size = Math.abs(value);
  if (size >= 100 || Math.abs(size - Math.round(size)) < 1e-3) return grouped(value);
  if (size >= 10) return value.toFixed(1);
  return value.toFixed(2);
}

function scaled(value: number, step: number, units: string[]): string {
  let size = Math.abs(value);
  let i = 0;
  // 999.6 is shown as 1,000: of the next unit.
  while (i + 1 < units.length && size >= step * 0.9995) {
    size /= step;
    ++i;
  }
  return `${value < 0 ? "\u2212" : ""}${digits(size)}${kSpace}${units[i] ?? ""}`;
}

export function format_ns(ns: number | null | undefined): string {
  if (ns === null || ns === undefined || !Number.isFinite(ns)) return "–";
  if (Math.abs(ns) >= 120e9) {
    const total = Math.round(Math.abs(ns) / 1e9);
    const h = Math.floor(total / 3600);
    const m = Math.floor((total % 3600) / 60);
    const s = total % 60;
    const two = (x: number): string => String(x).padStart(2, "0");
    return `${ns < 0 ? "\u2212" : ""}${h > 0 ? `${h}:${two(m)}` : m}:${two(s)}${kSpace}${h > 0 ? "h" : "min"}`;
  }
  return scaled(ns, 1000, ["ns", "µs", "ms", "s"]);
}

export const format_bytes = (bytes: number | null | undefined): string =>
  bytes === null || bytes === undefined || !Number.isFinite(bytes) ? "–" : scaled(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);

export function format_ratio(ratio: number | null | undefined): string {
  if (ratio === null || ratio === undefined || !Number.isFinite(ratio)) return "–";
  const percent = ratio * 100;
  return `${Math.abs(percent) >= 10 || percent === 0 ? Math.round(percent) : percent.toFixed(Math.abs(percent) >= 1 ? 1 : 2)}${kSpace}%`;
}

export const format_count = (value: number | null | undefined): string =>
  value === null || value === undefined || !Number.isFinite(value) ? "–" : digits(value);

export function format_unit(value: number | null | undefined, unit: string): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  switch (unit) {
    case "ns":
      return format_ns(value);
    case "s":
    case "seconds":
      return format_ns(value * 1e9);
    case "B":
    case "bytes":
      return format_bytes(value);
    case "B/s":
      return `${format_bytes(value)}/s`;
    case "ratio":
      return format_ratio(value);
    case "W":
    case "watts":
      return scaled(value, 1000, ["W", "kW"]);
    case "J":
    case "joules":
      return scaled(value, 1000, ["J", "kJ", "MJ"]);
    case "C":
      return `${digits(value)}${kSpace}°C`;
    case "1":
    case "":
    case "count":
      return digits(value);
    default:
      return `${digits(value)}${kSpace}${unit}`;
  }
}

// What a metric's name says of its unit, where the page itself says none.
export function unit_of(metric: string): string {
  const ends: [string, string][] = [
    ["_bytes_per_second", "B/s"],
    ["_ns", "ns"],
    ["_bytes", "bytes"],
    ["_ratio", "ratio"],
    ["_watts", "W"],
    ["_joules", "J"],
    ["_celsius", "C"],
    ["_mhz", "MHz"],
    ["_seconds", "s"],
    ["_share", "ratio"],
  ];
  return ends.find(([end]) => metric.endsWith(end))?.[1] ?? "";
}

// A moment on an axis whose ticks are `step` apart: as many digits as tell neighbours apart.
export function format_tick(ns: number, step: number): string {
  const [unit, size] = step >= 1e9 ? ["s", 1e9] : step >= 1e6 ? ["ms", 1e6] : step >= 1e3 ? ["µs", 1e3] : ["ns", 1];
  const base = ns >= 1e9 && unit !== "s" ? 1e9 : size;
  const places = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / base) - 1e-9)));
  return `${(ns / base).toFixed(places)}${kSpace}${base === 1e9 ? "s" : unit}`;
}

export function tick_step(span: number, ticks: number): number {
  const rough = span / Math.max(1, ticks);
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1e-9)));
  const factor = [1, 2, 5, 10].find((f) => f * power >= rough) ?? 10;
  return factor * power;
}

// "12.5ms", "3 s", "1e6" (ns): what a person types to go somewhere.
export function parse_time(text: string): number | null {
  const match = /^\s*([0-9.]+(?:e[+-]?\d+)?)\s*(ns|us|µs|ms|s|m|min|h)?\s*$/i.exec(text);
  if (!match) return null;
  const factors: { [unit: string]: number } = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9, m: 60e9, min: 60e9, h: 3600e9 };
  const value = Number(match[1]) * (factors[(match[2] ?? "s").toLowerCase()] ?? 1e9);
  return Number.isFinite(value) ? value : null;
}

export const kLongText = 512;
// Untrusted text on one line: control and direction marks become visible, or they would lie.
export function visible(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, (c) => {
    const code = c.charCodeAt(0);
    return code < 32 ? String.fromCharCode(0x2400 + code) : "\ufffd";
  });
}
export const cut = (text: string, length = kLongText): string =>
  text.length <= length ? visible(text) : `${visible(text.slice(0, length))}…`;

// How long the first step took beside the median of the others, in words.
export function first_step_words(ratio: number): string {
  if (ratio >= 1.95) return `${ratio.toFixed(ratio < 10 ? 1 : 0)} times as long as the others`;
  const percent = Math.round(Math.abs(ratio - 1) * 100);
  return percent < 5 ? "as long as the others" : `${percent}\u202f% ${ratio > 1 ? "longer" : "shorter"} than the others`;
}
