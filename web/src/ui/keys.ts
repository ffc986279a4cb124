// The keyboard: one table for the handler, the help dialog and the buttons.
import { page, dialog, fit_selection, go_back, mark_range, next_hit, next_theme, pan, pins, select, selection, show_all, tab, toggled, zoom, clear } from "./state";
import { neighbour } from "../data/search";

export interface Command {
  keys: string[];
  label: string;
  group: "Timeline" | "Search" | "Page";
  run: () => void;
}

export function focus_search(): void {
  if (!document.querySelector("#search")) tab.value = "timeline";
  setTimeout(() => document.querySelector<HTMLInputElement>("#search")?.focus(), 0);
}

function step_span(direction: 1 | -1): void {
  const here = selection.value;
  const track = here ? page.value?.tracks[here.track] : page.value?.tracks.find((t) => t.spans > 0);
  if (!track) return;
  const lane = track.rows.findIndex((row) => row.begin.length > 0);
  const next = here ? neighbour(track, here, direction) : { track: track.id, lane, place: 0 };
  if (next) select(next, true);
}

function pin_selected(): void {
  if (selection.value) pins.value = toggled(pins.value, `t${selection.value.track}`);
}

export const kCommands: Command[] = [
  { keys: ["w"], label: "Zoom in", group: "Timeline", run: () => zoom(1 / 1.5) },
  { keys: ["s"], label: "Zoom out", group: "Timeline", run: () => zoom(1.5) },
  { keys: ["a"], label: "Move left", group: "Timeline", run: () => pan(-0.2) },
  { keys: ["d"], label: "Move right", group: "Timeline", run: () => pan(0.2) },
  { keys: ["f"], label: "Fit the selection", group: "Timeline", run: fit_selection },
  { keys: ["0"], label: "Whole run", group: "Timeline", run: show_all },
  { keys: ["["], label: "Span before", group: "Timeline", run: () => step_span(-1) },
  { keys: ["]"], label: "Span after", group: "Timeline", run: () => step_span(1) },
  { keys: [","], label: "View before", group: "Timeline", run: () => go_back(-1) },
  { keys: ["."], label: "View after", group: "Timeline", run: () => go_back(1) },
  { keys: ["g"], label: "Go to a time", group: "Timeline", run: () => (dialog.value = "goto") },
  { keys: ["m"], label: "Mark the range", group: "Timeline", run: () => mark_range("") },
  { keys: ["p"], label: "Pin the track", group: "Timeline", run: pin_selected },
  { keys: ["/"], label: "Search", group: "Search", run: focus_search },
  { keys: ["n"], label: "Next hit", group: "Search", run: () => next_hit(1) },
  { keys: ["N"], label: "Hit before", group: "Search", run: () => next_hit(-1) },
  { keys: ["t"], label: "Light or dark", group: "Page", run: next_theme },
  { keys: ["?"], label: "This help", group: "Page", run: () => (dialog.value = "help") },
  { keys: ["Escape"], label: "Close, clear", group: "Page", run: clear },
];

const kTimelineTab = new Set(["w", "s", "a", "d", "f", "0", "[", "]", ",", ".", "g", "m", "p"]);

export function handle_key(event: KeyboardEvent, tabs: string[]): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target as HTMLElement | null;
  const typing = target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
  if (typing) {
    if (event.key === "Escape") target.blur();
    return;
  }
  if (dialog.value && event.key !== "Escape") return;
  if (/^[1-9]$/.test(event.key)) {
    const wanted = tabs[Number(event.key) - 1];
    if (wanted) tab.value = wanted;
    return;
  }
  const command = kCommands.find((c) => c.keys.includes(event.key));
  if (!command) return;
  if (kTimelineTab.has(event.key) && tab.value !== "timeline") return;
  event.preventDefault();
  command.run();
}

