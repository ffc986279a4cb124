// The section "Live": what a run in progress does now.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { cut, format_count, format_ns, format_ratio, format_unit } from "../data/format";
import { entity_title, metric_title } from "../data/rates";
import { Chart, type ChartProps } from "../ui/chart";
import { Bar, Empty, Section, Severity } from "../ui/parts";
import { signal } from "../ui/signals";
import { marks, page } from "../ui/state";
import { measured, Table } from "../ui/table";
import { run_path } from "./client";
import { group_series, kFull_ns, lines_of, type Group, type Reading } from "./series";
import { median, rank_cells, stage_rows, type StageRow, type Tick } from "./tick";
import { entry, fetched_at, fetching, freeze, frozen, kRefresh_ms, mark_now, newest_ns, refresh, seen, shown, steps, store, trouble } from "./watch";

const seconds = (value: number | null | undefined): string => format_ns(value == null ? null : value * 1e9);

function Tools() {
  const id = entry.value!.id;
  const note = useRef<HTMLInputElement>(null);
  const mark = (event: Event): void => {
    event.preventDefault();
    mark_now(note.current!.value);
    note.current!.value = "";
  };
  return (
    <>
      <div class="toolbar" role="toolbar" aria-label="Live">
        <button aria-pressed={frozen.value} onClick={() => freeze(!frozen.value)}>{frozen.value ? "▶ Go on" : "❚❚ Freeze"}</button>
        <button disabled={fetching.value || performance.now() - fetched_at.value < kRefresh_ms} title="What the other sections show; at most every 10 s" onClick={() => void refresh(id)}>Refresh report</button>
        <a class="button" href={run_path(id, "report.html")} download="report.html">Download the report now</a>
        <form onSubmit={mark}>
          <input ref={note} type="text" aria-label="Note" placeholder="note" maxLength={200} />
          <button disabled={!shown.value}>Mark this moment</button>
        </form>
      </div>
      {frozen.value && <p class="banner" role="note">Frozen at {format_ns(shown.value?.at_ns)}. Readings go on being collected, now at {format_ns(newest_ns.value)}.</p>}
      {trouble.value && <p class="banner" role="note">No report yet: {cut(trouble.value, 300)}.</p>}
      <ul class="live-marks">
        {marks.value.map((mark, i) => <li key={i} class="tag"><b>{format_ns(mark.begin)}</b> {cut(mark.note || "marked", 60)} <button class="ghost" aria-label="Remove the mark" onClick={() => (marks.value = marks.value.filter((_, k) => k !== i))}>✕</button></li>)}
      </ul>
    </>
  );
}

const steps_of = (row: StageRow): string =>
  `${row.least === row.most ? "" : `${format_count(row.least)} to `}${format_count(row.most)}${row.total === null ? " steps" : ` of ${format_count(row.total)} steps`}`;
const to_go = (row: StageRow): string => (row.eta_seconds === null ? "no estimate" : `${seconds(row.eta_seconds)} to go`);
// The spread, where it shows in the figures.
function spread_of(row: StageRow): string | null {
  if (row.eta_low_seconds === null || row.eta_high_seconds === null) return null;
  const [low, high] = [seconds(row.eta_low_seconds), seconds(row.eta_high_seconds)];
  return low === high ? null : `${low} to ${high}`;
}

function Progress({ rows }: { rows: StageRow[] }) {
  return (
    <ul class="progress">
      {rows.map((row) => (
        <li key={row.stage}>
          <b>{cut(row.stage, 60)}</b>
          <small>{row.processes.length > 1 && `${row.processes.length} processes, `}for {seconds(row.stage_seconds)}</small>
          <Bar share={row.total ? row.least / row.total : 0} />
          <span>{steps_of(row)}{row.step_seconds !== null && `, ${seconds(row.step_seconds)} each`}</span>
          <span class="eta" title="The range holds nine times in ten, if the steps go on as the last ones did"><b>{to_go(row)}</b>{spread_of(row) !== null && <small> ({spread_of(row)})</small>}</span>
        </li>
      ))}
    </ul>
  );
}

interface Step {
  number: number;
  seconds: number;
}
// Each step that was seen as a point over its number; the table has the newest first.
function Steps({ tick }: { tick: Tick }) {
  // What is frozen hides what came after.
  const last = tick.steps_ended ?? Infinity;
  const rows = useMemo((): Step[] => steps.number.map((number, i) => ({ number, seconds: steps.seconds[i]! })).filter((r) => r.number <= last), [tick]);
  const [all, most] = [rows.map((r) => r.seconds), Math.max(...rows.map((r) => r.seconds))];
  const usual = median(all)!;
  const lines = useMemo(() => [{ name: "steps", at: Float64Array.from(rows, (r) => r.number), value: Float64Array.from(rows, (r) => r.seconds * 1e9), colour: 0 }], [rows]);
  const first = rows[0]?.number;
  if (first === undefined) return <Empty>The steps of this moment are no longer known.</Empty>;
  return (
    <Chart
      title="Duration of each step"
      detail={`newest ${seconds(all[all.length - 1])}, median ${seconds(usual)}, slowest ${seconds(most)} of ${format_count(rows.length)}`}
      unit="ns"
      x="index"
      lines={lines}
      begin={first}
      end={Math.max(first + 1, rows[rows.length - 1]!.number)}
      points={rows.length < 400}
      height={160}
      table={
        <Table
          caption="Steps"
          rows={[...rows].reverse()}
          most={8}
          columns={[
            measured("Step", (r: Step) => r.number, format_count),
            measured("Duration", (r: Step) => r.seconds, seconds),
            { title: "Of the median", value: (r) => r.seconds, show: (r) => <span class="share"><Bar share={r.seconds / most} /><span class="of">{r.seconds > 1.5 * usual && "▲ "}{format_ratio(r.seconds / usual)}</span></span> },
          ]}
        />
      }
    />
  );
}

const kGlyphs = { ok: "✓", slow: "▲", stalled: "■", ended: "–", lost: "✖" };

function Ranks({ tick }: { tick: Tick }) {
  const cells = rank_cells(tick, seen);
  if (cells.length < 2) return null;
  const counts = Object.keys(kGlyphs).map((state) => [cells.filter((c) => c.state === state).length, state] as const);
  return (
    <Section title={cells.some((c) => c.rank !== null) ? "Ranks" : "Processes"} note={counts.filter(([n]) => n > 0).map((c) => c.join(" ")).join(", ")}>
      <ul class="rank-grid">
        {cells.map((c) => (
          <li key={c.pid} class={c.state} title={cut(`pid ${c.pid}, ${c.stage}, ${seconds(c.step_seconds)} a step, ${seconds(c.eta_seconds)} to go`, 200)}>
            <b>{c.rank ?? c.pid}</b> <span><span aria-hidden="true">{kGlyphs[c.state]}</span> {c.state}</span>
            <small>{format_count(c.steps_done)}{c.steps_total !== null && ` of ${format_count(c.steps_total)}`}</small>
          </li>
        ))}
      </ul>
      <p class="hint">Slow: a step over 1.2 times the median. Stalled: no step in the time of five. Lost: gone within a stage.</p>
    </Section>
  );
}

// Draws only while it is in view.
function InView(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const [seen, set_seen] = useState(false);
  const drawn = useRef(props);
  useEffect(() => {
    const watch = new IntersectionObserver(([entry]) => set_seen(entry!.isIntersecting));
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);
  if (seen) drawn.current = props;
  return <div ref={box}><Chart {...drawn.current} /></div>;
}

const span = signal(kFull_ns);
const kSpans: [string, number][] = [["1 min", 60e9], ["10 min", kFull_ns], ["Whole run", Infinity]];

function Kind({ group, gpus, now }: { group: Group; gpus: string[]; now: number }) {
  const [all, set_all] = useState(false);
  const main = group.readings.filter((r) => r.main);
  const chart = (r: Reading) => {
    const lines = lines_of(r.series, now, (s, i) => (r.series.length === 1 ? r.metric : group.title === "GPUs" ? `GPU ${gpus.includes(s.entity!) ? gpus.indexOf(s.entity!) : i}` : (s.entity === null ? `process ${i + 1}` : entity_title(s.entity))));
    const unit = r.series[0]!.unit;
    const last = lines.map((l) => l.value[l.value.length - 1] ?? NaN).filter(Number.isFinite);
    const [low, high] = [Math.min(...last), Math.max(...last)].map((v) => format_unit(v, unit));
    return <InView key={r.metric} title={r.series[0]!.metric === null ? r.metric : metric_title(r.metric)} detail={`now ${low === high ? low : `${low} to ${high}`}`} unit={unit} lines={lines} begin={Math.max(0, now - span.value)} end={Math.max(1, now)} height={110} />;
  };
  return (
    <details open={!/^(CPU|Control|genscope)/.test(group.title)}>
      <summary><h3>{group.title}</h3> <small>{group.readings.length} readings</small></summary>
      <div class="charts small">{(all || main.length === 0 ? group.readings : main).map(chart)}</div>
      {main.length > 0 && main.length < group.readings.length && <button class="ghost rest" onClick={() => set_all(!all)}>{all ? "Show fewer" : `Show all ${group.readings.length}`}</button>}
    </details>
  );
}

function Readings({ tick }: { tick: Tick }) {
  const gpus = (page.value?.report?.gpus ?? []).map((gpu) => gpu.id);
  const groups = group_series(store, gpus);
  return (
    <Section title="Readings" note={<span class="buttons">{kSpans.map(([name, ns]) => <button key={name} class="ghost" aria-pressed={span.value === ns} onClick={() => (span.value = ns)}>{name}</button>)}</span>}>
      {groups.length === 0 && <Empty>No probe has reported.</Empty>}
      {groups.map((group) => <Kind key={group.title} group={group} gpus={gpus} now={tick.at_ns} />)}
    </Section>
  );
}

// For those who hear the page: where the run is, at most every 10 seconds.
function Spoken({ text }: { text: string }) {
  const said = useRef({ at: -Infinity, text });
  const now = performance.now();
  if (now - said.current.at > 10_000) said.current = { at: now, text };
  return <p class="sr" role="status">{said.current.text}</p>;
}

function Picture({ tick }: { tick: Tick }) {
  const rows = stage_rows(tick.processes);
  return (
    <>
      <Spoken text={cut([...rows.slice(0, 1).map((r) => `${r.stage}, ${steps_of(r)}, ${to_go(r)}`), ...tick.alerts.map((a) => a.text)].join(". "), 300)} />
      {tick.alerts.length > 0 && <ul class="alerts">{tick.alerts.map((a, i) => <li key={i}><Severity severity={a.severity} /> {cut(a.text, 300)}</li>)}</ul>}
      <div class="two">
        <Section title="Progress">{rows.length > 0 ? <Progress rows={rows} /> : <Empty>No process is in a stage.</Empty>}</Section>
        <Section title="Steps" note={rows.length > 0 && rows[0]!.processes.length > 1 ? "for the process with the most steps" : undefined}>{tick.steps.length > 0 ? <Steps tick={tick} /> : <Empty>No step has ended.</Empty>}</Section>
      </div>
      <Ranks tick={tick} />
      <Readings tick={tick} />
    </>
  );
}

export const LiveView = () => (
  <>
    <Tools />
    {shown.value ? <Picture tick={shown.value} /> : <Empty>Waiting for the first readings…</Empty>}
  </>
);
