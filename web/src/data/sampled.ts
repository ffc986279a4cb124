// Sampled stacks of a report as a flame: threads, the stages open on them, functions in these.
import type { JsonObject } from "./container";
import type { Flame } from "./flame";

export type Measure = "wall_ns" | "cpu_ns";
export interface SampledFlame {
  flame: Flame;
  names: string[];
  places: string[]; // of the functions, by name number: "app.py:12"
  stages: boolean[]; // by node: it is a stage
}

const whole = (value: unknown): number => (typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0);

// Null where nothing was sampled. A node whose parent does not stand before it is left out with all in it.
export function sampled_flame(stacks: JsonObject, measure: Measure): SampledFlame | null {
  const rows = Array.isArray(stacks["nodes"]) ? (stacks["nodes"] as JsonObject[]) : [];
  if (rows.length === 0) return null;
  const flame: Flame = { name: [-1], parent: [-1], depth: [0], total: [0], self: [0], count: [0], children: [[]] };
  const names: string[] = [];
  const places: string[] = [];
  const stages = [false];
  const numbers = new Map<string, number>();
  const node_of = new Map<number, number>();
  rows.forEach((row, index) => {
    const parent = typeof row["parent"] === "number" ? node_of.get(row["parent"]) : 0;
    if (parent === undefined) return;
    const file = typeof row["file"] === "string" ? row["file"] : "";
    const line = whole(row["line"]);
    const place = file ? file.slice(file.lastIndexOf("/") + 1) + (line ? `:${line}` : "") : "";
    const name = typeof row["name"] === "string" ? row["name"] : "";
    const key = `${name}\n${file}\n${line}`;
    let number = numbers.get(key);
    if (number === undefined) {
      number = names.length;
      numbers.set(key, number);
      names.push(name);
      places.push(place);
    }
    const node = flame.name.length;
    const total = whole(row[measure]);
    node_of.set(index, node);
    flame.name.push(number);
    flame.parent.push(parent);
    flame.depth.push(flame.depth[parent]! + 1);
    flame.total.push(total);
    flame.self.push(total);
    flame.count.push(1);
    flame.children.push([]);
    flame.children[parent]!.push(node);
    stages.push(row["kind"] === "stage");
    if (parent === 0) flame.total[0]! += total;
    else flame.self[parent] = Math.max(0, flame.self[parent]! - total);
  });
  for (const children of flame.children) children.sort((a, b) => flame.total[b]! - flame.total[a]!);
  return { flame, names, places, stages };
}

// A colour number from 0 to `most` - 1 that stays the same for a name.
export function colour_of(name: string, most: number): number {
  let sum = 0;
  for (let i = 0; i < name.length; ++i) sum = (sum * 31 + name.charCodeAt(i)) >>> 0;
  return sum % most;
}
