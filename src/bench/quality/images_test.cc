#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/quality/frames.h"
#include "bench/quality/test_images.h"

namespace genscope::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (const int value : values) text += static_cast<char>(value);
  return text;
}

TEST(Png, ReadsEveryFilter) {
  // 2 x 5 grey; each row is 10 20 once its filter is undone.
  const std::string rows = bytes({0, 10, 20,  // none
                                  1, 10, 10,  // left
                                  2, 0, 0,    // up
                                  3, 5, 5,    // mean of left and up
                                  4, 0, 0});  // Paeth: up, then up
  const Result<Image> image = read_png(test::png(2, 5, 8, 0, rows), "a.png");
  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_THAT(image->samples, ElementsAre(10, 20, 10, 20, 10, 20, 10, 20, 10, 20));
}

TEST(Png, ReadsPalettesWithTransparency) {
  const std::string more =
      test::chunk("PLTE", bytes({1, 2, 3, 4, 5, 6})) + test::chunk("tRNS", bytes({9}));
  const Result<Image> image =
      read_png(test::png(3, 1, 2, 3, bytes({0, 0b00'01'11'00}), more), "a.png");
  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(image->channels, 4U);
  EXPECT_THAT(image->samples, ElementsAre(1, 2, 3, 9, 4, 5, 6, 255, 0, 0, 0, 255));
}

TEST(Png, ReadsFewBitsAndSixteen) {
  const Result<Image> one = read_png(test::png(3, 1, 1, 0, bytes({0, 0b1010'0000})), "a.png");
  ASSERT_TRUE(one.ok());
  EXPECT_THAT(one->samples, ElementsAre(255, 0, 255));
  const Result<Image> wide = read_png(test::png(1, 1, 16, 4, bytes({0, 7, 99, 8, 99})), "a.png");
  ASSERT_TRUE(wide.ok());
  EXPECT_THAT(wide->samples, ElementsAre(7, 8));
}

TEST(Png, ReadsInterlacing) {
  // 3 x 3 grey, passes 1, 4 (x 2), 5 (y 2: two), 6 (x 1: rows 0 and 2), 7 (row 1).
  const std::string rows = bytes({0, 1, 0, 3, 0, 7, 9, 0, 2, 0, 8, 0, 4, 5, 6});
  const Result<Image> image = read_png(test::png(3, 3, 8, 0, rows, "", 1), "a.png");
  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_THAT(image->samples, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST(Png, RefusesWhatIsBroken) {
  const std::string good = test::png(2, 1, 8, 0, bytes({0, 1, 2}));
  ASSERT_TRUE(read_png(good, "a.png").ok());
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(read_png(good.substr(0, size), "a.png").ok()) << size;
  }
  std::string bad = good;
  bad[20] = 1;  // the width, and so the header's checksum
  EXPECT_THAT(read_png(bad, "a.png").error().message, HasSubstr("a checksum is wrong"));
  EXPECT_THAT(read_png(test::png(2, 1, 8, 0, bytes({5, 1, 2})), "b.png").error().message,
              HasSubstr("b.png: a row has a filter that does not exist"));
  // A header that promises far more than there is takes no memory.
  EXPECT_THAT(read_png(test::png(16000, 4000, 8, 2, bytes({0, 1})), "c.png").error().message,
              HasSubstr("cut short"));
  EXPECT_FALSE(read_png(test::png(2, 1, 3, 0, bytes({0, 1})), "d.png").ok());
}

TEST(Pnm, ReadsPlainAndRaw) {
  const Result<Image> plain = read_pnm("P3 1 2 # two\n 15\n0 15 3 15 0 6", "a.ppm");
  ASSERT_TRUE(plain.ok()) << plain.error().message;
  EXPECT_THAT(plain->samples, ElementsAre(0, 255, 51, 255, 0, 102));
  const Result<Image> raw = read_pnm("P5\n2 1\n65535\n" + bytes({255, 255, 128, 0}), "a.pgm");
  ASSERT_TRUE(raw.ok());
  EXPECT_THAT(raw->samples, ElementsAre(255, 128));
  EXPECT_THAT(read_pnm("P6\n2 2\n255\nabc", "x.ppm").error().message,
              HasSubstr("x.ppm: it is cut short"));
  EXPECT_FALSE(read_pnm("P3 99999 99999 255 1", "x.ppm").ok());
}

TEST(Frames, TakesTheKindFromTheFirstBytes) {
  const test::Folder folder;
  const Image image = test::pattern(16, 12);
  for (const std::string& path :
       {folder.write("a.bin", test::ppm(image)), folder.write("b.bin", test::png(image))}) {
    const auto frames = open_frames(path);
    ASSERT_TRUE(frames.ok()) << frames.error().message;
    Image read;
    ASSERT_TRUE((*frames)->next(read).ok());
    EXPECT_EQ(read.samples, image.samples);
    EXPECT_FALSE(*(*frames)->next(read));
  }
}

TEST(Frames, ReadsY4m) {
  const test::Folder folder;
  const std::string path = folder.write(
      "v.y4m", "YUV4MPEG2 W3 H2 F25:1 C420jpeg\nFRAME\nabcdefUVuvFRAME Ip\nABCDEFWXwx");
  const auto frames = open_frames(path);
  ASSERT_TRUE(frames.ok());
  Image frame;
  ASSERT_TRUE(*(*frames)->next(frame));
  EXPECT_EQ(std::string(frame.samples.begin(), frame.samples.end()), "aUubUucVvdUueUufVv");
  ASSERT_TRUE(*(*frames)->next(frame));
  EXPECT_EQ(frame.samples[0], 'A');
  EXPECT_FALSE(*(*frames)->next(frame));

  const auto cut = open_frames(folder.write("c.y4m", "YUV4MPEG2 W3 H2 Cmono\nFRAME\nabc"));
  ASSERT_TRUE(cut.ok());
  EXPECT_THAT((*cut)->next(frame).error().message, HasSubstr("cut short"));
  const auto deep = open_frames(folder.write("d.y4m", "YUV4MPEG2 W3 H2 C420p10\nFRAME\nabc"));
  EXPECT_THAT((*deep)->next(frame).error().message, HasSubstr("420p10 is not read"));
}

// PATH is the process's: put back afterwards.
class Path {
 public:
  explicit Path(const std::string& folder) : before_(std::getenv("PATH")) {
    setenv("PATH", (folder + ":/usr/bin:/bin").c_str(), 1);
  }
  ~Path() { setenv("PATH", before_.c_str(), 1); }

 private:
  std::string before_;
};

std::string fake_ffmpeg(const test::Folder& folder, const std::string& body) {
  const std::string path = folder.write("ffmpeg", "#!/bin/sh\n" + body + "\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

TEST(Frames, TakesOtherKindsThroughFfmpeg) {
  const test::Folder folder;
  const Path path(folder.path);
  fake_ffmpeg(folder, "test \"$5\" = \"file:" + folder.path +
                          "/v.mp4\" && printf 'YUV4MPEG2 W1 H1 C444\\nFRAME\\nabcFRAME\\ndef'");
  const auto frames = open_frames(folder.write("v.mp4", "not read by us"));
  ASSERT_TRUE(frames.ok()) << frames.error().message;
  Image frame;
  ASSERT_TRUE(*(*frames)->next(frame));
  ASSERT_TRUE(*(*frames)->next(frame));
  EXPECT_EQ(frame.samples[2], 'f');
  EXPECT_FALSE(*(*frames)->next(frame));
}

TEST(Frames, SaysWhatFfmpegSaid) {
  const test::Folder folder;
  const Path path(folder.path);
  fake_ffmpeg(folder, "echo 'moov atom not found' >&2; exit 1");
  const auto frames = open_frames(folder.write("v.mp4", "broken"));
  ASSERT_TRUE(frames.ok());
  Image frame;
  EXPECT_THAT((*frames)->next(frame).error().message,
              HasSubstr("exited with 1: moov atom not found"));
}

TEST(Images, KnowsOneColour) {
  EXPECT_TRUE(is_blank({2, 1, 3, {1, 2, 3, 1, 2, 3}}));
  EXPECT_FALSE(is_blank({2, 1, 3, {1, 2, 3, 1, 2, 4}}));
}

}  // namespace
}  // namespace genscope::bench
