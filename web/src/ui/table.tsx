// A table that sorts by its heads and shows the rest on request.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";

import { cut, format_count } from "../data/format";
import { number_of, text_of } from "../data/report";
import { printing } from "./state";

export interface Column<T> {
  title: string; // no two are alike in a table
  hint?: string;
  text?: boolean; // left, sorts as text
  minor?: boolean; // not shown on a phone without being asked for
  value: (row: T) => number | string | null | undefined;
  show?: (row: T) => ComponentChildren;
}
export interface TableProps<T> {
  caption: string;
  columns: Column<T>[];
  rows: T[];
  initial?: string; // title of the column to sort by, largest first; else the order given
  most?: number;
  current?: (row: T) => boolean;
  pick?: (row: T) => void;
}

// Columns of rows that are JSON: a text, a number.
type Fields = { [key: string]: unknown };
export const said = <T,>(key: string, title: string, most = 60): Column<T> => ({
  title,
  text: true,
  value: (r) => text_of((r as Fields)[key]),
  show: (r) => cut(text_of((r as Fields)[key]) || "–", most),
});
export const figure = <T,>(key: string, title: string, format: (value: number | null) => string = format_count): Column<T> => ({
  title,
  value: (r) => number_of((r as Fields)[key]),
  show: (r) => format(number_of((r as Fields)[key])),
});
// Columns of rows of any kind: a number in a format; a text and how it looks.
type Figure = number | null | undefined;
export const measured = <T,>(title: string, value: (row: T) => Figure, format: (value: Figure) => string): Column<T> => ({ title, value, show: (r) => format(value(r)) });
export const minor = <T,>(column: Column<T>): Column<T> => ({ ...column, minor: true });
export const words = <T,>(title: string, value: Column<T>["value"], show: (row: T) => ComponentChildren): Column<T> => ({ title, text: true, value, show });

export function sorted<T>(rows: T[], column: Column<T> | undefined, down: boolean): T[] {
  if (!column) return rows;
  const sign = down ? -1 : 1;
  return [...rows].sort((a, b) => {
    const x = column.value(a);
    const y = column.value(b);
    // What is not known comes last, whichever way.
    if (x === null || x === undefined) return y === null || y === undefined ? 0 : 1;
    if (y === null || y === undefined) return -1;
    return sign * (typeof x === "number" && typeof y === "number" ? x - y : String(x) < String(y) ? -1 : String(x) > String(y) ? 1 : 0);
  });
}

const class_of = (column: { text?: boolean; minor?: boolean }): string => `${column.text ? "text" : ""}${column.minor ? " minor" : ""}`;

export function Table<T>({ caption, columns, rows, initial, most = 25, current, pick }: TableProps<T>) {
  const [by, set_by] = useState<{ title: string; down: boolean } | null>(initial === undefined ? null : { title: initial, down: true });
  const [open, set_open] = useState(false);
  const [all, set_all] = useState(false); // columns, on a phone
  const has_minor = columns.some((c) => c.minor);
  const ordered = useMemo(() => sorted(rows, columns.find((c) => c.title === by?.title), by?.down ?? true), [rows, by?.title, by?.down]);
  const shown = open || printing.value ? ordered.slice(0, 2000) : ordered.slice(0, most);
  return (
    <>
      <div class={all ? "table-box all" : "table-box"} tabIndex={0} role="region" aria-label={caption}>
        <table>
          <caption class="sr">{caption}</caption>
          <thead>
            <tr>
              {columns.map((column) => {
                const here = by?.title === column.title;
                return (
                  <th key={column.title} scope="col" class={class_of(column)} aria-sort={here ? (by.down ? "descending" : "ascending") : "none"} title={column.hint}>
                    <button class="ghost" onClick={() => set_by({ title: column.title, down: here ? !by.down : !column.text })}>
                      {column.title}
                      <span class="order" aria-hidden="true">{here ? (by.down ? "▾" : "▴") : ""}</span>
                    </button>
                  </th>
                );
              })}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, i) => (
              <tr key={i} class={`${pick ? "pick" : ""}${current?.(row) ? " current" : ""}`} onClick={pick ? () => pick(row) : undefined}>
                {columns.map((column, c) => {
                  const inside = column.show ? column.show(row) : (column.value(row) ?? "–");
                  return c === 0 ? (
                    <th key={column.title} scope="row" class={class_of(column)}>
                      {pick ? <button class="ghost row-button" aria-pressed={current?.(row) ?? false} onClick={(event) => { event.stopPropagation(); pick(row); }}>{inside}</button> : inside}
                    </th>
                  ) : (
                    <td key={column.title} class={class_of(column)}>{inside}</td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
        {ordered.length > most && !printing.value && (
          <button class="ghost rest" onClick={() => set_open(!open)}>{open ? "Show fewer" : `Show all ${format_count(ordered.length)}`}</button>
        )}
      </div>
      {has_minor && !printing.value && <button class="ghost rest on-phone" onClick={() => set_all(!all)}>{all ? "Fewer columns" : `All ${columns.length} columns`}</button>}
    </>
  );
}
