// Every name and kind with its figures; for the chosen one its distribution; the steps as a series.
import { useMemo } from "preact/hooks";

import type { JsonObject } from "../data/container";
import { cut, format_count, format_ns, format_ratio, format_unit } from "../data/format";
import type { Page } from "../data/page";
import { number_of, objects, text_of, type Stage } from "../data/report";
import { bucket_edge, durations_of, histogram, percentile, series_of, type Series } from "../data/stats";
import { Chart } from "../ui/chart";
import { Bar, Empty, Section } from "../ui/parts";
import { colour_of, select, stage, tab, warm_only, query, fit_selection } from "../ui/state";
import { type Column, measured, minor, Table, words } from "../ui/table";

const time = (key: keyof Stage, title: string, hint?: string): Column<Stage> => ({
  title,
  ...(hint === undefined ? {} : { hint }),
  value: (s) => s[key] as number | null,
  show: (s) => format_ns(s[key] as number | null),
});

function columns(stages: Stage[]): Column<Stage>[] {
  const most = Math.max(1e-9, ...stages.map((s) => s.share ?? 0));
  const out: Column<Stage>[] = [
    words("Name", (s: Stage) => s.name, (s) => <><i class="swatch" style={{ background: colour_of(s.name) }} />{cut(s.name, 80)}</>),
    minor(words("Kind", (s: Stage) => s.kind, (s) => (s.kind === "none" ? "–" : <span class="tag">{cut(s.kind, 20)}</span>))),
    measured("Count", (s: Stage) => s.count, format_count),
    time("total_ns", "Total", "Time covered; a span inside another of the same row adds nothing"),
    { title: "Share", hint: "Total over the wall time; above 100 % when threads overlap", value: (s) => s.share, show: (s) => <span class="share">{format_ratio(s.share)}<Bar share={(s.share ?? 0) / most} colour={colour_of(s.name)} /></span> },
    minor(time("self_ns", "Self", "Less what children cover")),
    minor(time("min_ns", "Min")),
    minor(time("mean_ns", "Mean")),
    minor(time("p50_ns", "p50")),
    minor(time("p95_ns", "p95")),
    minor(time("p99_ns", "p99")),
    minor(time("max_ns", "Max")),
  ];
  if (stages.some((s) => s.device_ns != null)) out.push(minor(time("device_ns", "Device", "Device time of the spans that have it")));
  if (stages.some((s) => s.energy_joules != null)) out.push({ title: "Energy", minor: true, hint: "Of all devices while these ran; rows that overlap share it", value: (s) => s.energy_joules, show: (s) => format_unit(s.energy_joules, "J") });
  if (stages.some((s) => s.failed > 0 || s.unfinished > 0)) {
    out.push({ title: "Failed", minor: true, value: (s) => s.failed, show: (s) => (s.failed > 0 ? <span class="tag bad">{s.failed} failed</span> : s.unfinished > 0 ? `${s.unfinished} open` : "") });
  }
  return out;
}

export function Histogram({ values, colour }: { values: Float64Array; colour: string }) {
  const h = useMemo(() => histogram(values, 48), [values]);
  const sorted = useMemo(() => Float64Array.from(values).sort(), [values]);
  const most = h.counts.reduce((a, b) => Math.max(a, b), 1);
  const [p50, p95] = [percentile(sorted, 0.5), percentile(sorted, 0.95)];
  const where = (value: number): number => {
    const t = h.log ? Math.log(value / h.low) / Math.log(h.high / h.low) : (value - h.low) / (h.high - h.low || 1);
    return Math.max(0, Math.min(1, t)) * 480;
  };
  return (
    <figure class="histogram">
      <svg viewBox="0 0 480 120" preserveAspectRatio="none" role="img" aria-label={`Distribution of ${values.length} durations from ${format_ns(h.low)} to ${format_ns(h.high)}, median ${format_ns(p50)}, 95th percentile ${format_ns(p95)}`}>
        {Array.from(h.counts, (count, i) => {
          const height = count === 0 ? 0 : Math.max(2, (count / most) * 108);
          return (
            <rect key={i} x={i * 10 + 0.5} y={120 - height} width={9} height={height} fill={colour}>
              <title>{`${format_count(count)} from ${format_ns(bucket_edge(h, i))} to ${format_ns(bucket_edge(h, i + 1))}`}</title>
            </rect>
          );
        })}
        {[p50, p95].map((p, i) => p !== null && <line key={i} x1={where(p)} x2={where(p)} y1={0} y2={120} class={i === 0 ? "median" : "p95"} vector-effect="non-scaling-stroke" />)}
      </svg>
      <figcaption><span>{format_ns(h.low)}</span><span>p50 {format_ns(p50)} · p95 {format_ns(p95)}{h.log ? " · logarithmic" : ""}</span><span>{format_ns(h.high)}</span></figcaption>
    </figure>
  );
}

function show_span(series: Series, i: number): void {
  if (i >= series.at.length) return;
  select({ track: series.track[i]!, lane: series.lane[i]!, place: series.place[i]! });
  fit_selection();
  tab.value = "timeline";
}

function StageDetail({ page, row }: { page: Page; row: Stage }) {
  const name = page.names.findIndex((n, i) => n === row.name && page.kinds[i] === row.kind);
  const id = name >= 0 ? name : page.names.indexOf(row.name);
  const values = useMemo(() => (id >= 0 ? durations_of(page, id) : new Float64Array(0)), [page, id]);
  const series = useMemo(() => series_of(page, (n) => n === id), [page, id]);
  const lines = useMemo(() => [{ name: row.name, at: Float64Array.from(series.at, (_, i) => i), value: series.duration, colour: 0 }], [series]);
  const show = (i: number): void => show_span(series, i);
  return (
    <Section title={cut(row.name, 100)} note={`${format_count(row.count)} spans${row.kind === "none" ? "" : ` of kind ${cut(row.kind, 20)}`}`}>
      {values.length === 0 ? (
        <Empty>The spans of this row are not in the page.</Empty>
      ) : (
        <div class="two">
          <Histogram values={values} colour={colour_of(row.name)} />
          {series.at.length > 1 && <Chart title="In the order of time" detail="a click shows the span" unit="ns" x="index" lines={lines} end={Math.max(1, series.at.length - 1)} points={series.at.length < 400} pick={show} height={150} />}
        </div>
      )}
      <p class="row-buttons">
        <button onClick={() => { query.value = row.name.slice(0, 200); tab.value = "timeline"; }}>Find in the timeline</button>
        {row.mean_ns != null && row.p50_ns != null && row.p50_ns > 0 && <small>mean over median {(row.mean_ns / row.p50_ns).toFixed(2)}{row.max_ns != null && `, longest over median ${(row.max_ns / row.p50_ns).toFixed(2)}`}</small>}
      </p>
    </Section>
  );
}

function Steps({ page }: { page: Page }) {
  const { steps } = page.report!;
  const series: Series = useMemo(() => series_of(page, (n) => page.kinds[n] === "step"), [page]);
  const warmup = number_of(steps["warmup_count"]) ?? (number_of(steps["first_ratio"]) !== null && number_of(steps["first_ratio"])! > 1.5 ? 1 : 0);
  const skip = warm_only.value ? warmup : 0;
  const lines = useMemo(() => {
    // Each track warms up by itself.
    const seen = new Map<number, number>();
    const kept = [...series.at.keys()].filter((i) => {
      const before = seen.get(series.track[i]!) ?? 0;
      seen.set(series.track[i]!, before + 1);
      return before >= skip;
    });
    return [{ name: "steps", at: Float64Array.from(kept), value: Float64Array.from(kept, (i) => series.duration[i]!), colour: 0 }];
  }, [series, skip]);
  if (series.at.length === 0) return null;
  const trend = steps["trend"] ?? steps["trend_percent_per_100"];
  const slope = typeof trend === "object" && trend !== null && !Array.isArray(trend) ? number_of(trend["value"]) : number_of(trend);
  const outliers = objects(steps["outliers"]);
  const show = (i: number): void => show_span(series, i);
  return (
    <Section title="Steps" note={`${format_count(number_of(steps["count"]) ?? series.at.length)} steps; first ${format_ns(number_of(steps["first_ns"]))}, median of the rest ${format_ns(number_of(steps["rest_p50_ns"]))}`}>
      {warmup > 0 && (
        <label class="check"><input type="checkbox" checked={warm_only.value} onChange={(event) => (warm_only.value = event.currentTarget.checked)} /> leave out the {warmup === 1 ? "first step, which warms" : `${warmup} first steps, which warm`} up</label>
      )}
      <Chart title="Duration of each step" detail="a click shows it" unit="ns" x="index" lines={lines} end={Math.max(1, series.at.length - 1)} points={series.at.length < 200} pick={show} height={170} />
      {number_of(steps["device_p50_ns"]) !== null && <p class="hint">By the device's own clock: median {format_ns(number_of(steps["device_p50_ns"]))}, longest {format_ns(number_of(steps["device_max_ns"]))}, of {format_count(number_of(steps["device_count"]) ?? 0)} steps.</p>}
      {(slope !== null || outliers.length > 0) && (
        <p class="hint">
          {slope !== null && `Trend: ${slope > 0 ? "+" : ""}${slope.toFixed(2)} % per 100 steps. `}
          {outliers.length > 0 && `Outliers: `}
          {outliers.slice(0, 8).map((o) => `#${number_of(o["index"]) ?? "?"} (${format_ns(number_of(o["duration_ns"]))}, ${number_of(o["ratio"])?.toFixed(1) ?? "?"} ×)`).join(", ")}
        </p>
      )}
      <StepHeat page={page} />
    </Section>
  );
}

// Steps by block: one cell per step, shade by its duration against the median.
function StepHeat({ page }: { page: Page }) {
  const grid = useMemo(() => {
    const cells: { block: number; step: number; duration: number }[] = [];
    for (const track of page.tracks) {
      const blocks: { begin: number; end: number }[] = [];
      for (const row of track.rows) for (let i = 0; i < row.name.length; ++i) if (page.kinds[row.name[i]!] === "block") blocks.push({ begin: row.begin[i]!, end: row.end[i]! });
      if (blocks.length < 2 || blocks.length > 200) continue;
      blocks.sort((a, b) => a.begin - b.begin);
      const seen = blocks.map(() => 0);
      for (const row of track.rows) {
        for (let i = 0; i < row.name.length; ++i) {
          if (page.kinds[row.name[i]!] !== "step") continue;
          const at = row.begin[i]!;
          const block = blocks.findIndex((b) => at >= b.begin && at < b.end);
          if (block >= 0) cells.push({ block, step: seen[block]!++, duration: row.end[i]! - at });
        }
      }
      break;
    }
    return cells;
  }, [page]);
  if (grid.length < 4 || grid.length > 4000) return null;
  const median = percentile(Float64Array.from(grid, (c) => c.duration).sort(), 0.5)!;
  const blocks = Math.max(...grid.map((c) => c.block)) + 1;
  const steps = Math.max(...grid.map((c) => c.step)) + 1;
  return (
    <figure class="heat">
      <figcaption><b>Step by block</b> <small>darker takes longer than the median of {format_ns(median)}; first track</small></figcaption>
      <svg viewBox={`0 0 ${steps * 24} ${blocks * 14}`} role="img" aria-label={`Durations of ${steps} steps in ${blocks} blocks`} style={{ maxWidth: `${steps * 24}px` }}>
        {grid.map((c, i) => (
          <rect key={i} x={c.step * 24} y={c.block * 14} width={23} height={13} rx={2} class="heat-cell" fill-opacity={Math.max(0.08, Math.min(1, 0.25 + (c.duration / median - 1) * 1.5))}>
            <title>{`block ${c.block}, step ${c.step}: ${format_ns(c.duration)}`}</title>
          </rect>
        ))}
      </svg>
    </figure>
  );
}

function StageUse({ page }: { page: Page }) {
  const rows = objects(page.report!.resources["stages"]);
  if (rows.length === 0) return null;
  const figure = (row: (typeof rows)[number], key: string, part: "mean" | "max"): number | null => {
    const f = row[key];
    return typeof f === "object" && f !== null && !Array.isArray(f) ? number_of(f[part]) : null;
  };
  const use = (key: string, title: string, unit: string, part: "mean" | "max"): Column<(typeof rows)[number]> => ({ title, value: (r) => figure(r, key, part), show: (r) => format_unit(figure(r, key, part), unit) });
  return (
    <Section title="What stages use" note="readings while their spans ran; – where there were fewer than 3">
      <Table
        caption="Resources of stages"
        rows={rows}
        columns={[
          words("Name", (r: JsonObject) => text_of(r["name"]), (r) => <><i class="swatch" style={{ background: colour_of(text_of(r["name"])) }} />{cut(text_of(r["name"]), 80)}</>),
          use("cpu_cores", "CPU cores", "", "mean"),
          use("rss_bytes", "Resident, most", "bytes", "max"),
          minor(use("gpu_busy_ratio", "GPU busy", "ratio", "mean")),
          minor(use("gpu_memory_bytes", "GPU memory, most", "bytes", "max")),
          minor(use("gpu_power_watts", "GPU power", "W", "mean")),
          minor(measured("Energy", (r: JsonObject) => number_of(r["energy_joules"]), (v) => format_unit(v, "J"))),
        ]}
      />
    </Section>
  );
}

export function StagesView({ page }: { page: Page }) {
  const { stages } = page.report!;
  const chosen = stages.find((s) => s.name === stage.value);
  const heads = useMemo(() => columns(stages), [stages, colour_of("")]);
  return (
    <>
      <Section title="Stages" note="click a row to see its distribution; percentiles are exact">
        {stages.length === 0 ? (
          <Empty>No span was recorded.</Empty>
        ) : (
          <Table caption="Figures by name and kind" columns={heads} rows={stages} initial="Total" most={20} current={(s) => s.name === stage.value} pick={(s) => (stage.value = stage.value === s.name ? "" : s.name)} />
        )}
        {stages.length > 0 && <p class="hint">{text_of(page.report!.raw["clocks"])}</p>}
      </Section>
      {chosen && <StageDetail key={chosen.name} page={page} row={chosen} />}
      <Steps page={page} />
      <StageUse page={page} />
    </>
  );
}
