// A flame or icicle on a canvas, and the same paths as a table.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { format_count, format_ns, visible } from "../data/format";
import { place_boxes, type Flame, type FlameBox } from "../data/flame";
import { path_of } from "../data/flame_diff";
import { effect, signal } from "./signals";
import { dark, printing } from "./state";
import { type Column, measured, Table } from "./table";
import { Text } from "./text";
import { theme_colours } from "./theme";

const kBox = 20;
const kMostRows = 500;
const upside = signal(false); // the root at the bottom

// Which way up graphs are drawn.
export const Upside = () => (
  <label class="field">Outermost spans
    <select value={upside.value ? "bottom" : "top"} onChange={(event) => (upside.value = event.currentTarget.value === "bottom")}>
      <option value="top">at the top</option>
      <option value="bottom">at the bottom</option>
    </select>
  </label>
);

export interface Paint {
  fill: string;
  ink: string;
  over?: string; // laid over the fill
  alpha?: number; // of `over`
}
export interface GraphProps {
  flame: Flame;
  names: string[];
  root: string;
  label: string; // what the picture says
  zoom?: number;
  filter?: string;
  paint: (node: number, dim: boolean) => Paint;
  mark?: (node: number) => string; // before the name
  tell: (node: number) => string;
  columns?: Column<number>[]; // of the table, in place of total, self and count
  pick: (node: number) => void;
}

function Paths({ flame, names, label, columns }: GraphProps) {
  const nodes = useMemo(() => flame.total.map((_, node) => node).slice(1).sort((a, b) => flame.total[b]! - flame.total[a]!), [flame]);
  const usual: Column<number>[] = [
    measured("Total", (n: number) => flame.total[n]!, format_ns),
    measured("Self", (n: number) => flame.self[n]!, format_ns),
    measured("Count", (n: number) => flame.count[n]!, format_count),
  ];
  return (
    <>
      <Table caption={label} rows={nodes.slice(0, kMostRows)} columns={[{ title: "Path", text: true, value: (n) => path_of(names, flame, n), show: (n) => <Text text={path_of(names, flame, n)} length={200} /> }, ...(columns ?? usual)]} />
      {nodes.length > kMostRows && <p class="hint">{format_count(nodes.length - kMostRows)} more paths take less time.</p>}
    </>
  );
}

export function Graph(props: GraphProps) {
  const { flame, names, root, label, zoom = 0, filter = "", paint, mark, tell, pick } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const boxes = useRef<FlameBox[]>([]);
  const [tip, set_tip] = useState("");
  const [table, set_table] = useState(false);
  const height = (Math.min(flame.depth.reduce((a, b) => Math.max(a, b), 0), 60) + 1) * kBox;
  const name_of = (node: number): string => (node === 0 ? root : (names[flame.name[node]!] ?? ""));
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const low = filter.toLowerCase();
    const draw = (): void => {
      const width = element.clientWidth;
      if (width === 0) return;
      const ratio = devicePixelRatio || 1;
      element.width = Math.round(width * ratio);
      element.height = Math.round(height * ratio);
      const context = element.getContext("2d")!;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.font = "11px system-ui, sans-serif";
      context.textBaseline = "middle";
      boxes.current = place_boxes(flame, zoom, 1 / width);
      for (const box of boxes.current) {
        const name = name_of(box.node);
        const dim = low !== "" && !name.toLowerCase().includes(low);
        const y = upside.value ? height - (box.depth + 1) * kBox : box.depth * kBox;
        const x = box.from * width;
        const w = (box.to - box.from) * width;
        const { fill, ink, over, alpha = 1 } = paint(box.node, dim);
        const part = (colour: string, opacity: number): void => {
          context.globalAlpha = opacity;
          context.fillStyle = colour;
          context.fillRect(x, y, Math.max(0.5, w - 1), kBox - 1);
          context.globalAlpha = 1;
        };
        part(fill, box.depth < (flame.depth[zoom] ?? 0) ? 0.55 : 1);
        if (over) part(over, alpha);
        if (w < 30) continue;
        context.fillStyle = dim ? theme_colours().soft : ink;
        const text = (mark?.(box.node) ?? "") + visible(name.slice(0, 200));
        const room = Math.floor((w - 8) / 6.2);
        context.fillText(text.length <= room ? text : `${text.slice(0, Math.max(0, room - 1))}…`, x + 4, y + kBox / 2);
      }
    };
    const stop = effect(() => {
      void [dark.value, upside.value, printing.value];
      draw();
    });
    const watch = new ResizeObserver(draw);
    watch.observe(element);
    return () => {
      stop();
      watch.disconnect();
    };
  }, [flame, zoom, filter, table]);
  const find = (event: MouseEvent): FlameBox | undefined => {
    const box = canvas.current!.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width;
    const y = event.clientY - box.top;
    const at = Math.floor((upside.value ? height - y : y) / kBox);
    return boxes.current.find((b) => b.depth === at && x >= b.from && x < b.to);
  };
  return (
    <div class="flame">
      {table ? (
        <Paths {...props} />
      ) : (
        <canvas
          ref={canvas}
          style={{ height: `${height}px` }}
          role="img"
          aria-label={label}
          onMouseMove={(event) => {
            const box = find(event);
            set_tip(box ? tell(box.node) : "");
          }}
          onMouseLeave={() => set_tip("")}
          onClick={(event) => {
            const box = find(event);
            if (box) pick(box.node);
          }}
        />
      )}
      <p class="readout">
        <button class="ghost" aria-pressed={table} onClick={() => set_table(!table)}>{table ? "picture" : "table"}</button> {!table && (tip || "Hover for figures, click to zoom.")}
      </p>
    </div>
  );
}
