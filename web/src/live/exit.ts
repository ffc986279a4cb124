// How a run ended, in words. Pure. A program that a signal ended has 128 and the signal as its code.
export function exit_text(code: number | null): [kind: string, words: string] {
  if (code === null) return ["unknown", "? unknown"];
  if (code === 0) return ["ended", "✓ ended 0"];
  return ["failed", code > 128 && code <= 192 ? `✖ killed, signal ${code - 128}` : `✖ failed ${code}`];
}

export const end_text = (code: number | null): string =>
  code === null ? "The run was killed: it left no exit code. What it had recorded is here." : `The run is over: ${exit_text(code)[1]}.`;
