// The watched processes, the machine and the container.
import { cut, format_bytes, format_count, format_ns, format_ratio } from "../data/format";
import type { JsonObject } from "../data/container";
import type { Page } from "../data/page";
import { entity_title } from "../data/rates";
import { number_of, text_of, type Report } from "../data/report";
import { Empty, Facts, Section, type Fact } from "../ui/parts";
import { figure, minor, said, Table, words } from "../ui/table";
import { Charts, type Wanted } from "./series";

const kTree: Wanted[] = [
  { title: "CPU used", metrics: ["cpu_ns"] },
  { title: "Resident memory", metrics: ["rss_bytes", "rss_anon_bytes", "pss_bytes"] },
  { title: "Threads", metrics: ["threads", "processes"] },
  { title: "Page faults", metrics: ["minor_faults", "major_faults"] },
  { title: "Storage", metrics: ["io_read_bytes", "io_write_bytes"] },
];
const kMachine: Wanted[] = [
  { title: "CPU", metrics: ["cpu_busy_ratio", "cpu_system_ratio", "cpu_iowait_ratio", "cpu_steal_ratio"] },
  { title: "Memory", metrics: ["memory_used_bytes", "memory_working_set_bytes"], limit: ["memory_total_bytes", "memory_limit_bytes"] },
  { title: "Load, 1 min", metrics: ["load_1m"] },
  { title: "Waiting", metrics: ["pressure_cpu_some_ns", "pressure_memory_some_ns", "pressure_io_some_ns", "cpu_throttled_ns"] },
  { title: "Disks", metrics: ["disk_read_bytes", "disk_write_bytes"] },
  { title: "Network", metrics: ["net_receive_bytes", "net_send_bytes"] },
  { title: "Power", metrics: ["power_watts", "energy_joules"] },
];

type Format = (value: number | null) => string;
function facts(page: Page, path: string, values: { [key: string]: unknown }, list: [string, string, Format][]): Fact[] {
  return list.map(([label, key, format]) => ({ label, value: format(number_of(values[key])), why: page.report!.absent[`${path}.${key}`] ?? page.report!.absent[path] }));
}

const own_of = (report: Report, entity: string): Wanted[] =>
  report.own_metrics.filter((row) => row["entity"] === entity).map((row) => ({ title: cut(text_of(row["metric"]), 40), metrics: [text_of(row["metric"])] }));

export function HostView({ page }: { page: Page }) {
  const report = page.report!;
  const gpus = new Set(report.gpus.map((g) => g.id));
  const entities = [...new Set(page.counters.flatMap((c) => (c.entity !== null && !gpus.has(c.entity) ? [c.entity] : [])))];
  const tree = entities.filter((e) => page.counters.some((c) => c.entity === e && c.metric === "cpu_ns"));
  const others = entities.filter((e) => !tree.includes(e) && !page.counters.some((c) => c.entity === e && c.metric?.startsWith("allocator_")));
  return (
    <>
      <Section title="Processes of the run">
        <Facts
          facts={facts(page, "process", report.process, [
            ["CPU time", "cpu_ns", format_ns],
            ["Peak resident memory", "peak_rss_bytes", format_bytes],
            ["Most threads", "peak_threads", format_count],
            ["Most processes", "peak_processes", format_count],
            ["Major page faults", "major_faults", format_count],
            ["Read from storage", "io_read_bytes", format_bytes],
            ["Written to storage", "io_write_bytes", format_bytes],
          ])}
        />
        {tree.map((entity) => (
          <div key={entity}>
            {tree.length > 1 && <h3 class="sub">{cut(entity_title(entity), 60)}</h3>}
            <Charts page={page} entity={entity} wanted={kTree} />
          </div>
        ))}
        {tree.length === 0 && <Empty>No readings over time: the run was not sampled. <code>genscope run</code> samples.</Empty>}
        {report.processes.length > 0 && (
          <Table
            caption="Processes"
            rows={report.processes}
            initial="CPU time"
            most={10}
            columns={[
              { title: "pid", text: true, value: (p) => number_of(p["pid"]) },
              said("name", "Name", 60),
              minor(words("Seen in", (p: JsonObject) => text_of(p["entity"]), (p) => cut(entity_title(text_of(p["entity"])) || "–", 40))),
              figure("cpu_ns", "CPU time", format_ns),
              figure("peak_rss_bytes", "Resident", format_bytes),
              minor(figure("peak_gpu_memory_bytes", "GPU memory", format_bytes)),
            ]}
          />
        )}
      </Section>
      <Section title="Machine" note={number_of(report.system["cpu_count"]) === null ? undefined : `${number_of(report.system["cpu_count"])} CPUs, ${format_bytes(number_of(report.system["memory_total_bytes"]))}`}>
        <Facts
          facts={facts(page, "system", report.system, [
            ["CPU busy", "cpu_busy_mean_ratio", format_ratio],
            ["Least memory available", "memory_available_min_bytes", format_bytes],
            ["Most swap", "swap_used_max_bytes", format_bytes],
            ["Highest load", "load_1m_max", format_count],
            ["Waited for a CPU", "pressure_cpu_some_ns", format_ns],
            ["Waited for memory", "pressure_memory_some_ns", format_ns],
            ["Waited for I/O", "pressure_io_some_ns", format_ns],
          ])}
        />
        {others.map((entity) => (
          <div key={entity}>
            {others.length > 1 && page.counters.some((c) => c.entity === entity && kMachine.some((w) => w.metrics.includes(c.metric ?? ""))) && <h3 class="sub">{cut(entity_title(entity), 60)}</h3>}
            <Charts page={page} entity={entity} wanted={kMachine} />
          </div>
        ))}
      </Section>
      {report.own_metrics.length > 0 && (
        <Section title="Own metrics" note="of the program's own probes">
          {[...new Set(report.own_metrics.map((row) => text_of(row["entity"])))].map((entity) => (
            <Charts key={entity} page={page} entity={entity} wanted={own_of(report, entity)} />
          ))}
          <Table
            caption="Own metrics"
            rows={report.own_metrics}
            initial="Metric"
            most={20}
            columns={[
              said("metric", "Metric", 60),
              said("entity", "Of", 40),
              said("unit", "Unit", 20),
              figure("count", "Readings", format_count),
              ...(["min", "mean", "max", "last"] as const).map((key) => figure(key, key, format_count)),
            ]}
          />
        </Section>
      )}
      {number_of(report.cgroup["memory_limit_bytes"]) !== null || number_of(report.cgroup["cpu_limit_cores"]) !== null ? (
        <Section title="Container" note={cut(text_of(report.cgroup["path"]), 80)}>
          <Facts
            facts={facts(page, "cgroup", report.cgroup, [
              ["Memory limit", "memory_limit_bytes", format_bytes],
              ["Most memory", "memory_used_max_bytes", format_bytes],
              ["Killed because memory ran out", "memory_oom_kills", format_count],
              ["CPU limit, cores", "cpu_limit_cores", format_count],
              ["Held back by the quota", "cpu_throttled_ns", format_ns],
            ])}
          />
        </Section>
      ) : null}
    </>
  );
}
