// The container of docs/page-data.md: magic, JSON header, blobs. Reads bytes, knows no DOM.
//
// Everything here comes from a file that may be cut, damaged or hostile: each reader checks type and
// range and throws a PageError whose message a person can read.

export class PageError extends Error {
  override name = "PageError";
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export interface Container {
  header: JsonObject;
  blobs: Uint8Array;
}

export type ColumnType = "u8" | "u16" | "u32" | "f64";
export interface ColumnPlace {
  at: number;
  n: number;
  type: ColumnType;
}

const kMagic = "GSPAGE1\0";
const kWidth: Record<ColumnType, number> = { u8: 1, u16: 2, u32: 4, f64: 8 };

export function is_object(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function read_container(bytes: Uint8Array): Container {
  if (bytes.length < 12) throw new PageError(`the data end after ${bytes.length} bytes`);
  for (let i = 0; i < kMagic.length; ++i) {
    if (bytes[i] !== kMagic.charCodeAt(i)) throw new PageError("these are not the data of a genscope page");
  }
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(8, true);
  if (length > bytes.length - 12) {
    throw new PageError(`the header of ${length} bytes is cut: the data have ${bytes.length} bytes`);
  }
  let header: Json;
  try {
    header = JSON.parse(new TextDecoder().decode(bytes.subarray(12, 12 + length))) as Json;
  } catch (error) {
    throw new PageError(`the header is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (!is_object(header)) throw new PageError("the header is not a JSON object");
  const schema = header["schema"];
  if (schema !== "genscope.page/1") {
    const told = typeof schema === "string" ? schema.slice(0, 80) : "nothing";
    throw new PageError(`the data are of another version: this page reads genscope.page/1, they say ${told}`);
  }
  return { header, blobs: bytes.subarray(Math.min(bytes.length, (12 + length + 7) & ~7)) };
}

// Where a column is, checked: all its bytes are there.
export function column_place(blobs: Uint8Array, value: Json | undefined, where: string, types: ColumnType[]): ColumnPlace {
  if (!is_object(value)) throw new PageError(`${where} is not a column`);
  const { at, n, type } = value as unknown as ColumnPlace;
  if (!types.includes(type)) throw new PageError(`${where} is not ${types.join(" or ")}`);
  if (!Number.isSafeInteger(at) || !Number.isSafeInteger(n) || at < 0 || n < 0) throw new PageError(`${where} has no proper place`);
  if (n > (blobs.length - at) / kWidth[type]) {
    throw new PageError(`${where} is cut: ${n} values of ${type} at ${at}, but ${blobs.length} bytes`);
  }
  return { at, n, type };
}

export type Values = Uint8Array | Uint16Array | Uint32Array | Float64Array;

// The values of a column, shuffled bytes put back in order.
export function read_column(blobs: Uint8Array, value: Json | undefined, where: string, types: ColumnType[]): Values {
  const { at, n, type } = column_place(blobs, value, where, types);
  switch (type) {
    case "u8":
      return blobs.subarray(at, at + n);
    case "u16": {
      const out = new Uint16Array(n);
      for (let i = 0, b = at + n; i < n; ++i, ++b) out[i] = blobs[at + i]! | (blobs[b]! << 8);
      return out;
    }
    case "u32": {
      const out = new Uint32Array(n);
      const b1 = at + n;
      const b2 = b1 + n;
      const b3 = b2 + n;
      for (let i = 0; i < n; ++i) {
        out[i] = blobs[at + i]! | (blobs[b1 + i]! << 8) | (blobs[b2 + i]! << 16) | (blobs[b3 + i]! << 24);
      }
      return out;
    }
    case "f64": {
      const bytes = new Uint8Array(n * 8);
      for (let b = 0; b < 8; ++b) {
        for (let i = 0, from = at + b * n; i < n; ++i) bytes[i * 8 + b] = blobs[from + i]!;
      }
      return new Float64Array(bytes.buffer);
    }
  }
}

// An array of the header; none is an empty one.
export function list(value: Json | undefined, where: string): Json[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new PageError(`${where} is not an array`);
  return value;
}
export function same_length(where: string, n: number, ...columns: { length: number }[]): void {
  if (columns.some((column) => column.length !== n)) throw new PageError(`the columns of ${where} differ in length`);
}
