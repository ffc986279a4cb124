#include "cli/output.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace genscope::cli {
namespace {

namespace fs = std::filesystem;

class OutputTest : public ::testing::Test {
 protected:
  OutputTest() {
    std::string pattern = fs::temp_directory_path() / "genscope-output-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~OutputTest() override { fs::remove_all(folder_); }

  static std::string content(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

TEST_F(OutputTest, AppearsOnlyWhenCommitted) {
  const fs::path path = folder_ / "report.json";
  std::ofstream(path) << "old";
  {
    auto output = Output::open(path);
    ASSERT_TRUE(output);
    output->sink()("new");
    EXPECT_EQ(content(path), "old");
    ASSERT_TRUE(output->commit());
  }
  EXPECT_EQ(content(path), "new");
  EXPECT_EQ(files(), 1u);
}

TEST_F(OutputTest, LeavesNothingBehindWhenAbandoned) {
  {
    auto output = Output::open(folder_ / "report.json");
    ASSERT_TRUE(output);
    output->sink()("half");
  }
  EXPECT_EQ(files(), 0u);
}

TEST_F(OutputTest, ReplacesTheFileBehindALink) {
  const fs::path file = folder_ / "real";
  const fs::path link = folder_ / "link";
  std::ofstream(file) << "old";
  fs::create_symlink(file, link);
  auto output = Output::open(link);
  ASSERT_TRUE(output);
  output->sink()("new");
  ASSERT_TRUE(output->commit());
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(content(file), "new");
}

TEST(OutputFormat, IsTheOneAskedForOrThatOfTheName) {
  const auto format = [](std::string_view asked, std::string_view path) {
    const auto found = format_for(asked, path, {"html", "json", "md", "perfetto"});
    return found ? *found : std::string(name(found.error().code));
  };
  EXPECT_EQ(format("", "-"), "text");
  EXPECT_EQ(format("", "report"), "text");
  EXPECT_EQ(format("", "report.txt"), "text");
  EXPECT_EQ(format("", "out.json/report"), "text") << "a folder's name says nothing";
  EXPECT_EQ(format("", ".html"), "text") << "a hidden file";
  EXPECT_EQ(format("", "report.2026-11-19"), "text") << "a date is no format";
  EXPECT_EQ(format("", "a/b.c/report.HTML"), "html");
  EXPECT_EQ(format("", "report.htm"), "html");
  EXPECT_EQ(format("", "run.pftrace"), "perfetto");
  EXPECT_EQ(format("json", "x.pdf"), "json") << "who names a format gets it";
  for (const char* const other : {"x.pdf", "x.png", "x.xlsx", "x.csv", "x.xml", "x.y.docx"}) {
    EXPECT_EQ(format("", other), name(ErrorCode::invalid_argument)) << other;
  }
}

TEST(OutputFormat, TheErrorNamesTheFileAndTheFormats) {
  const auto found = format_for("", "out/x.pdf", {"html", "junit", "perfetto"});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message,
            "out/x.pdf: this command writes no .pdf; end the name with .html, .xml, .pftrace or "
            ".txt, or name a format with --format");
}

TEST_F(OutputTest, SaysWhyItCannotWrite) {
  const auto missing = Output::open(folder_ / "no" / "report.json");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_THAT(missing.error().message, ::testing::HasSubstr("no/report.json"));
  EXPECT_FALSE(Output::open(folder_));
}

TEST_F(OutputTest, AFullDeviceIsAnError) {
  auto output = Output::open("/dev/full");
  if (!output) GTEST_SKIP() << "no /dev/full here";
  const Sink sink = output->sink();
  try {
    sink("x");
    ADD_FAILURE() << "the write was lost in silence";
  } catch (const OutputFailure& failure) {
    EXPECT_EQ(failure.error.code, ErrorCode::no_space);
  }
}

TEST_F(OutputTest, APipeWithoutReaderIsBroken) {
  const fs::path path = folder_ / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::signal(SIGPIPE, SIG_IGN);
  const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
  auto output = Output::open(path);
  ASSERT_TRUE(output);
  ::close(reader);
  EXPECT_THROW(output->sink()("x"), BrokenPipe);
}

}  // namespace
}  // namespace genscope::cli
