// Figures of spans: over a range of time, by name; histograms.
import type { Page } from "./page";
import { first_visible } from "./search";

export interface NameStats {
  name: number;
  count: number;
  total: number; // ns inside the range
  min: number; // of whole spans that touch the range
  max: number;
}

// Of each name: the spans that touch [begin, end) and their time inside it. `tracks`: all, or those.
export function range_statistics(page: Page, begin: number, end: number, tracks?: ReadonlySet<number>): NameStats[] {
  const n = page.names.length;
  const count = new Float64Array(n);
  const total = new Float64Array(n);
  const min = new Float64Array(n).fill(Infinity);
  const max = new Float64Array(n);
  for (const track of page.tracks) {
    if (tracks && !tracks.has(track.id)) continue;
    for (const row of track.rows) {
      for (let i = first_visible(row, begin); i < row.begin.length; ++i) {
        const from = row.begin[i]!;
        if (from >= end) break;
        const to = row.end[i]!;
        const name = row.name[i]!;
        const length = to - from;
        ++count[name]!;
        total[name]! += (to < end ? to : end) - (from > begin ? from : begin);
        if (length < min[name]!) min[name] = length;
        if (length > max[name]!) max[name] = length;
      }
    }
  }
  const out: NameStats[] = [];
  for (let name = 0; name < n; ++name) {
    if (count[name]! > 0) out.push({ name, count: count[name]!, total: total[name]!, min: min[name]!, max: max[name]! });
  }
  return out.sort((a, b) => b.total - a.total);
}

// Durations of all spans of a name, in the order of time within each row.
export function durations_of(page: Page, name: number): Float64Array {
  let n = 0;
  for (const track of page.tracks) for (const row of track.rows) for (const id of row.name) if (id === name) ++n;
  const out = new Float64Array(n);
  let at = 0;
  for (const track of page.tracks) {
    for (const row of track.rows) {
      for (let i = 0; i < row.name.length; ++i) if (row.name[i] === name) out[at++] = row.end[i]! - row.begin[i]!;
    }
  }
  return out;
}

// Spans of a kind as a series in the order of time.
export interface Series {
  at: Float64Array;
  duration: Float64Array;
  track: Uint32Array;
  lane: Uint8Array;
  place: Uint32Array;
}
export function series_of(page: Page, wanted: (name: number) => boolean): Series {
  const found: { at: number; duration: number; track: number; lane: number; place: number }[] = [];
  const wanted_name = Uint8Array.from(page.names, (_, i) => (wanted(i) ? 1 : 0));
  for (const track of page.tracks) {
    track.rows.forEach((row, lane) => {
      for (let i = 0; i < row.name.length; ++i) {
        if (wanted_name[row.name[i]!] === 1) {
          found.push({ at: row.begin[i]!, duration: row.end[i]! - row.begin[i]!, track: track.id, lane, place: i });
        }
      }
    });
  }
  found.sort((a, b) => a.at - b.at);
  return {
    at: Float64Array.from(found, (f) => f.at),
    duration: Float64Array.from(found, (f) => f.duration),
    track: Uint32Array.from(found, (f) => f.track),
    lane: Uint8Array.from(found, (f) => f.lane),
    place: Uint32Array.from(found, (f) => f.place),
  };
}

// Nearest rank, as the report's own percentiles are.
export function percentile(sorted: Float64Array, p: number): number | null {
  if (sorted.length === 0) return null;
  const rank = Math.ceil(p * sorted.length);
  return sorted[Math.min(sorted.length, Math.max(1, rank)) - 1]!;
}

export interface Histogram {
  low: number;
  high: number;
  log: boolean; // buckets are equal in the logarithm
  counts: Uint32Array;
}

// Logarithmic where the values span more than a factor of 20.
export function histogram(values: Float64Array, buckets: number): Histogram {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  const counts = new Uint32Array(Math.max(1, buckets));
  if (values.length === 0) return { low: 0, high: 0, log: false, counts };
  const log = low > 0 && high / low > 20;
  const from = log ? Math.log(low) : low;
  const to = log ? Math.log(high) : high;
  const scale = to > from ? counts.length / (to - from) : 0;
  for (const value of values) {
    const place = Math.floor(((log ? Math.log(value) : value) - from) * scale);
    ++counts[Math.min(counts.length - 1, Math.max(0, place))]!;
  }
  return { low, high, log, counts };
}

export function bucket_edge(h: Histogram, i: number): number {
  const t = i / h.counts.length;
  return h.log ? Math.exp(Math.log(h.low) + t * (Math.log(h.high) - Math.log(h.low))) : h.low + t * (h.high - h.low);
}
