// A chart of series over time on a canvas: a cursor that all charts share, drag to zoom them together,
// a readout, and a table of the same figures. Small on purpose: a chart library is a third of a page.
import type { ComponentChildren } from "preact";
import { effect, signal } from "./signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { counter_strip } from "../data/density";
import { cut, format_ns, format_tick, format_unit, tick_step } from "../data/format";
import { upper_bound } from "../data/search";
import { band_totals, type Band } from "../data/throttle";
import { dark, marks, palette, printing, type Window } from "./state";
import { measured, Table, words } from "./table";
import { theme_colours } from "./theme";

export interface Line {
  name: string;
  at: Float64Array;
  value: Float64Array;
  colour?: number; // of the palette
  dash?: boolean; // limits
}

// Shared by the charts over time; those over an index keep their own.
const time_cursor = signal<number | null>(null);
const time_window = signal<Window | null>(null);

// The least and the greatest, which thinning keeps. Not the mean: the report has it, of every reading and
// weighted by time.
interface Figures {
  low: number;
  high: number;
  n: number;
}
function figures(line: Line): Figures {
  let low = Infinity;
  let high = -Infinity;
  let n = 0;
  for (const value of line.value) {
    if (!Number.isFinite(value)) continue;
    ++n;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return { low, high, n };
}

export interface ChartProps {
  title: string;
  detail?: string;
  unit: string;
  lines: Line[];
  begin?: number; // of the axis; 0
  end: number; // of the axis, ns; or the number of steps
  x?: "time" | "index";
  height?: number;
  points?: boolean;
  bands?: Band[]; // stretches behind the lines
  pick?: (index: number) => void;
  table?: ComponentChildren; // shown in its place on request; else one of the least and the most
}


const kLeft = 66;
const kBottom = 22;
const kTop = 8;
const kRight = 10;

interface Frame {
  width: number;
  height: number;
  from: number;
  to: number;
  low: number;
  high: number;
}

function frame_of(props: ChartProps, stats: Figures[], width: number, window: Window | null): Frame {
  const lows = stats.filter((s) => s.n > 0).map((s) => s.low);
  const highs = stats.filter((s) => s.n > 0).map((s) => s.high);
  const least = lows.length > 0 ? Math.min(...lows) : 0;
  const most = highs.length > 0 ? Math.max(...highs) : 1;
  // Temperatures and clocks are never near 0: their change would be flat.
  const low = props.unit === "C" || props.unit === "MHz" ? least * 0.95 : Math.min(0, least);
  const high = props.unit === "ratio" ? Math.max(1, most) : most + (most - low) * 0.08;
  return { width, height: props.height ?? 130, from: window?.begin ?? props.begin ?? 0, to: window?.end ?? props.end, low, high: high > low ? high : low + 1 };
}

// Ticks of bytes are powers of two apart, else people read 18.6 GiB.
function value_ticks(frame: Frame, unit: string): number[] {
  const wanted = Math.max(3, (frame.height - kTop - kBottom) / 22);
  let step = tick_step(frame.high - frame.low, wanted);
  if (unit === "bytes" || unit === "B/s") {
    const base = 1024 ** Math.floor(Math.log(Math.max(1, frame.high)) / Math.log(1024));
    step = tick_step((frame.high - frame.low) / base, wanted) * base;
  }
  const out: number[] = [];
  for (let value = Math.ceil(frame.low / step) * step; value <= frame.high * 1.0001; value += step) out.push(Math.abs(value) < step / 1e6 ? 0 : value);
  return out;
}

function paint_lines(context: CanvasRenderingContext2D, props: ChartProps, frame: Frame): void {
  const room = frame.width - kLeft - kRight;
  const bottom = frame.height - kBottom;
  const x = (at: number): number => kLeft + ((at - frame.from) / (frame.to - frame.from)) * room;
  const y = (value: number): number => bottom - ((value - frame.low) / (frame.high - frame.low)) * (bottom - kTop);
  context.save();
  context.beginPath();
  context.rect(kLeft, 0, room + 1, bottom + 1);
  context.clip();
  props.lines.forEach((line, k) => {
    const colour = line.dash ? theme_colours().soft : palette.value[line.colour ?? k % 8]!;
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = 1.5;
    context.setLineDash(line.dash ? [5, 4] : []);
    const first = Math.max(0, upper_bound(line.at, frame.from) - 1);
    const last = Math.min(line.at.length, upper_bound(line.at, frame.to) + 1);
    if (props.points) {
      for (let i = first; i < last; ++i) {
        context.beginPath();
        context.arc(x(line.at[i]!), y(line.value[i]!), 2.5, 0, 7);
        context.fill();
      }
      return;
    }
    context.beginPath();
    let open = false;
    let end = 0;
    const area = new Path2D(); // under a line that is alone
    const close = (): void => {
      if (open) area.lineTo(end, bottom);
      open = false;
    };
    const to = (px: number, value: number): void => {
      if (open) context.lineTo(px, y(value));
      else {
        context.moveTo(px, y(value));
        area.moveTo(px, bottom);
      }
      area.lineTo(px, y(value));
      open = true;
      end = px;
    };
    if (last - first > 2 * room) {
      const strip = counter_strip(line.at, line.value, frame.from, frame.to, Math.round(room));
      strip.high.forEach((high, i) => {
        if (!Number.isFinite(high)) close();
        else {
          to(kLeft + i, high);
          if (strip.low[i]! < high) to(kLeft + i, strip.low[i]!);
        }
      });
    } else {
      for (let i = first; i < last; ++i) {
        if (Number.isFinite(line.value[i]!)) to(x(line.at[i]!), line.value[i]!);
        else close();
      }
    }
    close();
    context.stroke();
    if (props.lines.length === 1) {
      context.globalAlpha = 0.14;
      context.fill(area);
      context.globalAlpha = 1;
    }
  });
  context.restore();
}

function paint_chart(context: CanvasRenderingContext2D, props: ChartProps, frame: Frame, cursor: number | null, drag: Window | null): void {
  const ui = theme_colours();
  const room = frame.width - kLeft - kRight;
  const bottom = frame.height - kBottom;
  context.clearRect(0, 0, frame.width, frame.height);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (const value of value_ticks(frame, props.unit)) {
    const y = Math.round(bottom - ((value - frame.low) / (frame.high - frame.low)) * (bottom - kTop));
    context.fillStyle = ui.line;
    context.fillRect(kLeft, y, room, 1);
    context.fillStyle = ui.soft;
    context.fillText(format_unit(value, props.unit), kLeft - 8, y);
  }
  context.textAlign = "center";
  const index = props.x === "index";
  const step = Math.max(index ? 1 : 0, tick_step(frame.to - frame.from, room / 90));
  for (let at = Math.ceil(frame.from / step) * step; at <= frame.to; at += step) {
    const x = Math.round(kLeft + ((at - frame.from) / (frame.to - frame.from)) * room);
    context.fillStyle = ui.line;
    context.fillRect(x, kTop, 1, bottom - kTop);
    context.fillStyle = ui.soft;
    if (x < frame.width - 16) context.fillText(index ? String(Math.round(at)) : format_tick(at, step), x, bottom + 12);
  }
  const at = (time: number): number => kLeft + ((time - frame.from) / (frame.to - frame.from)) * room;
  for (const band of props.bands ?? []) {
    const from = Math.max(kLeft, at(band.begin));
    const width = Math.min(kLeft + room, at(band.end)) - from;
    if (width <= 0) continue;
    context.globalAlpha = 0.28;
    context.fillStyle = ui.over;
    context.fillRect(from, kTop, Math.max(1, width), bottom - kTop);
    context.globalAlpha = 1;
    context.textAlign = "left";
    context.fillStyle = ui.text;
    if (width > band.name.length * 6) context.fillText(band.name, from + 4, bottom - 8);
  }
  paint_lines(context, props, frame);
  const upright = (time: number | null, colour: string): void => {
    context.fillStyle = colour;
    if (time !== null && time >= frame.from && time <= frame.to) context.fillRect(Math.round(at(time)), kTop, 1, bottom - kTop);
  };
  if (!index) for (const mark of marks.value) upright(mark.begin, palette.value[3]!);
  upright(cursor, ui.soft);
  if (drag) {
    context.fillStyle = ui.accent;
    context.globalAlpha = 0.15;
    context.fillRect(at(drag.begin), kTop, at(drag.end) - at(drag.begin), bottom - kTop);
    context.globalAlpha = 1;
  }
}

// The reading nearest to a moment, as text.
function read_out(props: ChartProps, at: number): string {
  const near = (line: Line): number => {
    const after = upper_bound(line.at, at);
    const before = after - 1;
    if (before < 0) return after < line.at.length ? after : -1;
    return after < line.at.length && line.at[after]! - at < at - line.at[before]! ? after : before;
  };
  const parts = props.lines.map((line) => {
    const i = near(line);
    return i < 0 ? "" : `${props.lines.length > 1 ? `${cut(line.name, 24)} ` : ""}${format_unit(line.value[i], props.unit)}`;
  });
  return `${props.x === "index" ? `#${Math.round(at)}` : format_ns(at)}  ${parts.filter(Boolean).join("  ")}`;
}

function install(element: HTMLCanvasElement, props: ChartProps, stats: Figures[], say: (text: string) => void): () => void {
  const own = props.x === "index";
  const cursor = own ? signal<number | null>(null) : time_cursor;
  const window = own ? signal<Window | null>(null) : time_window;
  const drag = signal<Window | null>(null);
  const width = signal(element.clientWidth);
  const frame = (): Frame => frame_of(props, stats, width.value, window.value);
  const paint = (): void => {
    const now = frame();
    const ratio = devicePixelRatio || 1;
    if (now.width < kLeft + kRight + 20) return;
    if (element.width !== Math.round(now.width * ratio)) element.width = Math.round(now.width * ratio);
    if (element.height !== Math.round(now.height * ratio)) element.height = Math.round(now.height * ratio);
    const context = element.getContext("2d")!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint_chart(context, props, now, cursor.value, drag.value);
  };
  const stop = effect(() => {
    void [dark.value, palette.value, printing.value];
    paint();
    say(cursor.value === null ? "" : read_out(props, cursor.value));
  });
  const watch = new ResizeObserver(() => (width.value = element.clientWidth));
  watch.observe(element);
  const time_at = (event: PointerEvent): number => {
    const now = frame();
    const x = event.clientX - element.getBoundingClientRect().left;
    const share = Math.max(0, Math.min(1, (x - kLeft) / (now.width - kLeft - kRight)));
    return now.from + share * (now.to - now.from);
  };
  let from: number | null = null;
  element.onpointermove = (event) => {
    const at = time_at(event);
    cursor.value = at;
    if (from !== null) drag.value = { begin: Math.min(from, at), end: Math.max(from, at) };
  };
  element.onpointerdown = (event) => {
    from = time_at(event);
    element.setPointerCapture(event.pointerId);
  };
  element.onpointerup = (event) => {
    const now = frame();
    const size = drag.value ? drag.value.end - drag.value.begin : 0;
    if (size > (now.to - now.from) / 50) window.value = drag.value;
    else if (props.pick && from !== null) props.pick(Math.round(time_at(event)));
    from = null;
    drag.value = null;
  };
  element.onpointerleave = () => (cursor.value = null);
  element.ondblclick = () => (window.value = null);
  return () => {
    stop();
    watch.disconnect();
  };
}

export function Chart(props: ChartProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [said, set_said] = useState("");
  const [table, set_table] = useState(false);
  const stats = useMemo(() => props.lines.map(figures), [props.lines]);
  useEffect(() => (canvas.current ? install(canvas.current, props, stats, set_said) : undefined), [props.lines, props.begin, props.end, props.unit, table]);
  const first = stats[0];
  const held = props.bands?.length ? `Held down: ${band_totals(props.bands).map(([name, ns]) => `${name} ${format_ns(ns)}`).join("; ")}` : "";
  const summary = first && first.n > 0 ? `least ${format_unit(first.low, props.unit)}, most ${format_unit(first.high, props.unit)}` : "no readings";
  return (
    <figure class="chart">
      <figcaption>
        <b>{cut(props.title, 80)}</b>
        {props.detail !== undefined && <small>{cut(props.detail, 90)}</small>}
        <span class="chart-end">
          <span class="readout">{said || (props.begin === undefined && summary)}</span>
          <button class="ghost" aria-pressed={table} onClick={() => set_table(!table)}>{table ? "chart" : "table"}</button>
        </span>
      </figcaption>
      {table && props.table !== undefined ? (
        props.table
      ) : table ? (
        <Table
          caption={`${cut(props.title, 80)} in figures`}
          rows={props.lines.map((line, i) => ({ line, ...stats[i]! }))}
          columns={[
            words("Series", (r: Figures & { line: Line }) => r.line.name, (r) => cut(r.line.name, 60)),
            { title: "Readings", value: (r) => r.n },
            ...(["low", "high"] as const).map((key, i) => measured(["Least", "Most"][i]!, (r: Figures & { line: Line }) => r[key], (v) => format_unit(v, props.unit))),
          ]}
        />
      ) : (
        <canvas ref={canvas} class="plot" style={{ height: `${props.height ?? 130}px` }} role="img" aria-label={`${cut(props.title, 80)}: ${summary}. ${held}`} title="Drag to zoom, double click for the whole" />
      )}
      {held && <p class="hint">{held}</p>}
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
