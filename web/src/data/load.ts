// From the text of the inert element to bytes: base64, then gzip. Every browser that the page is made
// for (vite.config.ts) inflates; only some know base64.
import { PageError } from "./container";

interface Base64Bytes {
  fromBase64?: (text: string) => Uint8Array<ArrayBuffer>;
}

export function from_base64(text: string): Uint8Array<ArrayBuffer> {
  const native = (Uint8Array as unknown as Base64Bytes).fromBase64;
  try {
    if (native) return native.call(Uint8Array, text);
    const binary = atob(text);
    const out = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; ++i) out[i] = binary.charCodeAt(i);
    return out;
  } catch {
    throw new PageError("the data are not base64: the file was changed or cut");
  }
}

export async function gunzip(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  try {
    const stream = new DecompressionStream("gzip");
    const writer = stream.writable.getWriter();
    const written = Promise.all([writer.write(bytes), writer.close()]);
    const [read] = await Promise.all([new Response(stream.readable).arrayBuffer(), written]);
    return new Uint8Array(read);
  } catch {
    throw new PageError("the data cannot be decompressed: the file was changed or cut");
  }
}

let source = "";
export const source_text = (): string => source; // what the page was filled with, for a copy of it

export async function load_bytes(text: string): Promise<Uint8Array> {
  source = text.trim();
  return gunzip(from_base64(source));
}
