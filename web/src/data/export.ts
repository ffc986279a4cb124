// Files made in the browser from what the page holds.
import type { Page } from "./page";

// RFC 4180; text that a spreadsheet would run as a formula gets an apostrophe.
export function csv_cell(value: string | number | null): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function* spans_csv(page: Page): Generator<string> {
  yield "rank,pid,tid,track,kind,name,lane,begin_ns,duration_ns,flags\r\n";
  for (const track of page.tracks) {
    const head = [track.rank, track.pid, track.tid, track.name].map(csv_cell).join(",");
    for (const [lane, row] of track.rows.entries()) {
      let part = "";
      for (let i = 0; i < row.name.length; ++i) {
        const name = row.name[i]!;
        const begin = row.begin[i]!;
        part += `${head},${csv_cell(page.kinds[name] ?? "")},${csv_cell(page.names[name] ?? "")},${lane},${begin},${row.end[i]! - begin},${track.flags[row.index[i]!]!}\r\n`;
        if (part.length > 1 << 16) {
          yield part;
          part = "";
        }
      }
      if (part) yield part;
    }
  }
}

export function* samples_csv(page: Page): Generator<string> {
  yield "entity,metric,name,unit,pid,at_ns,value\r\n";
  for (const counter of page.counters) {
    const head = [counter.entity, counter.metric, counter.name, counter.unit, counter.pid].map(csv_cell).join(",");
    let part = "";
    for (let i = 0; i < counter.at.length; ++i) {
      const value = counter.value[i]!;
      part += `${head},${counter.at[i]!},${Number.isFinite(value) ? value : ""}\r\n`;
    }
    yield part;
  }
}

export function stages_csv(page: Page): string {
  const stages = page.report?.stages ?? [];
  const columns = [
    "name", "kind", "count", "total_ns", "self_ns", "share", "min_ns", "mean_ns", "p50_ns", "p95_ns", "p99_ns", "max_ns",
    "device_ns", "energy_joules", "failed", "unfinished",
  ] as const;
  const lines = stages.map((stage) => columns.map((key) => csv_cell(stage[key] ?? null)).join(","));
  return `${[columns.join(","), ...lines].join("\r\n")}\r\n`;
}

// Chrome Trace Event JSON: opens in Perfetto and speedscope. Lanes of a track become threads of it,
// because spans that overlap on one thread corrupt these viewers.
export function* chrome_trace(page: Page): Generator<string> {
  yield '{"displayTimeUnit":"ns","traceEvents":[';
  let first = true;
  const comma = (): string => (first ? ((first = false), "") : ",\n");
  for (const track of page.tracks) {
    const pid = track.pid ?? 0;
    const tid = track.tid ?? 1_000_000 + track.id;
    const meta = (name: string, args: object): string => comma() + JSON.stringify({ ph: "M", pid, tid, name, args });
    yield meta("process_name", { name: track.rank === null ? track.process : `rank ${track.rank}: ${track.process}` });
    yield meta("thread_name", { name: track.name });
    for (const row of track.rows) {
      let part = "";
      for (let i = 0; i < row.name.length; ++i) {
        const begin = row.begin[i]!;
        const name = row.name[i]!;
        const args = track.args.get(row.index[i]!);
        part += comma();
        part += `{"ph":"X","pid":${pid},"tid":${tid},"ts":${begin / 1000},"dur":${(row.end[i]! - begin) / 1000},"cat":${JSON.stringify(page.kinds[name])},"name":${JSON.stringify(page.names[name])}${args ? `,"args":${JSON.stringify(args)}` : ""}}`;
        if (part.length > 1 << 16) {
          yield part;
          part = "";
        }
      }
      if (part) yield part;
    }
  }
  for (const counter of page.counters) {
    let part = "";
    const name = JSON.stringify(counter.entity === null ? counter.name : `${counter.entity} ${counter.metric ?? counter.name}`);
    for (let i = 0; i < counter.at.length; ++i) {
      const value = counter.value[i]!;
      if (!Number.isFinite(value)) continue;
      part += `${comma()}{"ph":"C","pid":${counter.pid ?? 0},"ts":${counter.at[i]! / 1000},"name":${name},"args":{"value":${value}}}`;
    }
    if (part) yield part;
  }
  yield "]}\n";
}
