// What the live page makes of ticks: series that are seeded, grow and are thinned; progress; ranks.
import { describe, expect, it } from "vitest";

import type { JsonObject } from "../../src/data/container";
import type { Counter } from "../../src/data/page";
import { add_tick, append, group_series, lines_of, seed, type Series, type Store } from "../../src/live/series";
import { exit_text, state_text } from "../../src/live/exit";
import { add_steps, kMostSteps, note_changes, rank_cells, read_tick, stage_rows, type Seen, type StepHistory } from "../../src/live/tick";

const s = 1e9;
const value = (name: string, v: number | null, entity: string | null = null, metric: string | null = null): JsonObject => ({ name, entity, metric, unit: null, value: v });
const counter = (name: string, at: number[], values: number[], entity: string | null = null, metric: string | null = null): Counter => ({ id: 0, name, entity, metric, unit: "", pid: 1, at: Float64Array.from(at), value: Float64Array.from(values) });
const points = (series: Series | undefined): [number, number][] => Array.from({ length: series?.n ?? 0 }, (_, i) => [series!.at[i]! / s, series!.value[i]!]);
const only = (store: Store): Series => {
  expect(store.size).toBe(1);
  return [...store.values()][0]!;
};

describe("Series", () => {
  it("TicksGoOnWhereThePageEnds", () => {
    const store: Store = new Map();
    add_tick(store, 2 * s, [value("loss", 7)]);
    add_tick(store, 3 * s, [value("loss", 8)]);
    seed(store, [counter("loss", [0, 1 * s, 2.5 * s], [1, 2, 3])]);
    add_tick(store, 4 * s, [value("loss", 9)]);
    expect(points(only(store))).toEqual([[0, 1], [1, 2], [2.5, 3], [3, 8], [4, 9]]);
  });
  it("WhatAStreamRepeatsIsKnownAlready", () => {
    const store: Store = new Map();
    for (const at of [1, 2, 3, 2, 3, 4]) add_tick(store, at * s, [value("x", at)]);
    expect(points(only(store)).map(([at]) => at)).toEqual([1, 2, 3, 4]);
  });
  it("NullIsNoReading", () => {
    const store: Store = new Map();
    add_tick(store, 1 * s, [value("x", null)]);
    expect(only(store).n).toBe(0);
  });
  it("ACounterThatGrowsIsARateAndAResetAGap", () => {
    const store: Store = new Map();
    const cpu = (at: number, ns: number): void => add_tick(store, at * s, [value("tree/cpu_ns", ns, "tree", "cpu_ns")]);
    [[1, 5 * s], [2, 7 * s], [3, 9 * s], [4, 1 * s], [5, 2 * s]].forEach(([at, ns]) => cpu(at!, ns!));
    const series = only(store);
    expect(series.unit).toBe("cores");
    expect(points(series)).toEqual([[2, 2], [3, 2], [4, NaN], [5, 1]]);
  });
  it("ARateGoesOnFromTheLastReadingOfThePage", () => {
    const store: Store = new Map();
    seed(store, [counter("tree/cpu_ns", [0, 1 * s, 2 * s], [0, 1 * s, 2 * s], "tree", "cpu_ns")]);
    add_tick(store, 2.1 * s, [value("tree/cpu_ns", 2.1 * s, "tree", "cpu_ns")]); // too near to say
    add_tick(store, 4 * s, [value("tree/cpu_ns", 6 * s, "tree", "cpu_ns")]);
    expect(points(only(store))).toEqual([[1, 1], [2, 1], [4, 2]]);
  });
  it("CountersOfOneNameAreToldApartByTheirOrder", () => {
    const store: Store = new Map();
    seed(store, [counter("loss", [0], [1]), counter("loss", [0], [5])]);
    add_tick(store, 1 * s, [value("loss", 2), value("loss", 6)]);
    expect([...store.values()].map((series) => points(series).map(([, v]) => v))).toEqual([[1, 2], [5, 6]]);
  });
  it("OldReadingsAreThinnedTenfoldAndPeaksStay", () => {
    const series = ((): Series => {
      const store: Store = new Map();
      add_tick(store, 0, [value("x", 1)]);
      return only(store);
    })();
    const hours = 24 * 3600;
    for (let i = 1; i <= hours; ++i) append(series, i * s, i === 777 ? 99 : i === 80_000 ? NaN : 1 + (i % 2));
    expect(series.n).toBeLessThan(10_000);
    const all = points(series);
    expect(all.every(([at], i) => i === 0 || at > all[i - 1]![0])).toBe(true);
    expect(all.some(([at, v]) => at === 777 && v === 99)).toBe(true);
    // The last ten minutes are whole.
    expect(all.filter(([at]) => at > hours - 600).length).toBe(600);
    expect(all[all.length - 1]).toEqual([hours, 1]);
  });
  it("AFastCounterStaysBounded", () => {
    const store: Store = new Map();
    const n = 200_000;
    seed(store, [counter("x", Array.from({ length: n }, (_, i) => i * 1e6), Array.from({ length: n }, (_, i) => (i === 1234 ? 50 : i % 7)))]);
    expect(only(store).n).toBeLessThan(14_000);
    expect(Math.max(...points(only(store)).map(([, v]) => v))).toBe(50);
  });
  it("EntitiesOfAKindShareAChart", () => {
    const store: Store = new Map();
    const entities = ["GPU-a", "GPU-b", "0000:01:00.0", "own card", "tree", "machine", "cgroup:/x", "package-0", "genscope", "mine"];
    add_tick(store, 1, [...entities.map((e) => value(`${e}/power_watts`, 1, e, "power_watts")), value("machine/cpu_count", 2, "machine", "cpu_count"), value("latent", 1), value("latent", 2)]);
    const groups = group_series(store, ["own card"]);
    expect(groups.map((g) => [g.title, g.readings.length, g.readings[0]!.series.length])).toEqual([
      ["GPUs", 1, 4], ["This run", 1, 1], ["Counters of the program", 1, 2], ["Machine", 2, 1],
      ["Other probes", 1, 1], ["CPU packages", 1, 1], ["Control group", 1, 1], ["genscope itself", 1, 1],
    ]);
  });
});

const process = (pid: number, more: JsonObject = {}): JsonObject => ({ pid, rank: pid, alive: true, stage: "denoise", steps_done: 5, steps_total: 20, step_seconds: 1, eta_seconds: 15, last_stage: "encode", dropped_spans: 0, ...more });
const tick_of = (at: number, ...processes: JsonObject[]) => read_tick({ at_ns: at * s, processes, values: [], steps: [], alerts: [] });

describe("Lines", () => {
  const filled = (n: number): Series[] => {
    const store: Store = new Map();
    for (const at of [1, 2, 3]) add_tick(store, at * s, Array.from({ length: n }, (_, k) => value("x", at * 10 + k)));
    return [...store.values()];
  };
  it("EndAtTheMomentThatIsShown", () => {
    const lines = lines_of(filled(2), 2.5 * s, (_, i) => `line ${i}`);
    expect(lines.map((l) => [l.name, [...l.value]])).toEqual([["line 0", [10, 20]], ["line 1", [11, 21]]]);
  });
  it("TooManyBecomeTheirMeanLeastAndMost", () => {
    const series = filled(9);
    append(series[4]!, 2.5 * s, NaN);
    const lines = lines_of(series, 3 * s, () => "");
    expect(lines.map((l) => [l.name, ...l.value])).toEqual([["mean of 9", 14, 24, 34], ["least", 10, 20, 30], ["most", 18, 28, 38]]);
  });
});

describe("Tick", () => {
  it("WhatIsMissingOrStrangeIsNull", () => {
    expect(read_tick({})).toEqual({ at_ns: 0, processes: [], values: [], steps: [], steps_pid: null, steps_ended: null, alerts: [] });
    const tick = read_tick({ at_ns: "x", processes: [{ pid: 3, rank: null, stage: 5, eta_seconds: null }, 7], steps: [1, null, "2", 3], alerts: [{ text: "hot" }] });
    expect(tick.processes[0]).toMatchObject({ pid: 3, rank: null, stage: null, eta_seconds: null, alive: false });
    expect(tick.steps).toEqual([1, 3]);
    expect(tick.alerts).toEqual([{ severity: "info", text: "hot" }]);
  });
  it("ProcessesOfOneStageAreOneRow", () => {
    const rows = stage_rows(tick_of(1, process(0), process(1, { steps_done: 3, eta_seconds: 17, step_seconds: 2 }), process(2, { stage: "decode", steps_total: null, eta_seconds: null }), process(3, { alive: false }), { pid: 9, alive: true }).processes);
    expect(rows.map((r) => [r.stage, r.processes.length, r.least, r.most, r.total, r.step_seconds, r.eta_seconds])).toEqual([
      ["denoise", 2, 3, 5, 20, 1.5, 17],
      ["decode", 1, 5, 5, null, 1, null],
    ]);
  });
  it("ARankIsOkSlowStalledEndedOrLost", () => {
    const seen: Seen = new Map();
    const at = (now: number): string[] => {
      const tick = tick_of(now, process(0, { steps_done: now }), process(1, { steps_done: now, step_seconds: 1.19 }), process(2, { steps_done: now, step_seconds: 1.3 }), process(3), process(4, { alive: false, stage: null }), process(5, { alive: false }), process(6, { steps_done: now }));
      note_changes(seen, tick);
      return rank_cells(tick, seen).map((c) => c.state);
    };
    expect(at(1)).toEqual(["ok", "ok", "slow", "ok", "ended", "lost", "ok"]);
    expect(at(6)).toEqual(["ok", "ok", "slow", "ok", "ended", "lost", "ok"]);
    expect(at(7)).toEqual(["ok", "ok", "slow", "stalled", "ended", "lost", "ok"]);
  });
  it("RanksStandInTheirOrder", () => {
    expect(rank_cells(tick_of(1, process(2), process(0), process(1)), new Map()).map((c) => c.rank)).toEqual([0, 1, 2]);
  });
  it("AStateOfTheListAsTheCommandHasIt", () => {
    expect(["ok", "failed (exit 3)", "killed (SIGKILL)", "interrupted", "cut off", ""].map((s) => state_text(s, null))).toEqual([
      ["ended", "✓ ok"], ["failed", "✖ failed (exit 3)"], ["failed", "✖ killed (SIGKILL)"], ["failed", "✖ interrupted"], ["unknown", "? cut off"], ["unknown", "? unknown"],
    ]);
  });
  it("AnExitCodeInWords", () => {
    expect([null, 0, 1, 137, 255].map((code) => exit_text(code)[1])).toEqual(["? unknown", "✓ ended 0", "✖ failed 1", "✖ killed, signal 9", "✖ failed 255"]);
  });
});

describe("Steps", () => {
  const tick = (pid: number, ended: number | null, seconds: number[]) => read_tick({ steps: seconds, steps_pid: pid, steps_ended: ended });
  const empty = (): StepHistory => ({ pid: null, number: [], seconds: [] });
  it("AreNumberedAndKept", () => {
    const history = empty();
    add_steps(history, tick(1, 2, [0.1, 0.2]));
    add_steps(history, tick(1, 4, [0.1, 0.2, 0.3, 0.4]));
    add_steps(history, tick(1, 4, [0.2, 0.3, 0.4]));
    expect(history).toEqual({ pid: 1, number: [1, 2, 3, 4], seconds: [0.1, 0.2, 0.3, 0.4] });
    // Between two ticks more ended than one brings: those are missing, and the numbers say so.
    add_steps(history, tick(1, 9, [0.8, 0.9]));
    expect(history.number).toEqual([1, 2, 3, 4, 8, 9]);
  });
  it("OfAnotherProcessBeginAnew", () => {
    const history = empty();
    add_steps(history, tick(1, 2, [0.1, 0.2]));
    add_steps(history, tick(2, 1, [0.5]));
    expect(history).toEqual({ pid: 2, number: [1], seconds: [0.5] });
  });
  it("WithoutNumbersAreThoseOfTheTick", () => {
    const history = empty();
    add_steps(history, tick(1, null, [0.1, 0.2]));
    add_steps(history, tick(1, null, [0.2, 0.3]));
    expect(history.seconds).toEqual([0.2, 0.3]);
  });
  it("AreBounded", () => {
    const history = empty();
    for (let n = 1; n <= kMostSteps + 50; ++n) add_steps(history, tick(1, n, [n]));
    expect(history.number.length).toBe(kMostSteps);
    expect(history.number[kMostSteps - 1]).toBe(kMostSteps + 50);
  });
  it("TheSpreadIsThatOfTheLastToBeReady", () => {
    const process = (eta: number | null, low: number | null, high: number | null): JsonObject => ({ alive: true, stage: "denoise", steps_done: 1, eta_seconds: eta, eta_low_seconds: low, eta_high_seconds: high });
    const row = (...processes: JsonObject[]) => stage_rows(read_tick({ processes }).processes)[0]!;
    expect(row(process(10, 9, 12), process(14, 8, 15), process(null, null, null))).toMatchObject({ eta_seconds: 14, eta_low_seconds: 9, eta_high_seconds: 15 });
    expect(row(process(10, 9, 12), process(14, null, null))).toMatchObject({ eta_seconds: 14, eta_low_seconds: null, eta_high_seconds: null });
  });
});
