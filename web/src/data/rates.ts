// Counters that only grow, as rates; levels as they are. docs/metrics.md says which are which.
import { unit_of } from "./format";
import type { Counter } from "./page";

const kGrowing =
  /^(cpu_ns|(minor|major)_faults|(io|disk)_(read|write)_bytes|net_(receive|send)_bytes|pressure_.*_ns|cpu_throttled_ns|energy_joules|throttle_(power|thermal|other)_ns|(pcie|link)_(receive|send)_bytes|ecc_errors|allocator_(retries|ooms)|probe_cpu_ns|probe_missed_ticks|memory_oom_kills)$/;

export interface Shown {
  at: Float64Array;
  value: Float64Array;
  unit: string;
}

// Seconds: a tenth of the usual time between two readings.
function shortest_interval(at: Float64Array): number {
  if (at.length < 3) return 0;
  const apart = Float64Array.from({ length: at.length - 1 }, (_, i) => at[i + 1]! - at[i]!).sort();
  return apart[apart.length >> 1]! / 1e10;
}

export function shown_values(counter: Counter): Shown {
  const metric = counter.metric ?? "";
  const unit = unit_of(metric) || counter.unit;
  if (!kGrowing.test(metric)) return { at: counter.at, value: counter.value, unit };
  const shortest = shortest_interval(counter.at);
  const times: number[] = [];
  const rates: number[] = [];
  let last = 0;
  for (let i = 1; i < counter.at.length; ++i) {
    const seconds = (counter.at[i]! - counter.at[last]!) / 1e9;
    // Two readings at nearly one moment, as at the begin of a run, say nothing: the later waits for the next.
    // Of only two readings a value comes out in any case.
    if (shortest > 0 && seconds <= shortest) continue;
    const grown = counter.value[i]! - counter.value[last]!;
    times.push(counter.at[i]!);
    // A counter that falls was reset: nothing is known of that stretch.
    rates.push(grown >= 0 && seconds > 0 ? grown / seconds : NaN);
    last = i;
  }
  const [at, value] = [Float64Array.from(times), Float64Array.from(rates)];
  switch (unit) {
    case "ns":
      for (let i = 0; i < value.length; ++i) value[i]! /= 1e9;
      return { at, value, unit: metric === "cpu_ns" || metric === "probe_cpu_ns" ? "cores" : "ratio" };
    case "bytes":
      return { at, value, unit: "B/s" };
    case "J":
      return { at, value, unit: "W" };
    default:
      return { at, value, unit: "/s" };
  }
}

const kTitles: { [metric: string]: string } = {
  tree_busy_ratio: "Busy, this run",
  tree_memory_bytes: "Memory, this run",
  clock_core_mhz: "Core clock",
  cpu_busy_ratio: "CPU busy",
  cpu_ns: "CPU used",
  rss_bytes: "Resident memory",
  load_1m: "Load, 1 min",
};

export function metric_title(metric: string): string {
  const known = kTitles[metric];
  if (known !== undefined) return known;
  const plain = metric.replace(/_(ns|bytes|ratio|watts|joules|celsius|mhz)$/, "").replaceAll("_", " ");
  return plain.charAt(0).toUpperCase() + plain.slice(1);
}

// What a probe's name for the thing that it reads means; names of devices stay as they are.
export function entity_title(entity: string): string {
  if (entity === "tree") return "this run";
  if (entity === "machine" || entity === "system") return "the machine";
  if (entity.startsWith("package-")) return `CPU ${entity.slice("package-".length)}`;
  return entity.startsWith("cgroup:") ? "control group" : entity;
}

// Worth a row under the timeline without being asked for.
export const is_main = (counter: Counter): boolean =>
  counter.metric === null ||
  /^(busy_ratio|memory_used_bytes|tree_memory_bytes|power_watts|temperature_celsius|cpu_ns|rss_bytes|allocator_reserved_bytes)$/.test(
    counter.metric,
  );
