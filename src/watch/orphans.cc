#include "watch/orphans.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace genscope::watch {
namespace {

// These are about our own process, so they read the real /proc whatever the probes are told.

std::string name_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/comm", pid));
  std::string name;
  std::getline(file, name);
  return name;
}

// Of one thread. Empty where the kernel has no such list: then orphans are left to who adopts them
// after us.
void add_children(const std::string& task, std::vector<pid_t>& children) {
  std::ifstream file("/proc/" + task + "/children");
  for (pid_t pid = 0; file >> pid;) children.push_back(pid);
}

// Orphans become children of our first thread, and so is the command. What other threads start (the
// process of the GPU probes) is on their own lists, and theirs to wait for.
std::vector<pid_t> own_children() {
  std::vector<pid_t> children;
  add_children(fmt::format("self/task/{}", getpid()), children);
  return children;
}

void add_all_children(pid_t pid, std::vector<pid_t>& children) {
  std::error_code failed;
  std::filesystem::directory_iterator threads(fmt::format("/proc/{}/task", pid), failed);
  for (; !failed && threads != std::filesystem::directory_iterator(); threads.increment(failed)) {
    add_children(fmt::format("{}/task/{}", pid, threads->path().filename().string()), children);
  }
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
  for (const pid_t pid : own_children()) {
    if (pid == command_ || is_running(pid)) continue;
    if (waitpid(pid, nullptr, WNOHANG) == pid) ++reaped_;
  }
}

std::vector<Descendant> Orphans::left(std::size_t limit, std::size_t& all) const {
  constexpr std::size_t kMost = 10'000;
  std::vector<pid_t> open = own_children();
  std::erase(open, command_);
  std::vector<Descendant> out;
  all = 0;
  for (std::size_t i = 0; i < open.size() && i < kMost; ++i) {
    const pid_t pid = open[i];  // a reference would not survive the next line
    add_all_children(pid, open);
    if (!is_running(pid)) continue;
    ++all;
    if (out.size() < limit) out.push_back({pid, name_of(pid)});
  }
  return out;
}

}  // namespace genscope::watch
