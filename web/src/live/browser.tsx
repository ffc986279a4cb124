// The list of runs: what `genscope serve` shows first.
import { useEffect, useMemo } from "preact/hooks";

import { cut, format_bytes, format_count, format_ns } from "../data/format";
import { Head } from "../ui/app";
import { Dialogs } from "../ui/dialog";
import { Icon } from "../ui/icons";
import { handle_key } from "../ui/keys";
import { Empty, Section } from "../ui/parts";
import { signal } from "../ui/signals";
import { query, theme, toggled } from "../ui/state";
import { measured, minor, Table, words, type Column } from "../ui/table";
import { fetch_runs, link_of, type RunEntry } from "./client";
import { state_text } from "./exit";
import { kRefused, LinkText } from "./link_text";
import { link } from "./watch";

const runs = signal<RunEntry[] | null>(null);
const picked = signal<ReadonlySet<string>>(new Set());
const kEvery_ms = 5000;

function ask(): void {
  if (document.hidden) return;
  fetch_runs().then(
    (list) => {
      runs.value = list;
      link.value = "live";
    },
    (error: unknown) => (link.value = link_of(error)),
  );
}

const name_of = (run: RunEntry): string => cut(run.name || run.id, 80);
const state_of = (run: RunEntry): [string, string] => (run.in_progress ? ["running", "● running"] : state_text(run.state, run.exit_code));
const when = (run: RunEntry): string | null => run.started && run.started.slice(0, 19).replace("T", " ");

// Columns that no run fills are left out.
const columns = (all: RunEntry[]): Column<RunEntry>[] => [
  words("Run", name_of, (r) => (
    <span class="run-name">
      <input type="checkbox" aria-label={`Compare ${name_of(r)}, ${cut(r.id, 80)}`} checked={picked.value.has(r.id)} onChange={() => (picked.value = toggled(picked.value, r.id))} />
      <a title={cut(r.headline, 400)} href={`/runs/${encodeURIComponent(r.id)}${location.search}#theme=${theme.value}`}><b>{name_of(r)}</b><small>{cut(r.id, 120)}</small></a>
    </span>
  )),
  words("State", (r) => state_of(r)[1], (r) => <span class={`run-state ${state_of(r)[0]}`}>{state_of(r)[1]}</span>),
  minor(words("Started, UTC", when, (r) => <span class="run-state">{cut(when(r) ?? "–")}</span>)),
  ...(all.some((r) => r.wall_ns !== null) ? [measured("Took", (r: RunEntry) => r.wall_ns, format_ns)] : []),
  ...(all.some((r) => r.stages.length > 0) ? [minor(words("Stages", (r: RunEntry) => r.stages[0], (r) => cut(r.stages.join(", ") || "–", 120)))] : []),
  ...(all.some((r) => r.findings !== null) ? [minor(measured("Findings", (r: RunEntry) => r.findings, format_count))] : []),
  ...(all.some((r) => r.tags.length > 0) ? [minor(words("Tags", (r: RunEntry) => r.tags.join(" "), (r) => cut(r.tags.join(", ") || "–", 80)))] : []),
  minor(measured("Processes", (r) => r.processes, format_count)),
  minor(measured("Size", (r) => r.bytes, format_bytes)),
];

const quoted = (id: string): string => (/^[\w.+-]+$/.test(id) ? id : `'${id.replaceAll("'", "'\\''")}'`);

function Compare() {
  // The older one first: it is what the other is measured against.
  const two = runs.value!.filter((run) => picked.value.has(run.id)).reverse();
  if (two.length === 0) return null;
  return <p class="banner" role="status">{two.length === 2 ? <>Type, in the folder of the runs: <code>genscope compare {two.map((run) => cut(quoted(run.id), 300)).join(" ")}</code></> : "Tick two runs to compare them."}</p>;
}

function List() {
  const all = runs.value!;
  const wanted = query.value.trim().toLowerCase();
  const found = useMemo(() => all.filter((run) => [run.name, run.id, state_of(run)[1], when(run), ...run.tags, ...run.stages].join(" ").toLowerCase().includes(wanted)), [all, wanted]);
  if (all.length === 0) return <Empty>No run is in this folder yet. Record one: <code>genscope run -- python generate.py</code>. It appears here while it goes on.</Empty>;
  return (
    <>
      <div class="toolbar">
        <label class="search"><Icon name="search" /><input id="search" type="search" aria-label="Search the runs" placeholder="name, state, tag, stage" value={query.value} onInput={(event) => (query.value = event.currentTarget.value)} /></label>
        <small>{found.length} of {all.length}; tick two to compare them</small>
      </div>
      <Compare />
      <Table caption="Runs" rows={found} most={100} columns={columns(all)} />
    </>
  );
}

export function Browser() {
  useEffect(() => {
    ask();
    document.title = "Runs · genscope";
    setInterval(ask, kEvery_ms);
    document.addEventListener("visibilitychange", ask);
    addEventListener("keydown", (event) => handle_key(event, []));
  }, []);
  return (
    <div class="app live">
      <Head title="Runs" detail={<LinkText />} />
      <main><Section title="Runs">{runs.value ? <List /> : <Empty>{link.value === "refused" ? kRefused : "Asking for the runs…"}</Empty>}</Section></main>
      <Dialogs />
    </div>
  );
}
