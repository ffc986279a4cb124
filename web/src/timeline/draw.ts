// The timeline on a Canvas2D. Draws what it is given and keeps nothing but caches that follow from it.
import { busy_between, counter_strip } from "../data/density";
import { format_tick, format_unit, tick_step, visible } from "../data/format";
import { kFailed, kUnfinished, type Counter, type Page, type Row } from "../data/page";
import { shown_values, type Shown } from "../data/rates";
import { gallop, type SpanRef } from "../data/search";
import type { Mark, Window } from "../ui/state";
import { kDim, channels, ink_on } from "../ui/palette";
import { kPad, kRow, type Item, type Layout } from "./layout";
import { build_index, type RowIndex } from "./row_index";
import { raster_row, type Wide } from "./strip";

export const kAxis = 24;

export interface Colours {
  text: string;
  soft: string;
  line: string;
  back: string;
  panel: string;
  accent: string;
  series: string;
  bad: string;
  over: string;
  under: string;
}

export interface Scene {
  page: Page;
  layout: Layout;
  view: Window;
  scroll: number;
  width: number; // CSS pixels
  height: number;
  ratio: number; // device pixels per CSS pixel
  palette: string[];
  colours: Uint8Array; // by name
  wanted: Uint8Array | null; // by name: found by the search
  selection: SpanRef | null;
  links: SpanRef[]; // of the selection
  hover: SpanRef | null;
  range: Window | null;
  marks: Mark[];
  ui: Colours;
}

const indexes = new WeakMap<Row, RowIndex>();
function index_of(row: Row): RowIndex {
  let index = indexes.get(row);
  if (!index) indexes.set(row, (index = build_index(row)));
  return index;
}
const shown = new WeakMap<Counter, Shown & { low: number; high: number }>();
export function counter_values(counter: Counter): Shown & { low: number; high: number } {
  let values = shown.get(counter);
  if (!values) {
    const made = shown_values(counter);
    let low = made.unit === "C" || made.unit === "MHz" ? Infinity : 0;
    let high = -Infinity;
    for (const value of made.value) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
    if (made.unit === "ratio") high = Math.max(high, 1);
    if (!Number.isFinite(low)) low = 0;
    if (!(high > low)) high = low + 1;
    shown.set(counter, (values = { ...made, low, high }));
  }
  return values;
}

const widths = new Map<string, number>();
function text_width(context: CanvasRenderingContext2D, text: string): number {
  let width = widths.get(text);
  if (width === undefined) {
    if (widths.size > 20_000) widths.clear();
    widths.set(text, (width = context.measureText(text).width));
  }
  return width;
}
function fitted(context: CanvasRenderingContext2D, text: string, room: number): string {
  const width = text_width(context, text);
  if (width <= room) return text;
  const letters = Math.floor((text.length * (room - 8)) / width);
  return letters < 2 ? "" : `${text.slice(0, letters)}…`;
}

let canvas_strip: HTMLCanvasElement | null = null;
const labels = new WeakMap<Page, string[]>();
function names_of(page: Page): string[] {
  let names = labels.get(page);
  if (!names) labels.set(page, (names = page.names.map((name) => visible(name.slice(0, 200)))));
  return names;
}

function ink_of(scene: Scene): Uint32Array {
  const words = scene.palette.map((hex) => {
    const [r, g, b] = channels(hex);
    return r | (g << 8) | (b << 16);
  });
  return Uint32Array.from(scene.colours, (colour, name) => words[scene.wanted && scene.wanted[name] !== 1 ? kDim : colour]!);
}

interface Visible {
  item: Item;
  y: number; // on the canvas
  clip: number; // nothing above this
}
export function visible_items(scene: Scene): Visible[] {
  const { layout, scroll, height } = scene;
  const top = kAxis + layout.pinned_height;
  const out = layout.pinned.map((item) => ({ item, y: kAxis + item.y, clip: kAxis }));
  for (const item of layout.items) {
    const y = top + item.y - scroll;
    if (y + item.height > top && y < height) out.push({ item, y, clip: top });
  }
  return out;
}

function draw_tracks(context: CanvasRenderingContext2D, scene: Scene, items: Visible[]): void {
  const { page, view, width, ratio, palette, colours, wanted } = scene;
  const pixels = Math.max(1, Math.round(width * ratio));
  const ink = ink_of(scene);
  const rows: { row: Row; y: number; item: Item; lane: number }[] = [];
  for (const { item, y } of items) {
    item.track?.rows.slice(0, item.rows).forEach((row, lane) => {
      const at = y + kPad + lane * kRow;
      if (at + kRow > kAxis && at < scene.height) rows.push({ row, y: at, item, lane });
    });
  }
  if (rows.length === 0) return;
  canvas_strip ??= document.createElement("canvas");
  if (canvas_strip.width !== pixels) canvas_strip.width = pixels;
  if (canvas_strip.height < rows.length) canvas_strip.height = rows.length + 16;
  const strip_context = canvas_strip.getContext("2d", { willReadFrequently: true })!;
  const image = strip_context.createImageData(pixels, rows.length);
  const strip = new Uint32Array(image.data.buffer);
  const wides = rows.map(({ row }, r) => {
    const wide: Wide = { x: [], width: [], name: [], place: [] };
    raster_row(row, index_of(row), view.begin, view.end, pixels, ink, strip, r * pixels, wide);
    return wide;
  });
  strip_context.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  rows.forEach(({ y }, r) => context.drawImage(canvas_strip!, 0, r, pixels, 1, 0, y, width, kRow - 2));

  // Rectangles by colour: changing the fill style costs more than the rectangle.
  for (let colour = 0; colour < palette.length; ++colour) {
    context.fillStyle = palette[colour]!;
    wides.forEach((wide, r) => {
      const { y } = rows[r]!;
      for (let k = 0; k < wide.x.length; ++k) {
        const name = wide.name[k]!;
        if ((wanted && wanted[name] !== 1 ? kDim : colours[name]) !== colour) continue;
        const x = Math.max(-2, wide.x[k]! / ratio);
        const right = Math.min(width + 2, (wide.x[k]! + wide.width[k]!) / ratio);
        context.fillRect(x, y, right - x > 3 ? right - x - 1 : right - x, kRow - 2);
      }
    });
  }
  const names = names_of(page);
  context.textBaseline = "middle";
  context.font = "11px system-ui, sans-serif";
  wides.forEach((wide, r) => {
    const { y, item } = rows[r]!;
    for (let k = 0; k < wide.x.length; ++k) {
      const x = Math.max(0, wide.x[k]! / ratio);
      const right = Math.min(width, (wide.x[k]! + wide.width[k]!) / ratio);
      const name = wide.name[k]!;
      const flags = item.track!.flags[rows[r]!.row.index[wide.place[k]!]!]!;
      if ((flags & (kFailed | kUnfinished)) !== 0) draw_flag(context, scene, x, y, right - x, flags);
      if (right - x < 34) continue;
      const text = fitted(context, names[name]!, right - x - 10);
      if (text === "") continue;
      context.fillStyle = wanted && wanted[name] !== 1 ? scene.ui.soft : ink_on(palette[colours[name]!]!);
      context.fillText(text, x + 5, y + (kRow - 2) / 2 + 0.5);
    }
  });
}

// Failed spans carry a bar at their left, unfinished ones fade into a dashed end: not by hue alone.
function draw_flag(context: CanvasRenderingContext2D, scene: Scene, x: number, y: number, width: number, flags: number): void {
  context.fillStyle = scene.ui.bad;
  if ((flags & kFailed) !== 0) context.fillRect(x, y, Math.min(4, width), kRow - 2);
  if ((flags & kUnfinished) !== 0) {
    for (let k = 0; k < 4; ++k) context.fillRect(x + width - 2, y + k * 4, 2, 2);
  }
}

function draw_summarised(context: CanvasRenderingContext2D, scene: Scene, items: Visible[]): void {
  const { view, width } = scene;
  const step = (view.end - view.begin) / width;
  for (const { item, y } of items) {
    const summarised = item.track?.summarised;
    if (!summarised || item.rows === undefined || item.rows <= item.track!.rows.length) continue;
    const top = y + kPad + item.track!.rows.length * kRow;
    context.fillStyle = scene.palette[8]!;
    for (let x = 0; x < width; ++x) {
      const busy = busy_between(summarised, view.begin + x * step, view.begin + (x + 1) * step);
      if (busy > 0) context.fillRect(x, top + (kRow - 2) * (1 - busy), 1, (kRow - 2) * busy);
    }
  }
}

function draw_counter(context: CanvasRenderingContext2D, scene: Scene, item: Item, y: number): void {
  const values = counter_values(item.counter!);
  const pixels = Math.round(scene.width);
  const { low, high } = counter_strip(values.at, values.value, scene.view.begin, scene.view.end, pixels);
  const room = item.height - 14;
  const bottom = y + item.height - 5;
  const scale = room / (values.high - values.low);
  const up = (value: number): number => bottom - (value - values.low) * scale;
  context.beginPath();
  let open = false;
  let from = 0;
  for (let x = 0; x <= pixels; ++x) {
    const known = x < pixels && Number.isFinite(high[x]!);
    if (known && !open) {
      from = x;
      open = true;
      context.moveTo(x, bottom);
    }
    if (known) context.lineTo(x, up(high[x]!));
    if (!known && open) {
      context.lineTo(x - 1, bottom);
      context.lineTo(from, bottom);
      open = false;
    }
  }
  context.globalAlpha = 0.22;
  context.fillStyle = scene.ui.series;
  context.fill();
  context.globalAlpha = 1;
  context.strokeStyle = scene.ui.series;
  context.lineWidth = 1.25;
  context.beginPath();
  open = false;
  for (let x = 0; x < pixels; ++x) {
    if (!Number.isFinite(high[x]!)) {
      open = false;
      continue;
    }
    if (open) context.lineTo(x, up(high[x]!));
    else context.moveTo(x, up(high[x]!));
    open = true;
    if (high[x]! - low[x]! > 0) context.lineTo(x, up(low[x]!));
  }
  context.stroke();
  context.font = "10px system-ui, sans-serif";
  context.textBaseline = "top";
  context.fillStyle = scene.ui.soft;
  context.fillText(format_unit(values.high, values.unit), 4, y + 2);
}

function draw_events(context: CanvasRenderingContext2D, scene: Scene, items: Visible[]): void {
  const { events } = scene.page;
  if (events.at.length === 0) return;
  const scale = scene.width / (scene.view.end - scene.view.begin);
  const tops = new Map(items.filter((v) => v.item.track).map((v) => [v.item.track!.id, v.y]));
  context.fillStyle = scene.ui.text;
  let last = -1;
  for (let i = gallop(events.at, scene.view.begin, 0); i < events.at.length && events.at[i]! < scene.view.end; ++i) {
    const y = tops.get(events.track[i]!);
    const x = Math.round((events.at[i]! - scene.view.begin) * scale);
    if (y === undefined || (x === last && events.at.length > 1000)) continue;
    last = x;
    context.beginPath();
    context.moveTo(x - 3.5, y);
    context.lineTo(x + 3.5, y);
    context.lineTo(x, y + 5);
    context.fill();
  }
}

function draw_axis(context: CanvasRenderingContext2D, scene: Scene): void {
  const { view, width, ui } = scene;
  context.fillStyle = ui.panel;
  context.fillRect(0, 0, width, kAxis);
  const step = tick_step(view.end - view.begin, width / 110);
  const scale = width / (view.end - view.begin);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  for (let at = Math.ceil(view.begin / step) * step; at < view.end; at += step) {
    const x = Math.round((at - view.begin) * scale) + 0.5;
    context.fillStyle = ui.line;
    context.fillRect(x - 0.5, kAxis - 6, 1, 6);
    context.fillStyle = ui.soft;
    if (x < width - 50) context.fillText(format_tick(Math.abs(at) < step / 2 ? 0 : at, step), x + 4, kAxis / 2);
  }
  context.fillStyle = ui.line;
  context.fillRect(0, kAxis - 1, width, 1);
}

function draw_grid(context: CanvasRenderingContext2D, scene: Scene, items: Visible[]): void {
  const { view, width, height, ui } = scene;
  const step = tick_step(view.end - view.begin, width / 110);
  const scale = width / (view.end - view.begin);
  context.fillStyle = ui.line;
  context.globalAlpha = 0.55;
  for (let at = Math.ceil(view.begin / step) * step; at < view.end; at += step) {
    context.fillRect(Math.round((at - view.begin) * scale), kAxis, 1, height);
  }
  context.globalAlpha = 1;
  for (const { item, y } of items) {
    if (item.kind === "group") {
      context.fillStyle = ui.panel;
      context.fillRect(0, y, width, item.height);
    }
    context.fillStyle = ui.line;
    context.fillRect(0, y + item.height - 1, width, 1);
  }
}

function band(context: CanvasRenderingContext2D, scene: Scene, window: Window, colour: string, alpha: number): void {
  const scale = scene.width / (scene.view.end - scene.view.begin);
  const from = (window.begin - scene.view.begin) * scale;
  const to = (window.end - scene.view.begin) * scale;
  context.fillStyle = colour;
  context.globalAlpha = alpha;
  context.fillRect(from, 0, Math.max(1, to - from), scene.height);
  context.globalAlpha = 1;
  context.fillRect(from, 0, 1, scene.height);
  context.fillRect(to, 0, 1, scene.height);
}

interface Box {
  x: number;
  right: number;
  y: number;
  clip: number;
}
// Where a span is on the canvas, cut a little beyond its edges; null if its track is not shown.
function box_of(scene: Scene, items: Visible[], ref: SpanRef): Box | null {
  const found = items.find((v) => v.item.track?.id === ref.track);
  const row = found?.item.track?.rows[ref.lane];
  if (!found || !row || ref.lane >= (found.item.rows ?? 0) || ref.place >= row.begin.length) return null;
  const scale = scene.width / (scene.view.end - scene.view.begin);
  const at = (ns: number): number => Math.max(-4, Math.min(scene.width + 4, (ns - scene.view.begin) * scale));
  return { x: at(row.begin[ref.place]!), right: at(row.end[ref.place]!), y: found.y + kPad + ref.lane * kRow, clip: found.clip };
}

function outline(context: CanvasRenderingContext2D, scene: Scene, items: Visible[], ref: SpanRef, width: number): void {
  const box = box_of(scene, items, ref);
  if (!box || box.y + kRow < box.clip) return;
  context.strokeStyle = scene.ui.text;
  context.lineWidth = width;
  context.strokeRect(box.x - 0.5, box.y - 0.5, Math.max(2, box.right - box.x), kRow - 1);
}

// From what began first to what it led to.
function draw_links(context: CanvasRenderingContext2D, scene: Scene, items: Visible[]): void {
  const here = scene.selection && box_of(scene, items, scene.selection);
  if (!here) return;
  context.strokeStyle = context.fillStyle = scene.ui.text;
  context.lineWidth = 1.5;
  for (const ref of scene.links) {
    const there = box_of(scene, items, ref);
    if (!there) continue;
    const [from, to] = here.x <= there.x ? [here, there] : [there, here];
    const [x, y] = [from.x + Math.min(6, (from.right - from.x) / 2), from.y + kRow / 2];
    const [end, top] = [to.x, to.y + kRow / 2 - 1];
    const bend = Math.max(12, Math.abs(end - x) / 2);
    context.beginPath();
    context.moveTo(x, y);
    context.bezierCurveTo(x + bend, y, end - bend, top, end - 6, top);
    context.stroke();
    context.beginPath();
    context.moveTo(end, top);
    context.lineTo(end - 7, top - 4);
    context.lineTo(end - 7, top + 4);
    context.fill();
    outline(context, scene, items, ref, 1.5);
  }
}

export function draw(context: CanvasRenderingContext2D, scene: Scene): void {
  const { width, height, ratio, layout } = scene;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = scene.ui.back;
  context.fillRect(0, 0, width, height);
  const items = visible_items(scene);
  const top = kAxis + layout.pinned_height;
  for (const pinned of [false, true]) {
    const part = items.filter((v) => (v.clip === kAxis && layout.pinned.includes(v.item)) === pinned);
    if (part.length === 0) continue;
    context.save();
    context.beginPath();
    if (pinned) context.rect(0, kAxis, width, layout.pinned_height);
    else context.rect(0, top, width, height - top);
    context.clip();
    draw_grid(context, scene, part);
    draw_tracks(context, scene, part);
    draw_summarised(context, scene, part);
    for (const { item, y } of part) if (item.counter) draw_counter(context, scene, item, y);
    draw_events(context, scene, part);
    if (scene.hover) outline(context, scene, part, scene.hover, 1);
    if (scene.selection) outline(context, scene, part, scene.selection, 2);
    context.restore();
  }
  if (layout.pinned.length > 0) {
    context.fillStyle = scene.ui.accent;
    context.fillRect(0, top - 2, width, 2);
  }
  if (scene.links.length > 0) draw_links(context, scene, items);
  draw_axis(context, scene);
  for (const mark of scene.marks) band(context, scene, mark, scene.palette[1]!, 0.12);
  if (scene.range) band(context, scene, scene.range, scene.ui.accent, 0.14);
}
