// What a pixel that holds many spans of a row shows: the longest of them, and how much they cover.
//
//   longest[0][b]  the longest span of spans 16b .. 16b+15
//   longest[1][b]  the longest of 16 such blocks, and so on
//   cover[b]       ns covered by the spans before 16b
//
// Built once per row when it is first drawn; a 15th of the row's own size.
import type { Row } from "../data/page";

const kBits = 4;
const kBlock = 1 << kBits;

export interface RowIndex {
  longest: Uint32Array[];
  cover: Float64Array;
}

export function build_index(row: Row): RowIndex {
  const n = row.begin.length;
  const blocks = Math.ceil(n / kBlock);
  const first = new Uint32Array(blocks);
  const cover = new Float64Array(blocks + 1);
  for (let b = 0, i = 0; b < blocks; ++b) {
    const stop = Math.min(n, i + kBlock);
    let best = i;
    let longest = -1;
    let sum = 0;
    for (; i < stop; ++i) {
      const length = row.end[i]! - row.begin[i]!;
      sum += length;
      if (length > longest) {
        longest = length;
        best = i;
      }
    }
    first[b] = best;
    cover[b + 1] = cover[b]! + sum;
  }
  const longest = [first];
  while (longest[longest.length - 1]!.length > kBlock) {
    const below = longest[longest.length - 1]!;
    const level = new Uint32Array(Math.ceil(below.length / kBlock));
    for (let b = 0; b < level.length; ++b) level[b] = longest_of(row, below, b * kBlock, Math.min(below.length, (b + 1) * kBlock));
    longest.push(level);
  }
  return { longest, cover };
}

function longest_of(row: Row, spans: Uint32Array, from: number, to: number): number {
  let best = spans[from]!;
  for (let b = from + 1; b < to; ++b) {
    const i = spans[b]!;
    if (row.end[i]! - row.begin[i]! > row.end[best]! - row.begin[best]!) best = i;
  }
  return best;
}

// Of spans [from, to): exact for few; for many, blocks at the edges count whole, which no one sees in
// a pixel of thousands.
export function longest_span(row: Row, index: RowIndex, from: number, to: number): number {
  if (to - from <= 2 * kBlock) {
    let best = from;
    for (let i = from + 1; i < to; ++i) if (row.end[i]! - row.begin[i]! > row.end[best]! - row.begin[best]!) best = i;
    return best;
  }
  let level = 0;
  let shift = kBits;
  while (level + 1 < index.longest.length && (to - from) >> (shift + kBits) >= 2) {
    ++level;
    shift += kBits;
  }
  return longest_of(row, index.longest[level]!, from >> shift, Math.max((from >> shift) + 1, to >> shift));
}

export function covered(row: Row, index: RowIndex, from: number, to: number): number {
  if (to - from > 4 * kBlock) return index.cover[to >> kBits]! - index.cover[from >> kBits]!;
  let sum = 0;
  for (let i = from; i < to; ++i) sum += row.end[i]! - row.begin[i]!;
  return sum;
}
