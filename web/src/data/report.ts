// Types of `genscope.report/1`, as far as the page shows it. Keys may be absent: a report of an older
// or newer genscope still opens. as_report() makes the arrays arrays and the objects objects, so that
// views only ask for null.
import type { Json, JsonObject } from "./container";

type Num = number | null | undefined;

export interface Stage {
  name: string;
  kind: string;
  count: number;
  total_ns: number;
  self_ns: number;
  share: Num;
  min_ns: Num;
  mean_ns: Num;
  p50_ns: Num;
  p95_ns: Num;
  p99_ns: Num;
  max_ns: Num;
  device_ns: Num;
  energy_joules: Num;
  failed: number;
  unfinished: number;
}

export interface Finding {
  rule: string;
  severity: string;
  title: string;
  advice: string;
  confidence: string;
  source: string;
  evidence: { [fact: string]: number | boolean | string };
  evidence_text: { [fact: string]: string };
  gain: string | null;
  gain_low: Num;
  gain_high: Num;
}

export interface Gpu {
  id: string;
  name: string | null;
  vendor: string | null;
  [key: string]: unknown;
}

export interface Thread {
  pid: number;
  tid: number | null;
  name: string | null;
  spans: number;
  busy_ns: number;
  first_ns: Num;
  last_ns: Num;
  dropped_spans: number;
  dropped_records: number;
}

export interface TelemetryEvent {
  at_ns: number;
  entity: string;
  name: string;
  detail: string;
}

export interface Integrity {
  processes: JsonObject[];
  notes: string[];
}

export interface Instrument {
  target: string;
  hooked: boolean;
  reason: string | null;
}

export interface Report {
  headline: string;
  run: {
    id?: string | null;
    name?: string | null;
    started?: string | null;
    wall_ns?: Num;
    command?: string[] | null;
    exit_code?: Num;
    host?: string | null;
    processes?: number;
    ranks?: Num;
    path?: string;
  };
  stages: Stage[];
  steps: JsonObject;
  process: JsonObject;
  gpus: Gpu[];
  system: JsonObject;
  cgroup: JsonObject;
  cpu_packages: JsonObject[];
  allocators: JsonObject[];
  own_metrics: JsonObject[];
  processes: JsonObject[];
  telemetry_events: TelemetryEvent[];
  findings: Finding[];
  threads: Thread[];
  counters: JsonObject[];
  recorder: JsonObject;
  integrity: Integrity;
  instrument: Instrument[];
  absent: { [path: string]: string };
  // Keys that a report may gain; see include/genscope/generation.h and resources.h.
  diffusion: JsonObject;
  training: JsonObject;
  requests: JsonObject;
  streaming: JsonObject;
  bottlenecks: JsonObject[];
  resources: JsonObject;
  aggregate: JsonObject;
  raw: JsonObject;
}

const object = (value: Json | undefined): JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
export const objects = (value: Json | undefined): JsonObject[] =>
  Array.isArray(value) ? value.filter((v): v is JsonObject => typeof v === "object" && v !== null && !Array.isArray(v)) : [];
export const strings = (value: Json | undefined): string[] =>
  Array.isArray(value) ? value.filter((v): v is string => typeof v === "string") : [];
export const text_of = (value: unknown): string => (typeof value === "string" ? value : "");
export const number_of = (value: unknown): number | null =>
  typeof value === "number" && Number.isFinite(value) ? value : null;

function finding(value: JsonObject): Finding {
  return {
    rule: text_of(value["rule"]),
    severity: text_of(value["severity"]) || "info",
    title: text_of(value["title"]),
    advice: text_of(value["advice"]),
    confidence: text_of(value["confidence"]),
    source: text_of(value["source"]),
    evidence: object(value["evidence"]) as Finding["evidence"],
    evidence_text: object(value["evidence_text"]) as Finding["evidence_text"],
    gain: typeof value["gain"] === "string" ? value["gain"] : null,
    gain_low: number_of(value["gain_low"]),
    gain_high: number_of(value["gain_high"]),
  };
}

export function as_report(raw: JsonObject): Report {
  const integrity = object(raw["integrity"]);
  const run = object(raw["run"]);
  return {
    headline: text_of(raw["headline"]),
    run: {
      ...(run as Report["run"]),
      command: Array.isArray(run["command"]) ? strings(run["command"]) : null,
      wall_ns: number_of(run["wall_ns"]),
    },
    stages: objects(raw["stages"]) as unknown as Stage[],
    steps: object(raw["steps"]),
    process: object(raw["process"]),
    gpus: objects(raw["gpus"]) as unknown as Gpu[],
    system: object(raw["system"]),
    cgroup: object(raw["cgroup"]),
    cpu_packages: objects(raw["cpu_packages"]),
    allocators: objects(raw["allocators"]),
    own_metrics: objects(raw["own_metrics"]),
    processes: objects(raw["processes"]),
    telemetry_events: objects(raw["telemetry_events"]) as unknown as TelemetryEvent[],
    findings: objects(raw["findings"]).map(finding),
    threads: objects(raw["threads"]) as unknown as Thread[],
    counters: objects(raw["counters"]),
    recorder: object(raw["recorder"]),
    integrity: { processes: objects(integrity["processes"]), notes: strings(integrity["notes"]) },
    instrument: objects(raw["instrument"]) as unknown as Instrument[],
    absent: object(raw["absent"]) as { [path: string]: string },
    diffusion: object(raw["diffusion"]),
    training: object(raw["training"]),
    requests: object(raw["requests"]),
    streaming: object(raw["streaming"]),
    bottlenecks: objects(raw["bottlenecks"]),
    resources: object(raw["resources"]),
    aggregate: object(raw["aggregate"] ?? raw["ranks"]),
    raw,
  };
}

export interface Difference {
  key: string;
  before: string | null;
  after: string | null;
  decisive?: boolean;
}
export interface ChangeRow {
  name: string;
  kind: string;
  unit: string;
  before: number | null;
  after: number | null;
  before_runs?: number;
  after_runs?: number;
  before_count: number;
  after_count: number;
  percent: number | null;
  factor: number | null;
  factor_low: number | null;
  factor_high: number | null;
  verdict: string;
  reason?: string;
}
export interface ComparedRun {
  name: string | null;
  id: string | null;
  path: string | null;
}
export interface ComparedSide {
  runs?: ComparedRun[];
}
export interface PartChange {
  name: string;
  before: number;
  after: number;
  difference: number;
  interval: { low: number; high: number } | null;
  share: number | null;
  of?: PartChange[];
}
export interface CompareDoc {
  before?: ComparedSide;
  after?: ComparedSide;
  environment?: Difference[];
  workload?: Difference[];
  other?: Difference[];
  comparable?: boolean;
  incomparable?: string[];
  notes?: string[];
  noise_floor?: number;
  rows?: ChangeRow[];
  rows_left_out?: number;
  verdict?: string;
  headline?: string;
  attribution?: { total: PartChange; parts: PartChange[]; notes?: string[] } | null;
  absent?: { [path: string]: string };
}
