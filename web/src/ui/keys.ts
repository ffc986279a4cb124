// The keyboard: one table for the handler, the help dialog and the buttons.
import { page, dialog, fit_selection, go_back, mark_range, next_hit, next_theme, pan, pins, select, selection, show_all, tab, toggled, zoom, clear } from "./state";
import { neighbour } from "../data/search";

export const kGroups = ["Timeline", "Search", "Page"];
type Command = [key: string, label: string, group: number, run: () => void];

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
  ["w", "Zoom in", 0, () => zoom(1 / 1.5)],
  ["s", "Zoom out", 0, () => zoom(1.5)],
  ["a", "Move left", 0, () => pan(-0.2)],
  ["d", "Move right", 0, () => pan(0.2)],
  ["f", "Fit the selection", 0, fit_selection],
  ["0", "Whole run", 0, show_all],
  ["[", "Span before", 0, () => step_span(-1)],
  ["]", "Span after", 0, () => step_span(1)],
  [",", "View before", 0, () => go_back(-1)],
  [".", "View after", 0, () => go_back(1)],
  ["g", "Go to a time", 0, () => (dialog.value = "goto")],
  ["m", "Mark the range", 0, () => mark_range("")],
  ["p", "Pin the track", 0, pin_selected],
  ["/", "Search", 1, focus_search],
  ["n", "Next hit", 1, () => next_hit(1)],
  ["N", "Hit before", 1, () => next_hit(-1)],
  ["t", "Light or dark", 2, next_theme],
  ["?", "This help", 2, () => (dialog.value = "help")],
  ["Escape", "Close, clear", 2, clear],
];

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
  const [, , group, run] = kCommands.find(([key]) => key === event.key) ?? [];
  if (!run || (group === 0 && tab.value !== "timeline")) return;
  event.preventDefault();
  run();
}

