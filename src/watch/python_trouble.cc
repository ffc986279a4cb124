#include "watch/python_trouble.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/exec_words.h"

extern char** environ;

namespace genscope::watch {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNote = ".python-note";

// "python", "python3", "python3.11", "pypy3", with a folder before it or not.
bool is_python(std::string_view word) {
  word = word.substr(word.find_last_of('/') + 1);  // npos + 1 is 0
  for (const std::string_view name : {"python", "pypy"}) {
    if (!word.starts_with(name)) continue;
    return word.find_first_not_of("0123456789.tdm", name.size()) == word.npos;
  }
  return false;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  while (!line.empty()) {
    const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    if (end > 0) words.emplace_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

// "#!/usr/bin/env python3 -I" as its words; none for what has no such line.
std::vector<std::string> shebang(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::array<char, 256> begin{};
  in.read(begin.data(), begin.size());
  std::string_view text(begin.data(), static_cast<std::size_t>(in.gcount()));
  if (!text.starts_with("#!")) return {};
  text.remove_prefix(2);
  return words_of(text.substr(0, text.find_first_of("\r\n")));
}

std::string in_path(const std::string& name) {
  if (name.find('/') != name.npos) return name;
  const char* const path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string file = std::string(rest.substr(0, end)) + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return name;
}

// The interpreter and what follows it: behind `env` and assignments, or from a script's first line.
std::vector<std::string> python_words(const std::vector<std::string>& command, bool scripts) {
  std::size_t at = 0;
  const auto is_env = [&] { return command[at] == "env" || command[at].ends_with("/env"); };
  if (!command.empty() && is_env()) {
    ++at;
    while (at < command.size() &&
           (command[at].starts_with('-') || command[at].find('=') != std::string::npos)) {
      ++at;
    }
  }
  if (at >= command.size()) return {};
  if (is_python(command[at])) {
    return {command.begin() + static_cast<std::ptrdiff_t>(at), command.end()};
  }
  return scripts ? python_words(shebang(in_path(command[at])), false) : std::vector<std::string>{};
}

// The switch among its own that keeps an interpreter from our sitecustomize: "-S", "-I", "-E".
std::string blinding_switch(const std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.size() < 2 || word[0] != '-') return "";  // the program
    if (word[1] == '-') continue;
    for (std::size_t k = 1; k < word.size(); ++k) {
      const char letter = word[k];
      if (letter == 'c' || letter == 'm') return "";
      if (letter == 'S' || letter == 'I' || letter == 'E') return std::string("-") + letter;
      if (letter == 'W' || letter == 'X') {  // with a word of its own
        if (k + 1 == word.size()) ++i;
        break;
      }
    }
  }
  return "";
}

PythonTrouble from_note(const std::string& text) {
  PythonTrouble trouble;
  trouble.reason = text.substr(0, text.find('\n'));
  trouble.remedy = text.find("older than") != text.npos
                       ? "use Python 3.10 or later"
                       : "install genscope for that interpreter: its -m pip install genscope";
  return trouble;
}

}  // namespace

bool is_python_program(const std::vector<std::string>& command) {
  return !python_words(command, true).empty();
}

std::optional<PythonTrouble> python_trouble(const std::vector<std::string>& command,
                                            const std::string& injection) {
  const std::vector<std::string> words = python_words(command, true);
  if (words.empty()) return std::nullopt;
  if (injection.empty()) {
    return PythonTrouble{
        "the Python package is not beside this genscope",
        "pip install genscope, or let GENSCOPE_PYTHON name the folder that has it"};
  }
  const std::string flag = blinding_switch(words);
  if (flag.empty()) return std::nullopt;
  const char* const what = flag == "-S" ? "imports no sitecustomize" : "ignores PYTHONPATH";
  return PythonTrouble{
      fmt::format("{} {} {}, by which the hooks come", words[0], flag, what),
      fmt::format("leave {} out, or call genscope.hooks.install() in the program", flag)};
}

std::optional<PythonTrouble> take_python_notes(const std::string& run_dir) {
  std::vector<fs::path> notes;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(run_dir, failed)) {
    if (entry.path().extension() == kNote) notes.push_back(entry.path());
  }
  std::sort(notes.begin(), notes.end());
  std::optional<PythonTrouble> first;
  for (const fs::path& note : notes) {
    std::ifstream in(note, std::ios::binary);
    std::string text(512, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
    if (!first && !text.empty()) first = from_note(text);
    fs::remove(note, failed);
  }
  return first;
}

std::optional<PythonTrouble> try_python(const std::string& interpreter,
                                        const std::string& injection) {
  if (injection.empty()) return python_trouble({"python3"}, injection);
  std::string folder = (fs::temp_directory_path() / "genscope-doctor-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return PythonTrouble{"no temporary folder", "set TMPDIR"};
  std::vector<std::string> variables = {"PYTHONPATH=" + injection, "GENSCOPE_INSTRUMENT=auto",
                                        "GENSCOPE_RUN_DIR=" + folder};
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view entry(*each);
    if (!entry.starts_with("PYTHON") && !entry.starts_with("GENSCOPE_"))
      variables.emplace_back(entry);
  }
  std::vector<std::string> command = {interpreter, "-c",
                                      "import sys; sys.exit('genscope.hooks' not in sys.modules)"};
  const std::vector<char*> environment = base::pointers(variables);
  const std::vector<char*> words = base::pointers(command);
  pid_t child = 0;
  int status = 0;
  const bool ran =
      posix_spawnp(&child, words[0], nullptr, nullptr, words.data(), environment.data()) == 0 &&
      waitpid(child, &status, 0) == child;
  std::optional<PythonTrouble> trouble = take_python_notes(folder);
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  if (!ran) return PythonTrouble{"there is no " + interpreter, "install Python 3.10 or later"};
  if (trouble || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) return trouble;
  return PythonTrouble{interpreter + " does not import sitecustomize",
                       "call genscope.hooks.install() in the program"};
}

}  // namespace genscope::watch
