#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/quality/test_images.h"
#include "genscope/bench.h"

namespace genscope::bench {
namespace {

using ::testing::HasSubstr;

// Outputs of one side: one file for each prompt.
class Quality : public ::testing::Test {
 protected:
  void add(std::vector<Output>& side, const std::string& bytes, const std::string& prompt = "p",
           std::int64_t seed = 1) {
    const std::string path = folder_.write("out" + std::to_string(next_++), bytes);
    side.push_back({"cell", prompt, seed, path});
  }
  QualityResult compare() { return compare_outputs(before_, after_, options_); }
  // `n` keys whose "after" is noisy by up to `noise`.
  void noisy(int n, unsigned noise) {
    for (int i = 0; i < n; ++i) {
      add(before_, test::png(test::pattern(32, 24)), "p", i);
      add(after_, test::png(test::pattern(32, 24, noise + static_cast<unsigned>(i))), "p", i);
    }
  }

  test::Folder folder_;
  std::vector<Output> before_, after_;
  QualityOptions options_;
  int next_ = 0;
};

TEST_F(Quality, EqualBytes) {
  for (int seed = 0; seed < 3; ++seed) {
    add(before_, "any kind of file", "p", seed);
    add(after_, "any kind of file", "p", seed);
  }
  const QualityResult result = compare();
  EXPECT_EQ(result.verdict, "same_bytes");
  EXPECT_EQ(result.reason, "3 of 3 bytes equal");
}

TEST_F(Quality, OtherFileEqualPixels) {
  add(before_, test::png(test::pattern(16, 16)));
  add(after_, test::ppm(test::pattern(16, 16)));
  const QualityResult result = compare();
  EXPECT_EQ(result.verdict, "same_quality");
  EXPECT_FALSE(result.pairs[0].same_bytes);
  EXPECT_TRUE(std::isinf(*result.pairs[0].psnr_db));
  EXPECT_NEAR(*result.pairs[0].ssim, 1, 1e-12);
}

TEST_F(Quality, AlmostEqualIsSame) {
  noisy(4, 1);
  const QualityResult result = compare();
  EXPECT_EQ(result.verdict, "same_quality") << result.reason;
  EXPECT_THAT(result.reason, HasSubstr("at least 0.95 is wanted, 4 pairs"));
  EXPECT_GT(*result.pairs[0].psnr_db, 40);
}

TEST_F(Quality, MuchNoiseIsLower) {
  noisy(4, 230);
  const QualityResult result = compare();
  EXPECT_EQ(result.verdict, "lower_quality") << result.reason;
  EXPECT_EQ(speed_and_quality(Verdict::improved, result), "faster_lower_quality");
}

TEST_F(Quality, BlankOrMissingIsLower) {
  add(before_, test::ppm(test::pattern(16, 16)));
  add(after_, test::ppm({16, 16, 3, std::vector<std::uint8_t>(768, 0)}));
  EXPECT_EQ(compare().verdict, "lower_quality");
  EXPECT_EQ(compare().reason, "1 of 1 outputs after are blank");
  std::filesystem::remove(after_[0].path);
  EXPECT_EQ(compare().verdict, "lower_quality");
  EXPECT_EQ(compare().reason, "1 of 1 outputs after are missing or cannot be read");
}

TEST_F(Quality, NothingInCommonIsNotCompared) {
  add(before_, "x", "one");
  add(after_, "x", "two");
  EXPECT_EQ(compare().verdict, "not_compared");
  EXPECT_THAT(compare().reason, HasSubstr("same prompt and seed"));
  EXPECT_EQ(speed_and_quality(Verdict::improved, compare()), "faster_unknown_quality");
}

TEST_F(Quality, OtherSizesAreNotCompared) {
  add(before_, test::ppm(test::pattern(16, 16)));
  add(after_, test::ppm(test::pattern(16, 12)));
  EXPECT_EQ(compare().verdict, "not_compared");
  EXPECT_THAT(compare().reason,
              HasSubstr("the sizes differ: 16 x 16 with 3 channels, and 16 x 12"));
}

TEST_F(Quality, ASideThatDiffersFromItselfIsMeasuredByThat) {
  for (int seed = 0; seed < 3; ++seed) {
    add(before_, test::png(test::pattern(32, 24, 100)), "p", seed);
    add(before_, test::png(test::pattern(32, 24)), "p", seed);
    add(after_, test::png(test::pattern(32, 24, 20)), "p", seed);
    add(after_, test::png(test::pattern(32, 24, 20)), "p", seed);
  }
  const QualityResult result = compare();
  EXPECT_EQ(result.verdict, "same_quality") << result.reason;
  EXPECT_THAT(result.reason, HasSubstr("differ from run to run themselves"));
}

TEST_F(Quality, AUsersMetricDecides) {
  noisy(4, 230);  // SSIM alone would say lower
  options_.command =
      "echo loading the model; test -f {before} && echo '{\"clip\": {\"before\": 0.31, \"after\": "
      "0.3101}}'";
  const QualityResult result = compare();
  EXPECT_EQ(result.verdict, "same_quality") << result.reason;
  EXPECT_EQ(result.pairs[0].before.at("clip"), 0.31);

  options_.command = "echo '{\"clip\": {\"before\": 0.31, \"after\": 0.2}}'";
  EXPECT_EQ(compare().verdict, "lower_quality");
  ASSERT_TRUE(add_quality_rule(options_, "clip.margin=0.2").ok());
  EXPECT_EQ(compare().verdict, "same_quality");
}

TEST_F(Quality, ANumberIsJudgedByItsLimit) {
  noisy(3, 1);
  options_.command = "echo 0.12";
  ASSERT_TRUE(add_quality_rule(options_, "score.max=0.15").ok());
  EXPECT_EQ(compare().verdict, "same_quality");
  ASSERT_TRUE(add_quality_rule(options_, "score.max=0.1").ok());
  EXPECT_EQ(compare().verdict, "lower_quality");
}

TEST_F(Quality, AMetricThatFailsIsSaid) {
  noisy(2, 1);
  options_.command = "echo no module named clip >&2; exit 3";
  EXPECT_EQ(compare().verdict, "not_compared");
  EXPECT_THAT(compare().reason, HasSubstr("exited with 3: no module named clip"));
  options_.command = "echo hello";
  EXPECT_THAT(compare().reason, HasSubstr("neither a number nor an object of numbers: hello"));
  options_.command = "sleep 60";
  options_.command_timeout_s = 0.05;
  EXPECT_THAT(compare().reason, HasSubstr("took too long and was ended"));
}

TEST_F(Quality, ARuleOfWhatWasNotMeasuredLeavesItUnclear) {
  noisy(3, 1);
  ASSERT_TRUE(add_quality_rule(options_, "lpips.max=0.1").ok());
  EXPECT_EQ(compare().verdict, "unclear");
  EXPECT_THAT(compare().reason, HasSubstr("lpips was not measured"));
}

TEST_F(Quality, PromptsReachTheMetricQuoted) {
  add(before_, "a", "it's; rm -rf $HOME");
  add(after_, "b", "it's; rm -rf $HOME");
  options_.command = "test {prompt} = \"it's; rm -rf \\$HOME\" && echo 1";
  ASSERT_TRUE(add_quality_rule(options_, "score.min=1").ok());
  EXPECT_EQ(compare().verdict, "same_quality") << compare().reason;
}

TEST(QualityRules, NameWhatIsWrong) {
  QualityOptions options;
  ASSERT_TRUE(add_quality_rule(options, "clip.margin=0.2%").ok());
  EXPECT_TRUE(options.rules["clip"].relative);
  EXPECT_DOUBLE_EQ(*options.rules["clip"].margin, 0.002);
  EXPECT_THAT(add_quality_rule(options, "ssim.mim=1").error().message,
              HasSubstr("did you mean 'min'"));
  EXPECT_THAT(add_quality_rule(options, "ssim.min=x").error().message, HasSubstr("not a number"));
  EXPECT_FALSE(add_quality_rule(options, "ssim=1").ok());
}

TEST(CheckOutput, FindsBlankBrokenAndNan) {
  const test::Folder folder;
  const std::string good = folder.write("a.png", test::png(test::pattern(16, 16)));
  EXPECT_FALSE(check_output(good));
  const Image black{4, 4, 3, std::vector<std::uint8_t>(48, 0)};
  EXPECT_EQ(check_output(folder.write("b.png", test::png(black)))->kind,
            FailureClass::blank_output);
  EXPECT_EQ(check_output(folder.write("c.png", "\x89PNG"))->kind, FailureClass::bad_output);
  EXPECT_EQ(check_output(folder.path + "/none.png")->kind, FailureClass::bad_output);
  EXPECT_EQ(check_output(folder.write("empty.txt", ""))->kind, FailureClass::bad_output);
  EXPECT_FALSE(check_output(folder.write("text.txt", "Paris is a city")));

  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}\n";
  std::string npy("\x93NUMPY\x01\x00", 8);
  npy += static_cast<char>(header.size());
  npy += '\0';
  npy += header;
  const float values[2] = {1, std::numeric_limits<float>::quiet_NaN()};
  npy.append(reinterpret_cast<const char*>(values), sizeof values);
  const auto nan = check_output(folder.write("l.npy", npy));
  ASSERT_TRUE(nan);
  EXPECT_EQ(nan->kind, FailureClass::nan_output);
  EXPECT_THAT(nan->detail, HasSubstr("value 1 is NaN"));
}

TEST(CommandOutputs, OfBothSidesAreCompared) {
  const test::Folder folder;
  CommandOptions options;
  options.command = "printf '%s {seed}' {what} > out.txt";
  options.cwd = folder.path;
  options.outputs = {"out.txt"};
  options.record = false;
  const auto a = command_subject(options), b = command_subject(options);
  const Side sides[] = {{'A', a.get(), {{"what", "cat"}}}, {'B', b.get(), {{"what", "cat"}}}};
  MeasureOptions measuring;
  measuring.units_max = 4;
  measuring.seeds = {1, 2};
  const Cell cells[] = {measure("c", {}, sides, measuring)};
  const QualityResult quality = compare_outputs(cells);
  EXPECT_EQ(quality.verdict, "same_bytes") << quality.reason;

  const Side others[] = {{'A', a.get(), {{"what", "cat"}}}, {'B', b.get(), {{"what", "dog"}}}};
  const Cell differ[] = {measure("c", {}, others, measuring)};
  EXPECT_NE(compare_outputs(differ).verdict, "same_bytes");
}

TEST(OutputsOf, TakesGoodSamplesOfASlot) {
  Cell cell;
  cell.id = "c";
  Unit a;
  a.samples.resize(2);
  a.samples[0].outputs = {"one.png", "two.png"};
  a.samples[1].outputs = {"failed.png"};
  a.samples[1].failure = Failure{};
  Unit b;
  b.slot = 'B';
  cell.units = {a, b};
  const std::vector<Output> found = outputs_of(cell, 'A');
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].path, "one.png");
  EXPECT_NE(found[0].cell, found[1].cell);
  EXPECT_TRUE(outputs_of(cell, 'B').empty());
}

}  // namespace
}  // namespace genscope::bench
