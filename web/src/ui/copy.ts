// The page as a file of its own with what is marked, selected and shown now: the same script, style
// and data, byte for byte, and the state in an inert element that read_hash() takes for the address.
import { source_text } from "../data/load";
import { kStateId, write_hash } from "./state";

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;");

function element(from: Element): string {
  const tag = from.localName;
  const attributes = [...from.attributes].map((a) => ` ${a.name}="${escaped(a.value)}"`).join("");
  const inside = from.id === "app" ? "" : (from.textContent ?? "");
  return tag === "meta" || tag === "link" ? `<${tag}${attributes}>` : `<${tag}${attributes}>${inside}</${tag}>`;
}

// In parts: the data may be large. URL encoding leaves no "<" in the state.
export function page_copy(): string[] {
  const inert = (id: string, text: string): string[] => [`<script type="application/x-genscope-page" id="${id}">`, text, "</script>"];
  const body = [...document.body.children].filter((e) => e.localName !== "dialog" && !e.id.startsWith("genscope-"));
  return ['<!doctype html><html lang="en"><head>', ...[...document.head.children].map(element), "</head><body>", ...body.map(element), ...inert("genscope-data", source_text()), ...inert(kStateId, write_hash()), "</body></html>"];
}
