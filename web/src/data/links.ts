// Where a finding points: the spans that its facts are about, so that a click moves the timeline.
import type { Page } from "./page";
import type { Finding } from "./report";
import { find_spans, view_span, type SpanRef } from "./search";

export interface Target {
  query: string; // for the search box
  begin: number;
  end: number;
  span: SpanRef;
}

// A span name that a fact names in brackets or as its value, or the steps for facts of steps.
function names_of(page: Page, finding: Finding): string[] {
  const out: string[] = [];
  for (const [fact, value] of Object.entries(finding.evidence)) {
    const key = /\[([^\]]+)\]$/.exec(fact)?.[1];
    if (key !== undefined) out.push(key);
    if (typeof value === "string") out.push(value);
  }
  return out.filter((name) => page.names.includes(name));
}

function widen(page: Page, ref: SpanRef, query: string): Target | null {
  const span = view_span(page, ref);
  if (!span) return null;
  const margin = Math.max(1, (span.end - span.begin) * 0.5);
  return {
    query,
    begin: Math.max(0, span.begin - margin),
    end: Math.min(page.end_ns, span.end + margin),
    span: ref,
  };
}

export function finding_target(page: Page, finding: Finding): Target | null {
  const name = names_of(page, finding)[0];
  const facts = Object.keys(finding.evidence);
  const wanted = new Uint8Array(page.names.length);
  let query = "";
  if (name !== undefined) {
    query = name;
    page.names.forEach((n, i) => (wanted[i] = n === name ? 1 : 0));
  } else {
    const kind = facts.some((f) => f.startsWith("steps.")) ? "step" : facts.some((f) => f.startsWith("diffusion.")) ? "block" : null;
    if (kind === null) return null;
    page.kinds.forEach((k, i) => (wanted[i] = k === kind ? 1 : 0));
    query = page.names[wanted.indexOf(1)] ?? "";
  }
  const { refs } = find_spans(page, wanted);
  if (refs.length === 0) return null;
  // What is about the first one points to it, the rest to the longest.
  let best = refs[0]!;
  if (!facts.some((fact) => fact.includes("first"))) {
    let longest = -1;
    for (const ref of refs) {
      const span = view_span(page, ref);
      if (span && span.end - span.begin > longest) {
        longest = span.end - span.begin;
        best = ref;
      }
    }
  }
  return widen(page, best, query);
}
