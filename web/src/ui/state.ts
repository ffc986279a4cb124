// What the page shows now. One signal per thing; the address carries what should survive a reload.
import { batch, computed, effect, signal } from "./signals";

import { linked } from "../data/flow";
import type { Page } from "../data/page";
import { find_spans, matching_names, view_span, type Hits, type SpanRef } from "../data/search";
import { kDark, kLight, name_colours } from "./palette";

export interface Window {
  begin: number;
  end: number;
}
export interface Mark extends Window {
  note: string;
}
export type Theme = "auto" | "light" | "dark";

export const page = signal<Page | null>(null);
export const tab = signal("summary");
export const theme = signal<Theme>("auto");
export const view = signal<Window>({ begin: 0, end: 1 });
export const selection = signal<SpanRef | null>(null);
export const range = signal<Window | null>(null);
export const query = signal("");
export const hit = signal(-1);
export const pins = signal<ReadonlySet<string>>(new Set());
export const folded = signal<ReadonlySet<string>>(new Set());
export const marks = signal<Mark[]>([]);
export const all_counters = signal(false);
export const as_table = signal(false); // the timeline
export const stage = signal(""); // the row that is open in Stages
export const warm_only = signal(false);
export const dialog = signal<"" | "help" | "goto">("");
export const printing = signal(false);

const system_dark = signal(matchMedia("(prefers-color-scheme: dark)").matches);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => (system_dark.value = event.matches));
export const dark = computed(() => !printing.value && (theme.value === "dark" || (theme.value === "auto" && system_dark.value)));
export const palette = computed(() => (dark.value ? kDark : kLight));
export const colours = computed(() => (page.value ? name_colours(page.value) : new Uint8Array(0)));

export function colour_of(name: string): string {
  const place = page.value?.names.indexOf(name) ?? -1;
  return palette.value[place >= 0 ? colours.value[place]! : 8] ?? "#888";
}

const no_hits: Hits = { count: 0, refs: [] };
export const wanted_names = computed(() =>
  page.value && query.value.trim() !== "" ? matching_names(page.value.names, query.value) : null,
);
export const hits = computed(() => (page.value && wanted_names.value ? find_spans(page.value, wanted_names.value) : no_hits));

const no_links: SpanRef[] = [];
export const links = computed(() => (page.value && selection.value ? linked(page.value, selection.value) : no_links));

// --- The window onto time, and where it was before.
const history: Window[] = [];
let place = -1;
let settle: ReturnType<typeof setTimeout> | undefined;

function remember(): void {
  clearTimeout(settle);
  settle = setTimeout(() => {
    const now = view.value;
    const last = history[place];
    if (last && last.begin === now.begin && last.end === now.end) return;
    history.splice(place + 1);
    history.push(now);
    if (history.length > 100) history.shift();
    place = history.length - 1;
  }, 250);
}

export function set_view(begin: number, end: number): void {
  const whole = page.value?.end_ns ?? 1;
  const margin = whole * 0.02;
  let size = Math.min(Math.max(end - begin, 10), whole + 2 * margin);
  if (!Number.isFinite(size)) size = whole;
  const from = Math.min(Math.max(begin, -margin), whole + margin - size);
  view.value = { begin: from, end: from + size };
  remember();
}
export function go_back(steps: 1 | -1): void {
  const next = history[place + steps];
  if (!next) return;
  place += steps;
  view.value = next;
}
export function show_all(): void {
  set_view(0, page.value?.end_ns ?? 1);
}
export function zoom(factor: number, at?: number): void {
  const { begin, end } = view.value;
  const centre = at ?? (begin + end) / 2;
  set_view(centre - (centre - begin) * factor, centre + (end - centre) * factor);
}
export function pan(share: number): void {
  const { begin, end } = view.value;
  set_view(begin + (end - begin) * share, end + (end - begin) * share);
}
export function fit(window: Window): void {
  const margin = Math.max((window.end - window.begin) * 0.1, 5);
  set_view(window.begin - margin, window.end + margin);
}
export function fit_selection(): void {
  const span = page.value && selection.value ? view_span(page.value, selection.value) : null;
  if (span) fit(span);
  else if (range.value) fit(range.value);
}
// Moves the window only if the span is not well inside it.
export function select(ref: SpanRef | null, reveal = false): void {
  selection.value = ref;
  const span = page.value && ref ? view_span(page.value, ref) : null;
  if (!span || !reveal) return;
  const { begin, end } = view.value;
  const size = end - begin;
  if (span.end - span.begin > size || span.end - span.begin < size / 500) fit({ begin: span.begin - (span.end - span.begin), end: span.end + (span.end - span.begin) });
  else if (span.begin < begin || span.end > end) {
    const centre = (span.begin + span.end) / 2;
    set_view(centre - size / 2, centre + size / 2);
  }
}
export function next_hit(direction: 1 | -1): void {
  const { refs } = hits.value;
  if (refs.length === 0) return;
  hit.value = (hit.value + direction + refs.length) % refs.length;
  select(refs[hit.value] ?? null, true);
}
export function clear(): void {
  batch(() => {
    if (dialog.value) dialog.value = "";
    else if (range.value) range.value = null;
    else if (query.value) {
      query.value = "";
      hit.value = -1;
    } else selection.value = null;
  });
}
export function toggled(set: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const next = new Set(set);
  if (!next.delete(key)) next.add(key);
  return next;
}
export function mark_range(note: string): void {
  const window = range.value ?? view.value;
  marks.value = [...marks.value, { begin: Math.round(window.begin), end: Math.round(window.end), note: note.slice(0, 200) }];
}

// --- The address.
const pair = (text: string | null): Window | null => {
  const [begin, end] = (text ?? "").split("~").map(Number);
  return begin !== undefined && end !== undefined && Number.isFinite(begin) && Number.isFinite(end) && end > begin ? { begin, end } : null;
};

export function write_hash(): string {
  const out = new URLSearchParams();
  out.set("tab", tab.value);
  const whole = page.value?.end_ns ?? 1;
  const { begin, end } = view.value;
  if (begin !== 0 || end !== whole) out.set("view", `${Math.round(begin)}~${Math.round(end)}`);
  if (selection.value) out.set("span", [selection.value.track, selection.value.lane, selection.value.place].join("."));
  if (range.value) out.set("range", `${Math.round(range.value.begin)}~${Math.round(range.value.end)}`);
  if (query.value) out.set("q", query.value);
  if (theme.value !== "auto") out.set("theme", theme.value);
  if (pins.value.size > 0) out.set("pins", [...pins.value].join(","));
  if (folded.value.size > 0 && folded.value.size < 200) out.set("folded", [...folded.value].join(","));
  if (stage.value) out.set("stage", stage.value.slice(0, 200));
  if (warm_only.value) out.set("warm", "1");
  if (all_counters.value) out.set("counters", "all");
  for (const mark of marks.value) out.append("mark", `${mark.begin}~${mark.end}~${mark.note}`);
  return `#${out.toString()}`;
}

// A copy of a page (copy.ts) holds the state that it was saved in.
export const kStateId = "genscope-state";

export function read_hash(hash: string): void {
  const kept = document.getElementById(kStateId)?.textContent ?? "";
  const given = new URLSearchParams((hash || kept).replace(/^#/, ""));
  batch(() => {
    const set = (key: string): ReadonlySet<string> => new Set((given.get(key) ?? "").split(",").filter(Boolean));
    const wanted = given.get("tab");
    if (wanted) tab.value = wanted;
    const window = pair(given.get("view"));
    if (window) set_view(window.begin, window.end);
    const ref = (given.get("span") ?? "").split(".").map(Number);
    if (ref.length === 3 && ref.every(Number.isSafeInteger)) {
      const [track, lane, at] = ref as [number, number, number];
      const candidate = { track, lane, place: at };
      selection.value = page.value && view_span(page.value, candidate) ? candidate : null;
    } else selection.value = null;
    range.value = pair(given.get("range"));
    query.value = given.get("q") ?? "";
    const shade = given.get("theme");
    theme.value = shade === "light" || shade === "dark" ? shade : "auto";
    pins.value = set("pins");
    folded.value = set("folded");
    stage.value = given.get("stage") ?? "";
    warm_only.value = given.get("warm") === "1";
    all_counters.value = given.get("counters") === "all";
    marks.value = given.getAll("mark").flatMap((text) => {
      const [begin, end, ...note] = text.split("~");
      const found = pair(`${begin ?? ""}~${end ?? ""}`);
      return found ? [{ ...found, note: note.join("~") }] : [];
    });
  });
}

// Writes the address a moment after the last change; browsers limit how often it may change.
export function keep_hash(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let known = location.hash;
  effect(() => {
    const hash = write_hash();
    clearTimeout(timer);
    timer = setTimeout(() => {
      // Another address than the known one is about to be read.
      if (location.hash === known && known !== hash) window.history.replaceState(null, "", (known = hash));
    }, 150);
  });
  addEventListener("hashchange", () => {
    known = location.hash;
    if (known !== write_hash()) read_hash(known);
  });
}

export function keep_theme(): void {
  effect(() => {
    document.documentElement.dataset["theme"] = dark.value ? "dark" : "light";
  });
}
export function next_theme(): void {
  theme.value = theme.value === "auto" ? (system_dark.value ? "light" : "dark") : theme.value === "dark" ? "light" : "dark";
}
