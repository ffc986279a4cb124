// Text that came out of a trace: cut when long, with a button that shows the rest. Always text nodes.
import { useState } from "preact/hooks";

import { format_count, kLongText, visible } from "../data/format";

export function Text({ text, length = kLongText }: { text: string; length?: number }) {
  const [open, set_open] = useState(false);
  if (text.length <= length) return <bdi>{visible(text)}</bdi>;
  // Even the whole is shown only so far: a browser takes seconds to lay out megabytes.
  const most = 20_000;
  return (
    <bdi>
      {visible(text.slice(0, open ? most : length))}
      {open && text.length > most ? `… (${format_count(text.length)} characters)` : "…"}
      <button class="ghost expander" aria-expanded={open} onClick={(event) => { event.stopPropagation(); set_open(!open); }}>{open ? "less" : "more"}</button>
    </bdi>
  );
}
