// Two runs as one flame: as wide as the run after, coloured by how the own time of a path changed.
import { useMemo, useState } from "preact/hooks";

import { cut, format_ns, format_ratio } from "../data/format";
import { diff_flames, type FlameDiff, type Path } from "../data/flame_diff";
import type { Page } from "../data/page";
import { Graph, Upside } from "../ui/flame_graph";
import { Empty, Section } from "../ui/parts";
import { figure, measured, Table } from "../ui/table";
import { Text } from "../ui/text";
import { theme_colours } from "../ui/theme";

// From -1 (all gone) over 0 to 1 (new), against the larger of the two.
function change(diff: FlameDiff, node: number): number {
  const [was, is] = [diff.before[node]!, diff.after[node]!];
  if (Number.isNaN(was)) return 1;
  return was === is ? 0 : (is - was) / Math.max(was, is);
}
const sign = (by: number): string => (by > 0.02 ? "▲ " : by < -0.02 ? "▼ " : "");

function tell(diff: FlameDiff, names: string[], node: number): string {
  const [was, is] = [diff.before[node]!, diff.after[node]!];
  const name = node === 0 ? "all" : cut(names[diff.flame.name[node]!] ?? "", 100);
  if (Number.isNaN(was)) return `${name}: new, own time ${format_ns(is)}`;
  const by = was > 0 ? ` (${is > was ? "+" : ""}${format_ratio(is / was - 1)})` : "";
  return `${sign(change(diff, node))}${name}: own time ${format_ns(was)} → ${format_ns(is)}${by}`;
}

const Paths = ({ title, list }: { title: string; list: Path[] }) => (
  <Section title={title}>
    {list.length === 0 ? <Empty>None.</Empty> : (
      <Table caption={title} rows={list} most={12} columns={[{ title: "Path", text: true, value: (p) => p.path, show: (p) => <Text text={p.path} length={200} /> }, figure("ns", "Time", format_ns)]} />
    )}
  </Section>
);

export function FlameDiffView({ page }: { page: Page }) {
  const [zoom, set_zoom] = useState(0);
  const [before, after] = page.runs!;
  const diff = useMemo(() => diff_flames(before, after), [page]);
  const time = (key: "before" | "after", title: string) => measured(title, (n: number) => (diff[key][n]! >= 0 ? diff[key][n] : null), format_ns);
  return (
    <>
      <Section title="Flame of both" note="as wide as in the run after; orange ▲ takes more time of its own than before, blue ▼ less">
        <div class="toolbar">
          <Upside />
          <button disabled={zoom === 0} onClick={() => set_zoom(0)}>Show all</button>
        </div>
        <Graph
          flame={diff.flame}
          names={after.names}
          root="all"
          zoom={zoom}
          label={`Flame graph of ${diff.flame.name.length - 1} paths of the run after, by change; ${diff.added.length} are new, ${diff.removed.length} are gone`}
          paint={(node) => {
            const ui = theme_colours();
            const by = change(diff, node);
            return { fill: ui.line, ink: ui.text, over: by > 0 ? ui.over : ui.under, alpha: Math.min(1, Math.abs(by) * 2) * 0.75 };
          }}
          mark={(node) => sign(change(diff, node))}
          tell={(node) => tell(diff, after.names, node)}
          columns={[time("before", "Own, before"), time("after", "Own, after"), { title: "Change", value: (n) => diff.after[n]! - diff.before[n]!, show: (n) => (Number.isNaN(diff.before[n]!) ? "+ new" : `${sign(change(diff, n))}${format_ns(diff.after[n]! - diff.before[n]!)}`) }]}
          pick={set_zoom}
        />
      </Section>
      <div class="two">
        <Paths title="New paths" list={diff.added} />
        <Paths title="Gone paths" list={diff.removed} />
      </div>
    </>
  );
}
