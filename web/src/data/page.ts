// A page in memory: the header checked, the columns of each track as rows that can be drawn.
//
// A row is one lane of a track: spans sorted by begin that do not overlap. Times are ns since the
// run's begin as doubles, exact up to 2^53 (104 days).
import { is_object, list, PageError, read_column, read_container, same_length, type Json, type JsonObject } from "./container";
import { align } from "./aligned";
import { read_outlines, type Outlines } from "./outlines";
import { as_report, type CompareDoc, type Report } from "./report";
import { read_rows, type Row } from "./rows";

export type { Row } from "./rows";

export interface Level {
  bucket_ns: number;
  count: Uint32Array;
  busy: Uint16Array;
}
export interface Summarised {
  spans: number;
  below_ns: number;
  levels: Level[];
}

export interface Track {
  id: number;
  pid: number | null;
  tid: number | null;
  rank: number | null;
  process: string;
  name: string;
  device: boolean;
  spans: number;
  rows: Row[];
  flags: Uint8Array;
  args: Map<number, JsonObject>;
  summarised: Summarised | null;
}

export interface Counter {
  id: number;
  name: string;
  entity: string | null;
  metric: string | null;
  unit: string;
  pid: number | null;
  at: Float64Array;
  value: Float64Array;
}

// A name for some bits of a reading of throttle_reasons.
export interface ThrottleReason {
  name: string;
  bits: number;
}

export interface Events {
  at: Float64Array;
  name: Uint32Array;
  track: Uint32Array;
  args: Map<number, JsonObject>;
}

export interface Limits {
  spans: number;
  spans_kept: number;
  args_cut: number;
  events_cut: number;
  points_cut: number;
}

export interface Run {
  names: string[];
  kinds: string[]; // beside names
  tracks: Track[];
}

export interface Page extends Run {
  mode: "report" | "compare";
  report: Report | null;
  compare: CompareDoc | null;
  runs: [Run, Run] | null; // before and after, of a comparison; then the tracks are both, aligned
  outlines: Outlines | null; // of the runs of a comparison
  events: Events;
  counters: Counter[];
  throttle_reasons: ThrottleReason[];
  limits: Limits | null;
  end_ns: number; // of the run, and of all that is in the page
}

export const kFailed = 1;
export const kUnfinished = 2;
export const kDetached = 4;
export const kClipped = 8;

const text = (value: Json | undefined): string => (typeof value === "string" ? value : "");
const text_or_null = (value: Json | undefined): string | null => (typeof value === "string" ? value : null);
const integer_or_null = (value: Json | undefined): number | null => (Number.isSafeInteger(value) ? (value as number) : null);
function args_of(value: Json | undefined, where: string): Map<number, JsonObject> {
  const out = new Map<number, JsonObject>();
  for (const entry of list(value, where)) {
    const i = Array.isArray(entry) ? entry[0] : null;
    const args = Array.isArray(entry) ? entry[1] : null;
    if (Number.isSafeInteger(i) && is_object(args ?? null)) out.set(i as number, args as JsonObject);
  }
  return out;
}

function read_summarised(blobs: Uint8Array, value: Json | undefined, where: string): Summarised | null {
  if (!is_object(value)) return null;
  const levels = list(value["levels"], `${where}.levels`).map((level, i) => {
    if (!is_object(level)) throw new PageError(`${where}.levels[${i}] is not an object`);
    const bucket_ns = Number(level["bucket_ns"]);
    if (!(bucket_ns > 0)) throw new PageError(`${where}.levels[${i}] has no bucket_ns`);
    const count = read_column(blobs, level["count"], `${where}.count`, ["u32"]) as Uint32Array;
    const busy = read_column(blobs, level["busy"], `${where}.busy`, ["u16"]) as Uint16Array;
    same_length(where, count.length, busy);
    return { bucket_ns, count, busy };
  });
  levels.sort((a, b) => a.bucket_ns - b.bucket_ns);
  return { spans: Number(value["spans"] ?? 0), below_ns: Number(value["below_ns"] ?? 0), levels };
}

function read_track(blobs: Uint8Array, value: Json, id: number, names: number): Track {
  const where = `tracks[${id}]`;
  if (!is_object(value)) throw new PageError(`${where} is not an object`);
  const { rows, flags } = read_rows(blobs, value, where, names);
  return {
    id,
    pid: integer_or_null(value["pid"]),
    tid: integer_or_null(value["tid"]),
    rank: integer_or_null(value["rank"]),
    process: text(value["process"]),
    name: text(value["name"]),
    device: value["device"] === true,
    spans: flags.length,
    rows,
    flags,
    args: args_of(value["args"], `${where}.args`),
    summarised: read_summarised(blobs, value["summarised"], `${where}.summarised`),
  };
}

function read_events(blobs: Uint8Array, value: Json | undefined): Events {
  if (!is_object(value)) {
    return { at: new Float64Array(0), name: new Uint32Array(0), track: new Uint32Array(0), args: new Map() };
  }
  const at = read_column(blobs, value["at"], "events.at", ["f64"]) as Float64Array;
  const name = read_column(blobs, value["name_id"], "events.name_id", ["u32"]) as Uint32Array;
  const track = read_column(blobs, value["track"], "events.track", ["u32"]) as Uint32Array;
  same_length("events", at.length, name, track);
  return { at, name, track, args: args_of(value["args"], "events.args") };
}

function read_counter(blobs: Uint8Array, value: Json, id: number): Counter {
  const where = `counters[${id}]`;
  if (!is_object(value)) throw new PageError(`${where} is not an object`);
  const at = read_column(blobs, value["at"], `${where}.at`, ["f64"]) as Float64Array;
  const values = read_column(blobs, value["value"], `${where}.value`, ["f64"]) as Float64Array;
  same_length(where, at.length, values);
  return {
    id,
    name: text(value["name"]),
    entity: text_or_null(value["entity"]),
    metric: text_or_null(value["metric"]),
    unit: text(value["unit"]),
    pid: integer_or_null(value["pid"]),
    at,
    value: values,
  };
}

function read_limits(value: Json | undefined): Limits | null {
  if (!is_object(value)) return null;
  const number = (key: string): number => (typeof value[key] === "number" ? value[key] : 0);
  return {
    spans: number("spans"),
    spans_kept: number("spans_kept"),
    args_cut: number("args_cut"),
    events_cut: number("events_cut"),
    points_cut: number("points_cut"),
  };
}

function read_run(blobs: Uint8Array, header: JsonObject): Run {
  const names = list(header["names"], "names").map((name) => (typeof name === "string" ? name : String(name)));
  const kinds = list(header["kinds"], "kinds");
  return {
    names,
    kinds: names.map((_, i) => text(kinds[i]) || "none"),
    tracks: list(header["tracks"], "tracks").map((track, i) => read_track(blobs, track, i, names.length)),
  };
}

function read_runs(blobs: Uint8Array, value: Json | undefined): [Run, Run] | null {
  const [before, after] = list(value, "runs");
  return is_object(before) && is_object(after) ? [read_run(blobs, before), read_run(blobs, after)] : null;
}

function last_moment(page: Page): number {
  let end = page.report?.run?.wall_ns ?? 0;
  for (const track of page.tracks) {
    for (const row of track.rows) {
      // Begins are sorted and spans do not overlap; of lane 255 they may.
      for (let i = Math.max(0, row.end.length - 64); i < row.end.length; ++i) end = Math.max(end, row.end[i]!);
    }
  }
  for (const counter of page.counters) end = Math.max(end, counter.at[counter.at.length - 1] ?? 0);
  return Number.isFinite(end) && end > 0 ? end : 1;
}

// Rows of [name, bits]; of a page that has none, none is named.
function read_throttle_reasons(rows: Json | undefined): ThrottleReason[] {
  return (Array.isArray(rows) ? rows : []).flatMap((row) =>
    Array.isArray(row) && typeof row[0] === "string" && typeof row[1] === "number" ? [{ name: row[0], bits: row[1] }] : [],
  );
}

export function read_page(bytes: Uint8Array): Page {
  const { header, blobs } = read_container(bytes);
  const mode = header["mode"];
  if (mode !== "report" && mode !== "compare") throw new PageError("the data have a mode that this page does not know");
  const report = header["report"];
  const runs = __SERVED__ ? null : read_runs(blobs, header["runs"]);
  const page: Page = {
    mode,
    report: is_object(report) ? as_report(report) : null,
    compare: is_object(header["compare"]) ? (header["compare"] as unknown as CompareDoc) : null,
    runs,
    outlines: __SERVED__ ? null : read_outlines(blobs, header["outlines"]),
    ...((runs && align(...runs)) ?? read_run(blobs, header)),
    events: read_events(blobs, header["events"]),
    counters: list(header["counters"], "counters").map((counter, i) => read_counter(blobs, counter, i)),
    throttle_reasons: read_throttle_reasons(header["throttle_reasons"]),
    limits: read_limits(header["limits"]),
    end_ns: 1,
  };
  if (page.mode === "report" && !page.report) throw new PageError("the data hold no report");
  if (page.mode === "compare" && !page.compare) throw new PageError("the data hold no comparison");
  page.end_ns = last_moment(page);
  return page;
}
