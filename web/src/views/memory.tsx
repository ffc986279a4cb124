// Memory of host, GPUs and allocators: how it grew, what the peak was made of.
import { useMemo } from "preact/hooks";

import type { JsonObject } from "../data/container";
import { cut, format_bytes, format_count, format_ratio, format_unit } from "../data/format";
import type { Page } from "../data/page";
import { entity_title } from "../data/rates";
import { number_of, objects, text_of } from "../data/report";
import { counter_values } from "../timeline/draw";
import { Chart, type Line } from "../ui/chart";
import { Section, Stack } from "../ui/parts";
import { palette } from "../ui/state";
import { figure, measured, said, Table, words } from "../ui/table";

const kMetrics = ["rss_bytes", "tree_memory_bytes", "memory_used_bytes", "allocator_reserved_bytes", "allocator_allocated_bytes"];

export const has_memory = (page: Page): boolean =>
  (page.report?.allocators.length ?? 0) > 0 || objects(page.report?.resources["growth"]).length > 0 || page.counters.some((c) => kMetrics.includes(c.metric ?? ""));

export function MemoryView({ page }: { page: Page }) {
  const report = page.report!;
  const lines = useMemo(() => {
    const out: { host: Line[]; device: Line[]; allocator: Line[] } = { host: [], device: [], allocator: [] };
    for (const counter of page.counters) {
      if (!kMetrics.includes(counter.metric ?? "") || counter.at.length === 0) continue;
      const gpu = report.gpus.findIndex((g) => g.id === counter.entity);
      if (counter.metric === "memory_used_bytes" && gpu < 0) continue;
      const into = counter.metric?.startsWith("allocator_") ? out.allocator : gpu >= 0 ? out.device : out.host;
      const what = counter.metric === "tree_memory_bytes" ? "this run" : counter.metric === "memory_used_bytes" ? "everyone" : (counter.metric ?? "").replace(/allocator_|_bytes/g, "");
      const { at, value } = counter_values(counter);
      into.push({ name: gpu >= 0 ? `GPU ${gpu}, ${what}` : `${entity_title(counter.entity ?? "")} ${what}`, at, value, colour: into.length % 8 });
    }
    return out;
  }, [page]);
  const growth = objects(report.resources["growth"]);
  return (
    <>
      <Section title="Memory over time">
        <div class="charts">
          {lines.device.length > 0 && <Chart title="GPU memory" unit="bytes" lines={lines.device} end={page.end_ns} height={200} />}
          {lines.allocator.length > 0 && <Chart title="Caching allocator" unit="bytes" lines={lines.allocator} end={page.end_ns} height={200} />}
          {lines.host.length > 0 && <Chart title="Resident memory of the run" unit="bytes" lines={lines.host} end={page.end_ns} height={200} />}
        </div>
      </Section>
      {report.allocators.map((a, i) => {
        const get = (key: string): number => number_of(a[key]) ?? 0;
        const reserved = get("reserved_bytes") || 1;
        const parts: [string, string, number][] = [
          ["requested by the program", "requested_bytes", 0],
          ["rounding to blocks", "rounding_bytes", 1],
          ["freed, awaits a stream", "pending_free_bytes", 4],
          ["pinned by live blocks", "pinned_bytes", 3],
          ["could be released", "releasable_bytes", 8],
        ];
        return (
          <Section key={i} title={`At the highest reservation: ${cut(text_of(a["device"]), 60)}`} note={`${format_bytes(get("reserved_bytes"))} reserved; ${format_count(get("retries"))} retries, ${format_count(get("ooms"))} failures`}>
            <Stack label="What the reservation was made of" shares={parts.filter(([, key]) => get(key) > 0).map(([name, key, colour]) => ({ name, share: get(key) / reserved, colour: palette.value[colour]!, text: format_bytes(get(key)) }))} />
            {get("outside_bytes") > 0 && <p class="hint">{format_bytes(get("outside_bytes"))} more were seen by the driver but not by the allocator.</p>}
          </Section>
        );
      })}
      {growth.length > 0 && (
        <Section title="Growth" note="of the steady steps; a leak when the 95 % interval is above 0 and growth is over 2 %">
          <Table
            caption="Growth of memory"
            rows={growth}
            columns={[
              said("what", "Where", 60),
              words("Verdict", (g: JsonObject) => (g["leak"] === true ? 1 : 0), (g) => (g["leak"] === true ? <span class="tag bad">▲ grows</span> : <span class="tag">✓ steady</span>)),
              measured("Rate", (g: JsonObject) => slope(g, "value"), (v) => format_unit(v, "B/s")),
              measured("95 %, low", (g: JsonObject) => slope(g, "low"), (v) => format_unit(v, "B/s")),
              measured("95 %, high", (g: JsonObject) => slope(g, "high"), (v) => format_unit(v, "B/s")),
              figure("growth_ratio", "In all", format_ratio),
              figure("samples", "Readings"),
              said("stage", "Mostly in", 40),
            ]}
          />
        </Section>
      )}
    </>
  );
}

function slope(row: { [key: string]: unknown }, part: string): number | null {
  const s = row["bytes_per_second"];
  return typeof s === "object" && s !== null ? number_of((s as { [key: string]: unknown })[part]) : null;
}
