// Spans folded by path, and callers and callees of the chosen name.
import { useMemo, useState } from "preact/hooks";

import { cut, format_count, format_ns, format_ratio } from "../data/format";
import { fold, sandwich, type Flame } from "../data/flame";
import { is_object } from "../data/container";
import type { Page } from "../data/page";
import { Graph, Upside, type Paint } from "../ui/flame_graph";
import { Empty, Section } from "../ui/parts";
import { ink_on } from "../ui/palette";
import { colours, palette, query, tab } from "../ui/state";
import { figure, Table, words } from "../ui/table";
import { SampledView } from "./flame_sampled";

interface NameRow {
  name: number;
  total: number;
  self: number;
  count: number;
}

// What a graph of the page's own names needs.
function usual(page: Page, flame: Flame, root: string) {
  return {
    flame,
    names: page.names,
    root,
    paint: (node: number, dim: boolean): Paint => {
      const fill = palette.value[node === 0 ? 8 : dim ? 9 : colours.value[flame.name[node]!]!]!;
      return { fill, ink: ink_on(fill) };
    },
    tell: (n: number): string =>
      `${cut(n === 0 ? root : (page.names[flame.name[n]!] ?? ""), 100)}: ${format_ns(flame.total[n])} (${format_ratio(flame.total[n]! / (flame.total[0] || 1))}), self ${format_ns(flame.self[n])}, ${format_count(flame.count[n])} times`,
  };
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
    const totals = new Map<number, NameRow>();
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
  const stacks = page.report?.raw["stacks"];
  const sampled = is_object(stacks) ? <SampledView stacks={stacks} /> : null;
  if (page.tracks.every((t) => t.spans === 0)) return sampled ?? <Section title="Flame"><Empty>No spans were recorded, so there is nothing to add up.</Empty></Section>;
  return (
    <>
      {sampled}
      <Section title="Flame" note="equal call paths added up; a box is as wide as its time, the largest to the left">
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
          <Upside />
          <button disabled={zoom === 0} onClick={() => set_zoom(0)}>Show all</button>
        </div>
        <Graph {...usual(page, flame, "all")} zoom={zoom} filter={filter} label={`Flame graph of ${flame.name.length - 1} paths, ${format_ns(flame.total[0])} in all`} pick={(node) => { set_zoom(node); if (node > 0) set_centre(flame.name[node]!); }} />
      </Section>
      {both && centre !== null && (
        <Section title={`Callers and callees of ${cut(page.names[centre] ?? "", 80)}`} note={`${format_ns(both.down.total[0])}, self ${format_ns(both.down.self[0])}, ${format_count(both.down.count[0])} times`}>
          <div class="two">
            <div><h3 class="sub">Called from</h3><Graph {...usual(page, both.up, page.names[centre] ?? "")} filter={filter} label="Callers" pick={(node) => { if (node > 0) set_centre(both.up.name[node]!); }} /></div>
            <div><h3 class="sub">Calls</h3><Graph {...usual(page, both.down, page.names[centre] ?? "")} filter={filter} label="Callees" pick={(node) => { if (node > 0) set_centre(both.down.name[node]!); }} /></div>
          </div>
          <p class="row-buttons"><button onClick={() => { query.value = (page.names[centre] ?? "").slice(0, 200); tab.value = "timeline"; }}>Find in the timeline</button><button onClick={() => set_centre(null)}>Close</button></p>
        </Section>
      )}
      <Section title="By name">
        <Table
          caption="Spans by name"
          rows={names}
          initial="Self"
          most={15}
          pick={(r) => set_centre(r.name)}
          current={(r) => r.name === centre}
          columns={[
            words("Name", (r: NameRow) => page.names[r.name] ?? "", (r) => <><i class="swatch" style={{ background: palette.value[colours.value[r.name]!]! }} />{cut(page.names[r.name] ?? "", 80)}</>),
            figure("self", "Self", format_ns),
            { title: "Of all", value: (r) => r.self, show: (r) => format_ratio(r.self / (flame.total[0] || 1)) },
            figure("total", "Total", format_ns),
            figure("count", "Count", format_count),
          ]}
        />
      </Section>
    </>
  );
}
