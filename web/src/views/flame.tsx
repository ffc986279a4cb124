// Spans folded by path: flame or icicle, and a sandwich of callers and callees for the chosen name.
import { effect, signal } from "../ui/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { cut, format_count, format_ns, format_ratio, visible } from "../data/format";
import { fold, place_boxes, sandwich, type Flame, type FlameBox } from "../data/flame";
import type { Page } from "../data/page";
import { Empty, Section } from "../ui/parts";
import { ink_on } from "../ui/palette";
import { colours, dark, palette, printing, query, tab } from "../ui/state";
import { figure, Table } from "../ui/table";
import { theme_colours } from "../ui/theme";

const kBox = 20;
const upside = signal(false); // flame: the root at the bottom

interface GraphProps {
  page: Page;
  flame: Flame;
  zoom: number;
  filter: string;
  label: string;
  root: string;
  pick: (node: number) => void;
}

function Graph({ page, flame, zoom, filter, label, root, pick }: GraphProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const boxes = useRef<FlameBox[]>([]);
  const [tip, set_tip] = useState("");
  const depth = useMemo(() => flame.depth.reduce((a, b) => Math.max(a, b), 0), [flame]);
  const height = (Math.min(depth, 60) + 1) * kBox;
  const low = filter.toLowerCase();
  const name_of = (node: number): string => (node === 0 ? root : (page.names[flame.name[node]!] ?? ""));
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const paint = (): void => {
      const width = element.clientWidth;
      if (width === 0) return;
      const ratio = devicePixelRatio || 1;
      element.width = Math.round(width * ratio);
      element.height = Math.round(height * ratio);
      const context = element.getContext("2d")!;
      const ui = theme_colours();
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, width, height);
      context.font = "11px system-ui, sans-serif";
      context.textBaseline = "middle";
      boxes.current = place_boxes(flame, zoom, 1 / width);
      for (const box of boxes.current) {
        const name = name_of(box.node);
        const y = upside.value ? height - (box.depth + 1) * kBox : box.depth * kBox;
        const x = box.from * width;
        const w = (box.to - box.from) * width;
        const dim = low !== "" && !name.toLowerCase().includes(low);
        const colour = box.node === 0 ? palette.value[8]! : palette.value[dim ? 9 : colours.value[flame.name[box.node]!]!]!;
        context.globalAlpha = box.depth < (flame.depth[zoom] ?? 0) ? 0.55 : 1;
        context.fillStyle = colour;
        context.fillRect(x, y, Math.max(0.5, w - 1), kBox - 1);
        context.globalAlpha = 1;
        if (w < 30) continue;
        context.fillStyle = dim ? ui.soft : ink_on(colour);
        const text = visible(name.slice(0, 200));
        const room = Math.floor((w - 8) / 6.2);
        context.fillText(text.length <= room ? text : `${text.slice(0, Math.max(0, room - 1))}…`, x + 4, y + kBox / 2);
      }
    };
    const stop = effect(() => {
      void [dark.value, palette.value, upside.value, printing.value];
      paint();
    });
    const watch = new ResizeObserver(paint);
    watch.observe(element);
    return () => {
      stop();
      watch.disconnect();
    };
  }, [flame, zoom, filter]);
  const find = (event: MouseEvent): FlameBox | undefined => {
    const box = canvas.current!.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width;
    const y = event.clientY - box.top;
    const at = Math.floor((upside.value ? height - y : y) / kBox);
    return boxes.current.find((b) => b.depth === at && x >= b.from && x < b.to);
  };
  return (
    <div class="flame">
      <canvas
        ref={canvas}
        style={{ height: `${height}px` }}
        role="img"
        aria-label={label}
        onMouseMove={(event) => {
          const box = find(event);
          set_tip(box ? `${cut(name_of(box.node), 100)}: ${format_ns(flame.total[box.node])} (${format_ratio(flame.total[box.node]! / (flame.total[0] || 1))}), self ${format_ns(flame.self[box.node])}, ${format_count(flame.count[box.node])} times` : "");
        }}
        onMouseLeave={() => set_tip("")}
        onClick={(event) => {
          const box = find(event);
          if (box) pick(box.node);
        }}
      />
      <p class="readout">{tip || "Hover for figures, click to zoom."}</p>
    </div>
  );
}

export function FlameView({ page }: { page: Page }) {
  const [which, set_which] = useState("all");
  const [zoom, set_zoom] = useState(0);
  const [filter, set_filter] = useState("");
  const [centre, set_centre] = useState<number | null>(null);
  const flame = useMemo(() => {
    const wanted = which === "host" ? page.tracks.filter((t) => !t.device) : which === "device" ? page.tracks.filter((t) => t.device) : which === "all" ? page.tracks : page.tracks.filter((t) => String(t.id) === which);
    return fold(page, wanted);
  }, [page, which]);
  const both = useMemo(() => (centre === null ? null : sandwich(flame, centre, page.names.length)), [flame, centre]);
  const names = useMemo(() => {
    const totals = new Map<number, { name: number; total: number; self: number; count: number }>();
    for (let node = 1; node < flame.name.length; ++node) {
      const name = flame.name[node]!;
      const row = totals.get(name) ?? { name, total: 0, self: 0, count: 0 };
      let above = flame.parent[node]!;
      while (above > 0 && flame.name[above] !== name) above = flame.parent[above]!;
      if (above <= 0) row.total += flame.total[node]!;
      row.self += flame.self[node]!;
      row.count += flame.count[node]!;
      totals.set(name, row);
    }
    return [...totals.values()];
  }, [flame]);
  if (page.tracks.every((t) => t.spans === 0)) return <Section title="Flame"><Empty>No spans, so nothing to fold.</Empty></Section>;
  return (
    <>
      <Section title="Flame" note="all spans of a path together, the largest to the left">
        <div class="toolbar">
          <label class="field">Tracks
            <select value={which} onChange={(event) => { set_which(event.currentTarget.value); set_zoom(0); }}>
              <option value="all">all</option>
              {page.tracks.some((t) => t.device) && <option value="host">threads</option>}
              {page.tracks.some((t) => t.device) && <option value="device">devices</option>}
              {page.tracks.length > 1 && page.tracks.slice(0, 200).map((t) => <option key={t.id} value={String(t.id)}>{cut(`${t.rank === null ? "" : `rank ${t.rank} `}${t.name || t.process}`, 60)}</option>)}
            </select>
          </label>
          <label class="field">Find <input type="search" value={filter} onInput={(event) => set_filter(event.currentTarget.value)} /></label>
          <button aria-pressed={upside.value} onClick={() => (upside.value = !upside.value)}>{upside.value ? "Icicle" : "Flame"} instead</button>
          <button disabled={zoom === 0} onClick={() => set_zoom(0)}>Whole</button>
        </div>
        <Graph page={page} flame={flame} zoom={zoom} filter={filter} root="all" label={`Flame graph of ${flame.name.length - 1} paths; the table below has the figures`} pick={(node) => { set_zoom(node); if (node > 0) set_centre(flame.name[node]!); }} />
      </Section>
      {both && centre !== null && (
        <Section title={`Sandwich: ${cut(page.names[centre] ?? "", 80)}`} note={`${format_ns(both.down.total[0])}, self ${format_ns(both.down.self[0])}, ${format_count(both.down.count[0])} times`}>
          <div class="two">
            <div><h3 class="sub">Called from</h3><Graph page={page} flame={both.up} zoom={0} filter={filter} root={page.names[centre] ?? ""} label="Callers" pick={(node) => { if (node > 0) set_centre(both.up.name[node]!); }} /></div>
            <div><h3 class="sub">Calls</h3><Graph page={page} flame={both.down} zoom={0} filter={filter} root={page.names[centre] ?? ""} label="Callees" pick={(node) => { if (node > 0) set_centre(both.down.name[node]!); }} /></div>
          </div>
          <p class="row-buttons"><button onClick={() => { query.value = (page.names[centre] ?? "").slice(0, 200); tab.value = "timeline"; }}>Find in the timeline</button><button onClick={() => set_centre(null)}>Close</button></p>
        </Section>
      )}
      <Section title="By name">
        <Table
          caption="Spans by name"
          rows={names}
          initial="self"
          most={15}
          pick={(r) => set_centre(r.name)}
          current={(r) => r.name === centre}
          columns={[
            { key: "name", title: "Name", text: true, value: (r) => page.names[r.name] ?? "", show: (r) => <><i class="swatch" style={{ background: palette.value[colours.value[r.name]!]! }} />{cut(page.names[r.name] ?? "", 80)}</> },
            figure("self", "Self", format_ns),
            { key: "share", title: "Of all", value: (r) => r.self, show: (r) => format_ratio(r.self / (flame.total[0] || 1)) },
            figure("total", "Total", format_ns),
            figure("count", "Count", format_count),
          ]}
        />
      </Section>
    </>
  );
}
