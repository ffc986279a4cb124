// Two sides of one or several runs: what differs in how they were made, then what changed, with
// intervals.
import "../styles/compare.css";
import { cut, format_count, format_ns, format_ratio, format_unit } from "../data/format";
import type { Page } from "../data/page";
import type { ChangeRow, ComparedSide, Difference, PartChange } from "../data/report";
import { Empty, Section } from "../ui/parts";
import { minor, Table, words } from "../ui/table";
import { Text } from "../ui/text";

const kSigns: { [verdict: string]: string } = { improved: "▼", regressed: "▲", unchanged: "=", inconclusive: "?", appeared: "+", vanished: "−" };

// The words of the text report.
function Verdict({ verdict }: { verdict: string }) {
  const word = verdict === "insufficient" ? "too few runs" : cut(verdict.replaceAll("_", " "), 20);
  const sign = Object.hasOwn(kSigns, verdict) ? `${kSigns[verdict]} ` : "";
  return <span class={`tag change ${/^[a-z_]+$/.test(verdict) ? verdict : ""}`}>{sign}{word}</span>;
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
      <circle class={row.verdict} cx={x(row.factor)} cy={7} r={3.5} />
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

function Side({ title, side }: { title: string; side: ComparedSide | undefined }) {
  const runs = side?.runs ?? [];
  const first = runs[0];
  const name = first?.name ?? first?.id ?? first?.path ?? "a run";
  const paths = runs.map((run) => run.path ?? run.id ?? "").join(", ");
  return <div><small>{title}{runs.length > 1 && `, ${format_count(runs.length)} runs`}</small><b><Text text={name} length={80} /></b><small>{cut(paths, 80)}</small></div>;
}

const signed = (seconds: number): string => `${seconds < 0 ? "\u2212" : "+"}${format_ns(Math.abs(seconds) * 1e9)}`;

// The parts of the total; the steps of a stage below it.
function Parts({ parts, notes }: { parts: PartChange[]; notes: string[] }) {
  const rows = parts.flatMap((part) => [part, ...(part.of ?? []).map((of) => ({ ...of, name: `${part.name}: ${of.name}` }))]);
  const value = (p: PartChange, v: number): string => (p.name.endsWith(": steps") ? v.toFixed(0) : format_ns(v * 1e9));
  return (
    <Section title="Where the difference is" note="means over the runs; the parts add up to the total">
      <Table
        caption="Parts of the difference"
        rows={rows}
        columns={[
          words("Part", (p: PartChange) => p.name, (p) => <Text text={p.name} length={60} />),
          { title: "Before", value: (p) => p.before, show: (p) => value(p, p.before) },
          { title: "After", value: (p) => p.after, show: (p) => value(p, p.after) },
          { title: "Difference", value: (p) => p.difference, show: (p) => signed(p.difference) },
          { title: "Share", minor: true, value: (p) => p.share, show: (p) => (p.share === null ? "–" : format_ratio(p.share)) },
          minor(words("95 %", (p: PartChange) => p.interval?.low ?? null, (p) => (p.interval ? `${signed(p.interval.low)} to ${signed(p.interval.high)}` : <span class="absent">one run each</span>))),
        ]}
      />
      {notes.map((note, i) => <p key={i} class="hint">{cut(note, 400)}</p>)}
    </Section>
  );
}

export function CompareView({ page }: { page: Page }) {
  const doc = page.compare!;
  const rows = doc.rows ?? [];
  const noise = doc.noise_floor ?? 0.02;
  const single = (doc.before?.runs ?? []).length < 2 && (doc.after?.runs ?? []).length < 2;
  // Of one run each no row has a verdict; what came or went is said.
  const judged = (r: ChangeRow): boolean => !single || ["appeared", "vanished", "not measured"].includes(r.verdict);
  const parts = doc.attribution;
  const all = parts?.parts;
  return (
    <>
      <div class="versus">
        <Side title="before" side={doc.before} />
        <span aria-hidden="true">→</span>
        <Side title="after" side={doc.after} />
        {doc.verdict && !single && <Verdict verdict={doc.verdict} />}
      </div>
      <p class="verdict">{cut(doc.headline ?? "", 600)}</p>
      {(doc.incomparable ?? []).map((why, i) => <p key={i} class="banner" role="note">▲ {cut(why, 400)}</p>)}
      {(doc.notes ?? []).map((note, i) => <p key={i} class="hint">{cut(note, 400)}</p>)}
      <Section title="What changed" note={`changes smaller than ${format_ratio(noise)} are ignored; intervals are 95 %${single ? ", over the spans of these two runs" : ""}`}>
        {rows.length === 0 ? (
          <Empty>The two have nothing in common that could be compared.</Empty>
        ) : (
          <Table
            caption="Figures of both sides"
            rows={rows}
            most={40}
            columns={[
              words("Figure", (r: ChangeRow) => r.name, (r) => <><Text text={r.name} length={60} /> <small class="kind">{cut(r.kind, 20)}</small></>),
              { title: "Before", value: (r) => r.before, show: (r) => <>{format_unit(r.before, r.unit)}{r.before_count > 1 && <small class="times"> × {format_count(r.before_count)}</small>}</> },
              { title: "After", value: (r) => r.after, show: (r) => <>{format_unit(r.after, r.unit)}{r.after_count > 1 && <small class="times"> × {format_count(r.after_count)}</small>}</> },
              { title: "Change", value: (r) => r.percent, show: (r) => (r.percent === null ? "–" : `${r.percent > 0 ? "+" : "\u2212"}${Math.abs(r.percent).toFixed(Math.abs(r.percent) < 10 ? 1 : 0)}\u202f%`) },
              minor(words("Less ← 95 % → more", (r: ChangeRow) => r.factor, (r) => <Interval row={r.factor !== null && r.factor > 0 ? { ...r, factor: 1 / r.factor, factor_low: r.factor_high === null ? null : 1 / r.factor_high, factor_high: r.factor_low === null ? null : 1 / r.factor_low } : r} noise={noise} />)),
              minor(words("Verdict", (r: ChangeRow) => (judged(r) ? r.verdict : null), (r) => (judged(r) ? <Verdict verdict={r.verdict} /> : <span class="absent">one run each</span>))),
            ]}
          />
        )}
        {(doc.rows_left_out ?? 0) > 0 && <p class="hint">{format_count(doc.rows_left_out)} more rows are in the JSON.</p>}
      </Section>
      {parts && all && <Parts parts={[...all, parts.total]} notes={parts.notes ?? []} />}
      <Differences title="Workload" list={doc.workload ?? []} />
      <Differences title="Environment" list={doc.environment ?? []} />
      <Differences title="Other differences" list={doc.other ?? []} />
    </>
  );
}
