// Believable pages for tests, screenshots and benchmarks: a text-to-video run on two ranks with a GPU
// each. All figures are made up, by a generator with a fixed seed, so that each call gives the same.
import type { Json, JsonObject } from "../src/data/container";
import type { CounterIn, EventIn, OutlineIn, PageIn, RunIn, SpanIn, TrackIn } from "./make_page";

export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
}

const kNames: [string, string][] = [
  ["generate", "session"],
  ["load_model", "load"],
  ["text_encode", "stage"],
  ["denoise", "stage"],
  ["vae_decode", "stage"],
  ["save_video", "stage"],
  ["block", "block"],
  ["step", "step"],
  ["attention", "none"],
  ["mlp", "none"],
  ["all_reduce", "none"],
  ["flash_fwd_kernel<bf16, 128>", "none"],
  ["ampere_bf16_s16816gemm_128x256", "none"],
  ["Memcpy HtoD", "none"],
  ["prefetch", "none"],
  ["encode_frame", "none"],
  ["cudaLaunchKernel", "none"],
  ["compile", "stage"],
];
const id = (name: string): number => kNames.findIndex(([n]) => n === name);
const ms = 1e6;

interface Rank {
  host: SpanIn[];
  gpu: SpanIn[];
  worker: SpanIn[];
  end: number;
  steps: number[];
}

function run_rank(rank: number): Rank {
  const next = random(7 + rank);
  const host: SpanIn[] = [];
  const gpu: SpanIn[] = [];
  const worker: SpanIn[] = [];
  const steps: number[] = [];
  let at = 0;
  const push = (list: SpanIn[], name: string, begin: number, duration: number, lane: number, more: Partial<SpanIn> = {}): void => {
    list.push({ begin: Math.round(begin), duration: Math.round(duration), name: id(name), lane, ...more });
  };
  push(host, "generate", 0, 0, 0, { args: { model: "wan-1.3b", frames: 48, size: "832x480" } });
  push(host, "load_model", 40 * ms, 2100 * ms, 1, { args: { file: "/models/wan-1.3b.safetensors", bytes: 2_700_000_000 } });
  at = 2180 * ms;
  push(host, "text_encode", at, 310 * ms, 1, { args: { prompt: "a red fox runs through fresh snow, morning light", tokens: 14 } });
  at += 330 * ms;
  const denoise = at;
  const inner: SpanIn[] = [];
  for (let block = 0; block < 6; ++block) {
    const block_begin = at;
    const block_index = inner.length;
    push(inner, "block", at, 0, 2, { args: { index: block, frames: 8 } });
    for (let step = 0; step < 8; ++step) {
      const first = block === 0 && step === 0;
      const slow = block === 4 && step === 3 && rank === 1;
      const length = (first ? 820 : slow ? 560 : 168 + 14 * next() + (rank === 1 ? 9 : 0)) * ms;
      steps.push(length);
      push(inner, "step", at, length, 3, { args: { index: step, timestep: 1000 - step * 125, guidance: 5 } });
      let t = at + 1.5 * ms;
      let device = Math.max(at + 2 * ms, gpu.length > 0 ? gpu[gpu.length - 1]!.begin + gpu[gpu.length - 1]!.duration : 0);
      for (let layer = 0; layer < 12; ++layer) {
        const part = (length - 6 * ms) / 12;
        push(inner, "attention", t, part * 0.5, 4);
        push(inner, "mlp", t + part * 0.55, part * 0.38, 4);
        for (let k = 0; k < 3; ++k) {
          const link = layer === 0 && k === 0 ? { args: { correlation: 100 * block + step } } : {};
          if (layer === 0 && k === 0) push(inner, "cudaLaunchKernel", t + 0.1 * ms, 0.2 * ms, 5, link);
          push(gpu, "flash_fwd_kernel<bf16, 128>", device, part * 0.14, 0, link);
          device += part * 0.15;
        }
        push(gpu, "ampere_bf16_s16816gemm_128x256", device, part * 0.3, 0);
        device += part * (0.32 + 0.1 * next());
        t += part;
      }
      push(inner, "all_reduce", at + length - 4 * ms, (rank === 0 ? 3.6 : 1.1) * ms, 4);
      at += length + 1.2 * ms;
    }
    inner[block_index]!.duration = Math.round(at - block_begin - 1 * ms);
    push(worker, "encode_frame", at + 5 * ms, 60 * ms + 20 * ms * next(), 0);
  }
  push(host, "denoise", denoise, at - denoise, 1, { args: { steps: 48, scheduler: "unipc" } });
  host.push(...inner);
  at += 8 * ms;
  push(gpu, "Memcpy HtoD", at, 12 * ms, 0);
  push(host, "vae_decode", at, 1480 * ms, 1, { args: { tiled: false } });
  at += 1490 * ms;
  push(host, "save_video", at, 420 * ms, 1, rank === 1 ? { flags: 1, args: { error: "disk quota exceeded" } } : {});
  at += 430 * ms;
  push(worker, "prefetch", 200 * ms, 1500 * ms, 0);
  host[0]!.duration = at + 20 * ms;
  const order = (a: SpanIn, b: SpanIn): number => a.begin - b.begin || (a.lane ?? 0) - (b.lane ?? 0);
  return { host: host.sort(order), gpu: gpu.sort(order), worker: worker.sort(order), end: at + 20 * ms, steps };
}

const kGpus = ["GPU-6f1d2c38-0001", "GPU-6f1d2c38-0002"];
const kGiB = 1024 ** 3;

function counters(end: number): CounterIn[] {
  const next = random(99);
  const out: CounterIn[] = [];
  const at: number[] = [];
  for (let t = 0; t < end; t += 100 * ms) at.push(t);
  const series = (entity: string, metric: string, unit: string, f: (t: number, i: number) => number): void => {
    out.push({ name: metric, entity, metric, unit, at, value: at.map(f) });
  };
  const phase = (t: number): number => (t < 2180 * ms ? 0 : t < 2510 * ms ? 0.4 : t < end - 1900 * ms ? 1 : t < end - 450 * ms ? 0.8 : 0.05);
  kGpus.forEach((gpu, g) => {
    series(gpu, "busy_ratio", "1", (t) => Math.min(1, Math.max(0, phase(t) * (0.82 + 0.16 * next()))));
    series(gpu, "memory_used_bytes", "B", (t) => (2 + (t < 2180 * ms ? (t / (2180 * ms)) * 6 : 6) + 9 * phase(t) + (phase(t) === 0.8 ? 6 : 0) + 0.3 * next()) * kGiB);
    series(gpu, "memory_total_bytes", "B", () => 24 * kGiB);
    series(gpu, "tree_memory_bytes", "B", (t) => ((t < 2180 * ms ? (t / (2180 * ms)) * 6 : 6) + 9 * phase(t) + (phase(t) === 0.8 ? 6 : 0)) * kGiB);
    series(gpu, "power_watts", "W", (t) => 62 + phase(t) * (255 + 20 * next()) + g * 8);
    series(gpu, "power_limit_watts", "W", () => 350);
    series(gpu, "temperature_celsius", "C", (t) => 41 + 33 * (1 - Math.exp(-Math.max(0, t - 2180 * ms) / (4e9))) + next());
    series(gpu, "temperature_limit_celsius", "C", () => 83);
    series(gpu, "throttle_reasons", "bits", (t) => (phase(t) < 0.1 ? 1 : t > 6e9 && t < 8.5e9 ? 4 : t > 9e9 && t < 9.6e9 ? 0x24 : 0));
    series(gpu, "clock_core_mhz", "MHz", (t) => 1410 - (phase(t) > 0.9 ? 90 * next() : 0) - (phase(t) < 0.1 ? 600 : 0));
  });
  let cpu = 0;
  let read = 0;
  series("tree", "cpu_ns", "ns", (t) => (cpu += (phase(t) < 0.2 ? 0.95 : 1.9 + 0.4 * next()) * 100 * ms));
  series("tree", "rss_bytes", "B", (t) => (0.4 + Math.min(1, t / (2180 * ms)) * 3.1 + t / 4e11) * kGiB);
  series("tree", "threads", "1", (t) => (t < 2e9 ? 12 : 28));
  series("tree", "io_read_bytes", "B", (t) => (read += t < 2180 * ms ? 118e6 : 0));
  series("system", "cpu_busy_ratio", "1", (t) => 0.11 + 0.16 * phase(t) + 0.05 * next());
  series("system", "memory_used_bytes", "B", (t) => (14 + Math.min(1, t / (2180 * ms)) * 4) * kGiB);
  series("system", "memory_total_bytes", "B", () => 64 * kGiB);
  series("system", "load_1m", "1", (t) => 1.2 + (t / end) * 2.1);
  out.push({ name: "latent_norm", entity: null, metric: null, unit: "", pid: 4242, at: at.filter((t) => phase(t) === 1), value: at.filter((t) => phase(t) === 1).map((_, i) => 60 * Math.exp(-i / 40) + 2 * next()) });
  return out;
}

function stage_rows(ranks: Rank[], wall: number): Json[] {
  const rows = new Map<number, number[]>();
  for (const rank of ranks) for (const list of [rank.host, rank.gpu, rank.worker]) for (const span of list) rows.set(span.name, [...(rows.get(span.name) ?? []), span.duration]);
  const order = ["session", "load", "stage", "block", "step", "none"];
  return [...rows.entries()]
    .map(([name, all]) => {
      const sorted = [...all].sort((a, b) => a - b);
      const p = (q: number): number => sorted[Math.max(1, Math.ceil(q * sorted.length)) - 1]!;
      const total = all.reduce((a, b) => a + b, 0);
      const kind = kNames[name]![1];
      const own = { session: 0.003, load: 1, stage: kNames[name]![0] === "denoise" ? 0.006 : 1, block: 0.01, step: 0.06, none: 1 }[kind] ?? 1;
      return {
        name: kNames[name]![0], kind, count: all.length, total_ns: total, self_ns: Math.round(total * (kNames[name]![0] === "denoise" ? 1 : own)),
        share: total / wall / 2, min_ns: sorted[0]!, mean_ns: total / all.length, p50_ns: p(0.5), p95_ns: p(0.95), p99_ns: p(0.99), max_ns: sorted[sorted.length - 1]!,
        device_ns: kind === "step" ? Math.round(total * 0.86) : null, energy_joules: kind === "stage" || kind === "load" ? Math.round((total / 1e9) * 210) : null,
        failed: kNames[name]![0] === "save_video" ? 1 : 0, unfinished: 0,
      };
    })
    .map((row) => ({ ...row, self_ns: row.kind === "stage" || row.kind === "load" ? Math.round(row.total_ns / 2) : row.self_ns }))
    .sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind) || b.total_ns - a.total_ns);
}

const finding = (rule: string, severity: string, title: string, advice: string, evidence: JsonObject, text: JsonObject, gain: string | null, low: number | null, high: number | null, source: string): JsonObject => ({
  rule, severity, title, advice, confidence: severity === "warning" ? "high" : "medium", source, evidence, evidence_text: text, gain, gain_low: low, gain_high: high,
});

export function demo_report(ranks: Rank[], wall: number): JsonObject {
  const steps = ranks.flatMap((r) => r.steps).sort((a, b) => a - b);
  const rest = steps.slice(0, -2);
  const median = rest[rest.length >> 1]!;
  return {
    schema: "genscope.report/1",
    headline: "Denoise took 66% of 19.1 s: 48 steps of 175 ms. 4 findings.",
    run: { id: "20261116-073000-wan-4242", name: "wan-1.3b, 48 frames", started: "2026-11-16T07:30:00.123456789Z", wall_ns: wall, command: ["torchrun", "--nproc-per-node=2", "generate.py", "--model", "wan-1.3b", "--frames", "48", "--prompt", "a red fox runs through fresh snow, morning light"], exit_code: 0, host: "render-03", processes: 2, ranks: 2, path: "genscope-runs/20261116-073000-wan-4242" },
    stages: stage_rows(ranks, wall),
    steps: { count: 96, first_ns: 820 * ms, p50_ns: median, p95_ns: steps[91]!, max_ns: 820 * ms, rest_p50_ns: median, first_ratio: (820 * ms) / median, warmup_count: 1, steady_p50_ns: median, steady_p95_ns: steps[91]!, trend: { value: 0.42, low: -0.1, high: 0.9 }, outliers: [{ index: 71, duration_ns: 560 * ms, ratio: (560 * ms) / median }] },
    process: { wall_ns: wall, cpu_ns: Math.round(wall * 1.93), peak_rss_bytes: 3.55 * kGiB, peak_rss_anon_bytes: 2.1 * kGiB, peak_threads: 28, peak_processes: 3, major_faults: 211, minor_faults: 918_233, io_read_bytes: 2_700_000_000, io_write_bytes: 41_000_000 },
    gpus: kGpus.map((gpu, i) => ({ id: gpu, kind: "gpu", vendor: "nvidia", name: "NVIDIA GeForce RTX 3090", memory_total_bytes: 24 * kGiB, memory_peak_bytes: 21.4 * kGiB, busy_mean_ratio: 0.64 + i * 0.02, busy_max_ratio: 0.98, power_mean_watts: 241 + i * 6, power_max_watts: 346, power_limit_watts: 350, energy: { joules: 3610 + i * 80, method: "counter", covered_seconds: wall / 1e9, uncovered_seconds: 0, resets: 0 }, energy_joules: 3610 + i * 80, temperature_max_celsius: 74, clock_core_mean_mhz: 1362, tree_memory_peak_bytes: 19.8 * kGiB, throttled_ratio: 0.06, throttle_reasons: 4 })),
    system: { cpu_count: 32, cpu_busy_mean_ratio: 0.24, memory_total_bytes: 64 * kGiB, memory_available_min_bytes: 45 * kGiB, swap_used_max_bytes: 0, load_1m_max: 3.3, pressure_cpu_some_ns: 120 * ms, pressure_memory_some_ns: 0, pressure_io_some_ns: 640 * ms, disk_read_bytes: 2.71e9, disk_write_bytes: 4.2e7, net_receive_bytes: 1.1e6, net_send_bytes: 9e5 },
    cgroup: null, cpu_packages: [{ id: "package-0", name: "AMD EPYC", energy: { joules: 1240, method: "counter", covered_seconds: 15, uncovered_seconds: 0, resets: 0 }, energy_joules: 1240 }],
    allocators: [{ device: "cuda:0", requested_bytes: 15.1 * kGiB, allocated_bytes: 15.4 * kGiB, active_bytes: 15.6 * kGiB, reserved_bytes: 19.2 * kGiB, inactive_split_bytes: 1.3 * kGiB, retries: 2, ooms: 0, cache_slack_bytes: 3.8 * kGiB, rounding_bytes: 0.3 * kGiB, pending_free_bytes: 0.2 * kGiB, pinned_bytes: 1.3 * kGiB, releasable_bytes: 2.3 * kGiB, outside_bytes: 0.6 * kGiB }],
    processes: [{ entity: "tree", pid: 4242, parent: 4200, name: "python3", cpu_ns: Math.round(wall * 0.97), peak_rss_bytes: 1.8 * kGiB, peak_gpu_memory_bytes: null }, { entity: "tree", pid: 4243, parent: 4200, name: "python3", cpu_ns: Math.round(wall * 0.95), peak_rss_bytes: 1.7 * kGiB, peak_gpu_memory_bytes: null }],
    telemetry_events: [{ at_ns: 40 * ms, entity: "tree", name: "process_started", detail: "pid 4243" }, { at_ns: 6100 * ms, entity: kGpus[0]!, name: "probe_slowed", detail: "the driver took 41 ms to answer; every 200 ms now" }],
    findings: [
      finding("STEP-FIRST", "warning", "The first step pays for warming up", "The first step takes 4.7 times a steady one. Warm up once after loading, or keep compiled kernels in a cache on disk.", { "steps.first_ratio": 4.7, "steps.steady_p50_ns": median }, { "steps.first_ratio": "4.7x", "steps.steady_p50_ns": "175 ms" }, "9.1 -> 2.4 s for the first picture", 0.04, 0.11, "huggingface/diffusers#9999"),
      finding("LOAD-SLOW", "hint", "Loading is slow", "Loading takes 15 % of the run. Use safetensors on a local disk, straight to the device; avoid single-file conversion.", { "stage_groups.exclusive_share[load_model]": 0.15, "loads.bytes_per_second": 1.28e9 }, { "stage_groups.exclusive_share[load_model]": "15 %", "loads.bytes_per_second": "1.3 GB/s" }, "194 -> 6 s; 4 min on a hard disk", null, null, "vllm-project/vllm#3185, huggingface/diffusers#2852"),
      finding("MEM-HIGH", "warning", "GPU memory is nearly full", "The peak is 89 % of the memory, reached in vae_decode. Tile the VAE before a larger size fails.", { "gpu.memory_peak_share": 0.89, "allocator.peak_stage": "vae_decode" }, { "gpu.memory_peak_share": "89 %", "allocator.peak_stage": "vae_decode" }, null, null, null, "diffusers: reduce memory usage"),
      finding("GPU-UNDERUSED", "hint", "The GPU could be busier", "The GPU is busy 65 % of the time. A larger batch, compile or fewer waits of the host would use the rest.", { "gpu.busy_ratio": 0.65 }, { "gpu.busy_ratio": "65 %" }, null, 0.05, 0.2, "NVML: utilization rates"),
    ],
    threads: ranks.flatMap((rank, i) => [{ pid: 4242 + i, tid: 4242 + i, name: "main", spans: rank.host.length, busy_ns: rank.end, first_ns: 0, last_ns: rank.end, dropped_spans: 0, dropped_records: 0 }, { pid: 4242 + i, tid: 4250 + i, name: "encoder", spans: rank.worker.length, busy_ns: 1900 * ms, first_ns: 200 * ms, last_ns: rank.end, dropped_spans: 0, dropped_records: 0 }]),
    counters: [{ name: "latent_norm", count: 90, not_finite: 0, first: 61, last: 6, min: 5, mean: 20, max: 61 }],
    recorder: { spans: ranks.reduce((n, r) => n + r.host.length + r.gpu.length + r.worker.length, 0), events: 3, counters: 90, dropped: 0, dropped_spans: 0, dropped_records: 0, threads: 4, bytes: 1_400_000, probe_cpu_ns: Math.round(wall * 0.004) },
    integrity: { processes: [0, 1].map((i) => ({ pid: 4242 + i, host: "render-03", rank: i, closed: true, in_progress: false, recovered_chunks: 0, bad_frames: 0, bad_bytes: 0, missing_chunks: 0, bad_words: 0, unfinished_spans: 0, clamped_ticks: 0, notes: [] })), notes: [] },
    absent: { cgroup: "the command ran in the root group", "gpus.sm_active_ratio": "needs DCGM" },
    diffusion: { blocks: 12, frames: 48, frames_per_second: 3.4, blocks_per_second: 0.83, steps_per_second: 5.6, frames_per_block: 8 },
    requests: { count: 0 },
    bottlenecks: [{ name: "denoise", kind: "stage", self_share: 0.66, threshold: "over 50% (bottleneck)" }],
    resources: {
      stages: ["load_model", "text_encode", "denoise", "vae_decode", "save_video"].map((name, i) => ({ name, kind: i === 0 ? "load" : "stage", cpu_cores: { samples: 20, mean: [0.95, 1.6, 2.1, 2.0, 1.0][i]!, max: 2.4 }, rss_bytes: { samples: 20, mean: 3 * kGiB, max: [3.3, 3.4, 3.5, 3.5, 3.55][i]! * kGiB }, gpu_busy_ratio: { samples: i === 1 ? 2 : 20, mean: i === 1 ? null : [0, 0.4, 0.91, 0.72, 0.04][i]!, max: 0.98 }, gpu_memory_bytes: { samples: 20, mean: 12 * kGiB, max: [8, 11, 17, 21.4, 8][i]! * kGiB }, gpu_power_watts: { samples: 20, mean: [66, 160, 330, 270, 80][i]!, max: 346 }, energy_joules: [140, 50, 3020, 400, 34][i]!, energy_covered: 1, reason: "" })),
      growth: [{ what: "host", bytes_per_second: { value: 2.6e6, low: 1.9e6, high: 3.3e6 }, growth_ratio: 0.012, samples: 140, leak: false, stage: "" }, { what: kGpus[0]!, bytes_per_second: { value: 1e4, low: -4e5, high: 5e5 }, growth_ratio: 0.001, samples: 140, leak: false, stage: "" }],
      energy: [{ unit: "frame", count: 48, joules_each: 151, covered: 1 }],
      throttling: [{ gpu: kGpus[0]!, cause: "power cap", share: 0.06, samples: 140 }],
      utilisation: { mfu: 0.41, band: "fair", predicted_step_ns: 128 * ms, tflops: 29.1, bound: "compute", model: "wan-1.3b", hardware: "RTX 3090", note: "", reason: "" },
      devices: [{ device: "cuda:0", begin_ns: 2510 * ms, end_ns: wall - 1900 * ms, busy_ns: 7200 * ms, compute_ns: 6900 * ms, communication_ns: 420 * ms, copy_ns: 60 * ms, overlap_ns: 180 * ms, exposed_ns: 300 * ms, idle_host_wait_ns: 1100 * ms, idle_kernel_wait_ns: 640 * ms, idle_other_ns: 320 * ms, kernels: 4609 }],
      kernels: [{ stage: "denoise", name: "ampere_bf16_s16816gemm_128x256", count: 1152, total_ns: 3900 * ms }, { stage: "denoise", name: "flash_fwd_kernel<bf16, 128>", count: 3456, total_ns: 3000 * ms }],
    },
    aggregate: { ranks: 2, stragglers: [{ rank: "rank 1", role: "culprit", value: 0.053, median: 0.11, why: "it waits least in all_reduce: the other waits for it" }], clocks: [{ rank: "rank 1", offset_seconds: 0.000012, error_seconds: 0.000004, method: "same boot" }] },
  };
}

export function demo_page(): PageIn {
  const ranks = [run_rank(0), run_rank(1)];
  const wall = Math.round(Math.max(...ranks.map((r) => r.end)));
  const tracks: TrackIn[] = ranks.flatMap((rank, i) => [
    { pid: 4242 + i, tid: 4242 + i, rank: i, process: "generate.py", name: "main", spans: rank.host },
    { pid: 4242 + i, tid: 4250 + i, rank: i, process: "generate.py", name: "encoder", spans: rank.worker },
    { pid: 4242 + i, tid: null, rank: i, process: "generate.py", name: `cuda:${i} stream 7`, device: true, spans: rank.gpu },
  ]);
  const names = [...kNames.map(([name]) => name), "checkpoint reached"];
  const events: EventIn[] = [2180, 5200, 9100].map((t) => ({ at: t * ms, name: names.length - 1, track: 0, args: { note: "state saved" } }));
  return { report: demo_report(ranks, wall), names, kinds: [...kNames.map(([, kind]) => kind), "none"], tracks, counters: counters(wall), events };
}

// Many short spans in a few rows, for figures.
export function large_page(spans: number, tracks = 8, lanes = 5): PageIn {
  const next = random(3);
  const names = Array.from({ length: 200 }, (_, i) => `op_${i}`);
  const per = Math.floor(spans / tracks);
  const list: TrackIn[] = [];
  let wall = 0;
  for (let t = 0; t < tracks; ++t) {
    const out: SpanIn[] = [];
    const free = new Array<number>(lanes).fill(0);
    let at = 0;
    for (let i = 0; i < per; ++i) {
      at += Math.floor(next() * 900);
      const lane = i % lanes;
      const begin = Math.max(at, free[lane]!);
      at = begin;
      const duration = Math.floor(200 + next() * next() * 6000);
      free[lane] = begin + duration;
      out.push({ begin, duration, name: Math.floor(next() * 200), lane });
    }
    wall = Math.max(wall, ...free);
    list.push({ pid: 1, tid: t + 1, rank: null, process: "bench", name: `thread ${t}`, spans: out });
  }
  return {
    names, kinds: names.map(() => "none"), tracks: list,
    report: { schema: "genscope.report/1", run: { name: `${spans} spans`, wall_ns: wall, processes: 1, path: "" }, stages: [], steps: {}, process: {}, gpus: [], system: {}, findings: [], threads: [], counters: [], recorder: { spans, dropped: 0 }, integrity: { processes: [], notes: [] }, absent: {} },
  };
}

// The first rank's run: eager, and compiled with shorter steps, a stage more and prefetching no more.
function compared_run(compiled: boolean): RunIn {
  const { host, worker } = run_rank(0);
  const late = (at: number): number => (compiled && at >= 2180 * ms ? at + 900 * ms : at);
  const spans = host.map((s) => ({ ...s, begin: late(s.begin), duration: kNames[s.name]![0] === "generate" ? s.duration + (compiled ? 900 * ms : 0) : s.duration }));
  if (compiled) {
    for (const s of spans) if (["attention", "mlp"].includes(kNames[s.name]![0])) s.duration = Math.round(s.duration * 0.6);
    spans.push({ begin: 2200 * ms, duration: 850 * ms, name: id("compile"), lane: 1 });
    spans.sort((a, b) => a.begin - b.begin || a.lane! - b.lane!);
  }
  const tracks: TrackIn[] = [{ pid: 4242, tid: 4242, process: "generate.py", name: "main", spans }];
  if (!compiled) tracks.push({ pid: 4242, tid: 4250, process: "generate.py", name: "loader", spans: worker });
  return { names: kNames.map(([n]) => n), kinds: kNames.map(([, k]) => k), tracks };
}

const part = (name: string, before: number, after: number, share: number): JsonObject => ({
  name, before, after, difference: after - before, interval: { low: after - before - 0.2, high: after - before + 0.2 }, share, of: [],
});

function outline(side: string, nth: number): OutlineIn {
  const step_ns = (side === "after" ? 175e6 : 251e6) * (1 + nth / 60);
  const at = (i: number): number => 3.2e9 + i * step_ns;
  const steps = Array.from({ length: 48 }, (_, i) => i);
  const end = at(48);
  return {
    side, name: "wan-1.3b", path: `genscope-runs/${side}-${nth}`, wall_ns: end + 2.2e9,
    stages: [["load_model", 0.2e9, 2.1e9], ["text_encoding", 2.4e9, 0.6e9], ["denoise", 3.1e9, end - 3.1e9], ["vae_decode", end + 0.1e9, 1.5e9]],
    step_begin: steps.map(at), step: steps.map((i) => step_ns * (i === 0 ? 2.4 : 1 + 0.03 * Math.sin(i * 1.7 + nth))),
    series: [
      { entity: "tree", metric: "rss_bytes", unit: "B", at: steps.map((i) => i * 0.35e9), value: steps.map((i) => 0.4e9 + 2.8e9 * Math.min(1, i / 8) + 2e7 * nth) },
      { entity: "tree", metric: "cpu_ns", unit: "ns", at: steps.map((i) => i * 0.35e9), value: steps.map((i) => i * 0.4e9 * (1 + nth / 20)) },
    ],
  };
}

export function demo_compare(): PageIn {
  const row = (name: string, kind: string, unit: string, before: number | null, after: number | null, low: number | null, high: number | null, verdict: string, n = 48): JsonObject => ({
    name, kind, unit, before, after, before_runs: before === null ? 0 : 3, after_runs: after === null ? 0 : 3, before_count: before === null ? 0 : n, after_count: after === null ? 0 : n,
    percent: before && after ? ((after - before) / before) * 100 : null, factor: before && after ? before / after : null, factor_low: low, factor_high: high, interval_over: low === null ? null : "runs", verdict, reason: "",
  });
  return {
    mode: "compare", names: [], kinds: [], tracks: [], runs: [compared_run(false), compared_run(true)],
    outlines: { runs: ["before", "after"].flatMap((side) => [1, 2, 3, 4].map((nth) => outline(side, nth))), left_out: 2 },
    compare: {
      schema: "genscope.compare/2",
      before: { runs: [1, 2, 3].map((i) => ({ name: "wan-1.3b, eager", id: `2026111${i}-wan`, path: `genscope-runs/2026111${i}-wan`, total_ns: 19.1e9 })) },
      after: { runs: [4, 5, 6].map((i) => ({ name: "wan-1.3b, compiled", id: `2026111${i}-wan`, path: `genscope-runs/2026111${i}-wan`, total_ns: 14.2e9 })) },
      environment: [{ key: "torch", before: "2.9.1", after: "2.10.0", decisive: false }, { key: "driver", before: "550.54", after: "550.90", decisive: false }],
      workload: [{ key: "set.compile", before: "false", after: "true", decisive: false }, { key: "set.seed", before: null, after: "7", decisive: false }],
      other: [], env_changes: 2, comparable: true, forced: false, incomparable: [], notes: ["Clocks of the GPU differ by 2 %."], noise_floor: 0.02,
      rows: [
        row("wall time", "run", "ns", 19.1e9, 14.2e9, null, null, "improved", 1),
        row("denoise", "stage", "ns", 13.4e9, 9.3e9, null, null, "improved", 2),
        row("steady step", "step", "ns", 251e6, 175e6, 1.41, 1.46, "improved", 94),
        row("vae_decode", "stage", "ns", 1.47e9, 1.48e9, 0.985, 1.006, "unchanged", 4),
        row("load_model", "load", "ns", 2.05e9, 2.11e9, 0.9, 1.05, "inconclusive", 4),
        row("compile", "stage", "ns", null, 0.9e9, null, null, "appeared", 1),
        row("peak RSS", "memory", "bytes", 3.2e9, 3.8e9, null, null, "regressed", 1),
        row("energy per frame", "energy", "joules", 204, 151, null, null, "improved", 1),
      ],
      rows_left_out: 0, verdict: "improved", headline: "Improved. Wall time: 26 % less (95 %: -28 % to -23 %), beyond the floor of 2 %; 3 runs of each, medians 19.1 s and 14.2 s. By row: steady step improved by 30 %, peak RSS regressed by 19 %.",
      total: { figure: "wall time", ratio: 0.74 },
      attribution: {
        total: part("total", 19.1, 14.2, 1),
        parts: [{ ...part("denoise", 13.4, 9.3, 0.84), of: [{ ...part("steps", 48, 48, 0), difference: 0 }, part("per step", 0.28, 0.19, 0.84)] }, part("compile", 0, 0.9, -0.18), part("outside", 5.7, 4, 0.34)],
        notes: [],
      },
      before_after: null, absent: {},
    },
  };
}
