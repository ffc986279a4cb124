// The dashboard of a run in progress.
import { signal } from "../ui/signals";
import { useEffect, useMemo } from "preact/hooks";

import { cut, format_count, format_ns, format_ratio, unit_of } from "../data/format";
import type { Counter } from "../data/page";
import { metric_title, shown_values } from "../data/rates";
import { Head } from "../ui/app";
import { Chart } from "../ui/chart";
import { Dialogs } from "../ui/dialog";
import { handle_key } from "../ui/keys";
import { Bar, Empty, Section, Severity } from "../ui/parts";
import { palette } from "../ui/state";
import { figure, said, Table } from "../ui/table";
import { connect, type LiveSeries, type LiveState } from "./client";

const shown = signal<LiveState | null>(null);
const link = signal<"connecting" | "live" | "lost" | "refused">("connecting");
const paused = signal(false);

const kLinks = { connecting: "connecting…", live: "● live", lost: "▲ lost, trying again", refused: "✖ refused: the address lacks its token" };
const kRankGlyphs: { [state: string]: string } = { ok: "✓", slow: "▲", stalled: "■", ended: "–", lost: "✖" };
const kWorth = /^(busy_ratio|memory_used_bytes|tree_memory_bytes|power_watts|temperature_celsius|cpu_ns|rss_bytes|cpu_busy_ratio)$/;

function LiveChart({ series, now }: { series: LiveSeries; now: number }) {
  const { lines, unit } = useMemo(() => {
    const counter: Counter = { id: 0, name: "", entity: series.entity, metric: series.metric, unit: series.unit, pid: null, at: Float64Array.from(series.at), value: Float64Array.from(series.value) };
    const values = shown_values(counter);
    return { lines: [{ name: metric_title(series.metric), at: values.at, value: values.value, colour: 0 }], unit: values.unit || unit_of(series.metric) };
  }, [series]);
  return <Chart title={metric_title(series.metric)} detail={series.entity} unit={unit} lines={lines} end={Math.max(1, now)} />;
}

function useStream(): void {
  useEffect(() => {
    let latest: LiveState | null = null;
    let waiting = false;
    // At most four times a second, and not at all behind a hidden tab.
    const publish = (): void => {
      waiting = false;
      if (!paused.value && !document.hidden) shown.value = latest;
    };
    const stop = connect({
      link: (text) => (link.value = text),
      state: (step) => {
        latest = step(latest);
        if (waiting) return;
        waiting = true;
        setTimeout(publish, 250);
      },
    });
    const visible = (): void => publish();
    document.addEventListener("visibilitychange", visible);
    const keys = (event: KeyboardEvent): void => handle_key(event, []);
    addEventListener("keydown", keys);
    return () => {
      stop();
      document.removeEventListener("visibilitychange", visible);
      removeEventListener("keydown", keys);
    };
  }, []);
}

function ProgressList({ state }: { state: LiveState }) {
  if (state.progress.length === 0) return <Empty>No stage has begun.</Empty>;
  return (
    <ul class="progress">
      {state.progress.map((p) => (
        <li key={p.name}>
          <b>{cut(p.name, 60)}</b>
          <Bar share={p.total ? p.done / p.total : 0} colour={palette.value[0]!} />
          <span>{format_count(p.done)}{p.total === null ? "" : ` of ${format_count(p.total)} (${format_ratio(p.done / Math.max(1, p.total))})`}</span>
          <small>{p.eta_ns === null ? "" : `${format_ns(p.eta_ns)} to go`}</small>
        </li>
      ))}
    </ul>
  );
}

export function Live() {
  useStream();
  const state = shown.value;
  const run = state?.report.run;
  return (
    <div class="app live">
      <Head
        title={cut(run?.name || run?.command?.[0]?.split("/").pop() || "genscope", 80)}
        detail={<><span class={`link ${link.value}`} role="status">{kLinks[link.value]}</span>{state && <span>{state.state} for {format_ns(state.at_ns)}</span>}</>}
      />
      <main>
        <div class="toolbar" role="toolbar" aria-label="Live">
          <button aria-pressed={paused.value} onClick={() => (paused.value = !paused.value)}>{paused.value ? "Go on" : "Pause"}</button>
          <a class="button" href={`report.html${location.search}`} download>Download the report now</a>
        </div>
        {!state ? (
          <Section title="Live"><Empty>{link.value === "refused" ? "The server wants the token that genscope printed with the address." : "Waiting for the run…"}</Empty></Section>
        ) : (
          <>
            {state.alerts.length > 0 && (
              <ul class="alerts" aria-label="Alerts">{state.alerts.map((a, i) => <li key={i}><Severity severity={a.severity} /> <b>{cut(a.title, 120)}</b> {cut(a.detail, 240)}</li>)}</ul>
            )}
            <div class="two">
              <Section title="Progress"><ProgressList state={state} /></Section>
              <Section title="Last steps">
                {state.steps.length === 0 ? <Empty>No step has ended.</Empty> : (
                  <Table
                    caption="Last steps"
                    rows={[...state.steps].reverse()}
                    most={8}
                    columns={[
                      figure("index", "#", format_count),
                      said("name", "Name", 40),
                      figure("duration_ns", "Duration", format_ns),
                      figure("at_ns", "At", format_ns),
                    ]}
                  />
                )}
              </Section>
            </div>
            {state.ranks.length > 1 && (
              <Section title="Ranks" note={`${state.ranks.length}`}>
                <ul class="rank-grid">
                  {state.ranks.map((r) => <li key={r.rank} class={/^[a-z]+$/.test(r.state) ? r.state : ""} title={cut(`rank ${r.rank}: ${r.state} ${r.detail}`, 200)}><span aria-hidden="true">{kRankGlyphs[r.state] ?? "?"}</span> {r.rank}<small>{r.step === null ? cut(r.state, 8) : format_count(r.step)}</small></li>)}
                </ul>
              </Section>
            )}
            <Section title="Readings">
              {state.series.length === 0 ? <Empty>No probe has reported.</Empty> : <div class="charts">{state.series.filter((s) => kWorth.test(s.metric)).slice(0, 48).map((s) => <LiveChart key={`${s.entity} ${s.metric}`} series={s} now={state.at_ns} />)}</div>}
            </Section>
          </>
        )}
      </main>
      <Dialogs />
    </div>
  );
}
