#include "cli/watch/orphans.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace genscope::cli::watch {
namespace {

// These are about our own process, so they read the real /proc whatever the probes are told.

std::string name_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/comm", pid));
  std::string name;
  std::getline(file, name);
  return name;
}

// Empty where the kernel has no such list: then orphans are reaped by whoever adopts them after us.
std::vector<pid_t> children_of(const std::string& process) {
  std::vector<pid_t> children;
  std::error_code failed;
  std::filesystem::directory_iterator threads("/proc/" + process + "/task", failed);
  for (; !failed && threads != std::filesystem::directory_iterator(); threads.increment(failed)) {
    std::ifstream file(threads->path() / "children");
    for (pid_t pid = 0; file >> pid;) children.push_back(pid);
  }
  return children;
}

// The process of a remote probe is not an orphan; who started it waits for it.
bool is_ours(pid_t pid) {
  static const std::string own_name = name_of(getpid());
  return name_of(pid) == own_name;
}

bool is_running(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  const std::size_t end = text.rfind(") ");
  return end != std::string::npos && end + 2 < text.size() && text[end + 2] != 'Z' &&
         text[end + 2] != 'X';
}

}  // namespace

Orphans::Orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

void Orphans::reap() {
  for (const pid_t pid : children_of("self")) {
    if (pid == command_ || is_running(pid) || is_ours(pid)) continue;
    if (waitpid(pid, nullptr, WNOHANG) == pid) ++reaped_;
  }
}

std::vector<Descendant> Orphans::left(std::size_t limit, std::size_t& all) const {
  constexpr std::size_t kMost = 10'000;
  std::vector<pid_t> open = children_of("self");
  std::erase_if(open, [&](pid_t pid) { return pid == command_ || is_ours(pid); });
  std::vector<Descendant> out;
  all = 0;
  for (std::size_t i = 0; i < open.size() && i < kMost; ++i) {
    for (const pid_t child : children_of(std::to_string(open[i]))) open.push_back(child);
    if (!is_running(open[i])) continue;
    ++all;
    if (out.size() < limit) out.push_back({open[i], name_of(open[i])});
  }
  return out;
}

}  // namespace genscope::cli::watch
