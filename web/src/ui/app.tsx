// The frame: head, rail of sections, the section itself, dialogs.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { cut, format_count, format_ns } from "../data/format";
import type { Page } from "../data/page";
import { kSections, type SectionInfo } from "../views/sections";
import { Dialogs } from "./dialog";
import { Icon } from "./icons";
import { handle_key } from "./keys";
import { dark, dialog, next_theme, printing, tab } from "./state";

export const sections_of = (page: Page): SectionInfo[] => kSections.filter((section) => section.shown(page));

function Rail({ sections }: { sections: SectionInfo[] }) {
  const list = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent): void => {
    const steps: { [key: string]: number } = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };
    const here = sections.findIndex((s) => s.id === tab.value);
    const next = event.key === "Home" ? 0 : event.key === "End" ? sections.length - 1 : (here + (steps[event.key] ?? 0) + sections.length) % sections.length;
    if (steps[event.key] === undefined && event.key !== "Home" && event.key !== "End") return;
    event.preventDefault();
    tab.value = sections[next]!.id;
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[next]?.focus();
  };
  useEffect(() => {
    const here = list.current?.querySelector<HTMLElement>("[aria-selected=true]");
    const box = list.current;
    if (!here || !box) return;
    box.scrollLeft = here.offsetLeft - box.clientWidth / 2 + here.clientWidth / 2;
  }, [tab.value]);
  return (
    <nav class="rail" aria-label="Sections">
      <div role="tablist" aria-label="Sections" ref={list} onKeyDown={move}>
        {sections.map((section, i) => {
          const here = section.id === tab.value;
          return (
            <button
              key={section.id}
              role="tab"
              id={`tab-${section.id}`}
              aria-selected={here}
              aria-controls="panel"
              tabIndex={here ? 0 : -1}
              title={i < 9 ? `${section.title} (${i + 1})` : section.title}
              onClick={() => (tab.value = section.id)}
            >
              <Icon name={section.icon} />
              <span>{section.title}</span>
              {section.badge?.() && <em>{section.badge()}</em>}
            </button>
          );
        })}
      </div>
    </nav>
  );
}

export function Head({ title, detail }: { title: string; detail: ComponentChildren }) {
  return (
    <header class="head">
      <span class="mark" aria-hidden="true"><i /><i /><i /></span>
      <h1>{title}</h1>
      <div class="head-detail">{detail}</div>
      <div class="head-buttons">
        <button class="icon" aria-label="Print" title="Print" onClick={() => window.print()}><Icon name="print" /></button>
        <button class="icon" aria-label={dark.value ? "Light theme" : "Dark theme"} title="Light or dark (t)" onClick={next_theme}><Icon name={dark.value ? "sun" : "moon"} /></button>
        <button class="icon" aria-label="Keys and help" title="Keys and help (?)" onClick={() => (dialog.value = "help")}><Icon name="help" /></button>
      </div>
    </header>
  );
}

function Banner({ page }: { page: Page }) {
  const limits = page.limits;
  if (!limits) return null;
  const cut_spans = limits.spans - limits.spans_kept;
  const parts = [
    cut_spans > 0 && `${format_count(cut_spans)} of ${format_count(limits.spans)} spans, the shortest, are shown as density`,
    limits.args_cut > 0 && `the arguments of ${format_count(limits.args_cut)} spans are left out`,
    limits.events_cut > 0 && `${format_count(limits.events_cut)} events are left out`,
    limits.points_cut > 0 && `${format_count(limits.points_cut)} readings are thinned, peaks kept`,
  ].filter((part): part is string => typeof part === "string");
  if (parts.length === 0) return null;
  return <p class="banner" role="note">To keep this file small, {parts.join("; ")}. Tables and totals are exact.</p>;
}

function title_of(page: Page): string {
  if (!__SERVED__ && page.mode === "compare") return "Comparison of runs";
  const run = page.report?.run;
  return run?.name || run?.command?.[0]?.split("/").pop() || run?.id || "genscope report";
}

// A page that is served has more: the live section, which comes first, a state for the head, a notice;
// and it may have no report yet.
interface AppProps {
  page: Page | null;
  first?: SectionInfo[];
  name?: string;
  state?: ComponentChildren;
  notice?: ComponentChildren;
}

export function App({ page, first = [], name = "genscope", state, notice }: AppProps) {
  const sections = page ? [...first, ...sections_of(page)] : first;
  const title = page ? title_of(page) : name;
  const here = sections.find((section) => section.id === tab.value) ?? sections[0]!;
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => handle_key(event, sections.map((s) => s.id));
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, [sections]);
  useEffect(() => {
    // Of an address that names no section of this page; what is not there yet may come with the report. Not "other
    // than here": by now a key may have chosen another.
    if (page && !sections.some((section) => section.id === tab.value)) tab.value = here.id;
    document.title = `${cut(title, 60)} · ${here.title} · genscope`;
  });
  // For benchmarks: the task after the frame that first shows the section.
  useLayoutEffect(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => performance.mark("genscope:first-draw");
    requestAnimationFrame(() => port2.postMessage(0));
  }, []);
  const run = page?.report?.run;
  return (
    <div class={`app at-${here.id}`}>
      <Head
        title={cut(title, 80)}
        detail={
          <>
            {state}
            {run?.host && <span>{cut(run.host, 40)}</span>}
            {run?.started && <span>{cut(run.started, 40).slice(0, 16).replace("T", " ")} UTC</span>}
            {run?.wall_ns != null && first.length === 0 && <span>{format_ns(run.wall_ns)}</span>}
            {run?.exit_code != null && run.exit_code !== 0 && <span class="tag bad">exit code {run.exit_code}</span>}
          </>
        }
      />
      <Rail sections={sections} />
      <main>
        {notice}
        {page && <Banner page={page} />}
        {printing.value ? (
          sections.filter((s) => s.id !== "data").map((section) => (
            <div key={section.id} class="paper"><h2 class="paper-title">{section.title}</h2><section.View page={page!} /></div>
          ))
        ) : (
          <div role="tabpanel" id="panel" aria-labelledby={`tab-${here.id}`} class="panel" key={here.id}>
            <here.View page={page!} />
          </div>
        )}
      </main>
      <Dialogs />
    </div>
  );
}

export function Failure({ title, detail }: { title: string; detail: string }) {
  return (
    <main class="failure">
      <h1>{title}</h1>
      <p>{cut(detail, 600)}</p>
      <p>The recorded run is not touched by this: <code>genscope report RUN -o report.html</code> writes the page again.</p>
    </main>
  );
}
