// Up to eight runs over one another: stages on one time axis, steps over time or by number, and what
// the machine did. A run can be taken out of the pictures.
import { useMemo, useState } from "preact/hooks";

import { cut, format_count, format_ns, format_tick, format_unit, tick_step } from "../data/format";
import { common_stages, median, shifts, time_of_stage, type Outline } from "../data/outlines";
import type { Page } from "../data/page";
import { metric_title, shown_values } from "../data/rates";
import { Chart, type Line } from "../ui/chart";
import { Section } from "../ui/parts";
import { colour_of, palette } from "../ui/state";
import { measured, minor, Table, words } from "../ui/table";

interface Shown {
  run: Outline;
  place: number; // its colour
  shift: number;
}

const colour = (place: number): string => palette.value[place % 8]!;

// Names of stages, those with the most time first, and their colours: as in the other views, or one of
// the eight for what only other runs have.
function stage_colours(all: Outline[], known: string[]): Map<string, string> {
  const total = new Map<string, number>();
  for (const run of all) for (const stage of run.stages) total.set(stage.name, (total.get(stage.name) ?? 0) + stage.end - stage.begin);
  const names = [...total].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  return new Map(names.map((name, i) => [name, known.includes(name) ? colour_of(name) : colour(i)]));
}

// A row for each run: its stages as boxes, to scale.
function Lanes({ all, colours, hidden, toggle, from, to, shift }: { all: Outline[]; colours: Map<string, string>; hidden: ReadonlySet<number>; toggle: (place: number) => void; from: number; to: number; shift: number[] }) {
  const share = (at: number): number => ((at - from) / (to - from)) * 100;
  const step = tick_step(to - from, 6);
  const ticks: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push(at);
  return (
    <div class="lanes">
      {all.map((run, place) => (
        <div key={place} class={hidden.has(place) ? "lane off" : "lane"}>
          <button class="ghost" aria-pressed={!hidden.has(place)} title={`${cut(run.path, 200)}\nShow or hide this run`} onClick={() => toggle(place)}>
            <i class="swatch" style={{ background: colour(place) }} />{run.label}
          </button>
          <div class="lane-track" role="img" aria-label={`${run.label}: ${run.stages.slice(0, 12).map((s) => `${cut(s.name, 40)} ${format_ns(s.end - s.begin)}`).join(", ")}`}>
            {ticks.map((at) => <u key={at} style={{ left: `${share(at)}%` }} />)}
            <b style={{ left: `${share(-shift[place]!)}%`, width: `${share(run.wall_ns - shift[place]!) - share(-shift[place]!)}%` }} />
            {run.stages
              .filter((stage) => share(stage.end) - share(stage.begin) > 0.02)
              .map((stage, i) => (
                <i
                  key={i}
                  style={{ left: `${share(stage.begin - shift[place]!)}%`, width: `${share(stage.end) - share(stage.begin)}%`, background: colours.get(stage.name)! }}
                  title={`${cut(stage.name, 80)}: ${format_ns(stage.end - stage.begin)}, from ${format_ns(stage.begin)}`}
                />
              ))}
          </div>
          <span class="lane-end">{format_ns(run.wall_ns)}</span>
        </div>
      ))}
      <div class="lane axis" aria-hidden="true">
        <span />
        <div class="lane-track">{ticks.map((at) => <s key={at} style={{ left: `${share(at)}%` }}>{format_tick(at, step)}</s>)}</div>
        <span class="lane-end" />
      </div>
    </div>
  );
}

// Boxes are too narrow for words.
function StageLegend({ colours }: { colours: Map<string, string> }) {
  const all = [...colours];
  return (
    <ul class="legend">
      {all.slice(0, 12).map(([name, hue]) => <li key={name}><i class="swatch" style={{ background: hue }} />{cut(name, 40)}</li>)}
      {all.length > 12 && <li>{format_count(all.length - 12)} more</li>}
    </ul>
  );
}

function step_lines(shown: Shown[], by_step: boolean): Line[] {
  return shown
    .filter(({ run }) => run.step.length > 0)
    .map(({ run, place, shift }) => ({
      name: run.label,
      at: by_step ? Float64Array.from(run.step, (_, i) => i) : run.step_begin.map((at) => at - shift),
      value: run.step,
      colour: place % 8,
    }));
}

interface MetricLines {
  title: string;
  unit: string;
  lines: Line[];
}
function metric_lines(shown: Shown[]): MetricLines[] {
  const out = new Map<string, MetricLines>();
  for (const { run, place, shift } of shown) {
    for (const one of run.series) {
      const values = shown_values({ id: 0, name: one.metric, pid: null, ...one });
      const title = `${metric_title(one.metric)}${one.entity === "tree" ? "" : ", first GPU"}`;
      const chart = out.get(title) ?? out.set(title, { title, unit: values.unit, lines: [] }).get(title)!;
      chart.lines.push({ name: run.label, at: values.at.map((at) => at - shift), value: values.value, colour: place % 8 });
    }
  }
  return [...out.values()];
}

const peak = (run: Outline): number | null => {
  const memory = run.series.find((one) => one.metric === "rss_bytes")?.value;
  return memory && memory.length > 0 ? memory.reduce((most, value) => Math.max(most, value), 0) : null;
};

export function OverlayView({ page }: { page: Page }) {
  const { runs: all, left_out } = page.outlines!;
  const [stage, set_stage] = useState("");
  const [by_step, set_by_step] = useState(true);
  const [hidden, set_hidden] = useState<ReadonlySet<number>>(new Set());
  const toggle = (place: number): void => {
    const next = new Set(hidden);
    if (!next.delete(place) && hidden.size < all.length - 1) next.add(place); // one stays
    set_hidden(next);
  };
  const colours = useMemo(() => stage_colours(all, page.names), [all, palette.value]);
  const common = useMemo(() => common_stages(all), [all]);
  const shift = useMemo(() => shifts(all, stage), [all, stage]);
  const shown = useMemo(() => all.map((run, place) => ({ run, place, shift: shift[place]! })).filter(({ place }) => !hidden.has(place)), [all, shift, hidden]);
  const from = Math.min(0, ...shift.map((s) => -s));
  const to = Math.max(1, ...all.map((run, i) => run.wall_ns - shift[i]!));
  const steps = useMemo(() => step_lines(shown, by_step), [shown, by_step]);
  const metrics = useMemo(() => metric_lines(shown), [shown]);
  const most_steps = Math.max(1, ...steps.map((line) => line.value.length - 1));
  const largest = common.map((name) => ({ name, ns: Math.max(...all.map((run) => time_of_stage(run, name) ?? 0)) })).sort((a, b) => b.ns - a.ns).slice(0, 4);
  return (
    <>
      <Section title="Stages over time" note={left_out > 0 ? `${all.length} of ${format_count(all.length + left_out)} runs: the first of each side` : "all runs on one axis"}>
        {common.length > 0 && (
          <label class="field">
            Line up at
            <select value={stage} onChange={(event) => set_stage((event.target as HTMLSelectElement).value)}>
              <option value="">the start of the run</option>
              {common.slice(0, 50).map((name) => <option key={name} value={name}>the start of {cut(name, 60)}</option>)}
            </select>
          </label>
        )}
        <Lanes all={all} colours={colours} hidden={hidden} toggle={toggle} from={from} to={to} shift={shift} />
        <StageLegend colours={colours} />
      </Section>
      {all.some((run) => run.step.length > 0) && (
        <Section
          title="Steps"
          note={
            <span class="choice">
              {([["by number", true], ["over time", false]] as const).map(([word, value]) => <button key={word} class="ghost" aria-pressed={by_step === value} onClick={() => set_by_step(value)}>{word}</button>)}
            </span>
          }
        >
          <Chart title={by_step ? "Time of each step, by number" : "Time of each step, over time"} unit="ns" height={240} lines={steps} x={by_step ? "index" : "time"} begin={by_step ? 0 : from} end={by_step ? most_steps : to} />
          {all.some((run) => run.steps > run.step.length) && <p class="hint">The first {format_count(Math.max(...all.map((run) => run.step.length)))} steps of each run are drawn.</p>}
        </Section>
      )}
      {metrics.length > 0 && (
        <Section title="Machine">
          <div class="charts">{metrics.map((one) => <Chart key={one.title} {...one} begin={from} end={to} height={180} />)}</div>
        </Section>
      )}
      <Section title="Runs in figures">
        <Table
          caption="Runs in figures"
          rows={all}
          columns={[
            words("Run", (run: Outline) => run.label, (run) => <><b>{run.label}</b> <small>{cut(run.name, 40)}</small></>),
            measured("Wall time", (run: Outline) => run.wall_ns, (v) => format_unit(v, "ns")),
            ...largest.map(({ name }) => minor(measured(cut(name, 40), (run: Outline) => time_of_stage(run, name), (v) => format_unit(v, "ns")))),
            measured("Median step", (run: Outline) => median(run.step), (v) => format_unit(v, "ns")),
            minor(measured("Steps", (run: Outline) => run.steps, (v) => (v ? format_count(v) : "–"))),
            minor(measured("Peak memory, sampled", peak, (v) => format_unit(v, "bytes"))),
          ]}
        />
      </Section>
    </>
  );
}
