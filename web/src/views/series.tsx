// Counters as small charts: the same for GPUs and for the host.
import { useMemo } from "preact/hooks";

import type { Counter, Page } from "../data/page";
import { metric_title } from "../data/rates";
import { throttle_bands } from "../data/throttle";
import { counter_values } from "../timeline/draw";
import { Chart, type Line } from "../ui/chart";

export interface Wanted {
  title: string;
  metrics: string[]; // drawn together; the first that exists gives the unit
  limit?: string[]; // dashed
  bands?: string; // reasons why clocks are held down
}

function lines_of(counters: Counter[], wanted: Wanted): { lines: Line[]; unit: string } {
  const lines: Line[] = [];
  let unit = "";
  for (const [metrics, dash] of [[wanted.metrics, false], [wanted.limit ?? [], true]] as const) {
    for (const metric of metrics) {
      const counter = counters.find((c) => c.metric === metric && c.at.length > 0);
      if (!counter) continue;
      const values = counter_values(counter);
      if (unit === "") unit = values.unit;
      if (values.unit === unit) lines.push({ name: metric_title(metric), at: values.at, value: values.value, dash, colour: lines.length });
    }
  }
  // A limit alone says nothing.
  return { lines: lines.some((l) => l.dash !== true) ? lines : [], unit };
}

export function Charts({ page, entity, wanted }: { page: Page; entity: string; wanted: Wanted[] }) {
  const charts = useMemo(() => {
    const counters = page.counters.filter((c) => c.entity === entity);
    return wanted
      .map((w) => {
        const reasons = w.bands && counters.find((c) => c.metric === w.bands);
        return { title: w.title, ...lines_of(counters, w), ...(reasons ? { bands: throttle_bands(reasons, page.throttle_reasons) } : {}) };
      })
      .filter((c) => c.lines.length > 0);
  }, [page, entity]);
  if (charts.length === 0) return null;
  return <div class="charts">{charts.map((chart) => <Chart key={chart.title} {...chart} end={page.end_ns} />)}</div>;
}
