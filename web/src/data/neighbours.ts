// Which names stand beside one another in the pictures: a span and the one it is in, and a span and the next one of its
// row. Colours are chosen so that these differ (ui/palette.ts).
//
// A large page is looked at in samples: some runs of spans of each row, a number that does not grow with the page.
import type { Row, Run } from "./page";
import { upper_bound } from "./search";

const kMost = 100_000; // spans, over all rows
const kLeast = 64; // of a row
const kSamples = 4; // of a row that is not looked at whole

// Of each name: how often it stands beside each other one.
export type Counts = Map<number, number>[];
export interface Neighbours {
  near: Counts; // touching: a span and the one it is in, a span and the next
  far: Counts; // in the same stack, two to four rows apart
  time: Float64Array; // ns of each name in what was looked at
}

export function neighbours_of(run: Run): Neighbours {
  const [near, far] = [run.names.map(() => new Map<number, number>()), run.names.map(() => new Map<number, number>())];
  const time = new Float64Array(run.names.length);
  const rows = run.tracks.reduce((sum, track) => sum + track.rows.length, 0);
  const most = Math.max(kLeast, Math.floor(kMost / Math.max(1, rows)));
  for (const track of run.tracks) {
    track.rows.forEach((row, lane) => {
      for (const [from, to] of samples(row.begin.length, most)) {
        for (let i = from; i < to; ++i) time[row.name[i]!]! += row.end[i]! - row.begin[i]!;
        for (let i = from + 1; i < to; ++i) count(near, row.name[i - 1]!, row.name[i]!);
        for (const up of [1, 2, 3, 4]) {
          const above = track.rows[lane - up];
          if (above) count_stacked(up === 1 ? near : far, above, row, from, to);
        }
      }
    });
  }
  return { near, far, time };
}

function samples(n: number, most: number): [number, number][] {
  if (n <= most) return [[0, n]];
  const size = Math.floor(most / kSamples);
  return Array.from({ length: kSamples }, (_, k) => {
    const from = Math.floor(((n - size) * k) / (kSamples - 1));
    return [from, from + size];
  });
}

function count(counts: Counts, a: number, b: number): void {
  if (a === b) return;
  counts[a]!.set(b, (counts[a]!.get(b) ?? 0) + 1);
  counts[b]!.set(a, (counts[b]!.get(a) ?? 0) + 1);
}

// Spans [from, to) of a row with those above that hold their begins.
function count_stacked(counts: Counts, above: Row, row: Row, from: number, to: number): void {
  let up = Math.max(0, upper_bound(above.begin, row.begin[from] ?? 0) - 1);
  for (let i = from; i < to; ++i) {
    const begin = row.begin[i]!;
    while (up + 1 < above.begin.length && above.begin[up + 1]! <= begin) ++up;
    if (above.begin[up]! <= begin && above.end[up]! > begin) count(counts, above.name[up]!, row.name[i]!);
  }
}
