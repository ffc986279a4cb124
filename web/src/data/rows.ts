// The columns of a track as rows that can be drawn: one per lane, sorted by begin, without overlap.
//
// All columns are read in one loop, byte by byte from where they lie shuffled: a page opens in the time
// that its loops need to become fast, so there are few of them.
import { column_place, list, PageError, same_length, type Json, type JsonObject } from "./container";

export interface Row {
  begin: Float64Array;
  end: Float64Array;
  name: Uint16Array | Uint32Array;
  index: Uint32Array; // of the span in its track
}

// What 32 bits did not hold, by span.
function far_values(value: Json | undefined, n: number, where: string): Map<number, number> {
  return new Map(
    list(value, where).map((entry) => {
      const [i, ns] = (Array.isArray(entry) ? entry : []) as number[];
      if (!Number.isSafeInteger(i) || i! < 0 || i! >= n || typeof ns !== "number" || !(ns >= 0)) {
        throw new PageError(`${where} holds a pair that makes no sense`);
      }
      return [i!, ns];
    }),
  );
}

function empty_rows(lanes: Uint8Array, wide: boolean): Row[] {
  const sizes = new Uint32Array(256);
  let most = -1;
  for (let i = 0; i < lanes.length; ++i) {
    const lane = lanes[i]!;
    ++sizes[lane]!;
    if (lane > most) most = lane;
  }
  return Array.from(sizes.subarray(0, most + 1), (size) => ({
    begin: new Float64Array(size),
    end: new Float64Array(size),
    name: wide ? new Uint32Array(size) : new Uint16Array(size),
    index: new Uint32Array(size),
  }));
}

export function read_rows(blobs: Uint8Array, track: JsonObject, where: string, names: number): { rows: Row[]; flags: Uint8Array } {
  const place = (key: string, ...types: ("u8" | "u16" | "u32")[]) => column_place(blobs, track[key], `${where}.${key}`, types);
  const [begin, duration, name] = [place("begin", "u32"), place("duration", "u32"), place("name_id", "u16", "u32")];
  const [lane, flag] = [place("lane", "u8"), place("flags", "u8")];
  const { n } = begin;
  const bytes = (from: number): Uint8Array => blobs.subarray(from, from + n);
  const [lanes, flags] = [blobs.subarray(lane.at, lane.at + lane.n), blobs.subarray(flag.at, flag.at + flag.n)];
  same_length(where, n, { length: duration.n }, { length: name.n }, lanes, flags);
  const begin_far = far_values(track["begin_far"], n, `${where}.begin_far`);
  const duration_far = far_values(track["duration_far"], n, `${where}.duration_far`);
  const wide = name.type === "u32";
  const rows = empty_rows(lanes, wide);
  const [b0, b1, b2, b3] = [0, 1, 2, 3].map((k) => bytes(begin.at + k * n)) as [Uint8Array, Uint8Array, Uint8Array, Uint8Array];
  const [d0, d1, d2, d3] = [0, 1, 2, 3].map((k) => bytes(duration.at + k * n)) as [Uint8Array, Uint8Array, Uint8Array, Uint8Array];
  const [n0, n1, n2, n3] = [0, 1, 2, 3].map((k) => bytes(name.at + k * n)) as [Uint8Array, Uint8Array, Uint8Array, Uint8Array];
  const filled = new Uint32Array(256);
  let at = 0;
  for (let i = 0; i < n; ++i) {
    at += (b0[i]! | (b1[i]! << 8) | (b2[i]! << 16) | (b3[i]! << 24)) >>> 0;
    let length = (d0[i]! | (d1[i]! << 8) | (d2[i]! << 16) | (d3[i]! << 24)) >>> 0;
    let id = n0[i]! | (n1[i]! << 8);
    if (wide) id = (id | (n2[i]! << 16) | (n3[i]! << 24)) >>> 0;
    if (id >= names) throw new PageError(`${where} names a span that has no name`);
    if (begin_far.size > 0) at += begin_far.get(i) ?? 0;
    if (duration_far.size > 0) length += duration_far.get(i) ?? 0;
    const to = lanes[i]!;
    const row = rows[to]!;
    const k = filled[to]!++;
    row.begin[k] = at;
    row.end[k] = at + length;
    row.name[k] = id;
    row.index[k] = i;
  }
  return { rows, flags };
}
