// Search and buttons above the timeline; every key of the help dialog has one here or there.
import { format_count, format_ns } from "../data/format";
import type { Page } from "../data/page";
import { all_counters, as_table, dialog, fit_selection, go_back, hit, hits, mark_range, marks, next_hit, pan, query, range, show_all, view, zoom } from "../ui/state";
import { Icon } from "../ui/icons";

function Button({ label, hint, icon, run }: { label: string; hint: string; icon: string; run: () => void }) {
  return (
    <button class="icon" title={`${label} (${hint})`} aria-label={label} onClick={run}>
      <Icon name={icon} />
    </button>
  );
}

export function Toolbar({ page }: { page: Page }) {
  const found = hits.value;
  return (
    <div class="toolbar" role="toolbar" aria-label="Timeline">
      <div class="search">
        <Icon name="search" />
        <input
          id="search"
          type="search"
          placeholder="Search spans   /"
          aria-label="Search spans by name"
          value={query.value}
          onInput={(event) => {
            query.value = event.currentTarget.value;
            hit.value = -1;
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter") next_hit(event.shiftKey ? -1 : 1);
          }}
        />
        {query.value !== "" && (
          <span class="hits" role="status">
            {found.refs.length === 0 ? "none" : `${hit.value >= 0 ? `${hit.value + 1} of ` : ""}${format_count(found.count)}`}
          </span>
        )}
      </div>
      <div class="buttons">
        <Button label="Hit before" hint="N" icon="up" run={() => next_hit(-1)} />
        <Button label="Next hit" hint="n" icon="down" run={() => next_hit(1)} />
      </div>
      <div class="buttons">
        <Button label="Zoom in" hint="w" icon="plus" run={() => zoom(1 / 1.5)} />
        <Button label="Zoom out" hint="s" icon="minus" run={() => zoom(1.5)} />
        <Button label="Move left" hint="a" icon="left" run={() => pan(-0.2)} />
        <Button label="Move right" hint="d" icon="right" run={() => pan(0.2)} />
        <Button label="Fit the selection" hint="f" icon="fit" run={fit_selection} />
        <Button label="Whole run" hint="0" icon="whole" run={show_all} />
      </div>
      <div class="buttons">
        <Button label="View before" hint="," icon="back" run={() => go_back(-1)} />
        <Button label="View after" hint="." icon="forth" run={() => go_back(1)} />
        <Button label="Go to a time" hint="g" icon="clock" run={() => (dialog.value = "goto")} />
        <Button label="Mark the range" hint="m" icon="mark" run={() => mark_range("")} />
      </div>
      <button aria-pressed={as_table.value} onClick={() => (as_table.value = !as_table.value)}>Table</button>
      {page.counters.length > 0 && (
        <label class="check">
          <input type="checkbox" checked={all_counters.value} onChange={(event) => (all_counters.value = event.currentTarget.checked)} /> all {page.counters.length} counters
        </label>
      )}
      <span class="window">
        {format_ns(view.value.end - view.value.begin)} shown
        {marks.value.length > 0 && `, ${marks.value.length} marked`}
        {range.value && `, ${format_ns(range.value.end - range.value.begin)} selected`}
      </span>
    </div>
  );
}
