#include "bench/result/provenance.h"

#include <fmt/format.h>

#include <genscope/version.h>

#include "base/checksum.h"
#include "base/file.h"
#include "base/file_reader.h"
#include "bench/quality/piped.h"
#include "bench/result/timestamp.h"

namespace genscope::bench {
namespace {

std::vector<std::string> own_words() {
  std::vector<std::string> words;
  const Result<std::string> text = base::read_file("/proc/self/cmdline", 1 << 20);
  std::string_view rest = text ? std::string_view(*text) : std::string_view();
  while (!rest.empty()) words.emplace_back(base::next_part(rest, '\0'));
  return words;
}

std::string git_says(std::vector<std::string> words) {
  words.insert(words.begin(), "git");
  Result<std::string> text = output_of(std::move(words), 5, 1 << 20);
  if (!text) return "";
  while (text->ends_with('\n')) text->pop_back();
  return *text;
}

void add_git(BenchResult& result) {
  result.git_sha = git_says({"rev-parse", "HEAD"});
  if (result.git_sha.empty()) return;
  result.git_branch = git_says({"rev-parse", "--abbrev-ref", "HEAD"});
  result.git_dirty = !git_says({"status", "--porcelain", "--untracked-files=no"}).empty();
}

}  // namespace

std::string hash_of_work(const std::map<std::string, std::string>& work) {
  std::string all;
  for (const auto& [key, value] : work) all += key + '=' + value + '\n';
  return fmt::format("{:016x}", base::checksum(all.data(), all.size()));
}

BenchResult new_result(std::string_view verb, std::uint64_t seed) {
  BenchResult result;
  result.id = new_result_id(verb);
  result.started = timestamp_now();
  result.tool_version = GENSCOPE_VERSION_STRING;
  result.argv = own_words();
  result.seed = seed;
  add_git(result);
  return result;
}

}  // namespace genscope::bench
