// Time that stages own: what a stage spends in steps, layers and other spans is its own, what it
// spends in another stage is not, so that shares of the wall time add up.
import type { Page } from "./page";

interface Open {
  name: number;
  end: number;
}

function is_stage(kind: string | undefined): boolean {
  return kind === "stage" || kind === "load";
}

// ns by the name of the stage.
export function owned_ns(page: Page): Map<string, number> {
  const owned = new Map<number, number>();
  const add = (name: number, ns: number) => owned.set(name, (owned.get(name) ?? 0) + ns);
  for (const track of page.tracks) {
    const spans: { begin: number; end: number; name: number }[] = [];
    for (const row of track.rows) {
      for (let i = 0; i < row.begin.length; i++) {
        const name = row.name[i]!;
        if (is_stage(page.kinds[name])) spans.push({ begin: row.begin[i]!, end: row.end[i]!, name });
      }
    }
    spans.sort((a, b) => a.begin - b.begin || b.end - a.end);
    const open: Open[] = [];
    for (const span of spans) {
      while (open.length > 0 && open[open.length - 1]!.end <= span.begin) open.pop();
      const around = open[open.length - 1];
      add(span.name, span.end - span.begin);
      if (around && span.end <= around.end) add(around.name, span.begin - span.end);
      open.push(span);
    }
  }
  const out = new Map<string, number>();
  for (const [name, ns] of owned) out.set(page.names[name] ?? "", (out.get(page.names[name] ?? "") ?? 0) + ns);
  return out;
}
