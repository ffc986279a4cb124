// How a run ended, in words. Pure. A program that a signal ended has 128 and the signal as its code.
export function exit_text(code: number | null): [kind: string, words: string] {
  if (code === null) return ["unknown", "? unknown"];
  if (code === 0) return ["ended", "✓ ended 0"];
  return ["failed", code > 128 && code <= 192 ? `✖ killed, signal ${code - 128}` : `✖ failed ${code}`];
}

// Of a list: as `genscope list` has it.
export function state_text(state: string, code: number | null): [kind: string, words: string] {
  if (state === "ok") return ["ended", "✓ ok"];
  if (state === "cut off") return ["unknown", "? cut off"];
  return state === "" ? exit_text(code) : ["failed", `✖ ${state}`];
}

export const end_text = (code: number | null): string =>
  code === null ? "The run was killed: it left no exit code. What it had recorded is here." : `The run is over: ${exit_text(code)[1]}.`;
