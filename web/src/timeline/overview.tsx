// The whole run in a strip, with the window of the timeline on it: drag its middle, its edges, or a
// new one.
import { useEffect, useRef } from "preact/hooks";
import { effect } from "../ui/signals";

import { overview_density } from "../data/density";
import { format_ns, format_tick, tick_step } from "../data/format";
import type { Page } from "../data/page";
import { dark, set_view, view } from "../ui/state";
import { theme_colours } from "../ui/theme";

const kHeight = 46;

export function Overview({ page }: { page: Page }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    let density = new Float64Array(0);
    const paint = (): void => {
      const width = element.clientWidth;
      if (width === 0) return;
      const ratio = devicePixelRatio || 1;
      if (element.width !== Math.round(width * ratio)) {
        element.width = Math.round(width * ratio);
        element.height = Math.round(kHeight * ratio);
      }
      const buckets = Math.max(1, Math.round(width / 2));
      if (density.length !== buckets) density = overview_density(page, buckets) as Float64Array<ArrayBuffer>;
      const context = element.getContext("2d", { alpha: false })!; // every pixel is painted
      const ui = theme_colours();
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.fillStyle = ui.panel;
      context.fillRect(0, 0, width, kHeight);
      const most = density.reduce((a, b) => Math.max(a, b), 1e-9);
      context.fillStyle = ui.series;
      context.globalAlpha = 0.75;
      density.forEach((value, i) => {
        const h = (value / most) * (kHeight - 16);
        context.fillRect(i * 2, kHeight - h, 2, h);
      });
      context.globalAlpha = 1;
      const step = tick_step(page.end_ns, width / 120);
      context.font = "10px system-ui, sans-serif";
      context.textBaseline = "top";
      context.fillStyle = ui.soft;
      for (let at = 0; at < page.end_ns; at += step) {
        const x = (at / page.end_ns) * width;
        if (x < width - 40) context.fillText(format_tick(at, step), x + 3, 2);
      }
      const { begin, end } = view.value;
      const from = (begin / page.end_ns) * width;
      const to = Math.max(from + 2, (end / page.end_ns) * width);
      context.fillStyle = ui.back;
      context.globalAlpha = 0.62;
      context.fillRect(0, 0, from, kHeight);
      context.fillRect(to, 0, width - to, kHeight);
      context.globalAlpha = 1;
      context.fillStyle = ui.accent;
      context.fillRect(from, 0, 2, kHeight);
      context.fillRect(to - 2, 0, 2, kHeight);
    };
    const stop = effect(() => {
      void view.value;
      void dark.value;
      requestAnimationFrame(paint);
    });
    const watch = new ResizeObserver(paint);
    watch.observe(element);

    let grip: { part: "left" | "right" | "middle" | "new"; at: number; begin: number; end: number } | null = null;
    const time_at = (event: PointerEvent): number => {
      const box = element.getBoundingClientRect();
      return ((event.clientX - box.left) / box.width) * page.end_ns;
    };
    const down = (event: PointerEvent): void => {
      const at = time_at(event);
      const near = (page.end_ns * 6) / element.clientWidth;
      const { begin, end } = view.value;
      const part = Math.abs(at - begin) < near ? "left" : Math.abs(at - end) < near ? "right" : at > begin && at < end && end - begin < page.end_ns * 0.98 ? "middle" : "new";
      grip = { part, at, begin, end };
      element.setPointerCapture(event.pointerId);
    };
    const move = (event: PointerEvent): void => {
      if (!grip) return;
      const at = time_at(event);
      if (grip.part === "middle") set_view(grip.begin + at - grip.at, grip.end + at - grip.at);
      else if (grip.part === "left") set_view(Math.min(at, grip.end - 10), grip.end);
      else if (grip.part === "right") set_view(grip.begin, Math.max(at, grip.begin + 10));
      else if (Math.abs(at - grip.at) > page.end_ns / element.clientWidth) set_view(Math.min(at, grip.at), Math.max(at, grip.at));
    };
    const up = (): void => void (grip = null);
    element.onpointerdown = down;
    element.onpointermove = move;
    element.onpointerup = up;
    return () => {
      stop();
      watch.disconnect();
    };
  }, [page]);
  return (
    <div class="overview">
      <div class="overview-label">whole run, {format_ns(page.end_ns)}</div>
      <canvas ref={canvas} role="img" aria-label={`How busy the run of ${format_ns(page.end_ns)} is over time, with the window of the timeline`} />
    </div>
  );
}
