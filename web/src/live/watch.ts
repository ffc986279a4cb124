// The run that this page is about: what is known of it, and when it is asked for. The picture changes at
// most four times a second, not at all in a hidden tab or while it is frozen; readings go on coming in.
import type { JsonObject } from "../data/container";
import { batch, signal } from "../ui/signals";
import { marks, page, read_hash, select, show_all, tab, view, write_hash } from "../ui/state";
import { fetch_page, fetch_runs, follow, link_of, type Link, type RunEntry } from "./client";
import { add_tick, seed, type Store } from "./series";
import { add_steps, note_changes, read_tick, type Seen, type StepHistory, type Tick } from "./tick";

export const link = signal<Link>("connecting");
export const entry = signal<RunEntry | null>(null);
export const shown = signal<Tick | null>(null); // the picture
export const newest_ns = signal(0);
export const frozen = signal(false);
export const running = signal(false);
export const ended = signal<{ exit_code: number | null } | null>(null); // while this page looked on
export const fetching = signal(false);
export const fetched_at = signal(0); // ms, of performance.now()
export const trouble = signal(""); // why there is no newer report

export const store: Store = new Map();
export const seen: Seen = new Map();
export const steps: StepHistory = { pid: null, number: [], seconds: [] };

const kPicture_ms = 250;
const kRetry_ms = 2000;
const kYoung_ms = 60_000;
export const kRefresh_ms = 10_000;

let latest: Tick | null = null;
let waiting = false;

function publish(): void {
  waiting = false;
  if (!frozen.value && !document.hidden) shown.value = latest;
}

export function freeze(on: boolean): void {
  frozen.value = on;
  if (!on) publish();
  leave_live();
}

// The report takes the place of the live section, once it is whole and nobody holds on to the picture.
function leave_live(): void {
  if (!ended.value || frozen.value || fetching.value) return;
  batch(() => {
    running.value = false;
    if (tab.value === "live") tab.value = "summary";
  });
}

// Places in the report mean something only once it is there; all else of the address was read before.
const address = new URLSearchParams(location.hash.slice(1));
function take_places(): void {
  const now = new URLSearchParams(write_hash().slice(1));
  for (const key of ["view", "span", "range"]) if (address.has(key)) now.set(key, address.get(key)!);
  read_hash(now.toString());
}

async function load(id: string): Promise<void> {
  fetching.value = true;
  try {
    const next = await fetch_page(id);
    const first = page.value === null;
    const whole = view.value.begin === 0 && view.value.end === page.value?.end_ns;
    seed(store, next.counters);
    batch(() => {
      // A span is told by its place, which may have changed.
      select(null);
      page.value = next;
      trouble.value = "";
      if (whole || first) show_all();
      if (first) take_places();
    });
  } catch (error) {
    if (link_of(error) === "refused") link.value = "refused";
    trouble.value = error instanceof Error && error.message ? error.message : "the server does not answer";
  }
  fetching.value = false;
  fetched_at.value = performance.now();
}

// One after the other: the last one asked for is the newest.
let queue = Promise.resolve();
export const refresh = (id: string): Promise<void> => (queue = queue.then(() => load(id)));

// Asks until there is a report: a run that has just begun may have none, a server may be away.
async function refresh_until(id: string, pause_ms: number): Promise<void> {
  await refresh(id);
  while (trouble.value !== "" && (ended.value || !running.value || !page.value)) {
    await new Promise((done) => setTimeout(done, pause_ms));
    await refresh(id);
  }
}

function begin(): void {
  if (running.value) return;
  batch(() => {
    running.value = true;
    tab.value = address.get("tab") ?? "live";
  });
}

function stream(id: string): void {
  follow(id, {
    link: (state) => (link.value = state),
    tick: (raw: JsonObject) => {
      if (raw["in_progress"] === true) begin();
      latest = read_tick(raw);
      note_changes(seen, latest);
      add_steps(steps, latest);
      add_tick(store, latest.at_ns, latest.values);
      newest_ns.value = latest.at_ns;
      if (waiting) return;
      waiting = true;
      setTimeout(publish, kPicture_ms);
    },
    end: (exit_code) => {
      if (!running.value) {
        // It was over before this page was opened; or it is only beginning, and records nothing yet.
        if (Date.now() - Date.parse(entry.value?.started ?? "") < kYoung_ms) setTimeout(() => stream(id), kRetry_ms);
        return;
      }
      ended.value = { exit_code };
      link.value = "live";
      void refresh_until(id, kRetry_ms).then(leave_live);
    },
  });
}

export async function watch(id: string): Promise<void> {
  const asked = address.get("tab");
  for (;;) {
    try {
      entry.value = (await fetch_runs()).find((run) => run.id === id) ?? null;
      break;
    } catch (error) {
      link.value = link_of(error);
      await new Promise((done) => setTimeout(done, kRetry_ms));
    }
  }
  document.addEventListener("visibilitychange", publish);
  if (asked === "live") tab.value = "summary";
  if (entry.value?.in_progress) begin();
  // Without an exit code it may be just beginning: the stream says.
  if (entry.value?.exit_code === null) stream(id);
  await refresh_until(id, entry.value?.in_progress ? kRefresh_ms : kRetry_ms);
}

export function mark_now(note: string): void {
  const at = Math.round(shown.value?.at_ns ?? 0);
  marks.value = [...marks.value, { begin: at, end: at + 1, note: note.slice(0, 200) }];
}
