// Two flames in one: the paths of the run after, each with its own time in the run before.
import { fold, type Flame } from "./flame";
import type { Run } from "./page";

export interface Path {
  path: string;
  ns: number; // a generation
}
export interface FlameDiff {
  flame: Flame; // of the run after
  before: number[]; // self time a generation, by node; NaN: the path was not there
  after: number[];
  added: Path[]; // the outermost ones, most time first
  removed: Path[];
}

// Generations: requests, else sessions, else the run is one.
export function generations(run: Run): number {
  for (const kind of ["request", "session"]) {
    let n = 0;
    for (const track of run.tracks) for (const row of track.rows) for (const name of row.name) if (run.kinds[name] === kind) ++n;
    if (n > 0) return n;
  }
  return 1;
}

export function path_of(names: string[], flame: Flame, node: number): string {
  const parts: string[] = [];
  for (let at = node; at > 0; at = flame.parent[at]!) parts.unshift((names[flame.name[at]!] ?? "").slice(0, 200));
  return parts.join(" › ");
}

export function diff_flames(before: Run, after: Run): FlameDiff {
  const [old, flame] = [fold(before, before.tracks), fold(after, after.tracks)];
  const [old_runs, runs] = [generations(before), generations(after)];
  const key = (run: Run, name: number): string => `${run.kinds[name]} ${run.names[name]}`;
  const self: number[] = new Array<number>(flame.name.length).fill(NaN);
  const [added, removed]: [Path[], Path[]] = [[], []];
  const visit = (node: number, was: number): void => {
    self[node] = old.self[was]! / old_runs;
    const then = new Map(old.children[was]!.map((child) => [key(before, old.name[child]!), child]));
    for (const child of flame.children[node]!) {
      const name = key(after, flame.name[child]!);
      const match = then.get(name);
      then.delete(name);
      if (match === undefined) added.push({ path: path_of(after.names, flame, child), ns: flame.total[child]! / runs });
      else visit(child, match);
    }
    for (const gone of then.values()) removed.push({ path: path_of(before.names, old, gone), ns: old.total[gone]! / old_runs });
  };
  visit(0, 0);
  for (const list of [added, removed]) list.sort((a, b) => b.ns - a.ns);
  return { flame, before: self, after: flame.self.map((ns) => ns / runs), added, removed };
}
