// Two runs: what differs in how they were made, then what changed, with intervals.
import "../styles/compare.css";
import { cut, format_count, format_ratio, format_unit } from "../data/format";
import type { Page } from "../data/page";
import type { ChangeRow, ComparedRun, Difference } from "../data/report";
import { Empty, Section } from "../ui/parts";
import { Table, words } from "../ui/table";
import { Text } from "../ui/text";

const kSigns: { [change: string]: string } = { faster: "▼ faster", slower: "▲ slower", same: "= same", inconclusive: "? undecided", appeared: "+ new", vanished: "− gone" };

// Bytes and joules are not fast: they are less or more.
function Change({ change, unit = "ns" }: { change: string; unit?: string }) {
  const sign = kSigns[change] ?? cut(change, 20);
  return <span class={`tag change ${/^[a-z]+$/.test(change) ? change : ""}`}>{unit === "ns" ? sign : sign.replace("faster", "less").replace("slower", "more")}</span>;
}

// The change with its 95 % interval on an axis of factors, 1 in the middle.
function Interval({ row, noise }: { row: ChangeRow; noise: number }) {
  if (row.factor === null || !(row.factor > 0)) return null;
  const most = Math.log(2.2);
  const x = (factor: number): number => 60 + (Math.max(-most, Math.min(most, Math.log(factor))) / most) * 58;
  const low = row.factor_low ?? row.factor;
  const high = row.factor_high ?? row.factor;
  return (
    <svg class="interval" viewBox="0 0 120 14" width="120" height="14" role="img" aria-label={`${row.factor.toFixed(2)} times, from ${low.toFixed(2)} to ${high.toFixed(2)}`}>
      <rect class="noise" x={x(1 - noise)} y={0} width={Math.max(1, x(1 + noise) - x(1 - noise))} height={14} />
      <line class="zero" x1={60} x2={60} y1={0} y2={14} />
      {row.factor_low !== null && <line class="span" x1={x(low)} x2={x(high)} y1={7} y2={7} />}
      <circle class={row.change} cx={x(row.factor)} cy={7} r={3.5} />
    </svg>
  );
}

function Differences({ title, list }: { title: string; list: Difference[] }) {
  if (list.length === 0) return null;
  return (
    <Section title={title}>
      <Table
        caption={title}
        rows={list}
        columns={[
          words("What", (d: Difference) => d.key, (d) => <code>{cut(d.key, 80)}</code>),
          words("Before", (d: Difference) => d.before, (d) => (d.before === null ? <span class="absent">not said</span> : <Text text={d.before} length={120} />)),
          words("After", (d: Difference) => d.after, (d) => (d.after === null ? <span class="absent">not said</span> : <Text text={d.after} length={120} />)),
        ]}
      />
    </Section>
  );
}

const run_name = (run: ComparedRun | undefined): string => run?.name ?? run?.id ?? run?.path ?? "a run";

export function CompareView({ page }: { page: Page }) {
  const doc = page.compare!;
  const rows = doc.rows ?? [];
  const noise = doc.noise_floor ?? 0.02;
  return (
    <>
      <div class="versus">
        <div><small>before</small><b><Text text={run_name(doc.before)} length={80} /></b><small>{cut(doc.before?.path ?? "", 80)}</small></div>
        <span aria-hidden="true">→</span>
        <div><small>after</small><b><Text text={run_name(doc.after)} length={80} /></b><small>{cut(doc.after?.path ?? "", 80)}</small></div>
        {doc.verdict && <Change change={doc.verdict} />}
      </div>
      <p class="verdict">{cut(doc.reason ?? "", 400)}</p>
      {(doc.incomparable ?? []).map((why, i) => <p key={i} class="banner" role="note">▲ {cut(why, 400)}</p>)}
      {(doc.notes ?? []).map((note, i) => <p key={i} class="hint">{cut(note, 400)}</p>)}
      <Section title="What changed" note={`changes within ${format_ratio(noise)} are none; intervals are 95 %`}>
        {rows.length === 0 ? (
          <Empty>The two have nothing in common that could be compared.</Empty>
        ) : (
          <Table
            caption="Figures of both runs"
            rows={rows}
            most={40}
            columns={[
              words("Figure", (r: ChangeRow) => r.name, (r) => <><Text text={r.name} length={60} /> <small class="kind">{cut(r.kind, 20)}</small></>),
              { title: "Before", value: (r) => r.before, show: (r) => <>{format_unit(r.before, r.unit)}{r.before_count > 1 && <small> × {format_count(r.before_count)}</small>}</> },
              { title: "After", value: (r) => r.after, show: (r) => <>{format_unit(r.after, r.unit)}{r.after_count > 1 && <small> × {format_count(r.after_count)}</small>}</> },
              { title: "Change", value: (r) => r.percent, show: (r) => (r.percent === null ? "–" : `${r.percent > 0 ? "+" : "\u2212"}${Math.abs(r.percent).toFixed(Math.abs(r.percent) < 10 ? 1 : 0)}\u202f%`) },
              words("Less ← 95 % → more", (r: ChangeRow) => r.factor, (r) => <Interval row={r.factor !== null && r.factor > 0 ? { ...r, factor: 1 / r.factor, factor_low: r.factor_high === null ? null : 1 / r.factor_high, factor_high: r.factor_low === null ? null : 1 / r.factor_low } : r} noise={noise} />),
              words("Verdict", (r: ChangeRow) => r.change, (r) => <Change change={r.change} unit={r.unit} />),
            ]}
          />
        )}
        {(doc.rows_left_out ?? 0) > 0 && <p class="hint">{format_count(doc.rows_left_out)} more rows are in the JSON.</p>}
      </Section>
      <Differences title="Workload" list={doc.workload ?? []} />
      <Differences title="Environment" list={doc.environment ?? []} />
      <Differences title="Other differences" list={doc.other ?? []} />
    </>
  );
}
