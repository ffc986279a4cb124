// What is measured while a run goes on, as columns that grow: seeded with the counters of the run's page,
// then a reading per tick. Ten minutes stay at full rate; of older ones every 20 become 2, the least and
// the greatest. Pure, and the arrays are used again and again.
import type { JsonObject } from "../data/container";
import { cut } from "../data/format";
import type { Counter } from "../data/page";
import { is_main, shown_values } from "../data/rates";
import { number_of, text_of } from "../data/report";
import { upper_bound } from "../data/search";
import type { Line } from "../ui/chart";

// `at` and `value` are longer than what they hold; the value is a rate where the counter only grows.
export interface Series extends Counter {
  n: number; // that are there
  thinned: number; // the first so many are thinned
  raw: [number, number][]; // the last readings of the counter itself, [at, value]
}
export type Store = Map<string, Series>;

export const kFull_ns = 600e9;
const kGroup = 20;
const kChunk = 200; // thinned at a time
const kMost = 6000; // at full rate; and thinned, before they are thinned once more
// Ticks do not say when a value was read: the rate over some of them is steadier than between two.
const kRateOver = 5;
const kLines = 8; // in one chart
const kShortest_ns = 0.3e9;

function new_series(name: string, entity: string | null, metric: string | null, unit: string): Series {
  return { id: 0, pid: null, name, entity, metric, unit, n: 0, at: new Float64Array(256), value: new Float64Array(256), thinned: 0, raw: [] };
}

// Of each group in [from, to) the least and the greatest stay, in their order. Gives the new end.
function thin(series: Series, from: number, to: number): number {
  const { at, value } = series;
  let out = from;
  for (let i = from; i < to; i += kGroup) {
    let [low, high] = [-1, -1];
    for (let k = i; k < Math.min(to, i + kGroup); ++k) {
      if (!Number.isFinite(value[k]!)) continue;
      if (low < 0 || value[k]! < value[low]!) low = k;
      if (high < 0 || value[k]! > value[high]!) high = k;
    }
    for (const k of low === high ? [Math.max(low, i)] : [Math.min(low, high), Math.max(low, high)]) {
      at[out] = at[k]!;
      value[out++] = value[k]!;
    }
  }
  at.copyWithin(out, to, series.n);
  value.copyWithin(out, to, series.n);
  series.n -= to - out;
  return out;
}

export function append(series: Series, at: number, value: number): void {
  if (series.n > 0 && at <= series.at[series.n - 1]!) return;
  if (series.n === series.at.length) {
    for (const key of ["at", "value"] as const) {
      const wider = new Float64Array(series.n * 2);
      wider.set(series[key]);
      series[key] = wider;
    }
  }
  series.at[series.n] = at;
  series.value[series.n++] = value;
  const chunk = series.thinned + kChunk;
  if (series.n - chunk > 0 && (series.at[chunk]! < at - kFull_ns || series.n - series.thinned > kMost)) series.thinned = thin(series, series.thinned, chunk);
  if (series.thinned > kMost) series.thinned = thin(series, 0, series.thinned);
}

const two_at = new Float64Array(2);
const two_values = new Float64Array(2);

function add_reading(series: Series, at: number, value: number): void {
  const last = series.raw[series.raw.length - 1];
  if (last && at <= last[0]) return; // a stream that resumes may repeat itself
  const before = series.raw[0] ?? [at, value];
  two_at.set([before[0], at]);
  two_values.set([before[1], value]);
  const shown = shown_values({ ...series, at: two_at, value: two_values });
  // Of a counter that grows one value comes out of two: its rate, not known from moments too near.
  const grows = shown.value.length === 1;
  if (!grows || at - before[0] > kShortest_ns) append(series, at, shown.value[shown.value.length - 1]!);
  series.unit = shown.unit;
  if (grows && last && value < last[1]) series.raw = []; // it was reset
  series.raw.push([at, value]);
  if (series.raw.length > kRateOver) series.raw.shift();
}

// Processes may count under one name, and values do not say whose they are: they are told apart by order.
function keys(): (name: string) => string {
  const times = new Map<string, number>();
  return (name) => {
    const n = times.get(name) ?? 0;
    times.set(name, n + 1);
    return `${n} ${name}`;
  };
}

export function add_tick(store: Store, at_ns: number, values: JsonObject[]): void {
  const key_of = keys();
  for (const raw of values) {
    const name = text_of(raw["name"]);
    const key = key_of(name);
    const value = number_of(raw["value"]);
    let series = store.get(key);
    if (!series) {
      series = new_series(name, text_of(raw["entity"]) || null, text_of(raw["metric"]) || null, cut(text_of(raw["unit"]), 12));
      store.set(key, series);
    }
    if (value !== null) add_reading(series, at_ns, value);
  }
}

// The counters of a page know more than the ticks until its end; what came after stays.
export function seed(store: Store, counters: Counter[]): void {
  const key_of = keys();
  for (const counter of counters) {
    const key = key_of(counter.name);
    const old = store.get(key);
    const shown = shown_values(counter);
    const made = new_series(counter.name, counter.entity, counter.metric, shown.unit);
    for (let i = 0; i < shown.at.length; ++i) append(made, shown.at[i]!, shown.value[i]!);
    const last = counter.at.length - 1;
    made.raw = last < 0 ? [] : [[counter.at[last]!, counter.value[last]!]];
    if (old) {
      for (let i = 0; i < old.n; ++i) append(made, old.at[i]!, old.value[i]!);
      if (old.raw.length > 0 && old.raw[old.raw.length - 1]![0] > (made.raw[0]?.[0] ?? -1)) made.raw = old.raw;
    }
    store.set(key, made);
  }
}

// --- As lines that a chart draws, until a moment: what is frozen hides what came after.
export function lines_of(series: Series[], until: number, name: (s: Series, place: number) => string): Line[] {
  const ends = series.map((s) => upper_bound(s.at.subarray(0, s.n), until));
  if (series.length <= kLines) return series.map((s, i) => ({ name: name(s, i), at: s.at.subarray(0, ends[i]), value: s.value.subarray(0, ends[i]) }));
  // More than can be told apart: the least, the mean and the greatest of them, when the first was read.
  const at = series[0]!.at.subarray(0, ends[0]);
  const [low, mean, high] = [0, 1, 2].map(() => new Float64Array(at.length)) as [Float64Array, Float64Array, Float64Array];
  const place = new Uint32Array(series.length);
  at.forEach((now, i) => {
    let [least, sum, most, n] = [Infinity, 0, -Infinity, 0];
    series.forEach((s, k) => {
      while (place[k]! < ends[k]! && s.at[place[k]!]! <= now) ++place[k]!;
      const value = place[k]! > 0 ? s.value[place[k]! - 1]! : NaN;
      if (!Number.isFinite(value)) return;
      least = Math.min(least, value);
      most = Math.max(most, value);
      sum += value;
      ++n;
    });
    low[i] = n > 0 ? least : NaN;
    mean[i] = sum / n;
    high[i] = n > 0 ? most : NaN;
  });
  return [{ name: `mean of ${series.length}`, at, value: mean }, { name: "least", at, value: low, dash: true }, { name: "most", at, value: high, dash: true }];
}

// --- Which of them stand together: entities of one kind, then one chart for each metric.
export interface Reading {
  metric: string;
  series: Series[];
  main: boolean; // shown without being asked for
}
export interface Group {
  title: string;
  readings: Reading[];
}
const kKinds: [string, RegExp][] = [
  ["GPUs", /^(GPU-|MIG-|[0-9a-f]{4,8}:[0-9a-f]{2}:)/i],
  ["This run", /^tree$/],
  ["Counters of the program", /^$/],
  ["Machine", /^machine$/],
  ["Other probes", /^(?!cgroup:|package-|genscope)/],
  ["CPU packages", /^package-/],
  ["Control group", /^cgroup:/],
  ["genscope itself", /^/],
];
export function group_series(store: Store, gpus: string[]): Group[] {
  const groups = kKinds.map(([title]): Group => ({ title, readings: [] }));
  for (const series of store.values()) {
    const entity = series.entity ?? "";
    const metric = series.metric ?? series.name;
    const { readings } = groups[gpus.includes(entity) ? 0 : kKinds.findIndex(([, pattern]) => pattern.test(entity))]!;
    const found = readings.find((r) => r.metric === metric);
    if (found) found.series.push(series);
    else readings.push({ metric, series: [series], main: metric === "cpu_busy_ratio" || is_main(series) });
  }
  return groups.filter((g) => g.readings.length > 0);
}
