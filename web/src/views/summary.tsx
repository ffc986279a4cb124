// What happened, in words; then the figures that most people come for.
import { cut, first_step_words, format_bytes, format_count, format_ns, format_ratio, format_unit } from "../data/format";
import { language_of } from "../data/language";
import { owned_ns } from "../data/owned";
import type { Page } from "../data/page";
import { number_of, objects, text_of, type Report } from "../data/report";
import { Empty, Section, Severity, Stack, Tile } from "../ui/parts";
import { colour_of, palette, stage, tab } from "../ui/state";

export function gpu_busy(report: Report): number | null {
  const known = report.gpus.map((gpu) => number_of(gpu["busy_mean_ratio"])).filter((v): v is number => v !== null);
  return known.length === 0 ? null : known.reduce((a, b) => a + b, 0) / known.length;
}

// The line that marks a stage, in the language of the program.
function HowToMark({ report }: { report: Report }) {
  const language = language_of(report);
  return (
    <Empty>
      No stages are marked, so this cannot say where the time goes. {language === null ? "Mark them with one line each" : "One line marks a stage"}:
      {language !== "C++" && <> <code>with gs.stage("denoise"):</code> after <code>import genscope as gs</code>{language === null && " in Python"}</>}
      {language === null && ","}
      {language !== "Python" && <> <code>GENSCOPE_STAGE("denoise");</code> at the begin of a block, after <code>#include &lt;genscope/record.h&gt;</code>{language === null && " in C++"}</>}.
    </Empty>
  );
}

function tiles(page: Page, report: Report) {
  const out: { label: string; value: string; detail?: string; hint?: string }[] = [];
  const add = (label: string, value: string, detail?: string, hint?: string): void => {
    if (value !== "–") out.push({ label, value, ...(detail === undefined ? {} : { detail }), ...(hint === undefined ? {} : { hint }) });
  };
  const { steps, diffusion, process, resources, requests } = report;
  const processes = number_of(process["peak_processes"]) ?? 0;
  add("Wall time", format_ns(report.run.wall_ns), processes > 1 ? `${processes} processes at once` : undefined);
  add("Step, median", format_ns(number_of(steps["steady_p50_ns"]) ?? number_of(steps["rest_p50_ns"]) ?? number_of(steps["p50_ns"])), `p95 ${format_ns(number_of(steps["steady_p95_ns"]) ?? number_of(steps["p95_ns"]))}`, `${format_count(number_of(steps["count"]))} steps`);
  const ratio = number_of(steps["first_ratio"]);
  add("First step", format_ns(number_of(steps["first_ns"])), ratio !== null && ratio > 0 ? first_step_words(ratio) : undefined, "Compilation, warm-up and filling of caches fall into the first step");
  add("Frames", format_unit(number_of(diffusion["frames_per_second"]), "/s"), number_of(diffusion["frames"]) === null ? undefined : `${format_count(number_of(diffusion["frames"]))} in all`);
  add("Blocks", format_unit(number_of(diffusion["blocks_per_second"]), "/s"));
  if (number_of(requests["count"])) add("Requests", format_count(number_of(requests["count"])), `p95 ${format_ns(number_of(requests["p95_ns"]))}`);
  const peak = Math.max(-1, ...report.gpus.map((g) => number_of(g["memory_peak_bytes"]) ?? -1));
  if (peak >= 0) {
    const total = Math.max(...report.gpus.map((g) => number_of(g["memory_total_bytes"]) ?? 0));
    add("Peak GPU memory", format_bytes(peak), total > 0 ? `of ${format_bytes(total)}` : undefined);
  }
  add("GPU busy", format_ratio(gpu_busy(report)), undefined, "Share of time with a kernel resident; not occupancy");
  add("Peak memory", format_bytes(number_of(process["peak_rss_bytes"])), "resident");
  const cpu = number_of(process["cpu_ns"]);
  if (cpu !== null && report.run.wall_ns) add("CPU", `${(cpu / report.run.wall_ns).toFixed(2)} cores`, `${format_ns(cpu)} of CPU time`);
  const energy = report.gpus.map((g) => number_of(g["energy_joules"])).filter((v): v is number => v !== null);
  const each = objects(resources["energy"])[0];
  if (energy.length > 0) add("Energy, GPUs", format_unit(energy.reduce((a, b) => a + b, 0), "J"), each ? `${format_unit(number_of(each["joules_each"]), "J")} per ${cut(text_of(each["unit"]), 20)}` : undefined);
  if (out.length < 4) add("Spans", format_count(number_of(report.recorder["spans"])), `${page.tracks.length} tracks`);
  return out;
}

export function quality(report: Report): { good: boolean; text: string }[] {
  const out: { good: boolean; text: string }[] = [];
  const dropped = number_of(report.recorder["dropped"]) ?? 0;
  const spans = number_of(report.recorder["spans"]);
  out.push(dropped > 0 ? { good: false, text: `${format_count(dropped)} records were dropped: ${text_of(report.recorder["dropped_reason"]) || "buffers were full"}` } : { good: true, text: `Nothing was dropped${spans === null ? "" : ` of ${format_count(spans)} spans`}` });
  for (const process of report.integrity.processes) {
    const pid = number_of(process["pid"]);
    if (process["closed"] === false) out.push({ good: false, text: `Process ${pid ?? "?"} ${process["in_progress"] === true ? "still runs" : "ended without closing its recording (by _exit or a signal)"}` });
    for (const note of Array.isArray(process["notes"]) ? process["notes"] : []) out.push({ good: false, text: `Process ${pid ?? "?"}: ${text_of(note)}` });
  }
  for (const note of report.integrity.notes) out.push({ good: false, text: note });
  const hooked = report.instrument.filter((row) => row.hooked).map((row) => row.target);
  if (hooked.length > 0) out.push({ good: true, text: `Hooked: ${cut(hooked.join(", "), 300)}` });
  for (const row of report.instrument.filter((row) => !row.hooked)) out.push({ good: false, text: `Not hooked: ${row.target}: ${row.reason ?? ""}` });
  const slowed = report.telemetry_events.filter((e) => /lost|slowed/.test(e.name)).length;
  if (slowed > 0) out.push({ good: false, text: `Probes lost a device or slowed down ${slowed === 1 ? "once" : `${slowed} times`}` });
  const probe = number_of(report.recorder["probe_cpu_ns"]);
  if (probe !== null && report.run.wall_ns) out.push({ good: probe < report.run.wall_ns * 0.01, text: `Sampling took ${format_ratio(probe / report.run.wall_ns)} of one core` });
  return out;
}

export function SummaryView({ page }: { page: Page }) {
  const report = page.report!;
  const stages = [...owned_ns(page)].map(([name, ns]) => ({ name, ns: Math.max(0, ns) })).sort((a, b) => b.ns - a.ns);
  const wall = report.run.wall_ns ?? page.end_ns;
  const total = stages.reduce((sum, s) => sum + s.ns, 0);
  const scale = Math.max(total, wall);
  const shares = stages.slice(0, 8).map((s) => ({ name: s.name, share: s.ns / scale, colour: colour_of(s.name), text: format_ratio(s.ns / scale) }));
  const rest = stages.slice(8).reduce((sum, s) => sum + s.ns, 0);
  if (rest > 0) shares.push({ name: `${stages.length - 8} more`, share: rest / scale, colour: palette.value[8]!, text: format_ratio(rest / scale) });
  if (total < wall * 0.995 && stages.length > 0) shares.push({ name: "outside stages", share: (wall - total) / scale, colour: palette.value[9]!, text: format_ratio((wall - total) / wall) });
  return (
    <div class="summary">
      {report.headline && <p class="verdict">{cut(report.headline, 600)}</p>}
      <dl class="tiles">{tiles(page, report).map((tile) => <Tile key={tile.label} {...tile} />)}</dl>
      <Section title="Where the time goes" note={`time of each stage without the stages inside it, ${scale > wall * 1.005 ? "as a share of what all of them took: some ran at the same time" : "as a share of the wall time"}`}>
        {shares.length === 0 ? (
          <HowToMark report={report} />
        ) : (
          <Stack
            shares={shares}
            label="Stages by their own time"
            pick={(name) => {
              if (stages.some((s) => s.name === name)) stage.value = name;
              tab.value = "stages";
            }}
          />
        )}
      </Section>
      <div class="two">
        <Section title="Findings" note={report.findings.length > 3 ? `the first 3 of ${report.findings.length}` : undefined}>
          {report.findings.length === 0 ? (
            <Empty>No rule fired. Rules whose facts were not measured stay silent; Findings says more.</Empty>
          ) : (
            <ul class="brief">
              {report.findings.slice(0, 3).map((finding, i) => (
                <li key={i}>
                  <Severity severity={finding.severity} />
                  <button class="ghost link" onClick={() => (tab.value = "findings")}>{cut(finding.title, 160)}</button>
                  <p>{cut(finding.advice, 280)}</p>
                </li>
              ))}
            </ul>
          )}
        </Section>
        <Section title="Quality of the data">
          <ul class="quality">
            {quality(report).slice(0, 8).map((line, i) => (
              <li key={i} class={line.good ? "good" : "doubt"}><span aria-hidden="true">{line.good ? "✓" : "▲"}</span><span class="sr">{line.good ? "good: " : "doubt: "}</span>{cut(line.text, 240)}</li>
            ))}
          </ul>
        </Section>
      </div>
    </div>
  );
}
