// One `tick` of a run's stream (docs/openapi.json), checked, and what follows from it: rows of progress,
// the state of each rank. Pure. What the server does not know is null.
import type { JsonObject } from "../data/container";
import { number_of, objects, text_of } from "../data/report";

export interface Process {
  pid: number | null;
  rank: number | null;
  alive: boolean;
  stage: string | null;
  stage_seconds: number | null;
  steps_done: number | null;
  steps_total: number | null;
  step_seconds: number | null;
  eta_seconds: number | null;
  eta_low_seconds: number | null; // it ends in between, nine times in ten
  eta_high_seconds: number | null;
  last_stage: string | null;
}
export interface Alert {
  severity: string;
  text: string;
}
export interface Tick {
  at_ns: number; // since the begin of the run
  processes: Process[];
  values: JsonObject[]; // series.ts reads them
  steps: number[]; // seconds of the last ones of one process, newest last
  steps_pid: number | null; // of that process
  steps_ended: number | null; // that it has ended since it began; the newest is the last of `steps`
  alerts: Alert[];
}

export function read_tick(raw: JsonObject): Tick {
  return {
    at_ns: number_of(raw["at_ns"]) ?? 0,
    processes: objects(raw["processes"]).map((p) => ({
      pid: number_of(p["pid"]),
      rank: number_of(p["rank"]),
      alive: p["alive"] === true,
      stage: text_of(p["stage"]) || null,
      stage_seconds: number_of(p["stage_seconds"]),
      steps_done: number_of(p["steps_done"]),
      steps_total: number_of(p["steps_total"]),
      step_seconds: number_of(p["step_seconds"]),
      eta_seconds: number_of(p["eta_seconds"]),
      eta_low_seconds: number_of(p["eta_low_seconds"]),
      eta_high_seconds: number_of(p["eta_high_seconds"]),
      last_stage: text_of(p["last_stage"]) || null,
    })),
    values: objects(raw["values"]),
    steps: Array.isArray(raw["steps"]) ? raw["steps"].filter((s) => typeof s === "number") : [],
    steps_pid: number_of(raw["steps_pid"]),
    steps_ended: number_of(raw["steps_ended"]),
    alerts: objects(raw["alerts"]).map((a) => ({ severity: text_of(a["severity"]) || "info", text: text_of(a["text"]) })),
  };
}

// --- Progress: processes that are in the same stage are one row.
export interface StageRow {
  stage: string;
  processes: Process[];
  least: number; // steps done, of the one that has done fewest
  most: number;
  total: number | null;
  step_seconds: number | null; // median
  eta_seconds: number | null; // of the last to be ready
  eta_low_seconds: number | null; // null: not known of all that have an estimate
  eta_high_seconds: number | null;
  stage_seconds: number | null; // of the first to enter
}

export function median(values: number[]): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length === 0 ? null : sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}
const known = (values: (number | null)[]): number[] => values.filter((v): v is number => v !== null);

// `genscope run` records its samples as a process of the run, but no stage: it is not one to wait for.
export const takes_part = (p: Process): boolean => p.stage !== null || p.last_stage !== null || p.rank !== null;

export function stage_rows(processes: Process[]): StageRow[] {
  const groups = new Map<string, Process[]>();
  for (const p of processes.filter((each) => each.alive && takes_part(each))) {
    const key = p.stage ?? "between stages";
    groups.set(key, [...(groups.get(key) ?? []), p]);
  }
  return [...groups].map(([stage, group]) => {
    const all = (of: (p: Process) => number | null): number[] => known(group.map(of));
    const most = (values: number[]): number | null => (values.length > 0 ? Math.max(...values) : null);
    const spread = group.every((p) => p.eta_seconds === null || (p.eta_low_seconds !== null && p.eta_high_seconds !== null));
    return {
      stage,
      processes: group,
      least: Math.min(...all((p) => p.steps_done)),
      most: Math.max(...all((p) => p.steps_done)),
      total: most(all((p) => p.steps_total)),
      step_seconds: median(all((p) => p.step_seconds)),
      eta_seconds: most(all((p) => p.eta_seconds)),
      eta_low_seconds: spread ? most(all((p) => p.eta_low_seconds)) : null,
      eta_high_seconds: spread ? most(all((p) => p.eta_high_seconds)) : null,
      stage_seconds: most(all((p) => p.stage_seconds)),
    };
  });
}

// --- Steps, numbered from the first that the process ended. A tick brings the last of them; what came before is kept.
export interface StepHistory {
  pid: number | null;
  number: number[]; // 1 is the first
  seconds: number[];
}
export const kMostSteps = 4000;

export function add_steps(history: StepHistory, tick: Tick): void {
  if (tick.steps.length === 0) return;
  // A server that does not number them: what it sends is all there is.
  const last = tick.steps_ended ?? tick.steps.length;
  if (history.pid !== tick.steps_pid || tick.steps_ended === null) Object.assign(history, { pid: tick.steps_pid, number: [], seconds: [] });
  const known = history.number[history.number.length - 1] ?? 0;
  tick.steps.forEach((seconds, i) => {
    const number = last - tick.steps.length + 1 + i;
    if (number <= known) return;
    history.number.push(number);
    history.seconds.push(seconds);
  });
  const over = history.number.length - kMostSteps;
  if (over > 0) for (const list of [history.number, history.seconds]) list.splice(0, over);
}

// --- Ranks.
export type RankState = "ok" | "slow" | "stalled" | "ended" | "lost";
export interface RankCell extends Process {
  state: RankState;
}
export const kSlow = 1.2; // times the median step of the ranks
const kStalledSteps = 5; // steps that would have fitted in, and
const kStalled_ns = 5e9; // no less than this

// When each process last did something new: its stage or its count of steps changed.
export type Seen = Map<number | null, { what: string; at_ns: number }>;
export function note_changes(seen: Seen, tick: Tick): void {
  for (const p of tick.processes) {
    const what = `${p.steps_done} ${p.stage}\n${p.last_stage}`;
    if (seen.get(p.pid)?.what !== what) seen.set(p.pid, { what, at_ns: tick.at_ns });
  }
}

export function rank_cells(tick: Tick, seen: Seen): RankCell[] {
  const all = tick.processes.filter(takes_part);
  const usual = median(known(all.map((p) => p.step_seconds)));
  const judge = (p: Process): RankState => {
    const step = p.step_seconds;
    const still = tick.at_ns - (seen.get(p.pid)?.at_ns ?? tick.at_ns);
    if (!p.alive) return p.stage === null ? "ended" : "lost";
    if (p.stage !== null && step !== null && still > Math.max(kStalled_ns, kStalledSteps * step * 1e9)) return "stalled";
    return step !== null && usual !== null && step > kSlow * usual ? "slow" : "ok";
  };
  const order = (p: Process): number => p.rank ?? p.pid ?? 0;
  return all.map((p) => ({ ...p, state: judge(p) })).sort((a, b) => order(a) - order(b));
}
