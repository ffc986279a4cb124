// Finding spans by name and by place.
import type { Page, Row, Track } from "./page";

// First i with column[i] > at; the length if there is none. `column` is sorted.
export function upper_bound(column: Float64Array, at: number, from = 0): number {
  let low = from;
  let high = column.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (column[middle]! > at) high = middle;
    else low = middle + 1;
  }
  return low;
}

// First i >= from with column[i] >= at, near `from` in steps that double: cheap when it is close.
export function gallop(column: Float64Array, at: number, from: number): number {
  let step = 1;
  let low = from;
  let high = from;
  while (high < column.length && column[high]! < at) {
    low = high + 1;
    high += step;
    step *= 2;
  }
  if (high > column.length) high = column.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (column[middle]! < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

// First span of a row that ends after `at`.
export function first_visible(row: Row, at: number): number {
  const next = upper_bound(row.begin, at);
  return next > 0 && row.end[next - 1]! > at ? next - 1 : next;
}

export interface SpanRef {
  track: number;
  lane: number;
  place: number; // in the row
}
export interface SpanView extends SpanRef {
  name: number;
  begin: number;
  end: number;
  index: number;
}

export function view_span(page: Page, ref: SpanRef): SpanView | null {
  const row = page.tracks[ref.track]?.rows[ref.lane];
  if (!row || ref.place < 0 || ref.place >= row.begin.length) return null;
  return {
    ...ref,
    name: row.name[ref.place]!,
    begin: row.begin[ref.place]!,
    end: row.end[ref.place]!,
    index: row.index[ref.place]!,
  };
}

export function span_at(track: Track, lane: number, at: number, slack = 0): SpanRef | null {
  const row = track.rows[lane];
  if (!row) return null;
  const next = upper_bound(row.begin, at + slack);
  const place = next - 1;
  if (place < 0 || row.end[place]! < at - slack) return null;
  return { track: track.id, lane, place };
}

// Names that hold the words, whatever their case.
export function matching_names(names: string[], query: string): Uint8Array {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const out = new Uint8Array(names.length);
  if (words.length === 0) return out;
  names.forEach((name, i) => {
    const low = name.toLowerCase();
    out[i] = words.every((word) => low.includes(word)) ? 1 : 0;
  });
  return out;
}

export interface Hits {
  count: number; // all
  refs: SpanRef[]; // the first kMostHits, in the order of time
}
export const kMostHits = 20_000;

export function find_spans(page: Page, wanted: Uint8Array): Hits {
  const found: (SpanRef & { begin: number })[] = [];
  let count = 0;
  for (const track of page.tracks) {
    track.rows.forEach((row, lane) => {
      let kept = 0;
      for (let place = 0; place < row.name.length; ++place) {
        if (wanted[row.name[place]!] !== 1) continue;
        ++count;
        // Of each row its first ones suffice: no more than kMostHits are shown in all.
        if (kept < kMostHits) {
          ++kept;
          found.push({ track: track.id, lane, place, begin: row.begin[place]! });
        }
      }
    });
  }
  found.sort((a, b) => a.begin - b.begin || a.track - b.track || a.lane - b.lane);
  return { count, refs: found.slice(0, kMostHits).map(({ track, lane, place }) => ({ track, lane, place })) };
}

// The span of a track by its number; null if the page does not hold it.
export function ref_of(track: Track, wanted: number): SpanRef | null {
  for (let lane = 0; lane < track.rows.length; ++lane) {
    const index = track.rows[lane]!.index;
    let low = 0;
    let high = index.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (index[middle]! < wanted) low = middle + 1;
      else high = middle;
    }
    if (index[low] === wanted) return { track: track.id, lane, place: low };
  }
  return null;
}

// The nearest span of the same track before (-1) or after (+1), by begin, over all its lanes.
export function neighbour(track: Track, ref: SpanRef, direction: 1 | -1): SpanRef | null {
  const all = track.flags.length;
  for (let wanted = (track.rows[ref.lane]?.index[ref.place] ?? -2) + direction; wanted >= 0 && wanted < all; wanted += direction) {
    const found = ref_of(track, wanted);
    if (found) return found;
  }
  return null;
}

export interface InView {
  count: number; // all
  refs: SpanRef[]; // the first, in the order of time
}
// Spans that touch [begin, end).
export function spans_between(page: Page, begin: number, end: number, most: number): InView {
  const found: SpanView[] = [];
  let count = 0;
  for (const track of page.tracks) {
    track.rows.forEach((row, lane) => {
      const first = first_visible(row, begin);
      const after = gallop(row.begin, end, first);
      count += after - first;
      for (let place = first; place < Math.min(after, first + most); ++place) found.push(view_span(page, { track: track.id, lane, place })!);
    });
  }
  return { count, refs: found.sort((a, b) => a.begin - b.begin || a.track - b.track || a.lane - b.lane).slice(0, most) };
}
