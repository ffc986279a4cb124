// Line icons, 16 by 16, drawn with the colour of the text.
const kPaths: { [name: string]: string } = {
  search: "M7 2a5 5 0 1 1 0 10A5 5 0 0 1 7 2zM11 11l3.5 3.5",
  up: "M3 10l5-5 5 5",
  down: "M3 6l5 5 5-5",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  left: "M10 3L5 8l5 5",
  right: "M6 3l5 5-5 5",
  fit: "M2 3v10M14 3v10M4.5 8h7M6.5 6l-2 2 2 2M9.5 6l2 2-2 2",
  whole: "M2 5.5h12v5H2z",
  back: "M6 4L2.5 7.5 6 11M3 7.5h6a4 4 0 0 1 4 4",
  forth: "M10 4l3.5 3.5L10 11M13 7.5H7a4 4 0 0 0-4 4",
  clock: "M8 1.8a6.2 6.2 0 1 1 0 12.4A6.2 6.2 0 0 1 8 1.8zM8 4.5V8l2.5 1.5",
  mark: "M4 2h8v12l-4-3-4 3z",
  sun: "M8 5a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM8 1v1.6M8 13.4V15M1 8h1.6M13.4 8H15M3 3l1.2 1.2M11.8 11.8L13 13M3 13l1.2-1.2M11.8 4.2L13 3",
  moon: "M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z",
  help: "M5.5 6a2.5 2.5 0 1 1 3.6 2.2C8.3 8.6 8 9 8 10M8 12.4v.2",
  print: "M4.5 6V2h7v4M4.5 11.5H2.5V6h11v5.5h-2M4.5 9.5h7V14h-7z",
  summary: "M2.5 3h11v10h-11zM2.5 6.5h11M7 6.5V13",
  timeline: "M2 4h6M5 8h7M9 12h5",
  stages: "M3 13V8M6.5 13V3M10 13V6M13.5 13v-3",
  gpu: "M4 4h8v8H4zM6.5 6.5h3v3h-3zM6 4V2M10 4V2M6 14v-2M10 14v-2M4 6H2M4 10H2M14 6h-2M14 10h-2",
  host: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.1M5 11h.1",
  idle: "M2 8h3l1.5-4 3 8L11 8h3",
  memory: "M2 5h12v6H2zM4.5 11v2M8 11v2M11.5 11v2M5 7.5h1M8 7.5h1M11 7.5h1",
  flame: "M2 4h12M2 7.5h8M2 11h5",
  ranks: "M2.5 2.5h4v4h-4zM9.5 2.5h4v4h-4zM2.5 9.5h4v4h-4zM9.5 9.5h4v4h-4z",
  findings: "M8 2l6.5 11.5h-13zM8 6.5V10M8 11.8v.2",
  compare: "M5 2v12M11 2v12M2 5l3-3 3 3M8 11l3 3 3-3",
  system: "M8 5.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5zM8 1.5v2M8 12.5v2M1.5 8h2M12.5 8h2M3.4 3.4l1.4 1.4M11.2 11.2l1.4 1.4M3.4 12.6l1.4-1.4M11.2 4.8l1.4-1.4",
  data: "M8 2v7M5 6.5L8 9.5l3-3M2.5 11v2.5h11V11",
  live: "M8 6.5a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3zM4.5 4.5a5 5 0 0 0 0 7M11.5 4.5a5 5 0 0 1 0 7",
};

export function Icon({ name }: { name: string }) {
  return (
    <svg class="ico" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={kPaths[name] ?? ""} fill="none" stroke="currentColor" stroke-width="1.4" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}
