// GENSCOPE_OFF: a function with spans compiles to the same instructions as one without.
#include <sstream>

#include "support.h"

#include "test_paths.h"

namespace genscope::testing {
namespace {

// Instructions of each function, addresses and labels removed.
std::map<std::string, std::string> instructions(const TempDir& dir, const std::string& object) {
  Child child(dir, {"objdump", "-d", "--no-show-raw-insn", "-j", ".text", object});
  const Ended ended = child.wait();
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  std::map<std::string, std::string> out;
  std::istringstream lines(ended.out);
  std::string function;
  std::uint64_t start = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t open = line.find('<');
    if (!line.empty() && line[0] != ' ' && open != std::string::npos && line.ends_with(">:")) {
      function = line.substr(open + 1, line.size() - open - 3);
      start = std::stoull(line, nullptr, 16);
      continue;
    }
    const std::size_t colon = line.find(":\t");
    if (function.empty() || colon == std::string::npos) continue;
    const std::uint64_t at = std::stoull(line.substr(0, colon), nullptr, 16) - start;
    std::string code = line.substr(colon + 2);
    const std::size_t target =
        code.find('<');  // "jmp 40 <f+0x20>": keep the label, not the address
    if (target != std::string::npos) {
      const std::size_t blank = code.find_first_of(" \t");
      code = code.substr(0, blank) + " " + code.substr(target);
    }
    out[function] += std::to_string(at) + " " + code + "\n";
  }
  return out;
}

void compare(const std::string& compiler) {
  const TempDir dir;
  if (Child(dir, {compiler, "--version"}).wait().exit_code != 0) GTEST_SKIP() << "no " << compiler;
  if (Child(dir, {"objdump", "--version"}).wait().exit_code != 0) GTEST_SKIP() << "no objdump";
  const std::string source = std::string(GENSCOPE_SOURCE_DIR) + "/tests/integration/off_bodies.inc";
  const auto compile = [&](const std::string& name, std::vector<std::string> extra) {
    std::vector<std::string> command = {compiler,  "-std=c++20",
                                        "-O2",     "-Wall",
                                        "-Wextra", "-Werror",
                                        "-I",      std::string(GENSCOPE_SOURCE_DIR) + "/include",
                                        "-I",      std::string(GENSCOPE_BIN_DIR) + "/../include",
                                        "-x",      "c++",
                                        "-c",      source,
                                        "-o",      dir / name};
    command.insert(command.end(), extra.begin(), extra.end());
    const Ended ended = Child(dir, command).wait();
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
  };
  compile("with.o", {"-DGENSCOPE_OFF", "-DWITH_SPANS"});
  compile("without.o", {"-DGENSCOPE_OFF"});
  compile("on.o", {"-DWITH_SPANS"});
  const auto with = instructions(dir, dir / "with.o");
  const auto without = instructions(dir, dir / "without.o");
  const auto on = instructions(dir, dir / "on.o");
  for (const char* function : {"scoped", "named", "steps", "detached"}) {
    ASSERT_EQ(without.count(function), 1u) << function;
    EXPECT_EQ(with.at(function), without.at(function)) << function;
    EXPECT_NE(on.at(function), without.at(function)) << "the comparison compares nothing";
  }
}

TEST(Off, SameInstructionsWithGcc) { compare("g++"); }
TEST(Off, SameInstructionsWithClang) { compare("clang++"); }

}  // namespace
}  // namespace genscope::testing
