// The timeline: labels beside a canvas that scrolls with them, and the panel for what is selected.
import { computed, effect, signal } from "../ui/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

import { cut, format_count, format_ns, format_unit } from "../data/format";
import type { Page } from "../data/page";
import { span_at, upper_bound, view_span, type SpanRef } from "../data/search";
import { all_counters, as_table, colours, dark, fit_selection, folded, links, marks, page as current, palette, pan, pins, printing, range, select, selection, set_view, toggled, view, wanted_names, zoom } from "../ui/state";
import { theme_colours } from "../ui/theme";
import { Detail } from "./detail";
import { counter_values, draw, kAxis, visible_items, type Scene } from "./draw";
import { item_at, kPad, kRow, lay_out, type Item } from "./layout";
import { SpanTable } from "./span_table";
import { Overview } from "./overview";
import { Toolbar } from "./toolbar";

const scroll = signal(0);
const size = signal({ width: 0, height: 0 });
const hover = signal<SpanRef | null>(null);
const layout = computed(() => (current.value ? lay_out(current.value, pins.value, folded.value, all_counters.value) : null));

let drawn = 0;

function scene_of(page: Page): Scene | null {
  if (!layout.value || size.value.width === 0) return null;
  return {
    page,
    layout: layout.value,
    view: view.value,
    scroll: scroll.value,
    ...size.value,
    ratio: devicePixelRatio || 1,
    palette: palette.value,
    colours: colours.value,
    wanted: wanted_names.value,
    selection: selection.value,
    links: links.value,
    hover: hover.value,
    range: range.value,
    marks: marks.value,
    ui: theme_colours(),
  };
}

function Label({ item, y, clip }: { item: Item; y: number; clip: number }) {
  const fold = (key: string) => () => (folded.value = toggled(folded.value, key));
  const pinned = pins.value.has(item.key);
  const style = { top: `${y}px`, height: `${item.height}px`, clipPath: y < clip ? `inset(${clip - y}px 0 0 0)` : "none" };
  if (item.kind === "group") {
    return (
      <div class="lane-group" style={style}>
        <button class="ghost" aria-expanded={!item.folded} onClick={fold(item.key)}>
          <span class="twist" aria-hidden="true">{item.folded ? "▸" : "▾"}</span> {cut(item.title, 80)}
        </button>
        <small>{item.folded ? `${item.members ?? 0} tracks` : cut(item.detail, 30)}</small>
      </div>
    );
  }
  return (
    <div class={`lane-label${pinned ? " pinned" : ""}`} style={style}>
      <div class="lane-text" title={cut(`${item.title} ${item.detail}`, 300)}>
        <span>{cut(item.title, 80)}</span>
        {item.height >= 40 && <small>{cut(item.detail, 40)}</small>}
        {(item.more ?? 0) > 0 && !item.folded && (
          <button class="ghost more" onClick={fold(`+${item.key}`)}>{item.more} more rows</button>
        )}
      </div>
      {item.track && item.track.rows.length > 1 && (
        <button class="ghost" aria-label={`${item.folded ? "Open" : "Fold"} ${cut(item.title, 60)}`} aria-expanded={!item.folded} onClick={fold(item.key)}>
          {item.folded ? "▸" : "▾"}
        </button>
      )}
      <button class="ghost pin" aria-label={`Pin ${cut(item.title, 60)}`} aria-pressed={pinned} onClick={() => (pins.value = toggled(pins.value, item.key))}>
        <svg viewBox="0 0 16 16" width="12" height="12" aria-hidden="true"><path d="M5 1h6v1l-1 1v4l2 2v1H8.6L8 15l-.6-5H4V9l2-2V3L5 2z" fill={pinned ? "currentColor" : "none"} stroke="currentColor" /></svg>
      </button>
    </div>
  );
}

function Labels({ page }: { page: Page }) {
  const scene = scene_of(page);
  if (!scene) return null;
  return (
    <>
      {visible_items(scene).map(({ item, y, clip }) => (
        <Label key={item.key} item={item} y={y} clip={clip} />
      ))}
    </>
  );
}

// The item under a point of the canvas.
function find(x: number, y: number): { item: Item; lane: number; at: number; slack: number } | null {
  const here = layout.value;
  if (!here || y < kAxis) return null;
  const top = kAxis + here.pinned_height;
  const inside = y < top ? y - kAxis : y - top + scroll.value;
  const item = item_at(y < top ? here.pinned : here.items, inside);
  if (!item) return null;
  const { begin, end } = view.value;
  const per_pixel = (end - begin) / size.value.width;
  return { item, lane: Math.floor((inside - item.y - kPad) / kRow), at: begin + x * per_pixel, slack: per_pixel * 2 };
}

function Tip({ page, x, y }: { page: Page; x: number; y: number }) {
  const found = find(x, y);
  if (!found) return null;
  const ref = hover.value;
  const span = ref ? view_span(page, ref) : null;
  const style = { left: `${Math.min(x + 14, Math.max(0, size.value.width - 280))}px`, top: `${y + 16}px` };
  if (span) {
    return (
      <div class="tip" style={style}>
        <b>{cut(page.names[span.name] ?? "", 120)}</b>
        <span>{format_ns(span.end - span.begin)} <small>{page.kinds[span.name]} · at {format_ns(span.begin)}</small></span>
      </div>
    );
  }
  if (found.item.counter) {
    const values = counter_values(found.item.counter);
    const place = upper_bound(values.at, found.at) - 1;
    if (place < 0) return null;
    return (
      <div class="tip" style={style}>
        <b>{cut(`${found.item.title} ${found.item.detail}`, 80)}</b>
        <span>{format_unit(values.value[place], values.unit)} <small>at {format_ns(values.at[place])}</small></span>
      </div>
    );
  }
  return null;
}

const pointer = signal<{ x: number; y: number } | null>(null);
const MovingTip = ({ page }: { page: Page }) => (pointer.value ? <Tip page={page} {...pointer.value} /> : null);

function install(page: Page, canvas: HTMLCanvasElement, scroller: HTMLElement): () => void {
  let frame = 0;
  const paint = (): void => {
    frame = 0;
    const scene = scene_of(page);
    if (!scene) return;
    const { width, height, ratio } = scene;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const begin = performance.now();
    draw(canvas.getContext("2d", { alpha: false })!, scene); // every pixel is painted
    // What a test or a benchmark reads.
    canvas.dataset["ms"] = (performance.now() - begin).toFixed(2);
    canvas.dataset["drawn"] = String(++drawn);
  };
  const stop = effect(() => {
    void [view.value, scroll.value, size.value, layout.value, palette.value, dark.value, wanted_names.value];
    void [selection.value, hover.value, range.value, marks.value];
    // On paper nothing waits for the next frame.
    if (printing.value) paint();
    else if (frame === 0) frame = requestAnimationFrame(paint);
  });
  const measure = (): void => {
    const { clientWidth: width } = canvas;
    const { clientHeight: height } = scroller;
    if (width !== size.peek().width || height !== size.peek().height) size.value = { width, height };
  };
  const watch = new ResizeObserver(measure);
  watch.observe(scroller);
  measure();
  // The first picture does not wait for a frame either.
  cancelAnimationFrame(frame);
  paint();

  const on_scroll = (): void => void (scroll.value = scroller.scrollTop);
  const place = (event: MouseEvent): { x: number; y: number } => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const time_at = (x: number): number => view.value.begin + (x / size.value.width) * (view.value.end - view.value.begin);
  const wheel = (event: WheelEvent): void => {
    event.preventDefault();
    const { x } = place(event);
    if (event.shiftKey) scroller.scrollTop += event.deltaY || event.deltaX;
    else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(event.deltaX / size.value.width);
    else zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), time_at(x));
  };
  let grip: { x: number; y: number; begin: number; end: number; top: number; moved: boolean; ranging: boolean } | null = null;
  const touches = new Map<number, number>();
  const down = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    const { x, y } = place(event);
    touches.set(event.pointerId, x);
    grip = { x, y, ...view.value, top: scroller.scrollTop, moved: false, ranging: event.shiftKey || y < kAxis };
    canvas.setPointerCapture(event.pointerId);
  };
  const ref_at = (x: number, y: number): SpanRef | null => {
    const found = find(x, y);
    return found?.item.track ? span_at(found.item.track, found.lane, found.at, found.slack) : null;
  };
  const move = (event: PointerEvent): void => {
    const { x, y } = place(event);
    if (touches.size === 2 && touches.has(event.pointerId)) {
      const [other] = [...touches].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
      const before = Math.abs((touches.get(event.pointerId) ?? x) - other!);
      const after = Math.abs(x - other!);
      if (before > 10 && after > 10) zoom(before / after, time_at((x + other!) / 2));
      touches.set(event.pointerId, x);
      return;
    }
    if (!grip) {
      hover.value = ref_at(x, y);
      pointer.value = { x, y };
      return;
    }
    if (Math.abs(x - grip.x) + Math.abs(y - grip.y) > 3) grip.moved = true;
    if (!grip.moved) return;
    pointer.value = null;
    const per_pixel = (grip.end - grip.begin) / size.value.width;
    if (grip.ranging) {
      const a = time_at(grip.x);
      const b = time_at(x);
      range.value = { begin: Math.max(0, Math.min(a, b)), end: Math.min(page.end_ns, Math.max(a, b)) };
    } else {
      set_view(grip.begin - (x - grip.x) * per_pixel, grip.end - (x - grip.x) * per_pixel);
      scroller.scrollTop = grip.top - (y - grip.y);
    }
  };
  const up = (event: PointerEvent): void => {
    touches.delete(event.pointerId);
    if (grip && !grip.moved && event.type === "pointerup") select(ref_at(grip.x, grip.y));
    grip = null;
  };
  const leave = (): void => {
    hover.value = null;
    pointer.value = null;
  };
  const double = (event: MouseEvent): void => {
    const { x, y } = place(event);
    const ref = ref_at(x, y);
    if (!ref) return;
    select(ref);
    fit_selection();
  };
  scroller.onscroll = on_scroll;
  canvas.addEventListener("wheel", wheel, { passive: false });
  canvas.onpointerdown = down;
  canvas.onpointermove = move;
  canvas.onpointerup = canvas.onpointercancel = up;
  canvas.onpointerleave = leave;
  canvas.ondblclick = double;
  return () => {
    stop();
    watch.disconnect();
    cancelAnimationFrame(frame);
    scroller.onscroll = null;
    leave();
  };
}

// The hit that was just chosen, or a span from the address, may be below the fold.
function reveal(scroller: HTMLElement): () => void {
  return effect(() => {
    const ref = selection.value;
    const here = layout.peek();
    const item = ref ? here?.items.find((i) => i.track?.id === ref.track) : undefined;
    if (!ref || !item || !here) return;
    const y = item.y + kPad + ref.lane * kRow;
    const room = size.peek().height - kAxis - here.pinned_height;
    if (y < scroller.scrollTop || y + kRow > scroller.scrollTop + room) scroller.scrollTop = y - room / 3;
  });
}

export function Timeline({ page }: { page: Page }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (!canvas.current || !scroller.current) return;
    const undo = [install(page, canvas.current, scroller.current), reveal(scroller.current)];
    return () => undo.forEach((f) => f());
  }, [page]);
  const here = layout.value;
  const spans = page.tracks.reduce((sum, track) => sum + track.spans, 0);
  const inner = (here?.height ?? 0) + (here?.pinned_height ?? 0) + kAxis;
  if (spans === 0 && page.counters.length === 0) return <p class="empty">No spans and no samples were recorded, so there is no timeline.</p>;
  return (
    <div class="timeline">
      {page.runs && <p class="hint">The main track of both runs. Stages that both have begin together; what goes over the begin of such a stage is left out. Durations are true, times on the axis are not those of a clock.</p>}
      <Toolbar page={page} />
      <Overview page={page} />
      {as_table.value && <SpanTable page={page} />}
      <div class="tl-scroll" hidden={as_table.value} ref={scroller} tabIndex={0} role="region" aria-label="Tracks" style={{ "--inner": `${inner}px` }}>
        <div class="tl-inner" style={{ height: `${inner}px` }}>
          <div class="tl-view">
            <div class="tl-labels">
              <Labels page={page} />
              <div class="tl-corner" />
            </div>
            <div class="tl-canvas">
              <canvas
                ref={canvas}
                role="img"
                aria-label={`Timeline of ${format_count(spans)} spans on ${page.tracks.length} tracks over ${format_ns(page.end_ns)}. The button Table shows the spans in view as a table.`}
              />
              <MovingTip page={page} />
            </div>
          </div>
        </div>
      </div>
      <Detail page={page} />
    </div>
  );
}
