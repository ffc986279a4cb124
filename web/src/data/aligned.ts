// Two runs on one axis: the main track of each, moved so that stages that both have begin together.
//
//   before   |load----|denoise------------|decode--|
//   after    |load--  |denoise--------    |decode--|
//            x0       x1                  x2          x(i+1) = x(i) + the longer way to the next stage
//
// A span that goes over the begin of such a stage has no length on this axis and is left out.
import type { Row, Run, Track } from "./page";
import { upper_bound } from "./search";

const kMostStages = 1000;

interface StageSpan {
  begin: number;
  end: number;
  name: string;
}

const is_stage = (run: Run, name: number): boolean => run.kinds[name] === "stage" || run.kinds[name] === "load";

// Outermost stages of a track in the order of time.
function stages_of(run: Run, track: Track): StageSpan[] {
  const all: StageSpan[] = [];
  for (const row of track.rows) {
    for (let i = 0; i < row.name.length; ++i) {
      const name = row.name[i]!;
      if (is_stage(run, name)) all.push({ begin: row.begin[i]!, end: row.end[i]!, name: run.names[name]! });
    }
  }
  let end = -1;
  return all
    .sort((a, b) => a.begin - b.begin || b.end - a.end)
    .filter((s) => s.begin >= end && (end = s.end) >= 0)
    .slice(0, kMostStages);
}

// The track with the most time in stages.
function main_track(run: Run): { track: Track; stages: StageSpan[] } | null {
  let best: { track: Track; stages: StageSpan[] } | null = null;
  let most = 0;
  for (const track of run.tracks) {
    const stages = stages_of(run, track);
    const time = stages.reduce((sum, s) => sum + s.end - s.begin, 0);
    if (time > most) [best, most] = [{ track, stages }, time];
  }
  return best;
}

// The longest list of pairs with equal names that keeps the order of both.
export function pair_up(a: string[], b: string[]): [number, number][] {
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; --i) {
    for (let j = b.length - 1; j >= 0; --j) {
      const at = i * width + j;
      common[at] = a[i] === b[j] ? common[at + width + 1]! + 1 : Math.max(common[at + width]!, common[at + 1]!);
    }
  }
  const out: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const at = i * width + j;
    if (a[i] === b[j]) out.push([i++, j++]);
    else if (common[at + width]! >= common[at + 1]!) ++i;
    else ++j;
  }
  return out;
}

function moved(track: Track, starts: Float64Array, places: number[], ids: Uint32Array, id: number, process: string): Track {
  let spans = 0;
  const all = track.rows.map((row): Row => {
    const keep: number[] = [];
    const shift: number[] = [];
    for (let i = 0; i < row.begin.length; ++i) {
      const part = Math.max(0, upper_bound(starts, row.begin[i]!) - 1);
      if (row.end[i]! > (starts[part + 1] ?? Infinity)) continue;
      keep.push(i);
      shift.push(places[part]! - starts[part]!);
    }
    spans += keep.length;
    return {
      begin: Float64Array.from(keep, (i, k) => row.begin[i]! + shift[k]!),
      end: Float64Array.from(keep, (i, k) => row.end[i]! + shift[k]!),
      name: Uint32Array.from(keep, (i) => ids[row.name[i]!]!),
      index: Uint32Array.from(keep, (i) => row.index[i]!),
    };
  });
  const rows = all.filter((row) => row.begin.length > 0);
  return { ...track, id, rank: null, pid: id, process, spans, rows, summarised: null };
}

// Both as a run of two tracks; null if there are no stages in common.
export function align(before: Run, after: Run): Run | null {
  const [a, b] = [main_track(before), main_track(after)];
  if (!a || !b) return null;
  const pairs = pair_up(a.stages.map((s) => s.name), b.stages.map((s) => s.name));
  if (pairs.length === 0) return null;
  const from = [Float64Array.from(pairs, ([i]) => a.stages[i]!.begin), Float64Array.from(pairs, ([, j]) => b.stages[j]!.begin)] as const;
  const way = (i: number): number => Math.max(...from.map((starts) => starts[i]! - (starts[i - 1] ?? 0)));
  const places: number[] = [];
  for (let i = 0; i < pairs.length; ++i) places.push((places[i - 1] ?? 0) + way(i));
  const [names, kinds] = [[...after.names], [...after.kinds]];
  const key = (run: Run, i: number): string => `${run.kinds[i]} ${run.names[i]}`;
  const known = new Map(names.map((_, i) => [key(after, i), i]));
  const ids = Uint32Array.from(before.names, (name, i) => {
    const found = known.get(key(before, i));
    return found ?? (kinds.push(before.kinds[i]!), names.push(name) - 1);
  });
  const same = Uint32Array.from(after.names, (_, i) => i);
  return { names, kinds, tracks: [moved(a.track, from[0], places, ids, 0, "before"), moved(b.track, from[1], places, same, 1, "after")] };
}
