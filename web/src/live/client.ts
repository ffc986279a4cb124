// The live page's side of `api/v1/snapshot` and `api/v1/stream` (web/README.md): what it holds and how
// a tick changes it. merge() is pure; connect() does the talking.
import type { JsonObject } from "../data/container";
import { is_object, type Json } from "../data/container";
import { as_report, number_of, objects, text_of, type Report } from "../data/report";

export interface Progress {
  name: string;
  done: number;
  total: number | null;
  eta_ns: number | null;
}
export interface Step {
  index: number;
  at_ns: number;
  duration_ns: number;
  name: string;
}
export interface LiveSeries {
  entity: string;
  metric: string;
  unit: string;
  at: number[];
  value: number[];
}
export interface Alert {
  severity: string;
  title: string;
  detail: string;
}
export interface RankCell {
  rank: number;
  state: string; // "ok", "slow", "stalled", "ended", "lost"
  step: number | null;
  detail: string;
}
export interface LiveState {
  state: string; // "running", "ended", "lost"
  at_ns: number;
  report: Report;
  progress: Progress[];
  steps: Step[];
  series: LiveSeries[];
  alerts: Alert[];
  ranks: RankCell[];
}

export const kMostSteps = 50;
export const kFull_ns = 600e9; // ten minutes at full rate
const kMostPoints = 6000;

// Older readings are thinned tenfold, of each ten the least and the greatest.
export function thin_old(series: LiveSeries, now: number): LiveSeries {
  if (series.at.length <= kMostPoints) return series;
  const limit = now - kFull_ns;
  let old = series.at.findIndex((at) => at >= limit);
  if (old < 0) old = series.at.length;
  // All of them young: the rate is high, and the oldest half gives way.
  if (old < kMostPoints / 2) old = series.at.length >> 1;
  const at: number[] = [];
  const value: number[] = [];
  for (let i = 0; i < old; i += 20) {
    let low = i;
    let high = i;
    for (let k = i; k < Math.min(old, i + 20); ++k) {
      if (series.value[k]! < series.value[low]!) low = k;
      if (series.value[k]! > series.value[high]!) high = k;
    }
    for (const k of low === high ? [low] : [Math.min(low, high), Math.max(low, high)]) {
      at.push(series.at[k]!);
      value.push(series.value[k]!);
    }
  }
  return { ...series, at: at.concat(series.at.slice(old)), value: value.concat(series.value.slice(old)) };
}

const numbers = (value: Json | undefined): number[] => (Array.isArray(value) ? value.map((v) => (typeof v === "number" ? v : NaN)) : []);

function add_series(before: LiveSeries[], added: JsonObject[], now: number): LiveSeries[] {
  const out = [...before];
  for (const raw of added) {
    const entity = text_of(raw["entity"]);
    const metric = text_of(raw["metric"]);
    const at = numbers(raw["at"]);
    const value = numbers(raw["value"]);
    if (at.length !== value.length) continue;
    const place = out.findIndex((s) => s.entity === entity && s.metric === metric);
    const old = out[place];
    // A stream that resumes may repeat what is known.
    const last = old?.at[old.at.length - 1] ?? -Infinity;
    const from = at.findIndex((t) => t > last);
    const fresh = from < 0 ? [] : at.slice(from);
    const made = thin_old(
      { entity, metric, unit: text_of(raw["unit"]) || old?.unit || "", at: (old?.at ?? []).concat(fresh), value: (old?.value ?? []).concat(from < 0 ? [] : value.slice(from)) },
      now,
    );
    if (place >= 0) out[place] = made;
    else out.push(made);
  }
  return out;
}

export function merge(before: LiveState | null, raw: JsonObject): LiveState {
  const at_ns = number_of(raw["at_ns"]) ?? before?.at_ns ?? 0;
  const steps = objects(raw["steps"]).map((s) => ({
    index: number_of(s["index"]) ?? 0,
    at_ns: number_of(s["at_ns"]) ?? 0,
    duration_ns: number_of(s["duration_ns"]) ?? 0,
    name: text_of(s["name"]),
  }));
  const known = before?.steps ?? [];
  const newest = known[known.length - 1]?.at_ns ?? -1;
  return {
    state: text_of(raw["state"]) || before?.state || "running",
    at_ns,
    report: is_object(raw["report"]) ? as_report(raw["report"]) : (before?.report ?? as_report({})),
    progress:
      raw["progress"] === undefined
        ? (before?.progress ?? [])
        : objects(raw["progress"]).map((p) => ({ name: text_of(p["name"]), done: number_of(p["done"]) ?? 0, total: number_of(p["total"]), eta_ns: number_of(p["eta_ns"]) })),
    steps: known.concat(steps.filter((s) => s.at_ns > newest)).slice(-kMostSteps),
    series: add_series(before?.series ?? [], objects(raw["series"]), at_ns),
    alerts:
      raw["alerts"] === undefined
        ? (before?.alerts ?? [])
        : objects(raw["alerts"]).map((a) => ({ severity: text_of(a["severity"]) || "info", title: text_of(a["title"]), detail: text_of(a["detail"]) })),
    ranks:
      raw["ranks"] === undefined
        ? (before?.ranks ?? [])
        : objects(raw["ranks"]).map((r) => ({ rank: number_of(r["rank"]) ?? 0, state: text_of(r["state"]) || "ok", step: number_of(r["step"]), detail: text_of(r["detail"]) })),
  };
}

export interface Handlers {
  state: (merge_into: (before: LiveState | null) => LiveState) => void;
  link: (text: "connecting" | "live" | "lost" | "refused") => void;
}

// Relative addresses with the query kept: the token may stand in either.
export const api = (path: string): string => `api/v1/${path}${location.search}`;

export function connect(handlers: Handlers): () => void {
  let source: EventSource | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stopped = false;
  const again = (): void => {
    handlers.link("lost");
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(() => void open(), 2000);
  };
  const read = (text: string): JsonObject | null => {
    try {
      const value = JSON.parse(text) as Json;
      return is_object(value) ? value : null;
    } catch {
      return null;
    }
  };
  async function open(): Promise<void> {
    try {
      const answer = await fetch(api("snapshot"), { cache: "no-store" });
      if (answer.status === 401 || answer.status === 403) {
        handlers.link("refused");
        return;
      }
      const first = answer.ok ? read(await answer.text()) : null;
      if (!first) {
        again();
        return;
      }
      // A snapshot is the whole: what was known before it is replaced.
      handlers.state(() => merge(null, first));
      if (stopped) return;
      source = new EventSource(api("stream"));
      source.onopen = () => handlers.link("live");
      source.onerror = () => {
        handlers.link("lost");
        // The browser itself reconnects with Last-Event-ID unless it gave up.
        if (source?.readyState === EventSource.CLOSED) again();
      };
      const tick = (event: MessageEvent<string>): void => {
        const raw = read(event.data);
        if (raw) handlers.state((before) => merge(before, raw));
      };
      source.addEventListener("tick", tick);
      source.addEventListener("end", (event: MessageEvent<string>) => {
        tick(event);
        source?.close();
        handlers.link("live");
      });
    } catch {
      again();
    }
  }
  handlers.link("connecting");
  void open();
  return () => {
    stopped = true;
    clearTimeout(timer);
    source?.close();
  };
}
