#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "attention.h"
#include "conv.h"
#include "layers.h"
#include "mmdit.h"
#include "options.h"
#include "pipeline.h"
#include "png.h"
#include "scheduler.h"
#include "text_encoder.h"

#include <genscope/optimize/step_batch.h>

namespace tinydiff {
namespace {

Tensor random_tensor(Index rows, Index cols, std::uint64_t seed) {
  return WeightSource(seed).matrix(rows, cols, 1.0);
}

double largest_difference(const Tensor& a, const Tensor& b) {
  return (a - b).cwiseAbs().maxCoeff();
}

// --- pool ---------------------------------------------------------------------------------------

TEST(Pool, RunsEveryTileOnce) {
  for (const int threads : {1, 2, 3}) {
    Pool pool(threads);
    for (const Index count : {0, 1, 2, 7, 500}) {
      std::vector<std::atomic<int>> hits(static_cast<std::size_t>(count));
      pool.run(count, [&](Tiles& tiles) {
        for (Index tile = tiles.take(); tile >= 0; tile = tiles.take()) {
          hits[static_cast<std::size_t>(tile)].fetch_add(1);
        }
      });
      for (const auto& hit : hits) EXPECT_EQ(hit.load(), 1);
    }
  }
}

// --- layers -------------------------------------------------------------------------------------

TEST(Linear, MatchesNaiveReference) {
  Pool pool(2);
  WeightSource source(1);
  const Linear layer(source, 37, 150);
  const Tensor x = random_tensor(140, 37, 2);
  const Tensor y = linear(pool, layer, x);
  for (Index row = 0; row < x.rows(); ++row) {
    for (Index col = 0; col < 150; ++col) {
      double sum = layer.bias(0, col);
      for (Index k = 0; k < 37; ++k) sum += double{x(row, k)} * layer.weight(k, col);
      ASSERT_NEAR(y(row, col), sum, 1e-5);
    }
  }
}

TEST(LayerNorm, GivesMeanZeroAndDeviationOne) {
  Pool pool(1);
  WeightSource source(1);
  Tensor x = random_tensor(5, 64, 3);
  x = (x.array() * 4.0F + 7.0F).matrix();
  const Tensor y = layer_norm(pool, LayerNorm(source, 64), x);
  for (Index row = 0; row < y.rows(); ++row) {
    EXPECT_NEAR(y.row(row).mean(), 0.0, 1e-4);
    EXPECT_NEAR(y.row(row).squaredNorm() / 64.0, 1.0, 1e-3);
  }
}

TEST(Softmax, RowsSumToOneForAnyLogits) {
  Tensor x = random_tensor(9, 33, 4) * 500.0F;
  softmax_rows(x, 0.7F);
  for (Index row = 0; row < x.rows(); ++row) EXPECT_NEAR(x.row(row).sum(), 1.0, 1e-5);
  EXPECT_GE(x.minCoeff(), 0.0F);
}

TEST(Attention, MatchesNaiveReference) {
  constexpr Index kBatch = 2, kQueries = 130, kKeys = 21, kHeads = 3, kSize = 8;
  Pool pool(2);
  const Tensor q = random_tensor(kBatch * kQueries, kHeads * kSize, 5);
  const Tensor k = random_tensor(kBatch * kKeys, kHeads * kSize, 6);
  const Tensor v = random_tensor(kBatch * kKeys, kHeads * kSize, 7);
  const Tensor out = attention(pool, q, k, v, kBatch, kHeads);
  for (Index row = 0; row < q.rows(); ++row) {
    const Index base = row / kQueries * kKeys;
    for (Index head = 0; head < kHeads; ++head) {
      double total = 0.0;
      std::vector<double> mixed(kSize, 0.0);
      for (Index key = 0; key < kKeys; ++key) {
        double logit = 0.0;
        for (Index c = head * kSize; c < (head + 1) * kSize; ++c) {
          logit += double{q(row, c)} * k(base + key, c);
        }
        const double weight = std::exp(logit / std::sqrt(double{kSize}));
        total += weight;
        for (Index c = 0; c < kSize; ++c) {
          mixed[static_cast<std::size_t>(c)] += weight * v(base + key, head * kSize + c);
        }
      }
      for (Index c = 0; c < kSize; ++c) {
        ASSERT_NEAR(out(row, head * kSize + c), mixed[static_cast<std::size_t>(c)] / total, 1e-4);
      }
    }
  }
}

TEST(Conv, MatchesNaiveReference) {
  Pool pool(2);
  for (const Index stride : {1, 2}) {
    WeightSource source(8);
    const Conv layer(source, 5, 100, 3, stride);
    Images x(2, 7, 9, 5);
    x.data = random_tensor(2 * 7 * 9, 5, 9);
    const Images y = conv2d(pool, layer, x);
    ASSERT_EQ(y.height, (7 + stride - 1) / stride);
    ASSERT_EQ(y.width, (9 + stride - 1) / stride);
    for (Index row = 0; row < y.data.rows(); ++row) {
      const Index picture = row / y.pixels();
      for (Index out = 0; out < 100; ++out) {
        double sum = layer.bias(0, out);
        for (Index tap = 0; tap < 9; ++tap) {
          const Index at_y = row / y.width % y.height * stride + tap / 3 - 1;
          const Index at_x = row % y.width * stride + tap % 3 - 1;
          const Index pixel =
              (picture * 7 + std::clamp<Index>(at_y, 0, 6)) * 9 + std::clamp<Index>(at_x, 0, 8);
          for (Index c = 0; c < 5; ++c) {
            sum += double{x.data(pixel, c)} * layer.weight(tap * 5 + c, out);
          }
        }
        ASSERT_NEAR(y.data(row, out), sum, 1e-4);
      }
    }
  }
}

TEST(GroupNorm, NormalizesEachPictureAndGroup) {
  Pool pool(2);
  WeightSource source(1);
  Images x(2, 40, 40, 12);
  x.data = random_tensor(2 * 1600, 12, 10);
  x.data.bottomRows(1600) = (x.data.bottomRows(1600).array() * 9.0F + 5.0F).matrix();
  const Images y = group_norm(pool, GroupNorm(source, 12, 3), x, false);
  for (Index picture = 0; picture < 2; ++picture) {
    for (Index group = 0; group < 3; ++group) {
      const auto part = y.data.block(picture * 1600, group * 4, 1600, 4);
      EXPECT_NEAR(part.mean(), 0.0, 1e-3);
      EXPECT_NEAR(part.squaredNorm() / 6400.0, 1.0, 1e-3);
    }
  }
}

TEST(Resize, KeepsConstantsAndIdentity) {
  Pool pool(1);
  Images x(1, 3, 5, 2);
  x.data.setConstant(2.5F);
  EXPECT_LT(largest_difference(resize(pool, x, 7, 10).data, Tensor::Constant(70, 2, 2.5F)), 1e-6);
  x.data = random_tensor(15, 2, 11);
  EXPECT_EQ(largest_difference(resize(pool, x, 3, 5).data, x.data), 0.0);
}

TEST(Patches, UnpatchifyInvertsPatchifyForOddSizes) {
  Images x(3, 5, 7, 4);
  x.data = random_tensor(3 * 35, 4, 12);
  const Tensor patches = patchify(x);
  EXPECT_EQ(patches.rows(), 3 * 3 * 4);
  EXPECT_EQ(largest_difference(unpatchify(patches, 3, 5, 7).data, x.data), 0.0);
}

// --- text ---------------------------------------------------------------------------------------

TEST(Tokenize, IgnoresCaseAndPunctuationAndBoundsTheLength) {
  EXPECT_EQ(tokenize("A red, FOX!"), tokenize("a red fox"));
  EXPECT_NE(tokenize("a red fox"), tokenize("a red dog"));
  EXPECT_EQ(tokenize(""), (std::vector<int>{kBeginToken, kEndToken}));
  EXPECT_EQ(tokenize("lighthouse").size(), 4U);  // "light" and "house" between begin and end
  std::string lengthy;
  for (int i = 0; i < 100; ++i) lengthy += "extraordinarily ";
  const std::vector<int> ids = tokenize(lengthy);
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(kTextTokens));
  EXPECT_EQ(ids.back(), kEndToken);
  for (const int id : tokenize("\xff\x80 \xc3\xa9t\xc3\xa9")) {
    EXPECT_GE(id, 0);
    EXPECT_LT(id, kVocabulary);
  }
}

// --- schedulers ---------------------------------------------------------------------------------

TEST(FlowEuler, ExactVelocityRecoversTheTarget) {
  const Tensor target = random_tensor(6, 4, 13);
  const Tensor noise = random_tensor(6, 4, 14);
  for (const int steps : {1, 2, 12}) {
    const FlowEuler scheduler(steps);
    EXPECT_DOUBLE_EQ(scheduler.sigma(0), 1.0);
    EXPECT_DOUBLE_EQ(scheduler.sigma(steps), 0.0);
    Tensor along_velocity = noise;
    Tensor along_prediction = noise;
    for (int i = 0; i < steps; ++i) {
      EXPECT_GT(scheduler.sigma(i), scheduler.sigma(i + 1));
      scheduler.advance(i, noise - target, along_velocity);
      scheduler.step(i, target, along_prediction);
      const auto sigma = static_cast<float>(scheduler.sigma(i + 1));
      const Tensor line = (1.0F - sigma) * target + sigma * noise;
      EXPECT_LT(largest_difference(along_velocity, line), 1e-5);
      EXPECT_LT(largest_difference(along_prediction, line), 1e-5);
    }
    EXPECT_LT(largest_difference(along_velocity, target), 1e-5);
  }
}

TEST(Ddim, ExactPredictionStaysOnTheCurveAndEndsClean) {
  const Tensor target = random_tensor(6, 4, 15);
  const Tensor noise = random_tensor(6, 4, 16);
  for (const int steps : {1, 7, 50, 1000}) {
    const Ddim scheduler(steps);
    EXPECT_DOUBLE_EQ(scheduler.noise_level(0), 1.0);
    const auto mixed = [&](int i) -> Tensor {
      const double a = scheduler.alpha(i);
      return static_cast<float>(std::sqrt(a)) * target +
             static_cast<float>(std::sqrt(1.0 - a)) * noise;
    };
    Tensor sample = mixed(0);
    for (int i = 0; i < steps; ++i) {
      EXPECT_LT(scheduler.alpha(i), scheduler.alpha(i + 1));
      sample = mixed(i);
      scheduler.step(i, target, sample);
      ASSERT_LT(largest_difference(sample, mixed(i + 1)), 1e-3);
    }
    EXPECT_LT(largest_difference(sample, target), 1e-5);
  }
}

// --- png ----------------------------------------------------------------------------------------

std::uint32_t get_u32(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

// Undoes zlib_stored(), checking every length and the checksum.
std::string inflate_stored(std::string_view stream) {
  EXPECT_EQ(get_u32(stream, 0) >> 16, 0x7801U);
  EXPECT_EQ(0x7801 % 31, 0);
  std::string raw;
  std::size_t at = 2;
  bool last = false;
  while (!last) {
    const auto byte = [&](std::size_t i) {
      return std::size_t{static_cast<unsigned char>(stream[at + i])};
    };
    last = byte(0) == 1;
    const std::size_t size = byte(1) | byte(2) << 8;
    EXPECT_EQ(size ^ 0xffffU, byte(3) | byte(4) << 8);
    raw += stream.substr(at + 5, size);
    at += 5 + size;
  }
  EXPECT_EQ(at + 4, stream.size());
  EXPECT_EQ(get_u32(stream, at), adler32(raw));
  return raw;
}

TEST(Png, ChecksumsMatchKnownVectors) {
  EXPECT_EQ(crc32("123456789"), 0xcbf43926U);
  EXPECT_EQ(crc32("IEND"), 0xae426082U);
  EXPECT_EQ(adler32("Wikipedia"), 0x11e60398U);
  EXPECT_EQ(adler32(""), 1U);
}

TEST(Png, DecodesBackToTheSamePixels) {
  RgbImage image{200, 150, std::vector<std::uint8_t>(200 * 150 * 3)};  // more than one stored block
  Rng rng(3);
  for (std::uint8_t& value : image.pixels) value = static_cast<std::uint8_t>(rng.next());
  const std::string png = encode_png(image);
  ASSERT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  std::vector<std::string> types;
  std::string raw;
  for (std::size_t at = 8; at < png.size();) {
    const std::size_t size = get_u32(png, at);
    ASSERT_LE(at + 12 + size, png.size());
    const std::string_view body = std::string_view(png).substr(at + 4, 4 + size);
    EXPECT_EQ(get_u32(png, at + 8 + size), crc32(body));
    types.emplace_back(body.substr(0, 4));
    if (types.back() == "IHDR") {
      EXPECT_EQ(get_u32(body, 4), 200U);
      EXPECT_EQ(get_u32(body, 8), 150U);
    }
    if (types.back() == "IDAT") raw = inflate_stored(body.substr(4));
    at += 12 + size;
  }
  EXPECT_EQ(types, (std::vector<std::string>{"IHDR", "IDAT", "IEND"}));
  ASSERT_EQ(raw.size(), 150U * (200 * 3 + 1));
  for (std::size_t y = 0; y < 150; ++y) {
    EXPECT_EQ(raw[y * 601], 0);
    EXPECT_TRUE(
        std::equal(image.pixels.begin() + static_cast<std::ptrdiff_t>(y * 600),
                   image.pixels.begin() + static_cast<std::ptrdiff_t>((y + 1) * 600),
                   raw.begin() + static_cast<std::ptrdiff_t>(y * 601 + 1),
                   [](std::uint8_t a, char b) { return a == static_cast<std::uint8_t>(b); }));
  }
}

TEST(WriteFile, ReportsThePathAndTheReason) {
  EXPECT_EQ(write_file("/nonexistent/a.png", "x"), "/nonexistent/a.png: No such file or directory");
}

// --- options ------------------------------------------------------------------------------------

ParsedOptions parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "tinydiff");
  return parse_options(static_cast<int>(arguments.size()), arguments.data());
}

TEST(Options, ReadsEveryOption) {
  const ParsedOptions parsed =
      parse({"--arch", "unet", "--size", "192x64", "--steps=7", "--batch", "2", "--frames", "5",
             "--seed", "18446744073709551615", "--threads", "3", "--guidance", "1.5", "--prompt",
             "", "--no-image"});
  ASSERT_TRUE(parsed.options) << parsed.error;
  const Options& options = *parsed.options;
  EXPECT_EQ(options.arch, "unet");
  EXPECT_EQ(options.width, 192);
  EXPECT_EQ(options.height, 64);
  EXPECT_EQ(options.steps, 7);
  EXPECT_EQ(options.batch, 2);
  EXPECT_EQ(options.frames, 5);
  EXPECT_EQ(options.seed, UINT64_MAX);
  EXPECT_EQ(options.threads, 3);
  EXPECT_DOUBLE_EQ(options.guidance, 1.5);
  EXPECT_EQ(options.prompt, "");
  EXPECT_FALSE(options.write_images);
  EXPECT_TRUE(parse({"--help"}).help);
}

TEST(Options, ErrorsNameTheOptionAndTheRemedy) {
  struct Case {
    std::vector<const char*> arguments;
    const char* option;
    const char* remedy;
  };
  const std::vector<Case> cases = {
      {{"--arch", "gan"}, "--arch", "choose mmdit or unet"},
      {{"--size", "100"}, "--size", "multiples of 8"},
      {{"--size", "64x"}, "--size", "multiples of 8"},
      {{"--size", "64x64x64"}, "--size", "multiples of 8"},
      {{"--size", "-64"}, "--size", "multiples of 8"},
      {{"--size", "4096"}, "--size", "2048"},
      {{"--steps", "0"}, "--steps", "from 1 to 1000"},
      {{"--steps", "12.5"}, "--steps", "whole number"},
      {{"--steps=99999999999999999999"}, "--steps", "whole number"},
      {{"--batch", ""}, "--batch", "from 1 to 64"},
      {{"--frames", "x"}, "--frames", "from 1 to 1000"},
      {{"--seed", "-1"}, "--seed", "whole number"},
      {{"--threads", "0"}, "--threads", "from 1 to 256"},
      {{"--guidance", "nan"}, "--guidance", "from 0 to 30"},
      {{"--guidance", "-1"}, "--guidance", "from 0 to 30"},
      {{"--out", ""}, "--out", "file or a folder"},
      {{"--out", "/nonexistent/folder/a.png"}, "--out", "create it or choose another"},
      {{"--steps"}, "--steps", "value is missing"},
      {{"--colour", "red"}, "--colour", "--help"},
      {{"picture.png"}, "picture.png", "--help"},
  };
  for (const Case& c : cases) {
    const ParsedOptions parsed = parse(c.arguments);
    EXPECT_FALSE(parsed.options);
    EXPECT_EQ(parsed.error.rfind(c.option, 0), 0U) << parsed.error;
    EXPECT_NE(parsed.error.find(c.remedy), std::string::npos) << parsed.error;
  }
}

TEST(Options, ImagePathsTellBatchAndFramesApart) {
  Options options;
  options.out = "out/a.png";
  EXPECT_EQ(image_path(options, 0, 0), "out/a.png");
  options.batch = 2;
  EXPECT_EQ(image_path(options, 1, 0), "out/a-1.png");
  options.frames = 9;
  EXPECT_EQ(image_path(options, 1, 8), "out/a-1-f008.png");
}

TEST(Options, FolderIsCreatedAndGetsADefaultName) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("tinydiff_test." + std::to_string(::getpid()));
  const std::string argument = folder.string() + "/";
  const ParsedOptions parsed = parse({"--out", argument.c_str()});
  ASSERT_TRUE(parsed.options) << parsed.error;
  EXPECT_EQ(parsed.options->out, (folder / "tinydiff.png").string());
  EXPECT_TRUE(std::filesystem::is_directory(folder));
  std::filesystem::remove_all(folder);
}

// --- pipeline -----------------------------------------------------------------------------------

// All pictures of a run as PNG bytes, in the order in which they arrive.
std::string generate(const Options& options) {
  std::string bytes;
  Pipeline pipeline(options);
  pipeline.generate([&](Index, Index, const RgbImage& image) { bytes += encode_png(image); });
  return bytes;
}

Options small(const std::string& arch) {
  Options options;
  options.arch = arch;
  options.width = 40;  // odd in latents: exercises padding and rounding
  options.height = 24;
  options.steps = 2;
  return options;
}

class PipelineOf : public testing::TestWithParam<const char*> {};

TEST_P(PipelineOf, IsTheSameForAnyNumberOfThreads) {
  Options options = small(GetParam());
  options.batch = 2;
  options.steps = 1;
  options.width = 64;  // more pixels than a tile
  options.height = 64;
  const std::string one = generate(options);
  for (const int threads : {2, 3}) {
    options.threads = threads;
    EXPECT_TRUE(generate(options) == one) << threads << " threads";
  }
}

TEST_P(PipelineOf, VideoIsTheSameForAnyNumberOfThreads) {
  Options options = small(GetParam());
  options.frames = 6;  // two blocks, the second shorter
  options.steps = 1;
  const std::string one = generate(options);
  options.threads = 3;
  EXPECT_TRUE(generate(options) == one);
}

TEST_P(PipelineOf, SeedPromptGuidanceAndStepsMatter) {
  Options options = small(GetParam());
  const std::string base = generate(options);
  EXPECT_TRUE(generate(options) == base);
  Options other = options;
  other.seed = 1;
  EXPECT_FALSE(generate(other) == base);
  other = options;
  other.prompt = "a teapot";
  EXPECT_FALSE(generate(other) == base);
  other = options;
  other.guidance = 1.0;
  EXPECT_FALSE(generate(other) == base);
  other = options;
  other.steps = 1;
  EXPECT_FALSE(generate(other) == base);
}

TEST_P(PipelineOf, LaterBlocksDependOnEarlierOnes) {
  // The same frames under other prior frames: only the context can make them differ.
  Pool pool(1);
  WeightSource source(1);
  const auto denoiser = make_denoiser(GetParam(), source);
  const EncodedText text{random_tensor(kTextTokens, kTextWidth, 20),
                         random_tensor(1, kTextWidth, 21)};
  const auto latents = [](std::uint64_t seed) {
    Latents l{1, 2, Images(2, 3, 5, kLatentChannels)};
    l.images.data = random_tensor(30, kLatentChannels, seed);
    return l;
  };
  const Latents now = latents(22);
  const auto after = [&](std::uint64_t seed) {
    BlockContext context;
    denoiser->remember(pool, latents(seed), text, context, 0);
    return denoiser->predict(pool, now, 0.5, text, context, 2).images.data;
  };
  EXPECT_EQ(largest_difference(after(23), after(23)), 0.0);
  EXPECT_GT(largest_difference(after(23), after(24)), 1e-3);
}

TEST_P(PipelineOf, DeliversEveryFrameOnceWithContrast) {
  Options options = small(GetParam());
  options.batch = 2;
  options.frames = 5;
  options.steps = 1;
  options.guidance = 1.0;
  std::vector<std::pair<Index, Index>> seen;
  Pipeline pipeline(options);
  pipeline.generate([&](Index sequence, Index frame, const RgbImage& image) {
    seen.emplace_back(sequence, frame);
    EXPECT_EQ(image.width, 40);
    EXPECT_EQ(image.height, 24);
    const auto [low, high] = std::minmax_element(image.pixels.begin(), image.pixels.end());
    EXPECT_LT(*low, 64);
    EXPECT_GT(*high, 192);
  });
  std::sort(seen.begin(), seen.end());
  ASSERT_EQ(seen.size(), 10U);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i], std::pair(static_cast<Index>(i / 5), static_cast<Index>(i % 5)));
  }
}

INSTANTIATE_TEST_SUITE_P(Tinydiff, PipelineOf, testing::Values("mmdit", "unet"),
                         [](const auto& parameter) { return std::string(parameter.param); });

// --- many pictures, a step at a time -------------------------------------------------------------

// Requests that join loops under way, at different steps, make the bytes that each makes alone.
TEST(Steps, PicturesThatShareStepsHaveTheBytesOfEachAlone) {
  using namespace genscope::optimize;
  struct Asked {
    std::uint64_t seed = 0;
    int steps = 0;
  };
  struct Making {
    Pipeline pipeline;
    int left = 0;
  };
  const auto options_of = [](const Asked& asked) {
    Options options;
    options.arch = "mmdit";
    options.width = options.height = 32;
    options.seed = asked.seed;
    options.steps = asked.steps;
    return options;
  };
  const auto weights = Pipeline::load_model("mmdit");
  Pool pool(2);
  std::size_t largest = 0;
  StepBatcher<Asked, Making, std::string> batcher(
      {.begin = [&](Asked& asked) -> Tried<std::unique_ptr<Making>> {
         auto making =
             std::unique_ptr<Making>(new Making{Pipeline(options_of(asked), weights), asked.steps});
         making->pipeline.begin_picture();
         return making;
       },
       .step = [&](std::span<Making* const> all) -> std::optional<Failed> {
         largest = std::max(largest, all.size());
         pool.run(static_cast<Index>(all.size()), [&](Tiles& tiles) {
           for (Index i = tiles.take(); i >= 0; i = tiles.take()) {
             Making& one = *all[static_cast<std::size_t>(i)];
             one.pipeline.step_picture();
             --one.left;
           }
         });
         return std::nullopt;
       },
       .left = [](const Making& one) { return static_cast<std::size_t>(one.left); },
       .finish = [](Making& one) -> Tried<std::string> {
         return encode_png(one.pipeline.end_picture());
       }},
      {.most = 3, .least_gain = 0});
  std::vector<std::future<Tried<std::string>>> answers;
  for (int i = 0; i < 6; ++i)
    answers.push_back(batcher.submit("32", {static_cast<std::uint64_t>(i), 2 + i % 3}));
  for (int i = 0; i < 6; ++i) {
    std::string alone;
    Options options = options_of({static_cast<std::uint64_t>(i), 2 + i % 3});
    Pipeline(options).generate(
        [&](Index, Index, const RgbImage& image) { alone = encode_png(image); });
    EXPECT_TRUE(answers[static_cast<std::size_t>(i)].get().value() == alone) << i;
  }
  EXPECT_GT(largest, 1u);
}

}  // namespace
}  // namespace tinydiff
