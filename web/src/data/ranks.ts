// Ranks side by side: the time that each spends in each stage, against the median rank.
import type { Page } from "./page";

export interface RankTable {
  ranks: number[];
  stages: string[];
  total: number[][]; // [stage][rank] ns
  median: number[]; // [stage]
}

export function rank_table(page: Page, most = 24): RankTable {
  const ranks = [...new Set(page.tracks.map((t) => t.rank).filter((r): r is number => r !== null))].sort((a, b) => a - b);
  const place = new Map(ranks.map((rank, i) => [rank, i]));
  const rows = new Map<number, number[]>();
  for (const track of page.tracks) {
    const column = track.rank === null ? undefined : place.get(track.rank);
    if (column === undefined || track.device) continue;
    for (const row of track.rows) {
      for (let i = 0; i < row.name.length; ++i) {
        const name = row.name[i]!;
        const kind = page.kinds[name];
        if (kind === "none" || kind === "session") continue;
        let totals = rows.get(name);
        if (!totals) rows.set(name, (totals = ranks.map(() => 0)));
        totals[column]! += row.end[i]! - row.begin[i]!;
      }
    }
  }
  const middle = (values: number[]): number => {
    const sorted = [...values].sort((a, b) => a - b);
    const n = sorted.length;
    return n === 0 ? 0 : n % 2 === 1 ? sorted[n >> 1]! : (sorted[n / 2 - 1]! + sorted[n / 2]!) / 2;
  };
  const all = [...rows.entries()]
    .map(([name, total]) => ({ name, total, median: middle(total) }))
    .sort((a, b) => b.median - a.median)
    .slice(0, most);
  return {
    ranks,
    stages: all.map((row) => page.names[row.name] ?? ""),
    total: all.map((row) => row.total),
    median: all.map((row) => row.median),
  };
}
