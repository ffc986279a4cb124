// Runs in outline, which a comparison draws over one another: up to eight, each with its stages, steps
// and a few series. Times are ns since the run's begin.
import { is_object, list, PageError, read_column, same_length, type Json } from "./container";

export interface OutlineStage {
  name: string;
  begin: number;
  end: number;
}
export interface OutlineSeries {
  entity: string;
  metric: string;
  unit: string;
  at: Float64Array;
  value: Float64Array;
}
export interface Outline {
  label: string; // "before 2"
  name: string;
  path: string;
  after: boolean;
  wall_ns: number;
  stages: OutlineStage[];
  steps: number; // of which the first ones are kept
  step_begin: Float64Array;
  step: Float64Array;
  series: OutlineSeries[];
}
export interface Outlines {
  runs: Outline[];
  left_out: number;
}

const text = (value: Json | undefined): string => (typeof value === "string" ? value : "");
const number = (value: Json | undefined): number => (typeof value === "number" && Number.isFinite(value) ? value : 0);

function read_stages(value: Json | undefined, where: string): OutlineStage[] {
  return list(value, where).flatMap((stage) => {
    if (!Array.isArray(stage)) throw new PageError(`${where} is not a list of stages`);
    const begin = number(stage[1]);
    return [{ name: text(stage[0]), begin, end: begin + Math.max(0, number(stage[2])) }];
  });
}

export function read_outlines(blobs: Uint8Array, value: Json | undefined): Outlines | null {
  if (!is_object(value)) return null;
  const nth = { before: 0, after: 0 };
  const runs = list(value["runs"], "outlines.runs").slice(0, 8).map((run, i): Outline => {
    const where = `outlines.runs[${i}]`;
    if (!is_object(run)) throw new PageError(`${where} is not an object`);
    const column = (of: Json | undefined, key: string): Float64Array => read_column(blobs, of, `${where}.${key}`, ["f64"]) as Float64Array;
    const side = run["side"] === "after" ? "after" : "before";
    const [step_begin, step] = [column(run["step_begin"], "step_begin"), column(run["step"], "step")];
    same_length(where, step.length, step_begin);
    return {
      label: `${side} ${++nth[side]}`,
      name: text(run["name"]),
      path: text(run["path"]),
      after: side === "after",
      wall_ns: number(run["wall_ns"]),
      stages: read_stages(run["stages"], `${where}.stages`),
      steps: number(run["steps"]),
      step_begin,
      step,
      series: list(run["series"], `${where}.series`).map((one) => {
        if (!is_object(one)) throw new PageError(`${where}.series is not a list of objects`);
        const [at, values] = [column(one["at"], "at"), column(one["value"], "value")];
        same_length(where, at.length, values);
        return { entity: text(one["entity"]), metric: text(one["metric"]), unit: text(one["unit"]), at, value: values };
      }),
    };
  });
  return runs.length > 0 ? { runs, left_out: number(value["left_out"]) } : null;
}

// Names of stages that every run has, in the order of the first: where runs may be lined up.
export function common_stages(runs: Outline[]): string[] {
  const names = [...new Set(runs[0]?.stages.map((stage) => stage.name))];
  return names.filter((name) => runs.every((run) => run.stages.some((stage) => stage.name === name)));
}

// What to take off each run's times so that a stage begins at 0 in all of them; "": the runs do.
export function shifts(runs: Outline[], stage: string): number[] {
  return runs.map((run) => (stage === "" ? 0 : (run.stages.find((one) => one.name === stage)?.begin ?? 0)));
}

export function median(values: Float64Array): number | null {
  if (values.length === 0) return null;
  const all = Float64Array.from(values).sort();
  const half = all.length >> 1;
  return all.length % 2 === 1 ? all[half]! : (all[half - 1]! + all[half]!) / 2;
}

export function time_of_stage(run: Outline, name: string): number | null {
  const all = run.stages.filter((stage) => stage.name === name);
  return all.length === 0 ? null : all.reduce((sum, stage) => sum + stage.end - stage.begin, 0);
}
