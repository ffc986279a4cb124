// A writer of `genscope.page/1` (docs/page-data.md) for tests: the counterpart of src/report/page,
// and pages with believable contents.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

import type { Json, JsonObject } from "../src/data/container";

export interface SpanIn {
  begin: number;
  duration: number;
  name: number;
  lane?: number;
  flags?: number;
  args?: JsonObject;
}
export interface TrackIn {
  pid?: number | null;
  tid?: number | null;
  rank?: number | null;
  process?: string;
  name?: string;
  device?: boolean;
  spans: SpanIn[];
  summarised?: { spans: number; below_ns: number; levels: { bucket_ns: number; count: number[]; busy: number[] }[] };
}
export interface CounterIn {
  name?: string;
  entity?: string | null;
  metric?: string | null;
  unit?: string;
  pid?: number | null;
  at: ArrayLike<number>;
  value: ArrayLike<number>;
}
export interface EventIn {
  at: number;
  name: number;
  track: number;
  args?: JsonObject;
}
export interface RunIn {
  names: string[];
  kinds: string[];
  tracks: TrackIn[];
}
export interface OutlineIn {
  side: string;
  name?: string;
  path?: string;
  wall_ns: number;
  stages: [string, number, number][];
  step_begin?: number[];
  step?: number[];
  series?: { entity: string; metric: string; unit: string; at: number[]; value: number[] }[];
}
export interface PageIn {
  mode?: string;
  runs?: RunIn[];
  outlines?: { runs: OutlineIn[]; left_out: number };
  report?: JsonObject;
  compare?: JsonObject;
  names: string[];
  kinds: string[];
  tracks: TrackIn[];
  counters?: CounterIn[];
  events?: EventIn[];
  limits?: JsonObject;
}

export type ColumnName = "u8" | "u16" | "u32" | "f64";

export class Blobs {
  private parts: Uint8Array[] = [];
  private size = 0;

  add(type: ColumnName, values: ArrayLike<number>): JsonObject {
    const n = values.length;
    const make = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array }[type];
    const bytes = new Uint8Array(make.from(values as ArrayLike<number>).buffer);
    const width = make.BYTES_PER_ELEMENT;
    const out = new Uint8Array(Math.ceil((n * width) / 8) * 8);
    for (let b = 0; b < width; ++b) for (let i = 0; i < n; ++i) out[b * n + i] = bytes[i * width + b]!;
    const place = { at: this.size, n, type };
    this.parts.push(out);
    this.size += out.length;
    return place;
  }
  bytes(): Uint8Array {
    const out = new Uint8Array(this.size);
    let at = 0;
    for (const part of this.parts) {
      out.set(part, at);
      at += part.length;
    }
    return out;
  }
}

const kMost = 0xffffffff;

export function encode_track(blobs: Blobs, track: TrackIn, wide_names: boolean): JsonObject {
  const n = track.spans.length;
  const begin = new Uint32Array(n);
  const duration = new Uint32Array(n);
  const begin_far: Json[] = [];
  const duration_far: Json[] = [];
  const args: Json[] = [];
  let before = 0;
  let lanes = 0;
  track.spans.forEach((span, i) => {
    const gap = span.begin - before;
    before = span.begin;
    begin[i] = Math.min(gap, kMost);
    if (gap > kMost) begin_far.push([i, gap - kMost]);
    duration[i] = Math.min(span.duration, kMost);
    if (span.duration > kMost) duration_far.push([i, span.duration - kMost]);
    if (span.args) args.push([i, span.args]);
    lanes = Math.max(lanes, (span.lane ?? 0) + 1);
  });
  return {
    pid: track.pid ?? null,
    tid: track.tid ?? null,
    rank: track.rank ?? null,
    process: track.process ?? "",
    name: track.name ?? "",
    device: track.device ?? false,
    lanes,
    begin: blobs.add("u32", begin),
    begin_far,
    duration: blobs.add("u32", duration),
    duration_far,
    name_id: blobs.add(wide_names ? "u32" : "u16", track.spans.map((s) => s.name)),
    lane: blobs.add("u8", track.spans.map((s) => s.lane ?? 0)),
    flags: blobs.add("u8", track.spans.map((s) => s.flags ?? 0)),
    args,
    summarised: track.summarised
      ? {
          spans: track.summarised.spans,
          below_ns: track.summarised.below_ns,
          levels: track.summarised.levels.map((level) => ({
            bucket_ns: level.bucket_ns,
            count: blobs.add("u32", level.count),
            busy: blobs.add("u16", level.busy),
          })),
        }
      : null,
  };
}

export function container(header: Json, blobs: Uint8Array): Uint8Array {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const start = (12 + text.length + 7) & ~7;
  const out = new Uint8Array(start + blobs.length);
  out.set(new TextEncoder().encode("GSPAGE1\0"), 0);
  new DataView(out.buffer).setUint32(8, text.length, true);
  out.set(text, 12);
  out.set(blobs, start);
  return out;
}

export function page_header(page: PageIn, blobs: Blobs): JsonObject {
  const wide = page.names.length > 0xffff;
  const events = page.events ?? [];
  const spans = page.tracks.reduce((sum, t) => sum + t.spans.length, 0);
  const header: JsonObject = {
    schema: "genscope.page/1",
    mode: page.mode ?? "report",
    names: page.names,
    kinds: page.kinds,
    tracks: page.tracks.map((track) => encode_track(blobs, track, wide)),
    events: {
      at: blobs.add("f64", events.map((e) => e.at)),
      name_id: blobs.add("u32", events.map((e) => e.name)),
      track: blobs.add("u32", events.map((e) => e.track)),
      args: events.flatMap((e, i) => (e.args ? [[i, e.args]] : [])) as Json[],
    },
    counters: (page.counters ?? []).map((c) => ({
      name: c.name ?? "",
      entity: c.entity ?? null,
      metric: c.metric ?? null,
      unit: c.unit ?? "",
      pid: c.pid ?? null,
      at: blobs.add("f64", c.at),
      value: blobs.add("f64", c.value),
    })),
    throttle_reasons: [["thermal", 0x60], ["power cap", 4], ["hardware slowdown", 8], ["power brake", 0x80]],
    limits: page.limits ?? { spans, spans_kept: spans, args_cut: 0, events_cut: 0, points_cut: 0 },
  };
  if (page.report) header["report"] = page.report;
  if (page.compare) header["compare"] = page.compare;
  if (page.runs) header["runs"] = page.runs.map((run) => ({ names: run.names, kinds: run.kinds, tracks: run.tracks.map((track) => encode_track(blobs, track, run.names.length > 0xffff)), limits: null }));
  if (page.outlines) {
    const runs = page.outlines.runs.map((run) => ({
      name: "", path: "", ...run, steps: run.step?.length ?? 0, step_begin: blobs.add("f64", run.step_begin ?? []), step: blobs.add("f64", run.step ?? []),
      series: (run.series ?? []).map((one) => ({ ...one, at: blobs.add("f64", one.at), value: blobs.add("f64", one.value) })),
    }));
    header["outlines"] = { runs, left_out: page.outlines.left_out };
  }
  return header;
}

export function encode_page(page: PageIn): Uint8Array {
  const blobs = new Blobs();
  const header = page_header(page, blobs);
  return container(header, blobs.bytes());
}

export const kBundle = new URL("../dist/genscope.html", import.meta.url);
export const kLivePage = new URL("../dist/live.html", import.meta.url);
const kMarker = '<script type="application/x-genscope-page" id="genscope-data"></script>';

// The bundle with the data in its marker: what `genscope report -o report.html` writes.
export function fill_bundle(bytes: Uint8Array | null, bundle = readFileSync(kBundle, "utf8")): string {
  const text = bytes === null ? "" : gzipSync(bytes, { level: 1 }).toString("base64");
  return fill_text(text, bundle);
}
export function fill_text(text: string, bundle = readFileSync(kBundle, "utf8")): string {
  const at = bundle.indexOf(kMarker);
  if (at < 0) throw new Error("the bundle has no marker");
  const split = at + kMarker.length - "</script>".length;
  return bundle.slice(0, split) + text + bundle.slice(split);
}
