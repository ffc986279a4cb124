// How each device spent its time, where kernels are known: work, waiting, overlap. Each figure says
// of what it is a share.
import { cut, format_count, format_ns, format_ratio } from "../data/format";
import type { Page } from "../data/page";
import { number_of, objects, text_of } from "../data/report";
import { Facts, Section, Stack } from "../ui/parts";
import { palette } from "../ui/state";

export const has_idle = (page: Page): boolean => objects(page.report?.resources["devices"]).length > 0;

export function IdleView({ page }: { page: Page }) {
  const devices = objects(page.report!.resources["devices"]);
  return (
    <>
      {devices.map((device, i) => {
        const get = (key: string): number => number_of(device[key]) ?? 0;
        const span = Math.max(1, get("end_ns") - get("begin_ns"));
        const moved = get("overlap_ns") + get("exposed_ns");
        const parts: [string, number, number][] = [
          ["compute", get("compute_ns"), 0],
          ["exposed communication and copies", get("exposed_ns"), 1],
          ["idle: host had not launched", get("idle_host_wait_ns"), 3],
          ["idle: between kernels", get("idle_kernel_wait_ns"), 5],
          ["idle: other", get("idle_other_ns"), 8],
        ];
        const shares = parts.filter(([, ns]) => ns > 0).map(([name, ns, colour]) => ({ name, share: ns / span, colour: palette.value[colour]!, text: `${format_ratio(ns / span)}` }));
        return (
          <Section key={i} title={cut(text_of(device["device"]) || `device ${i}`, 80)} note={`${format_count(get("kernels"))} kernels and copies from ${format_ns(get("begin_ns"))} to ${format_ns(get("end_ns"))}`}>
            <Stack shares={shares} label={`Time of ${cut(text_of(device["device"]), 60)}`} />
            <Facts
              facts={[
                { label: "Busy, of first kernel to last", value: `${format_ns(get("busy_ns"))} (${format_ratio(get("busy_ns") / span)})` },
                { label: "Communication", value: format_ns(get("communication_ns")) },
                { label: "Copies", value: format_ns(get("copy_ns")) },
                { label: "Overlap, of communication and copies", value: moved > 0 ? format_ratio(get("overlap_ns") / moved) : "–", why: "there were none" },
              ]}
            />
          </Section>
        );
      })}
      <p class="hint">Idle is split by cause: the host launched the next kernel only after the last had ended; it was launched, and the gap is short; anything else. Overlap is the time of communication and copies that compute covers.</p>
    </>
  );
}
