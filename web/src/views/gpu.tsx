// One card per GPU: its figures and its readings over time.
import type { JsonObject } from "../data/container";
import { cut, format_bytes, format_ns, format_ratio, format_unit } from "../data/format";
import type { Page } from "../data/page";
import { number_of, objects, text_of, type Gpu } from "../data/report";
import { Empty, Section, Tile } from "../ui/parts";
import { figure, said, Table, words } from "../ui/table";
import { Charts, type Wanted } from "./series";

const kCharts: Wanted[] = [
  { title: "Busy", metrics: ["busy_ratio", "tree_busy_ratio", "sm_active_ratio", "tensor_active_ratio"] },
  { title: "Memory", metrics: ["memory_used_bytes", "tree_memory_bytes"], limit: ["memory_total_bytes"] },
  { title: "Power", metrics: ["power_watts", "power_instant_watts"], limit: ["power_limit_watts"] },
  { title: "Temperature", metrics: ["temperature_celsius", "temperature_hotspot_celsius", "temperature_memory_celsius"], limit: ["temperature_limit_celsius"] },
  { title: "Clocks", metrics: ["clock_core_mhz", "clock_memory_mhz"], limit: ["clock_core_max_mhz"], bands: "throttle_reasons" },
  { title: "Held down", metrics: ["throttle_power_ns", "throttle_thermal_ns", "throttle_other_ns"] },
  { title: "PCIe", metrics: ["pcie_receive_bytes", "pcie_send_bytes", "pcie_receive_bytes_per_second", "pcie_send_bytes_per_second"] },
  { title: "Link", metrics: ["link_receive_bytes", "link_send_bytes"] },
];

function GpuCard({ page, gpu, place }: { page: Page; gpu: Gpu; place: number }) {
  const get = (key: string): number | null => number_of(gpu[key]);
  const causes = objects(page.report!.resources["throttling"]).filter((t) => text_of(t["gpu"]) === gpu.id);
  const load = get("power_mean_watts") !== null && get("power_limit_watts") ? get("power_mean_watts")! / get("power_limit_watts")! : null;
  const all: [string, string, string | undefined][] = [
    ["Busy", format_ratio(get("busy_mean_ratio")), `most ${format_ratio(get("busy_max_ratio"))}`],
    ["Memory, peak", format_bytes(get("memory_peak_bytes")), `of ${format_bytes(get("memory_total_bytes"))}`],
    ["This run, peak", format_bytes(get("tree_memory_peak_bytes")), undefined],
    ["Power", format_unit(get("power_mean_watts"), "W"), `most ${format_unit(get("power_max_watts"), "W")}`],
    ["Power of its limit", format_ratio(load), undefined],
    ["Energy", format_unit(get("energy_joules"), "J"), text_of((gpu["energy"] as { method?: unknown } | undefined)?.method) || undefined],
    ["Temperature, most", format_unit(get("temperature_max_celsius"), "C"), undefined],
    ["Core clock", format_unit(get("clock_core_mean_mhz"), "MHz"), undefined],
    ["Held down", format_ratio(get("throttled_ratio")), causes.map((c) => `${text_of(c["cause"])} ${format_ratio(number_of(c["share"]))}`).join(", ") || undefined],
  ];
  return (
    <Section title={`GPU ${place}: ${cut(gpu.name ?? gpu.vendor ?? "unnamed", 80)}`} note={cut(gpu.id, 60)}>
      <dl class="tiles small">{all.filter(([, value]) => value !== "–").map(([label, value, detail]) => <Tile key={label} label={label} value={value} detail={detail?.includes("–") ? undefined : detail} />)}</dl>
      <Charts page={page} entity={gpu.id} wanted={kCharts} />
    </Section>
  );
}

export function GpuView({ page }: { page: Page }) {
  const report = page.report!;
  const mfu = report.resources["utilisation"];
  const use = typeof mfu === "object" && mfu !== null && !Array.isArray(mfu) ? mfu : {};
  const kernels = objects(report.resources["kernels"]);
  return (
    <>
      {report.gpus.length === 0 && (
        <Section title="GPU"><Empty>No GPU was found{report.absent["gpus"] ? `: ${cut(report.absent["gpus"], 300)}` : ", or none was sampled"}. <code>genscope doctor</code> says what it looks for.</Empty></Section>
      )}
      {report.gpus.map((gpu, i) => <GpuCard key={gpu.id} page={page} gpu={gpu} place={i} />)}
      {number_of(use["mfu"]) !== null && (
        <Section title="Model FLOP utilisation" note={cut(`${text_of(use["model"])} on ${text_of(use["hardware"])}`, 120)}>
          <dl class="tiles small">
            <Tile label="MFU" value={format_ratio(number_of(use["mfu"]))} detail={text_of(use["band"])} />
            <Tile label="Reached" value={format_unit(number_of(use["tflops"]), "TFLOP/s")} />
            <Tile label="Predicted step" value={format_ns(number_of(use["predicted_step_ns"]))} detail={`bound by ${text_of(use["bound"])}`} />
          </dl>
          {text_of(use["note"]) !== "" && <p class="hint">{cut(text_of(use["note"]), 400)}</p>}
        </Section>
      )}
      {kernels.length > 0 && (
        <Section title="Kernels with the most time">
          <Table
            caption="Kernels by total time"
            rows={kernels}
            initial="Total"
            columns={[
              said("name", "Kernel", 90),
              words("Stage", (k: JsonObject) => text_of(k["stage"]), (k) => cut(text_of(k["stage"]) || "outside", 40)),
              figure("count", "Count"),
              figure("total_ns", "Total", format_ns),
            ]}
          />
        </Section>
      )}
    </>
  );
}
