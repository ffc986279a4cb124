// Small pieces that views share.
import type { ComponentChildren } from "preact";

import { cut } from "../data/format";
import { Text } from "./text";

export function Section({ title, note, children }: { title: string; note?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class="card">
      <header class="card-head">
        <h2>{title}</h2>
        {note !== undefined && <small>{note}</small>}
      </header>
      {children}
    </section>
  );
}

export function Tile({ label, value, detail, hint }: { label: string; value: string; detail?: ComponentChildren; hint?: string }) {
  return (
    <div class="tile" title={hint}>
      <dt>{label}</dt>
      <dd>
        <b>{value}</b>
        {detail !== undefined && <small>{typeof detail === "string" ? cut(detail, 120) : detail}</small>}
      </dd>
    </div>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

export interface Fact {
  label: string;
  value: ComponentChildren;
  why?: string | undefined; // when there is no value
}
export function Facts({ facts }: { facts: Fact[] }) {
  return (
    <dl class="pairs">
      {facts.map((fact) => (
        <div key={fact.label}>
          <dt>{fact.label}</dt>
          <dd>{fact.value === null || fact.value === undefined || fact.value === "–" ? <span class="absent">not measured{fact.why ? `: ${cut(fact.why, 200)}` : ""}</span> : fact.value}</dd>
        </div>
      ))}
    </dl>
  );
}

// A bar of shares that add up to at most 1, with a legend; not by colour alone: each part has its name.
export interface Share {
  name: string;
  share: number;
  colour: string;
  text: string; // the figure
}
export function Stack({ shares, label, pick }: { shares: Share[]; label: string; pick?: ((name: string) => void) | undefined }) {
  return (
    <figure class="stack" aria-label={label}>
      <div class="stack-bar" aria-hidden="true">
        {shares.map((s) => <i key={s.name} style={{ flexGrow: String(Math.max(0, s.share)), background: s.colour }} title={`${cut(s.name, 100)}: ${s.text}`} />)}
      </div>
      <figcaption>
        <ul>
          {shares.map((s) => (
            <li key={s.name}>
              <i class="swatch" style={{ background: s.colour }} />
              {pick ? <button class="ghost" onClick={() => pick(s.name)}>{cut(s.name, 60)}</button> : <Text text={s.name} length={60} />}
              <b>{s.text}</b>
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  );
}

export function Bar({ share, colour }: { share: number; colour?: string }) {
  return (
    <span class="bar" aria-hidden="true">
      <i style={{ width: `${Math.max(0, Math.min(1, share)) * 100}%`, ...(colour === undefined ? {} : { background: colour }) }} />
    </span>
  );
}

const kGlyphs: { [severity: string]: string } = { critical: "✖", warning: "▲", hint: "◆", info: "●" };
export function Severity({ severity }: { severity: string }) {
  return (
    <span class={`severity ${/^[a-z]+$/.test(severity) ? severity : ""}`}>
      <span aria-hidden="true">{kGlyphs[severity] ?? "●"}</span> {cut(severity, 20)}
    </span>
  );
}
