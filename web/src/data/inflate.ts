// gunzip for browsers without DecompressionStream (before 2023): RFC 1951 and 1952, plain and small.
// It checks lengths, not the CRC: the reader of the container checks what it gets.
import { PageError } from "./container";

const fail = (): never => {
  throw new PageError("the data cannot be decompressed: the file was changed or cut");
};

// Canonical Huffman codes as counts per length and symbols in their order.
interface Codes {
  count: Uint16Array;
  symbol: Uint16Array;
}
function codes_of(lengths: ArrayLike<number>): Codes {
  const count = new Uint16Array(16);
  for (let i = 0; i < lengths.length; ++i) ++count[lengths[i]!]!;
  count[0] = 0;
  const next = new Uint16Array(17);
  for (let length = 1; length < 16; ++length) next[length + 1] = next[length]! + count[length]!;
  const symbol = new Uint16Array(lengths.length);
  for (let i = 0; i < lengths.length; ++i) if (lengths[i]! > 0) symbol[next[lengths[i]!]!++] = i;
  return { count, symbol };
}

const kOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const fixed = (): [Codes, Codes] => [
  codes_of(Uint8Array.from({ length: 288 }, (_, i) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8))),
  codes_of(new Uint8Array(30).fill(5)),
];

export function gunzip_plain(bytes: Uint8Array): Uint8Array {
  if (bytes[0] !== 31 || bytes[1] !== 139 || bytes[2] !== 8) fail();
  const flags = bytes[3]!;
  let at = 10;
  if ((flags & 4) !== 0) at += 2 + (bytes[at]! | (bytes[at + 1]! << 8));
  for (const flag of [8, 16]) if ((flags & flag) !== 0) while (bytes[at++] !== 0) if (at > bytes.length) fail();
  if ((flags & 2) !== 0) at += 2;
  // The last four bytes are the length: the buffer is right at once, or grows when they lie.
  if (bytes.length < 18) fail();
  const told = new DataView(bytes.buffer, bytes.byteOffset).getUint32(Math.max(0, bytes.length - 4), true);
  let out = new Uint8Array(Math.min(told, bytes.length * 1100));
  let size = 0;
  let hold = 0;
  let held = 0;
  const bits = (n: number): number => {
    while (held < n) {
      if (at >= bytes.length) fail();
      hold |= bytes[at++]! << held;
      held += 8;
    }
    const value = hold & ((1 << n) - 1);
    hold >>>= n;
    held -= n;
    return value;
  };
  const symbol = (codes: Codes): number => {
    for (let length = 1, code = 0, first = 0, place = 0; length < 16; ++length) {
      code |= bits(1);
      const count = codes.count[length]!;
      if (code - count < first) return codes.symbol[place + code - first]!;
      place += count;
      first = (first + count) << 1;
      code <<= 1;
    }
    return fail();
  };
  const room = (n: number): void => {
    if (size + n <= out.length) return;
    const larger = new Uint8Array(Math.max(out.length * 2, size + n));
    larger.set(out);
    out = larger;
  };
  const tables = (): [Codes, Codes] => {
    const [literals, distances, n] = [bits(5) + 257, bits(5) + 1, bits(4) + 4];
    const first = new Uint8Array(19);
    for (let i = 0; i < n; ++i) first[kOrder[i]!] = bits(3);
    const lengths: number[] = [];
    const codes = codes_of(first);
    while (lengths.length < literals + distances) {
      const s = symbol(codes);
      if (s < 16) lengths.push(s);
      else {
        const value = s === 16 ? (lengths[lengths.length - 1] ?? fail()) : 0;
        for (let k = s === 16 ? 3 + bits(2) : s === 17 ? 3 + bits(3) : 11 + bits(7); k > 0; --k) lengths.push(value);
      }
    }
    return [codes_of(lengths.slice(0, literals)), codes_of(lengths.slice(literals))];
  };
  for (let last = 0; last === 0; ) {
    last = bits(1);
    const type = bits(2);
    if (type === 0) {
      hold = held = 0;
      const n = bytes[at]! | (bytes[at + 1]! << 8);
      at += 4;
      if (!(at + n <= bytes.length)) fail();
      room(n);
      out.set(bytes.subarray(at, at + n), size);
      size += n;
      at += n;
      continue;
    }
    const [literals, distances] = type === 1 ? fixed() : type === 2 ? tables() : fail();
    for (let s = symbol(literals); s !== 256; s = symbol(literals)) {
      if (s < 256) {
        room(1);
        out[size++] = s;
        continue;
      }
      if (s > 285) fail();
      const more = s < 265 || s === 285 ? 0 : (s - 261) >> 2;
      const length = s === 285 ? 258 : more === 0 ? s - 254 : 3 + ((4 + ((s - 261) & 3)) << more) + bits(more);
      const d = symbol(distances);
      if (d > 29) fail();
      const extra = d < 4 ? 0 : (d - 2) >> 1;
      const back = extra === 0 ? d + 1 : 1 + ((2 + (d & 1)) << extra) + bits(extra);
      if (back > size) fail();
      room(length);
      for (let k = 0; k < length; ++k, ++size) out[size] = out[size - back]!;
    }
  }
  return out.subarray(0, size);
}
