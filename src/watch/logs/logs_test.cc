#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "watch/logs/reader.h"

namespace genscope::watch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Writes what happens as words: "+stage denoise", "-denoise".
class Story final : public LogSink {
 public:
  std::uint64_t begin(SpanKind kind, std::string_view name, std::uint64_t parent) override {
    names.emplace_back(name);
    told.push_back("+" + std::string(genscope::name(kind)) + " " + std::string(name) +
                   (parent != 0 ? " in " + names[parent - 1] : ""));
    return names.size();
  }
  void number(std::uint64_t span, std::string_view key, std::int64_t value) override {
    if (key == "index") return;
    told.push_back(names[span - 1] + "." + std::string(key) + "=" + std::to_string(value));
  }
  void seconds(std::uint64_t, std::string_view, double) override {}
  void end(std::uint64_t span, bool failed) override {
    told.push_back((failed ? "!" : "-") + names[span - 1]);
  }
  void fact(std::string_view key, std::string_view value) override {
    told.push_back(std::string(key) + ":" + std::string(value));
  }
  std::vector<std::string> names, told;
};

std::vector<std::string> story(LogFormat format, std::string_view bytes, std::size_t cut = 4096) {
  Story sink;
  LogReader reader(format, sink);
  Pieces pieces;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(cut, bytes.size()))) {
    pieces.add(bytes.substr(0, cut), [&](auto line, auto end) { reader.line(line, end); });
  }
  reader.finish();
  return sink.told;
}

TEST(Pieces, LinesHaveNoEscapesAndOpenOnesAreToldAgain) {
  std::vector<std::string> seen;
  Pieces pieces;
  const auto take = [&](std::string_view line, PieceEnd end) {
    seen.push_back(std::string(line) + (end == PieceEnd::newline ? "$"
                                        : end == PieceEnd::open  ? "..."
                                                                 : "<"));
  };
  pieces.add("\x1b[31mred\x1b[0m\n\x1b]0;title\aplain\r", take);
  pieces.add("hal", take);
  pieces.add("f\n\n", take);
  EXPECT_THAT(seen, ElementsAre("red$", "plain<", "hal...", "half$"));
}

TEST(Pieces, ALongLineIsCutAndTheNextIsWhole) {
  std::vector<std::size_t> sizes;
  Pieces pieces;
  pieces.add(std::string(100'000, 'x') + "\nok\n",
             [&](std::string_view line, PieceEnd) { sizes.push_back(line.size()); });
  EXPECT_THAT(sizes, ElementsAre(Pieces::kMostBytes, 2u));
}

TEST(TqdmBar, IsFoundWithLabelCountAndTotal) {
  const auto bar =
      parse_tqdm("Loading shards [a]:  60%|######    | 12/20 [00:05<00:03,  2.40it/s, x=1]");
  ASSERT_TRUE(bar);
  EXPECT_EQ(bar->label, "Loading shards [a]");
  EXPECT_EQ(bar->at, 12);
  EXPECT_EQ(bar->total, 20);
  EXPECT_EQ(parse_tqdm("0%|          | 0/50 [00:00<?, ?it/s]")->total, 50);
  EXPECT_FALSE(parse_tqdm("a.bin: 10%|#  | 1.2M/12.0M [00:01<00:10, 1.1MB/s]")->at);
}

TEST(TqdmBar, OtherTextIsNone) {
  for (const char* const text :
       {"", "12/20", "took 12/20 [ok]", "[00:05<00:03]", "a/b [00:05<00:03]", "x 1/ [00:05<00:03]",
        "see issue 1/2 [draft: a<b]"}) {
    EXPECT_FALSE(parse_tqdm(text)) << text;
  }
}

TEST(Bars, StepsThatWereNotPrintedAreSaidToBeSeveral) {
  const std::string bar =
      "\r  0%|  | 0/4 [00:00<?, ?it/s]\r 75%|##| 3/4 [00:01<00:01, 2it/s]"
      "\r100%|##| 4/4 [00:02<00:00, 2it/s]\r100%|##| 4/4 [00:02<00:00, 2it/s]\n";
  const auto whole = ElementsAre("+stage progress", "+step step in progress", "step.steps=3",
                                 "-step", "+step step in progress", "-step", "-progress");
  EXPECT_THAT(story(LogFormat::tqdm, bar), whole);
}

TEST(Bars, OneThatIsLeftEarlyEndsWithTheNextLine) {
  const std::string bar =
      "\r 0%|  | 0/4 [00:00<?, ?it/s]\r 25%|##| 1/4 [00:01<00:01, 2it/s]\nbye\n";
  EXPECT_THAT(
      story(LogFormat::tqdm, bar),
      ElementsAre("+stage progress", "+step step in progress", "-step", "+step step in progress",
                  "step.incomplete=1", "-step", "progress.incomplete=1", "-progress"));
}

TEST(Bars, AnInnerOneBelongsToTheOuterOne) {
  const std::string text =
      "\rEpoch: 0%| | 0/1 [00:00<?, ?it/s]\n\rBatch: 0%| | 0/1 [00:00<?, ?it/s]"
      "\rBatch: 100%|#| 1/1 [00:00<00:00, 1it/s]\x1b[A\rEpoch: 100%|#| 1/1 [00:00<00:00, 1it/s]\n";
  EXPECT_THAT(story(LogFormat::tqdm, text),
              ElementsAre("+stage Epoch", "+step step in Epoch", "+stage Batch in Epoch",
                          "+step step in Batch", "-step", "-Batch", "-step", "-Epoch"));
}

TEST(ComfyUi, FactsAndFailures) {
  EXPECT_THAT(story(LogFormat::comfyui,
                    "Using xformers attention\nUsing pytorch attention in VAE\n"
                    "model weight dtype torch.bfloat16, manual cast: None\ngot prompt\n"
                    "!!! Exception during processing !!! out of memory\n"
                    "Prompt executed in 0.10 seconds\n"),
              ElementsAre("set.attn:xformers", "dtype:bf16", "+request prompt", "!prompt"));
}

std::vector<std::string> without_steps(std::vector<std::string> told) {
  std::erase_if(told, [](const std::string& word) { return word.find("step") != word.npos; });
  return told;
}

std::size_t steps_in(const std::vector<std::string>& told) {
  return static_cast<std::size_t>(std::count(told.begin(), told.end(), "+step step in denoise"));
}

// Of stable-diffusion.cpp master-395: the method is named before the prompt is encoded.
TEST(SdCpp, ImagesOfABatchAreLoopsOfOneStage) {
  const auto told = story(
      LogFormat::sdcpp,
      "[INFO ] stable-diffusion.cpp:3367 - generate_image 128x128\n"
      "[INFO ] stable-diffusion.cpp:2814 - sampling using Euler A method\n"
      "[INFO ] stable-diffusion.cpp:3168 - get_learned_condition completed, taking 3.11s\n"
      "[INFO ] stable-diffusion.cpp:3401 - generating image: 1/2 - seed 42\n"
      "\r  |=>  | 1/2 - 9.64s/it\x1b[K\r  |====| 2/2 - 9.99s/it\x1b[K\n"
      "[INFO ] stable-diffusion.cpp:3432 - sampling completed, taking 35.52s\n"
      "[INFO ] stable-diffusion.cpp:3401 - generating image: 2/2 - seed 43\n"
      "\r  |=>  | 1/2 - 11.38s/it\x1b[K\r  |====| 2/2 - 7.97s/it\x1b[K\n"
      "[INFO ] stable-diffusion.cpp:3432 - sampling completed, taking 30.56s\n"
      "[INFO ] stable-diffusion.cpp:3450 - generating 2 latent images completed, taking 66.30s\n"
      "[INFO ] stable-diffusion.cpp:3192 - decoding 2 latents\n"
      "[INFO ] stable-diffusion.cpp:3208 - latent 1 decoded, taking 16.11s\n"
      "\r  |=>  | 1/2 - 1.20s/it\x1b[K\r  |====| 2/2 - 1.20s/it\x1b[K\n"
      "[INFO ] stable-diffusion.cpp:3212 - decode_first_stage completed, taking 34.12s\n"
      "[INFO ] stable-diffusion.cpp:3591 - generate_image completed in 103.57s\n");
  EXPECT_EQ(steps_in(told), 4u);
  EXPECT_THAT(without_steps(told),
              ElementsAre("+request generate", "generate.width=128", "generate.height=128",
                          "+stage text_encode in generate", "scheduler:Euler A", "-text_encode",
                          "generate.images=2", "+stage denoise in generate", "-denoise",
                          "+stage vae_decode in generate", "-vae_decode", "-generate"));
}

TEST(SdCpp, AVideoOfTwoModelsIsOneLoopOfSteps) {
  const auto told =
      story(LogFormat::sdcpp,
            "[INFO ] stable-diffusion.cpp:6914 - generate_video 480x832x33\n"
            "[INFO ] stable-diffusion.cpp:4380 - sampling using Euler method\n"
            "[INFO ] stable-diffusion.cpp:4385 - sampling(high noise) using DPM++ (2M) method\n"
            "[INFO ] stable-diffusion.cpp:6552 - get_learned_condition completed, taking 1.20s\n"
            "\r  |====| 1/1 - 1.20it/s\x1b[K\n"
            "[INFO ] stable-diffusion.cpp:6972 - sampling(high noise) completed, taking 1.20s\n"
            "\r  |=>  | 1/2 - 9.64s/it\x1b[K\r  |====| 2/2 - 9.99s/it\x1b[K\n"
            "[INFO ] stable-diffusion.cpp:7012 - sampling completed, taking 3.00s\n"
            "[INFO ] stable-diffusion.cpp:7155 - generating latent video completed, taking 4.20s\n"
            "\r  |=>  | 1/9 - 9.64s/it\x1b[K\n"
            "[INFO ] stable-diffusion.cpp:6583 - decode_first_stage completed, taking 2.00s\n"
            "[INFO ] stable-diffusion.cpp:7215 - generate_video completed in 9.00s\n");
  EXPECT_EQ(steps_in(told), 3u);
  EXPECT_THAT(without_steps(told),
              ElementsAre("+request generate", "generate.width=480", "generate.height=832",
                          "generate.frames=33", "+stage text_encode in generate", "scheduler:Euler",
                          "-text_encode", "+stage denoise in generate", "-denoise",
                          "+stage vae_decode in generate", "-vae_decode", "-generate"));
}

// master-414 names the second method between the two loops.
TEST(SdCpp, LinesBetweenTwoLoopsChangeNothing) {
  const auto told = story(LogFormat::sdcpp,
                          "[INFO ] a.cpp:1 - generate_video 8x8x5\n"
                          "[INFO ] a.cpp:1 - get_learned_condition completed, taking 120 ms\n"
                          "[INFO ] a.cpp:1 - sampling(high noise) using Euler method\n"
                          "\r  |====| 1/1 - 1.20it/s\x1b[K\n"
                          "[INFO ] a.cpp:1 - sampling(high noise) completed, taking 1.20s\n"
                          "\r  |====| 1/1 - 1.20it/s\x1b[K\n"
                          "[INFO ] a.cpp:1 - sampling completed, taking 1.20s\n"
                          "[INFO ] a.cpp:1 - generating latent video completed, taking 2.40s\n"
                          "[INFO ] a.cpp:1 - decode_first_stage completed, taking 2.00s\n"
                          "[INFO ] a.cpp:1 - generate_video completed in 4.80s\n");
  EXPECT_EQ(steps_in(told), 2u);
  EXPECT_EQ(std::count(told.begin(), told.end(), "+stage denoise in generate"), 1);
}

TEST(SdCpp, AHiresFixIsASecondSampling) {
  const auto told =
      story(LogFormat::sdcpp,
            "[INFO ] a.cpp:1 - generate_image 64x64\n"
            "[INFO ] a.cpp:1 - get_learned_condition completed, taking 0.10s\n"
            "[INFO ] a.cpp:1 - generating image: 1/1 - seed 1\n"
            "\r  |====| 1/1 - 1.20it/s\x1b[K\n"
            "[INFO ] a.cpp:1 - sampling completed, taking 1.00s\n"
            "[INFO ] a.cpp:1 - generating 1 latent images completed, taking 1.00s\n"
            "[INFO ] a.cpp:1 - hires fix: upscaling to 128x128\n"
            "[INFO ] a.cpp:1 - hires fix: scheduler_steps=2, denoising_strength=0.70\n"
            "\r  |=>  | 1/2 - 9.64s/it\x1b[K\r  |====| 2/2 - 9.99s/it\x1b[K\n"
            "[INFO ] a.cpp:1 - hires sampling 1/1 completed, taking 2.00s\n"
            "[INFO ] a.cpp:1 - hires fix completed, taking 2.00s\n"
            "[INFO ] a.cpp:1 - decoding 1/1 latents\n"
            "[INFO ] a.cpp:1 - decode_first_stage completed, taking 1.00s\n"
            "[INFO ] a.cpp:1 - generate_image completed in 4.10s\n");
  EXPECT_EQ(steps_in(told), 3u);
  EXPECT_THAT(without_steps(told),
              ElementsAre("+request generate", "generate.width=64", "generate.height=64",
                          "+stage text_encode in generate", "-text_encode", "generate.images=1",
                          "+stage denoise in generate", "-denoise", "+stage upscale in generate",
                          "-upscale", "+stage denoise in generate", "-denoise",
                          "+stage vae_decode in generate", "-vae_decode", "-generate"));
}

// Before 2025 the method came after the image's line.
TEST(SdCpp, ASamplingThatFailsFailsItsRequest) {
  const auto told = story(LogFormat::sdcpp,
                          "[INFO] a.cpp:9 - txt2img 64x64\n"
                          "[INFO ] a.cpp:1 - generating image: 1/1 - seed 1\n"
                          "[INFO ] a.cpp:2 - sampling using Euler method\n"
                          "\r  |=>  | 1/2 - 1.20s/it\x1b[K\n"
                          "[ERROR] a.cpp:3 - sampling for image 1/1 failed after 1.20s\n");
  EXPECT_EQ(told.back(), "!generate");
}

TEST(LogReader, TellsTheSameHoweverTheBytesAreCut) {
  const std::string text =
      "\r 0%|  | 0/2 [00:00<?, ?it/s]\r 50%|##| 1/2 [00:01<00:01, 2it/s]"
      "\r100%|##| 2/2 [00:01<00:00, 2it/s]\ngot prompt\nPrompt executed in 1.0 seconds\n"
      "[INFO ] s.cpp:1 - generate_image 8x8\n"
      "[INFO ] s.cpp:1 - generate_image completed in 1.0s\n";
  const auto whole = story(LogFormat::automatic, text);
  EXPECT_THAT(whole, ::testing::SizeIs(14));
  for (std::size_t cut = 1; cut < 40; ++cut)
    EXPECT_EQ(story(LogFormat::automatic, text, cut), whole);
}

TEST(LogReader, OtherFormatsAreNotRead) {
  EXPECT_THAT(story(LogFormat::sdcpp, "got prompt\n 0%| | 0/2 [00:00<?, ?it/s]\n"), IsEmpty());
  EXPECT_THAT(story(LogFormat::tqdm, "got prompt\n"), IsEmpty());
}

}  // namespace
}  // namespace genscope::watch
