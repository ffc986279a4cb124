#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>

#include "bench/suite/suite.h"

namespace genscope::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Suite good_suite(const std::string& text) {
  const Result<Suite> suite = parse_suite(text, "s.yaml");
  EXPECT_TRUE(suite.ok()) << suite.error().message;
  return suite.ok() ? *suite : Suite{};
}

std::string suite_mistakes(const std::string& text) {
  const Result<Suite> suite = parse_suite(text, "s.yaml");
  return suite.ok() ? "" : suite.error().message;
}

constexpr const char* kSmall = R"(
suite: small
defaults: {runner: {command: "echo {size}"}}
)";

TEST(SuiteFile, ReadsTheWholeFile) {
  const Suite suite = good_suite(R"(
version: 1
suite: qwen-image-regression
defaults:
  runner: {kind: command, command: [python, gen.py, "--size={size}"], env: {A: b}, cwd: .}
  isolation: process
  order: abba
  processes: {min: 4, max: 12}
  iterations: {min: 3, max: 20}
  warmup: {mode: auto, max_iters: 5, max_seconds: 120, same_shape: true}
  stop: {ci: 0.95, rel_half_width: 0.02, budget: 20m}
  timeout: {cell: 10m, iteration: 180s, startup: 5m}
  retry: {infra: 1, throttled: 5, product_failure: 0}
matrix:
  axes: {arch: [mmdit, unet], size: [512x512, 1024x1024, 1280x1280], steps: [10, 20, 30], batch: [1, 4]}
  exclude: [{when: "size.pixels * batch > 4200000 && arch == 'unet'", why: "over 16 GB"}]
  include: [{arch: mmdit, size: 1664x928, steps: 28, batch: 1}]
  oom: {dominance: [size.pixels, batch], remember: true}
  sample: all
prompts: {list: [a cat, a dog], seeds: [1, 2, 3], pairing: prompt_seed, min_success: 0.95}
metrics:
  latency_s: {direction: lower, min_effect: 2%, gate: true}
  stage.denoise.step_ms: {direction: lower, min_effect: 3%, abs_floor: 2ms}
  vram_peak_mb: {direction: lower, min_effect: 1%, abs_floor: 128, gate: true}
targets: [{metric: latency_s, stat: median, max: 5.0, score_weight: 3}, {speedup_vs: before, min: 50}]
quality: {reference: baseline, metrics: {clip: {margin: 0.2%}, ssim: {min: 0.95}}, mode: non_inferiority}
cost: {usd_per_hour: 2.1, usd_per_kwh: 0.25}
environment: {require: {gpu: "RTX 4080*"}, warn: [governor, load>0.3], on_violation: fail}
compare: {baseline: main, alpha: 0.05, correction: holm, verdict: [regressed]}
)");
  EXPECT_EQ(suite.name, "qwen-image-regression");
  EXPECT_THAT(suite.runner.argv, ElementsAre("python", "gen.py", "--size={size}"));
  EXPECT_EQ(suite.processes.max, 12u);
  EXPECT_EQ(suite.stop.budget_s, 1200);
  EXPECT_EQ(suite.timeout.iteration_s, 180);
  EXPECT_EQ(suite.matrix.axes.size(), 4u);
  EXPECT_EQ(suite.metrics[1].abs_floor, 2);
  EXPECT_DOUBLE_EQ(suite.metrics[0].min_effect, 0.02);
  EXPECT_EQ(suite.targets[1].speedup_vs, "before");
  EXPECT_DOUBLE_EQ(*suite.quality->metrics.at("clip").margin, 0.002);
  EXPECT_TRUE(suite.environment.fail_on_violation);
  EXPECT_EQ(suite.prompts.seeds.size(), 3u);
}

TEST(SuiteFile, AddressesAndEndpointsAreCheckedBeforeAnythingRuns) {
  const auto with = [](const std::string& runner) {
    return suite_mistakes("suite: x\ndefaults:\n  runner: {kind: http, " + runner + "}\n");
  };
  EXPECT_THAT(with("url: htp://x"),
              HasSubstr("s.yaml:3: defaults.runner.url: htp://x: an address begins"));
  EXPECT_THAT(with("url: 'http://x:99999/'"), HasSubstr("the port is a number"));
  EXPECT_THAT(with("url: 'http://x/', ready: localhost"),
              HasSubstr("defaults.runner.ready: localhost"));
  EXPECT_THAT(with("url: 'http://x/', endpoint: opnai-chat"),
              HasSubstr("did you mean 'openai-chat'?"));
  EXPECT_EQ(
      with("command: serve, url: 'http://127.0.0.1:{port}/v1', ready: 'http://127.0.0.1:{port}/'"),
      "");
}

TEST(SuiteFile, AMistypedMetricIsAMistakeWhereAllAreKnown) {
  const std::string targets = "targets: [{metric: latnecy_s, max: 5s}]\n";
  EXPECT_THAT(
      suite_mistakes(kSmall + targets),
      HasSubstr("targets[0].metric: no metric is called 'latnecy_s'; did you mean 'latency_s'?"));
  EXPECT_THAT(suite_mistakes(std::string(kSmall) + "metrics: {vram_peek_mb: {gate: true}}\n"),
              HasSubstr("did you mean 'vram_peak_mb'?"));
  for (const char* fine :
       {"latency_ms", "gpu_util_pct", "rss_peak_gib", "stage.denoise.step_ms", "my_own"}) {
    EXPECT_EQ(suite_mistakes(kSmall + fmt::format("targets: [{{metric: {}, max: 5}}]\n", fine)), "")
        << fine;
  }
  const std::string function = "suite: x\ndefaults: {runner: {kind: callable}}\n";
  EXPECT_EQ(suite_mistakes(function + targets), "");  // it may have a metric of that name
}

TEST(SuiteFile, AnAxisThatIsInNothingThatRunsIsDoubted) {
  const auto doubts = [](const std::string& runner) {
    return suite_doubts(
        good_suite("suite: x\ndefaults: {runner: {" + runner +
                   "}}\nmatrix: {axes: {n: [1, 2], size: [8x8, 9x9], one: [1]}}\n"));
  };
  EXPECT_THAT(doubts("command: 'gen {n}', env: {SIZE: '{size.w}'}"), ElementsAre());
  EXPECT_THAT(doubts("command: 'gen {size}'"), ElementsAre(HasSubstr("{n} is in no command")));
  EXPECT_THAT(doubts("command: 'gen $GENSCOPE_PARAM_n'"), ElementsAre());
  EXPECT_THAT(doubts("kind: http, url: 'http://x/{n}'"),
              ElementsAre(HasSubstr("{size} is in no request")));
  EXPECT_THAT(doubts("kind: callable"), ElementsAre());
}

TEST(SuiteFile, EveryVerdictMayBeRefused) {
  EXPECT_EQ(suite_mistakes(std::string(kSmall) +
                           "compare: {baseline: main, verdict: [regressed, clock_shift]}\n"),
            "");
}

TEST(SuiteFile, AWrongLimitIsToldOnce) {
  const std::string said = suite_mistakes(
      "suite: x\ndefaults: {runner: {kind: http, url: 'http://x/'}}\nload: {duration: 1s, slo: "
      "{latency_s: x}}\n");
  EXPECT_THAT(said, HasSubstr("found 'x'"));
  EXPECT_THAT(said, ::testing::Not(HasSubstr("missing")));
}

TEST(SuiteFile, ListsTenMistakesAtOnce) {
  const std::string all = suite_mistakes(R"(version: 2
suite: x
defaults:
  runner: {kind: comand, command: [x], wram_server: true}
  processes: {min: 8, max: 2}
  stop: {budget: 20}
matrix:
  axes: {size: [512x512], steps: [10, 10]}
  exclude: [{when: "sise.pixels > 3", why: "no"}]
metrics:
  latency_s: {min_effect: 2}
targets: [{metric: latency_s}]
envronment: {}
)");
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n') + 1, 10) << all;
  EXPECT_THAT(all, HasSubstr("s.yaml:1: version: this genscope reads version 1"));
  EXPECT_THAT(all, HasSubstr("s.yaml:4: defaults.runner.kind: 'comand' is none of"));
  EXPECT_THAT(all, HasSubstr("did you mean 'command'?"));
  EXPECT_THAT(all, HasSubstr("unknown name 'wram_server'; did you mean 'warm_server'?"));
  EXPECT_THAT(all, HasSubstr("s.yaml:5: defaults.processes.max: 2 is below min, 8"));
  EXPECT_THAT(all, HasSubstr("a time with its unit, such as 180s or 20m, found '20'"));
  EXPECT_THAT(all, HasSubstr("matrix.axes.steps: '10' is listed twice"));
  EXPECT_THAT(all, HasSubstr("no axis is called 'sise.pixels'; did you mean 'size.pixels'?"));
  EXPECT_THAT(all, HasSubstr("metrics.latency_s.min_effect: expected a share such as 2%"));
  EXPECT_THAT(all, HasSubstr("s.yaml:12: targets[0]: has neither max nor min"));
  EXPECT_THAT(all, HasSubstr("unknown name 'envronment'; did you mean 'environment'?"));
}

TEST(SuiteFile, AsksForWhatIsMissing) {
  EXPECT_THAT(suite_mistakes("suite: x\n"), HasSubstr("defaults.runner.command: missing"));
  EXPECT_THAT(suite_mistakes("defaults: {runner: {command: x}}\n"), HasSubstr("suite: missing"));
  EXPECT_THAT(suite_mistakes("suite: x\ndefaults: {runner: {kind: http}}\n"),
              HasSubstr("defaults.runner.url: missing"));
}

TEST(SuiteFile, HashIgnoresCommentsAndSeesValues) {
  const std::string hash = good_suite(kSmall).hash;
  EXPECT_EQ(hash.size(), 16u);
  EXPECT_EQ(good_suite(std::string("# a comment\n") + kSmall).hash, hash);
  EXPECT_NE(good_suite(std::string(kSmall) + "cost: {usd_per_hour: 1}\n").hash, hash);
}

TEST(SuiteFile, NamesAPromptFileThatIsNotThere) {
  EXPECT_THAT(suite_mistakes(std::string(kSmall) + "prompts: {file: nowhere.txt}\n"),
              HasSubstr("s.yaml:4: prompts.file: "));
}

TEST(SuiteFile, NamesOfValuesThatThereAreNot) {
  const auto parsed = parse_suite(
      "suite: s\n"
      "defaults:\n"
      "  runner:\n"
      "    command: [gen, '{stpes}', '{size.w}', '{size.width}', \"awk '{print}'\", '${stpes}']\n"
      "    prepare: rm {outt}\n"
      "matrix: {axes: {steps: [1, 2], size: [8x8], out: [a, b]}}\n",
      "s.yaml");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message,
            "s.yaml:4: defaults.runner.command: there is no value for {stpes}; did you mean "
            "'steps'?\n"
            "s.yaml:4: defaults.runner.command: there is no value for {size.width}; there are out, "
            "size, size.h, size.pixels, size.w, steps, prompt, seed, iteration\n"
            "s.yaml:5: defaults.runner.prepare: there is no value for {outt}; did you mean 'out'?");
  const auto asked = parse_suite(
      "suite: s\ndefaults:\n  runner: {kind: http, url: 'http://x/{id}', body: '{\"a\": "
      "{seed}}'}\n",
      "s.yaml");
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().message,
            "s.yaml:3: defaults.runner.url: there is no value for {id}; there are prompt, seed, "
            "iteration, port");
}

}  // namespace
}  // namespace genscope::bench
