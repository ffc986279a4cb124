#include "cli/bench/shell_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include <unistd.h>

#include "bench/run/process.h"

namespace genscope::cli::bench {
namespace {

// Also inside quotes, where some are plain: a shell too many costs half a millisecond, one too few
// another meaning.
constexpr std::string_view kSpecial = "|&;<>()$`*?[]{}#~!\\\n";

// Those that some systems have as a program too, which then does nothing.
constexpr std::array<std::string_view, 16> kShellsOwn = {
    "alias", "bg",   "cd",   "command", "eval", "exec",   "exit",  "export",
    "fg",    "hash", "jobs", "read",    "type", "ulimit", "umask", "wait"};

// What the kernel can start by itself: a binary, or a script that names its interpreter.
bool starts_by_itself(const std::string& program) {
  if (::access(program.c_str(), X_OK) != 0) return false;
  std::ifstream in(program, std::ios::binary);
  std::array<char, 4> head{};
  in.read(head.data(), head.size());
  const std::string_view text(head.data(), static_cast<std::size_t>(in.gcount()));
  return text.starts_with("#!") || text.starts_with(
                                       "\x7f"
                                       "ELF");
}

}  // namespace

Result<std::vector<std::string>> split_words(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool open = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      if (open) words.push_back(std::move(word));
      word.clear();
      open = false;
      continue;
    }
    open = true;
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
    } else {
      word += c;
    }
  }
  if (quote != 0) {
    return Error{ErrorCode::invalid_argument, fmt::format("a quote is not closed in: {}", text)};
  }
  if (open) words.push_back(std::move(word));
  return words;
}

bool needs_shell(const std::string& text) {
  if (text.find_first_of(kSpecial) != std::string::npos) return true;
  const Result<std::vector<std::string>> words = split_words(text);
  if (!words || words->empty()) return true;
  const std::string& first = words->front();
  if (first.find('=') != std::string::npos) return true;
  if (std::ranges::find(kShellsOwn, first) != kShellsOwn.end()) return true;
  return !starts_by_itself(genscope::bench::find_in_path(first));
}

}  // namespace genscope::cli::bench
