// When and why clocks were held down against the GPU's will: bits of docs/metrics.md as stretches.
import type { Counter, ThrottleReason } from "./page";

export interface Band {
  begin: number;
  end: number;
  name: string;
}

// A reading holds until the next; after the last nothing is known.
export function throttle_bands({ at, value }: Pick<Counter, "at" | "value">, reasons: ThrottleReason[]): Band[] {
  const out: Band[] = [];
  for (let i = 0; i + 1 < at.length; ++i) {
    const name = reasons.filter(({ bits }) => (value[i]! & bits) !== 0).map((reason) => reason.name).join(", ");
    if (name === "") continue;
    const last = out[out.length - 1];
    if (last && last.name === name && last.end === at[i]) last.end = at[i + 1]!;
    else out.push({ begin: at[i]!, end: at[i + 1]!, name });
  }
  return out;
}

// Time by reason, the most first.
export function band_totals(bands: Band[]): [string, number][] {
  const totals = new Map<string, number>();
  for (const { begin, end, name } of bands) totals.set(name, (totals.get(name) ?? 0) + end - begin);
  return [...totals].sort((a, b) => b[1] - a[1]);
}
