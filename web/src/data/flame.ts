// Spans folded by their path of names: the flame view.
//
// Nodes are columns: node 0 is the root, children follow their parents. The parent of a span is the
// innermost span of a lower lane of its track that covers it.
import type { Run, Track } from "./page";

export interface Flame {
  name: number[]; // -1: the root
  parent: number[];
  depth: number[];
  total: number[]; // ns
  self: number[];
  count: number[];
  children: number[][]; // largest first
}

function empty(): Flame {
  return { name: [-1], parent: [-1], depth: [0], total: [0], self: [0], count: [0], children: [[]] };
}

function child(flame: Flame, known: Map<number, number>, names: number, parent: number, name: number): number {
  const key = parent * names + name;
  const found = known.get(key);
  if (found !== undefined) return found;
  const node = flame.name.length;
  known.set(key, node);
  flame.name.push(name);
  flame.parent.push(parent);
  flame.depth.push(flame.depth[parent]! + 1);
  flame.total.push(0);
  flame.self.push(0);
  flame.count.push(0);
  flame.children.push([]);
  flame.children[parent]!.push(node);
  return node;
}

function add_track(flame: Flame, known: Map<number, number>, names: number, track: Track): void {
  const lanes = track.rows.length;
  const next = new Uint32Array(lanes);
  const open_end = new Float64Array(lanes).fill(-1);
  const open_node = new Int32Array(lanes);
  for (let i = 0; i < track.spans; ++i) {
    let lane = 0;
    while (lane < lanes && track.rows[lane]!.index[next[lane]!] !== i) ++lane;
    if (lane === lanes) return;
    const row = track.rows[lane]!;
    const place = next[lane]!++;
    const begin = row.begin[place]!;
    const end = row.end[place]!;
    let parent = 0;
    for (let above = lane - 1; above >= 0; --above) {
      if (open_end[above]! >= end && open_end[above]! > begin) {
        parent = open_node[above]!;
        break;
      }
    }
    const node = child(flame, known, names, parent, row.name[place]!);
    const length = end - begin;
    flame.total[node]! += length;
    flame.self[node]! += length;
    ++flame.count[node]!;
    if (parent === 0) flame.total[0]! += length;
    else flame.self[parent]! -= length;
    open_end[lane] = end;
    open_node[lane] = node;
  }
}

export function fold(run: Run, tracks: readonly Track[]): Flame {
  const flame = empty();
  const known = new Map<number, number>();
  for (const track of tracks) add_track(flame, known, run.names.length, track);
  for (const children of flame.children) children.sort((a, b) => flame.total[b]! - flame.total[a]!);
  return flame;
}

// All that is above and below a name, wherever it stands: `down` below it, `up` its callers, turned
// round. Recursion counts once, at the outermost.
export function sandwich(flame: Flame, name: number, names: number): { up: Flame; down: Flame } {
  const up = empty();
  const down = empty();
  const known_up = new Map<number, number>();
  const known_down = new Map<number, number>();
  const copy = (node: number, to: number): void => {
    for (const inner of flame.children[node]!) {
      const made = child(down, known_down, names, to, flame.name[inner]!);
      down.total[made]! += flame.total[inner]!;
      down.self[made]! += flame.self[inner]!;
      down.count[made]! += flame.count[inner]!;
      copy(inner, made);
    }
  };
  for (let node = 1; node < flame.name.length; ++node) {
    if (flame.name[node] !== name) continue;
    let above = flame.parent[node]!;
    while (above > 0 && flame.name[above] !== name) above = flame.parent[above]!;
    if (above > 0) continue;
    down.total[0]! += flame.total[node]!;
    down.self[0]! += flame.self[node]!;
    down.count[0]! += flame.count[node]!;
    up.total[0]! += flame.total[node]!;
    up.count[0]! += flame.count[node]!;
    copy(node, 0);
    let to = 0;
    for (let caller = flame.parent[node]!; caller > 0; caller = flame.parent[caller]!) {
      to = child(up, known_up, names, to, flame.name[caller]!);
      up.total[to]! += flame.total[node]!;
      up.count[to]! += flame.count[node]!;
    }
  }
  for (const tree of [up, down]) {
    for (const children of tree.children) children.sort((a, b) => tree.total[b]! - tree.total[a]!);
  }
  return { up, down };
}

export interface FlameBox {
  node: number;
  depth: number;
  from: number; // 0..1 of the width
  to: number;
}

// Boxes that are at least `least` wide, with `zoom` filling the width; its ancestors too.
export function place_boxes(flame: Flame, zoom: number, least: number): FlameBox[] {
  const out: FlameBox[] = [];
  for (let above = flame.parent[zoom] ?? -1; above >= 0; above = flame.parent[above]!) {
    out.push({ node: above, depth: flame.depth[above]!, from: 0, to: 1 });
  }
  const visit = (node: number, from: number, to: number): void => {
    out.push({ node, depth: flame.depth[node]!, from, to });
    const scale = (to - from) / (flame.total[node]! || 1);
    let at = from;
    for (const inner of flame.children[node]!) {
      const next = at + flame.total[inner]! * scale;
      if (next - at < least) break;
      visit(inner, at, Math.min(to, next));
      at = next;
    }
  };
  visit(zoom, 0, 1);
  return out;
}
