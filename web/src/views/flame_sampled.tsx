// Functions that samples found, below the stages that were open.
import { useMemo, useState } from "preact/hooks";

import type { JsonObject } from "../data/container";
import { cut, format_count, format_ns, format_ratio } from "../data/format";
import { colour_of, type Measure, sampled_flame } from "../data/sampled";
import { Graph, type Paint, Upside } from "../ui/flame_graph";
import { Section } from "../ui/parts";
import { ink_on } from "../ui/palette";
import { palette } from "../ui/state";
import { measured } from "../ui/table";

const kColours = 8;

export function SampledView({ stacks }: { stacks: JsonObject }) {
  const [measure, set_measure] = useState<Measure>("wall_ns");
  const [zoom, set_zoom] = useState(0);
  const [filter, set_filter] = useState("");
  const sampled = useMemo(() => sampled_flame(stacks, measure), [stacks, measure]);
  if (!sampled) return null;
  const { flame, names, places, stages } = sampled;
  const paint = (node: number, dim: boolean): Paint => {
    const fill = palette.value[node === 0 || (stages[node] && !dim) ? 8 : dim ? 9 : colour_of(names[flame.name[node]!]!, kColours)]!;
    return { fill, ink: ink_on(fill) };
  };
  const tell = (n: number): string => {
    const place = n === 0 ? "" : places[flame.name[n]!];
    return `${cut(n === 0 ? "all" : names[flame.name[n]!]!, 100)}${place ? ` (${place})` : ""}: ${format_ns(flame.total[n])} (${format_ratio(flame.total[n]! / (flame.total[0] || 1))}), self ${format_ns(flame.self[n])}`;
  };
  const samples = typeof stacks["samples"] === "number" ? stacks["samples"] : 0;
  return (
    <Section title="Functions, by samples" note={`${format_count(samples)} stacks; below each thread the stages that were open, and in these the functions. C functions count for their caller`}>
      <div class="toolbar">
        <label class="field">Time
          <select value={measure} onChange={(event) => { set_measure(event.currentTarget.value as Measure); set_zoom(0); }}>
            <option value="wall_ns">with waits</option>
            <option value="cpu_ns">on a CPU</option>
          </select>
        </label>
        <label class="field">Find <input type="search" value={filter} onInput={(event) => set_filter(event.currentTarget.value)} /></label>
        <Upside />
        <button disabled={zoom === 0} onClick={() => set_zoom(0)}>Show all</button>
      </div>
      <Graph
        flame={flame}
        names={names}
        root="all"
        zoom={zoom}
        filter={filter}
        paint={paint}
        tell={tell}
        label={`Flame graph of ${flame.name.length - 1} sampled paths, ${format_ns(flame.total[0])} in all`}
        columns={[measured("Total", (n: number) => flame.total[n]!, format_ns), measured("Self", (n: number) => flame.self[n]!, format_ns)]}
        pick={set_zoom}
      />
    </Section>
  );
}
