import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

const sha256 = (text: string): string => `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;

// Custom properties of the style sheets get names of a letter or two; the script names some too.
function short_tokens(html: string): string {
  const names = [...new Set(html.match(/(?<=[{;])--[a-z][a-z-]+(?=:)/g))].sort((a, b) => b.length - a.length);
  return names.reduce((text, name, i) => text.replaceAll(name, `--${i.toString(36)}`), html);
}

// One file that says, by hash, which script and style may run: nothing that a trace holds can.
function lock_down(name: string): Plugin {
  const places = (html: string, tag: string): string =>
    [...html.matchAll(new RegExp(`<${tag}(?![^>]*x-genscope)[^>]*>([\\s\\S]*?)</${tag}>`, "g"))]
      .map((match) => sha256(match[1] ?? ""))
      .join(" ");
  let folder = "dist";
  return {
    name: "genscope-csp",
    enforce: "post",
    configResolved(config) {
      folder = config.build.outDir;
    },
    closeBundle() {
      const html = short_tokens(readFileSync(`${folder}/index.html`, "utf8").replaceAll(" crossorigin", "").replace(/>\n\s*</g, "><"));
      const policy = [
        "default-src 'none'",
        `script-src ${places(html, "script")}`,
        `style-src ${places(html, "style")}`,
        "img-src data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
      ].join("; ");
      writeFileSync(`${folder}/${name}.html`, html.replace("__CSP__", () => policy));
      rmSync(`${folder}/index.html`);
    },
  };
}

// Two pages of one source: `report` holds its data, `live` is what a server shows.
export default defineConfig(({ mode }) => ({
  plugins: [viteSingleFile({ removeViteModuleLoader: true }), lock_down(mode === "live" ? "live" : "genscope")],
  define: { __SERVED__: String(mode === "live") },
  // Children as arguments: 4 KB less than as a property.
  oxc: { jsx: { runtime: "classic", pragma: "_node", pragmaFrag: "_nodes" }, jsxInject: 'import { h as _node, Fragment as _nodes } from "preact"' },
  build: {
    target: "es2022",
    cssTarget: ["chrome123", "firefox121", "safari17.5"],
    modulePreload: false,
    emptyOutDir: mode !== "live",
    reportCompressedSize: false,
  },
}));
