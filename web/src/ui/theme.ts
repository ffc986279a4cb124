// Colours of the style sheet for canvases, read once per theme.
import type { Colours } from "../timeline/draw";
import { dark } from "./state";

const known = new Map<boolean, Colours>();

export function theme_colours(): Colours {
  const now = dark.value;
  const wanted = now ? "dark" : "light";
  const found = known.get(now);
  if (found) return found;
  if (document.documentElement.dataset["theme"] !== wanted) document.documentElement.dataset["theme"] = wanted;
  const style = getComputedStyle(document.documentElement);
  const read = (name: string): string => style.getPropertyValue(name).trim();
  const made: Colours = {
    text: read("--text"),
    soft: read("--soft"),
    line: read("--line"),
    back: read("--card"),
    panel: read("--back"),
    accent: read("--accent"),
    series: read("--series"),
    bad: read("--bad"),
    over: read("--over"),
    under: read("--under"),
  };
  known.set(now, made);
  return made;
}
