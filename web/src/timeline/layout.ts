// Tracks and counters as a list of lanes on the screen: rank, process, then threads, devices and
// counters. Pure: the canvas and the labels beside it both read it.
import type { Counter, Page, Track } from "../data/page";
import { entity_title, is_main, metric_title } from "../data/rates";

export const kRow = 18;
export const kPad = 5;
export const kGroup = 26;
export const kCounter = 46;
const kMostRows = 12; // of a track that is not opened

export interface Item {
  key: string;
  kind: "group" | "track" | "counter";
  y: number;
  height: number;
  title: string;
  detail: string;
  track?: Track;
  rows?: number;
  counter?: Counter;
  folded?: boolean;
  more?: number; // rows that are not shown
  members?: number;
}
export interface Layout {
  pinned: Item[];
  pinned_height: number;
  items: Item[];
  height: number;
}

const short = (id: string): string => (id.length > 22 ? `${id.slice(0, 19)}…` : id);

export function counter_title(page: Page, counter: Counter): { title: string; detail: string } {
  if (counter.metric === null) return { title: counter.name, detail: "counter" };
  const gpu = page.report?.gpus.findIndex((g) => g.id === counter.entity) ?? -1;
  return { title: metric_title(counter.metric), detail: gpu >= 0 ? `GPU ${gpu}` : short(entity_title(counter.entity ?? "")) };
}

function track_item(track: Track, folded: ReadonlySet<string>): Item {
  const key = `t${track.id}`;
  const all = track.rows.length + (track.summarised ? 1 : 0);
  const open = folded.has(`+${key}`);
  const rows = Math.max(1, folded.has(key) ? 1 : open ? all : Math.min(all, kMostRows));
  return {
    key,
    kind: "track",
    y: 0,
    height: rows * kRow + 2 * kPad,
    title: track.name || (track.tid === null ? "track" : `thread ${track.tid}`),
    detail: track.device ? "device" : track.tid === null ? "" : `tid ${track.tid}`,
    track,
    rows,
    folded: folded.has(key),
    more: all - rows,
  };
}

function counter_item(page: Page, counter: Counter): Item {
  return { key: `c${counter.id}`, kind: "counter", y: 0, height: kCounter, ...counter_title(page, counter), counter };
}

export function lay_out(page: Page, pins: ReadonlySet<string>, folded: ReadonlySet<string>, all_counters: boolean): Layout {
  const groups = new Map<string, Item[]>();
  const titles = new Map<string, { title: string; detail: string }>();
  for (const track of page.tracks) {
    const group = `g${track.rank ?? "-"}.${track.pid ?? "-"}`;
    if (!groups.has(group)) {
      groups.set(group, []);
      titles.set(group, {
        title: `${track.rank === null ? "" : `Rank ${track.rank} · `}${track.process || "process"}`,
        detail: track.pid === null || page.runs ? "" : `pid ${track.pid}`,
      });
    }
    groups.get(group)!.push(track_item(track, folded));
  }
  const counters = page.counters.filter((c) => c.at.length > 0 && (all_counters || is_main(c) || pins.has(`c${c.id}`)));
  for (const counter of counters) {
    const own = counter.metric === null && counter.pid !== null;
    const group = own ? [...groups.keys()].find((key) => key.endsWith(`.${counter.pid}`)) : undefined;
    const key = group ?? "gcounters";
    if (!groups.has(key)) {
      groups.set(key, []);
      titles.set(key, { title: "Machine", detail: "sampled" });
    }
    groups.get(key)!.push(counter_item(page, counter));
  }
  const pinned: Item[] = [];
  const items: Item[] = [];
  for (const [key, members] of groups) {
    const head = titles.get(key)!;
    const closed = folded.has(key);
    items.push({ key, kind: "group", y: 0, height: kGroup, ...head, folded: closed, members: members.length });
    for (const item of members) {
      if (pins.has(item.key)) pinned.push(item);
      else if (!closed) items.push(item);
    }
  }
  const place = (list: Item[]): number => {
    let y = 0;
    for (const item of list) {
      item.y = y;
      y += item.height;
    }
    return y;
  };
  return { pinned, pinned_height: place(pinned), items, height: place(items) };
}

export function item_at(items: Item[], y: number): Item | null {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (items[middle]!.y + items[middle]!.height > y) high = middle;
    else low = middle + 1;
  }
  const item = items[low];
  return item && item.y <= y ? item : null;
}
