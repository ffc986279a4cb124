// A chart of series over time: uPlot, with a readout and a table of the same figures beside it.
import { effect } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";

import { cut, format_ns, format_tick, format_unit } from "../data/format";
import { dark, palette, printing } from "./state";
import { theme_colours } from "./theme";

export interface Line {
  name: string;
  at: Float64Array;
  value: Float64Array;
  colour?: number; // of the palette
  dash?: boolean; // limits
}

const kMostPoints = 4000;

// At most kMostPoints, of each stretch the least and the greatest in their order: peaks stay.
export function thin(at: Float64Array, value: Float64Array, most = kMostPoints): { at: Float64Array; value: Float64Array } {
  const n = at.length;
  if (n <= most) return { at, value };
  const buckets = most >> 1;
  const out_at = new Float64Array(buckets * 2);
  const out_value = new Float64Array(buckets * 2);
  for (let b = 0; b < buckets; ++b) {
    const from = Math.floor((b * n) / buckets);
    const to = Math.floor(((b + 1) * n) / buckets);
    let low = from;
    let high = from;
    for (let i = from + 1; i < to; ++i) {
      if (value[i]! < value[low]!) low = i;
      if (value[i]! > value[high]!) high = i;
    }
    const [a, z] = low < high ? [low, high] : [high, low];
    out_at[2 * b] = at[a]!;
    out_value[2 * b] = value[a]!;
    out_at[2 * b + 1] = at[z]!;
    out_value[2 * b + 1] = value[z]!;
  }
  return { at: out_at, value: out_value };
}

// One time axis for all lines, gaps where a line has no reading.
export function join(lines: Line[]): uPlot.AlignedData {
  const thinned = lines.map((line) => thin(line.at, line.value));
  const gap = (values: Float64Array): (number | null)[] => Array.from(values, (v) => (Number.isFinite(v) ? v : null));
  if (thinned.length === 1) return [Array.from(thinned[0]!.at), gap(thinned[0]!.value)] as uPlot.AlignedData;
  return uPlot.join(thinned.map((line) => [Array.from(line.at), gap(line.value)] as uPlot.AlignedData));
}

interface Figures {
  low: number;
  mean: number;
  high: number;
  n: number;
}
function figures(line: Line): Figures {
  let low = Infinity;
  let high = -Infinity;
  let sum = 0;
  let n = 0;
  for (const value of line.value) {
    if (!Number.isFinite(value)) continue;
    ++n;
    sum += value;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return { low, mean: sum / n, high, n };
}

export interface ChartProps {
  title: string;
  detail?: string;
  unit: string;
  lines: Line[];
  end: number; // of the axis, ns; or the number of steps
  x?: "time" | "index";
  height?: number;
  points?: boolean;
  pick?: (index: number) => void;
}

function options(props: ChartProps, width: number, readout: (text: string) => void): uPlot.Options {
  const ui = theme_colours();
  const { unit, lines, end } = props;
  const index = props.x === "index";
  const axis = { stroke: ui.soft, grid: { stroke: ui.line, width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
  return {
    width,
    height: props.height ?? 130,
    padding: [8, 12, 0, 0],
    legend: { show: false },
    cursor: { sync: { key: index ? `index-${props.title}` : "time" }, drag: { x: true, y: false }, points: { size: 6 } },
    scales: {
      x: { time: false, range: (_u, low, high) => (low === high || high - low >= end * 0.999 ? [0, end] : [low, high]) },
      y: {
        range: (_u, low, high) => {
          const bottom = unit === "C" || unit === "MHz" ? (low ?? 0) * 0.95 : Math.min(0, low ?? 0);
          const top = unit === "ratio" ? Math.max(1, high ?? 1) : (high ?? 1) * 1.08 || 1;
          return [bottom, top];
        },
      },
    },
    axes: [
      { ...axis, size: 26, space: 70, values: (_u, ticks) => ticks.map((t) => (index ? String(t) : format_tick(t, ticks.length > 1 ? ticks[1]! - ticks[0]! : 1))) },
      { ...axis, size: 66, space: 26, values: (_u, ticks) => ticks.map((t) => format_unit(t, unit)) },
    ],
    series: [
      {},
      ...lines.map((line, i) => {
        const colour = palette.value[line.colour ?? i % 8]!;
        return {
          label: line.name,
          stroke: line.dash ? ui.soft : colour,
          width: 1.5,
          ...(line.dash ? { dash: [5, 4] } : lines.length === 1 && !props.points ? { fill: `${colour}22` } : {}),
          ...(props.points ? { paths: () => null } : {}),
          points: { show: props.points ?? line.at.length < 3, size: 5, fill: colour },
          spanGaps: lines.length > 1,
        } as uPlot.Series;
      }),
    ],
    hooks: {
      setCursor: [
        (u) => {
          const i = u.cursor.idx;
          if (i === null || i === undefined) {
            readout("");
            return;
          }
          const at = u.data[0][i] ?? 0;
          const parts = lines.map((line, k) => {
            const value = u.data[k + 1]?.[i];
            return value === null || value === undefined ? "" : `${lines.length > 1 ? `${cut(line.name, 24)} ` : ""}${format_unit(value, unit)}`;
          });
          readout(`${index ? `#${at}` : format_ns(at)}  ${parts.filter(Boolean).join("  ")}`);
        },
      ],
    },
  };
}

export function Chart(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const [said, set_said] = useState("");
  const [table, set_table] = useState(false);
  const stats = useMemo(() => props.lines.map(figures), [props.lines]);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    let chart: uPlot | null = null;
    const stop = effect(() => {
      void dark.value;
      void printing.value;
      chart?.destroy();
      chart = new uPlot(options(props, Math.max(120, element.clientWidth), set_said), join(props.lines), element);
      if (props.pick) {
        const { pick } = props;
        chart.over.addEventListener("click", () => {
          if (chart?.cursor.idx != null) pick(chart.cursor.idx);
        });
      }
    });
    const watch = new ResizeObserver(() => {
      if (element.clientWidth > 0 && chart && chart.width !== element.clientWidth) chart.setSize({ width: element.clientWidth, height: chart.height });
    });
    watch.observe(element);
    return () => {
      stop();
      watch.disconnect();
      chart?.destroy();
    };
  }, [props.lines, props.end, props.unit, table]);
  const first = stats[0];
  const summary = first && first.n > 0 ? `mean ${format_unit(first.mean, props.unit)}, most ${format_unit(first.high, props.unit)}` : "no readings";
  return (
    <figure class="chart">
      <figcaption>
        <b>{cut(props.title, 80)}</b>
        {props.detail !== undefined && <small>{cut(props.detail, 60)}</small>}
        <span class="readout">{said || summary}</span>
        <button class="ghost" aria-pressed={table} onClick={() => set_table(!table)}>{table ? "chart" : "table"}</button>
      </figcaption>
      {table ? (
        <div class="table-box" tabIndex={0} role="region" aria-label={`${cut(props.title, 80)} in figures`}>
          <table>
            <thead><tr><th scope="col" class="text">Series</th><th scope="col">Readings</th><th scope="col">Least</th><th scope="col">Mean</th><th scope="col">Most</th></tr></thead>
            <tbody>
              {props.lines.map((line, i) => (
                <tr key={line.name}><th scope="row" class="text">{cut(line.name, 60)}</th><td>{stats[i]!.n}</td><td>{format_unit(stats[i]!.low, props.unit)}</td><td>{format_unit(stats[i]!.mean, props.unit)}</td><td>{format_unit(stats[i]!.high, props.unit)}</td></tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <div ref={box} class="plot" role="img" aria-label={`${cut(props.title, 80)}: ${summary}`} />
      )}
      {props.lines.length > 1 && !table && (
        <ul class="legend">
          {props.lines.map((line, i) => (
            <li key={line.name}><i class={line.dash ? "swatch dash" : "swatch"} style={line.dash ? {} : { background: palette.value[line.colour ?? i % 8]! }} />{cut(line.name, 40)}</li>
          ))}
        </ul>
      )}
    </figure>
  );
}
