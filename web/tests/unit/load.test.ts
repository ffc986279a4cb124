import { gzipSync, constants } from "node:zlib";
import { describe, expect, it } from "vitest";

import { from_base64, gunzip, load_bytes } from "../../src/data/load";
import { random } from "../demo";

const samples = (): Uint8Array[] => {
  const next = random(5);
  return [
    new Uint8Array(0),
    Uint8Array.of(7),
    Uint8Array.from({ length: 100_000 }, () => Math.floor(next() * 256)),
    Uint8Array.from({ length: 90_000 }, (_, i) => (i >> 6) & 7),
    Uint8Array.from({ length: 70_000 }, () => Math.floor(next() * next() * 40)),
    new Uint8Array(100_000),
  ];
};

describe("Load", () => {
  it("InflatesWhatZlibDeflates", async () => {
    for (const bytes of samples()) {
      for (const level of [0, 1, 6, 9]) {
        for (const strategy of [constants.Z_DEFAULT_STRATEGY, constants.Z_FIXED, constants.Z_HUFFMAN_ONLY]) {
          expect(Buffer.compare(await gunzip(new Uint8Array(gzipSync(bytes, { level, strategy }))), bytes)).toBe(0);
        }
      }
    }
  });
  it("RefusesWhatIsCutOrChanged", async () => {
    const packed = gzipSync(samples()[4]!);
    for (const length of [0, 1, 5, 11, 40, 500]) await expect(gunzip(new Uint8Array(packed.subarray(0, length)))).rejects.toThrow(/changed or cut/);
    await expect(load_bytes("AAAA")).rejects.toThrow(/changed or cut/);
    expect(() => from_base64("*&^")).toThrow(/not base64/);
  });
  it("TakesBase64WithSpaceAround", async () => {
    const text = `\n ${gzipSync(Uint8Array.of(1, 2, 3)).toString("base64")} \n`;
    expect([...(await load_bytes(text))]).toEqual([1, 2, 3]);
  });
});
