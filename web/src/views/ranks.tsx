// Ranks side by side: each stage against the median rank, stragglers, clocks.
import { useMemo } from "preact/hooks";

import type { JsonObject } from "../data/container";
import { cut, format_ns, format_ratio, format_unit } from "../data/format";
import type { Page } from "../data/page";
import { rank_table } from "../data/ranks";
import { number_of, objects, text_of } from "../data/report";
import { Empty, Section } from "../ui/parts";
import { query, tab } from "../ui/state";
import { figure, measured, said, Table, words } from "../ui/table";

// Blue under the median, orange over it: apart for every kind of sight; the figure stands inside.
function shade(ratio: number): { background: string } {
  const strength = Math.min(1, Math.abs(ratio) / 0.25);
  return { background: `color-mix(in srgb, var(${ratio > 0 ? "--over" : "--under"}) ${Math.round(strength * 70)}%, transparent)` };
}

function Heat({ page }: { page: Page }) {
  const table = useMemo(() => rank_table(page), [page]);
  const figures = table.ranks.length <= 16;
  return (
    <div class="table-box" tabIndex={0} role="region" aria-label="Stages by rank">
      <table class="heatmap">
        <caption class="sr">Time of each rank in each stage, as its difference from the median rank</caption>
        <thead><tr><th scope="col" class="text">Stage</th><th scope="col">Median</th>{table.ranks.map((r) => <th key={r} scope="col">{r}</th>)}</tr></thead>
        <tbody>
          {table.stages.map((name, s) => (
            <tr key={name}>
              <th scope="row" class="text"><button class="ghost" onClick={() => { query.value = name.slice(0, 200); tab.value = "timeline"; }}>{cut(name, 40)}</button></th>
              <td>{format_ns(table.median[s])}</td>
              {table.ranks.map((rank, r) => {
                const ratio = table.median[s]! > 0 ? table.total[s]![r]! / table.median[s]! - 1 : 0;
                return <td key={rank} style={shade(ratio)} title={`rank ${rank}: ${format_ns(table.total[s]![r])}`}>{figures ? `${ratio > 0 ? "+" : ratio < 0 ? "\u2212" : ""}${Math.abs(ratio * 100).toFixed(Math.abs(ratio) < 0.1 ? 1 : 0)}` : <span class="sr">{Math.round(ratio * 100)}</span>}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function RanksView({ page }: { page: Page }) {
  const { aggregate } = page.report!;
  const stragglers = objects(aggregate["stragglers"]);
  const clocks = objects(aggregate["clocks"]);
  return (
    <>
      <Section title="Stages by rank" note="difference from the median rank in %, by colour from −25 to +25"><Heat page={page} /></Section>
      <Section title="Stragglers">
        {stragglers.length === 0 ? (
          <Empty>None is named in this report. <code>genscope aggregate</code> judges ranks by where they wait for each other.</Empty>
        ) : (
          <Table
            caption="Stragglers"
            rows={stragglers}
            columns={[
              said("rank", "Rank", 30),
              words("Role", (s: JsonObject) => text_of(s["role"]), (s) => <span class="tag">{cut(text_of(s["role"]), 20)}</span>),
              figure("value", "Its time", (v) => format_unit(v, "s")),
              figure("median", "Median", (v) => format_unit(v, "s")),
              measured("Over it", (s: JsonObject) => over(s), format_ratio),
              said("why", "Why", 300),
            ]}
          />
        )}
      </Section>
      {clocks.length > 0 && (
        <Section title="Clocks" note="how far each rank's clock is from the first one's; the timeline is true only to within the error">
          <Table
            caption="Clock offsets"
            rows={clocks}
            columns={[
              said("rank", "Rank", 30),
              figure("offset_seconds", "Offset", (v) => format_unit(v, "s")),
              { title: "Error, 95 %", value: (c) => number_of(c["error_seconds"]), show: (c) => `± ${format_unit(number_of(c["error_seconds"]), "s")}` },
              said("method", "By", 40),
            ]}
          />
        </Section>
      )}
    </>
  );
}

const over = (s: { [key: string]: unknown }): number | null => {
  const value = number_of(s["value"]);
  const median = number_of(s["median"]);
  return value === null || median === null || median === 0 ? null : value / median - 1;
};
