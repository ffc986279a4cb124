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

TEST(SdCpp, ImagesOfABatchAreStagesOfTheirOwn) {
  const std::string image =
      "[INFO ] a.cpp:1 - generating image: 1/2 - seed 1\n"
      "[INFO ] a.cpp:2 - sampling using Euler method\n"
      "\r  |==>| 1/1 - 1.20s/it\x1b[K\n[INFO ] a.cpp:3 - sampling completed, taking 1.20s\n";
  EXPECT_THAT(
      story(LogFormat::sdcpp, "[INFO] a.cpp:9 - txt2img 64x64\n" + image + image +
                                  "[INFO] a.cpp:9 - txt2img completed in 3.00s\n"),
      ElementsAre("+request generate", "generate.width=64", "generate.height=64",
                  "+stage text_encode in generate", "-text_encode", "+stage denoise in generate",
                  "+step step in denoise", "scheduler:Euler", "-step", "-denoise",
                  "+stage denoise in generate", "+step step in denoise", "scheduler:Euler", "-step",
                  "-denoise", "-generate"));
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
