// The page of the real command: GENSCOPE=build/dev/bin/genscope npx playwright test live_real. A run of
// `tinydiff`, which is expected beside it, is watched; its server and the run itself are killed.
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { expect, test, type Page } from "@playwright/test";

const genscope = process.env["GENSCOPE"] === undefined ? "" : resolve(process.env["GENSCOPE"]);
const tinydiff = join(dirname(genscope), "tinydiff");
const kToken = "a-token-of-the-test";

test.skip(genscope === "", "GENSCOPE names no binary");
test.skip(genscope !== "" && !existsSync(tinydiff), "there is no tinydiff beside GENSCOPE");
test.setTimeout(300_000);

let folder = "";
let port = 0;
let children: ChildProcess[] = [];

async function free_port(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((done) => probe.listen(0, "127.0.0.1", done));
  const found = (probe.address() as { port: number }).port;
  await new Promise<void>((done) => probe.close(() => done()));
  return found;
}
function start(args: string[]): ChildProcess {
  const child = spawn(genscope, args, { stdio: ["ignore", "pipe", "pipe"], detached: true });
  children.push(child);
  return child;
}
// The group, so that `genscope run` and what it runs go together.
const kill_all = (child: ChildProcess): void => {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
};
async function serve(): Promise<ChildProcess> {
  const child = start(["serve", folder, "--port", String(port), "--token", kToken]);
  child.stderr!.resume();
  await new Promise<void>((done) => child.stdout!.once("data", () => done()));
  return child;
}
const kRun = ["run", "--live", "never", "-o"];
const kDraw = ["--", tinydiff, "--no-image", "--size", "96"];
function run(name: string, ...args: string[]): ChildProcess {
  const child = start([...kRun, folder, "--name", name, ...kDraw, ...args]);
  child.stderr!.resume();
  return child;
}
async function run_id(): Promise<string> {
  await expect.poll(() => readdirSync(folder).filter((name) => existsSync(join(folder, name, "run.json"))).length, { timeout: 20_000 }).toBe(1);
  return readdirSync(folder)[0]!;
}
const open_run = async (page: Page): Promise<void> => {
  await page.goto(`http://127.0.0.1:${port}/runs/${encodeURIComponent(await run_id())}?token=${kToken}`);
  await expect(page.locator("span.link")).toHaveText("● live", { timeout: 60_000 });
};
const steps = async (page: Page): Promise<number> => Number(/(\d+) of \d+ steps/.exec(await page.locator(".progress").innerText())?.[1] ?? -1);
const grows = async (page: Page): Promise<void> => {
  await expect(page.locator(".progress")).toContainText(/\d+ of \d+ steps/, { timeout: 60_000 });
  const before = await steps(page);
  await expect.poll(() => steps(page), { timeout: 60_000 }).toBeGreaterThan(before);
};

test.beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "genscope-live-"));
  port = await free_port();
});
test.afterEach(() => {
  children.forEach(kill_all);
  children = [];
  rmSync(folder, { recursive: true, force: true });
});

test("ARunIsWatchedToItsEnd", async ({ page }) => {
  const wrong: string[] = [];
  page.on("pageerror", (e) => wrong.push(e.message));
  await serve();
  const name = `</script><img src=x onerror=alert(1)> "fox"`;
  run(name, "--steps", "40");
  await page.goto(`http://127.0.0.1:${port}/?token=${kToken}`);
  await expect(page.locator("tbody tr")).toHaveCount(1, { timeout: 20_000 });
  await expect(page.locator("tbody td").first()).toHaveText("● running");
  await page.locator("tbody a").click();
  await expect(page.locator("h1")).toHaveText(name);
  await grows(page);
  await expect(page.locator(".eta")).toContainText("to go");
  await expect(page.locator(".chart").first()).toBeVisible();
  await expect(page.locator("img")).toHaveCount(0);
  await expect(page.locator(".banner[role=status]")).toHaveText("The run is over: ✓ ended 0.", { timeout: 120_000 });
  await expect(page.locator("#tab-summary")).toHaveAttribute("aria-selected", "true", { timeout: 30_000 });
  await page.locator("#tab-stages").click();
  await expect(page.locator(".panel")).toContainText("denoising");
  expect(wrong).toEqual([]);
});

test("TheTokenLeavesTheAddressAndThePageGoesOn", async ({ page }) => {
  const wrong: string[] = [];
  page.on("pageerror", (e) => wrong.push(e.message));
  page.on("console", (message) => {
    if (/Content.Security.Policy/i.test(message.text())) wrong.push(message.text());
  });
  await serve();
  run("fox", "--steps", "900");
  await open_run(page);
  expect(page.url()).not.toContain("token");
  expect(page.url()).toContain(`/runs/${encodeURIComponent(await run_id())}`);
  await grows(page);
  await page.reload();
  await grows(page);
  expect(await page.evaluate(() => document.cookie)).toBe("");
  expect(wrong).toEqual([]);
});

// A terminal or a notebook in the browser is another site: the cookie is not sent at once after its link.
test("ALinkOnAnotherSiteOpensThePage", async ({ page }) => {
  await serve();
  const other = createHttpServer((_, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end(`<a href="http://127.0.0.1:${port}/?token=${kToken}">runs</a>`);
  });
  await new Promise<void>((done) => other.listen(0, "127.0.0.1", done));
  await page.goto(`http://localhost:${(other.address() as { port: number }).port}/`);
  await page.getByRole("link", { name: "runs" }).click();
  await expect(page.locator("h1")).toBeVisible();
  expect(page.url()).toBe(`http://127.0.0.1:${port}/`);
  await new Promise<void>((done) => other.close(() => done()));
});

test("RunServePrintsAnAddressThatLivesAsLongAsItsReaders", async ({ page }) => {
  const child = start([...kRun, folder, "--serve", ...kDraw, "--steps", "60"]);
  const address = await new Promise<string>((done) => {
    let text = "";
    child.stderr!.on("data", (part: Buffer) => {
      text += part.toString();
      const found = /live at (http:\S+)/.exec(text);
      if (found) done(found[1]!);
    });
  });
  await page.goto(address);
  await grows(page);
  await expect(page.locator(".banner[role=status]")).toContainText("The run is over", { timeout: 120_000 });
  // The last report came from a server that ends with its run.
  await expect(page.locator("#tab-summary")).toHaveAttribute("aria-selected", "true", { timeout: 30_000 });
});

test("TheServerIsKilledAndRestarted", async ({ page }) => {
  const first = await serve();
  run("restart", "--steps", "900");
  await open_run(page);
  await grows(page);
  kill_all(first);
  await expect(page.locator(".link")).toHaveText("▲ lost: retrying", { timeout: 30_000 });
  await serve();
  await expect(page.locator(".link")).toHaveText("● live", { timeout: 30_000 });
  await grows(page);
});

test("TheProgramIsKilled", async ({ page }) => {
  await serve();
  run("killed", "--steps", "900");
  await open_run(page);
  await grows(page);
  const pid = Number(/trace-(\d+)/.exec(readdirSync(join(folder, await run_id())).filter((f) => f.endsWith(".gst")).sort((a, b) => Number(/\d+/.exec(a)) - Number(/\d+/.exec(b))).pop()!)![1]);
  process.kill(pid, "SIGKILL");
  await expect(page.locator(".banner[role=status]")).toContainText("killed, signal 9", { timeout: 30_000 });
  await expect(page.locator("#tab-summary")).toHaveAttribute("aria-selected", "true", { timeout: 30_000 });
});

test("TheRunIsKilledWithItsRecorder", async ({ page }) => {
  await serve();
  const child = run("all killed", "--steps", "900", "--ranks", "2");
  await open_run(page);
  await grows(page);
  await expect(page.locator(".rank-grid li")).toHaveCount(2);
  kill_all(child);
  await expect(page.locator(".banner[role=status]")).toContainText("left no exit code", { timeout: 30_000 });
  await expect(page.locator("#tab-summary")).toHaveAttribute("aria-selected", "true", { timeout: 30_000 });
  await page.locator("#tab-stages").click();
  await expect(page.locator(".panel")).toContainText("step");
});
