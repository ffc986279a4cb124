// Where and how it ran, how it was recorded, and whose work the page contains.
import { cut, format_bytes, format_count, format_ns, format_unit } from "../data/format";
import type { Page } from "../data/page";
import { entity_title } from "../data/rates";
import { number_of, text_of, type TelemetryEvent, type Thread } from "../data/report";
import { Empty, Facts, Section } from "../ui/parts";
import { set_view, tab } from "../ui/state";
import { figure, measured, said, Table, words } from "../ui/table";
import { Text } from "../ui/text";

export function SystemView({ page }: { page: Page }) {
  const report = page.report!;
  const { run, recorder } = report;
  const why = (key: string): string | undefined => report.absent[key];
  return (
    <>
      <Section title="Run">
        <Facts
          facts={[
            { label: "Name", value: run.name ? <Text text={run.name} length={200} /> : null, why: why("run.name") },
            { label: "Id", value: run.id ? <code>{cut(run.id, 100)}</code> : null, why: why("run.id") },
            { label: "Started", value: run.started ? cut(run.started, 60) : null, why: why("run.started") },
            { label: "Host", value: run.host ? <Text text={run.host} length={100} /> : null, why: why("run.host") },
            { label: "Exit code", value: run.exit_code ?? null, why: why("run.exit_code") },
            { label: "Read from", value: run.path ? <code><Text text={run.path} length={200} /></code> : null },
            { label: "Command", value: run.command ? <code class="command"><Text text={run.command.join(" ")} length={400} /></code> : null, why: why("run.command") },
          ]}
        />
      </Section>
      <div class="two">
        <Section title="Hardware">
          <Facts
            facts={[
              { label: "CPUs", value: format_count(number_of(report.system["cpu_count"])), why: why("system") },
              { label: "Memory", value: format_bytes(number_of(report.system["memory_total_bytes"])), why: why("system") },
              ...report.gpus.map((gpu, i) => ({ label: `GPU ${i}`, value: `${cut(gpu.name ?? "unnamed", 80)}${number_of(gpu["memory_total_bytes"]) === null ? "" : `, ${format_bytes(number_of(gpu["memory_total_bytes"]))}`}` })),
              ...report.cpu_packages.map((p) => ({ label: cut(text_of(p["id"]), 40), value: `${format_unit(number_of(p["energy_joules"]), "J")} over the run` })),
            ]}
          />
        </Section>
        <Section title="Recording">
          <Facts
            facts={[
              { label: "Spans", value: format_count(number_of(recorder["spans"])) },
              { label: "Events", value: format_count(number_of(recorder["events"])) },
              { label: "Counter values", value: format_count(number_of(recorder["counters"])) },
              { label: "Dropped", value: `${format_count(number_of(recorder["dropped_spans"]))} spans, ${format_count(number_of(recorder["dropped_records"]))} other` },
              { label: "Threads", value: format_count(number_of(recorder["threads"])) },
              { label: "Trace files", value: format_bytes(number_of(recorder["bytes"])) },
              { label: "CPU time of sampling", value: format_ns(number_of(recorder["probe_cpu_ns"])), why: why("recorder.probe_cpu_ns") },
            ]}
          />
        </Section>
      </div>
      <Section title="Threads">
        <Table
          caption="Threads"
          rows={report.threads}
          initial="Busy"
          most={12}
          columns={[
            said("name", "Name", 60),
            { title: "pid", value: (t) => t.pid, show: (t) => t.pid },
            { title: "tid", value: (t) => t.tid, show: (t) => t.tid ?? "–" },
            figure("spans", "Spans", format_count),
            figure("busy_ns", "Busy", format_ns),
            measured("Dropped", (t: Thread) => t.dropped_spans + t.dropped_records, format_count),
          ]}
        />
      </Section>
      <Section title="What happened to devices and probes">
        {report.telemetry_events.length === 0 ? (
          <Empty>Nothing.</Empty>
        ) : (
          <Table
            caption="Events of devices and probes"
            rows={report.telemetry_events}
            most={12}
            columns={[
              { title: "At", value: (e) => e.at_ns, show: (e) => <button class="ghost link" onClick={() => { tab.value = "timeline"; set_view(e.at_ns - page.end_ns / 40, e.at_ns + page.end_ns / 40); }}>{format_ns(e.at_ns)}</button> },
              said("name", "What", 60),
              words("Where", (e: TelemetryEvent) => e.entity, (e) => cut(entity_title(e.entity), 60)),
              words("Detail", (e: TelemetryEvent) => e.detail, (e) => <Text text={text_of(e.detail)} length={160} />),
            ]}
          />
        )}
      </Section>
      <Section title="Not measured" note="and why">
        {Object.keys(report.absent).length === 0 ? <Empty>Everything that this report can hold was measured.</Empty> : <Facts facts={Object.entries(report.absent).slice(0, 200).map(([key, reason]) => ({ label: cut(key, 80), value: <Text text={text_of(reason)} length={300} /> }))} />}
      </Section>
      <Section title="Inside this page">
        <p class="hint">genscope is under the Apache License 2.0. The page contains Preact (MIT, Jason Miller).</p>
      </Section>
    </>
  );
}
