#include "probe/drm/processes.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/process_stat.h"
#include "probe/drm/numbers_in.h"

namespace genscope::probe::drm {
namespace {

constexpr std::size_t kPathBytes = 512;

// proc_root/PID/REST; false if it does not fit.
template <class... Args>
bool make_path(char (&path)[kPathBytes], const char* format, Args... args) noexcept {
  const int size = std::snprintf(path, sizeof path, format, args...);
  return size > 0 && static_cast<std::size_t>(size) < sizeof path;
}

// Whose device that fdinfo is about, or devices.size(). A driver that tells no address can only
// mean the one device that we have of it.
std::size_t device_of(const Fdinfo& info, const Devices& devices) noexcept {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (!info.pdev.empty() && info.pdev == devices[i]->card().pci) return i;
  }
  const bool only_one =
      info.pdev.empty() && devices.size() == 1 && info.driver == devices[0]->card().driver;
  return only_one ? 0 : devices.size();
}

// Whether one may ask about a file of /dev/dri by that name. A name of none of ours, or none at
// all, might be a device that sleeps.
bool awake(std::string_view node, const Devices& devices) noexcept {
  bool all = true;
  for (const auto& device : devices) {
    const bool is_awake = device->state() == GpuDevice::State::awake;
    all = all && is_awake;
    for (const std::string& name : device->card().nodes) {
      if (name == node) return is_awake;
    }
  }
  return all;
}

}  // namespace

Processes::Processes(const ProbeOptions& options, bool everybody, base::Files& files)
    : options_(options),
      everybody_(everybody),
      source_(files),
      root_(static_cast<std::uint32_t>(options.pid != 0 ? options.pid : ::getpid())) {}

int Processes::read_file(const char* path, std::span<char> buffer,
                         std::string_view& text) noexcept {
  const int fd = source_.open(path);
  if (fd < 0) return -fd;
  const base::UniqueFd close_later(fd);
  const long got = source_.read(fd, path, buffer.data(), buffer.size());
  if (got < 0) return static_cast<int>(-got);
  text = {buffer.data(), static_cast<std::size_t>(got)};
  return 0;
}

void Processes::find(const Devices& devices, bool thorough) noexcept {
  visits_left_ = thorough ? 32 * kMaxVisits : kMaxVisits;
  find_tree();
  drop_if_stale();
  tree_ = Tree::gone;
  for (std::size_t i = 0; i < member_count_; ++i) {
    look_into(members_[i].pid, members_[i].parent, true, devices);
  }
  if (everybody_) sweep(devices, thorough ? 64 * kSweep : kSweep);
}

void Processes::find_tree() noexcept {
  members_[0] = {root_, 0};
  member_count_ = 1;
  if (!options_.children) return;
  for (std::size_t i = 0; i < member_count_; ++i) {
    const std::uint32_t pid = members_[i].pid;
    char path[kPathBytes];
    if (!make_path(path, "%s/%u/task", options_.proc_root.c_str(), pid)) return;
    numbers_in(path, [&](std::uint32_t thread) noexcept {
      add_children(pid, thread);
      return visits_left_ > 0 && --visits_left_ > 0;
    });
  }
}

// Each thread lists the processes that it forked.
void Processes::add_children(std::uint32_t pid, std::uint32_t thread) noexcept {
  char path[kPathBytes], buffer[4096];
  std::string_view text;
  if (!make_path(path, "%s/%u/task/%u/children", options_.proc_root.c_str(), pid, thread)) return;
  if (read_file(path, buffer, text) != 0) return;
  while (member_count_ < kMaxTree) {
    std::string_view word = base::next_word(text);
    if (word.empty()) return;
    word = word.substr(0, word.find_first_of(std::string_view("\n\0", 2)));
    std::uint64_t child = 0;
    if (!base::parse_number(word, child) || child > UINT32_MAX) continue;
    // A tree that is not the kernel's may have a ring.
    if (!in_tree(static_cast<std::uint32_t>(child))) {
      members_[member_count_++] = {static_cast<std::uint32_t>(child), pid};
    }
  }
}

bool Processes::in_tree(std::uint32_t pid) const noexcept {
  return std::any_of(members_.begin(),
                     members_.begin() + static_cast<std::ptrdiff_t>(member_count_),
                     [pid](const Member& member) { return member.pid == pid; });
}

// The tree's files are found again each time; those of others stay until they are closed.
void Processes::drop_if_stale() noexcept {
  for (std::size_t i = file_count_; i-- > 0;) {
    if (files_[i].in_tree || in_tree(files_[i].pid)) drop(i);
  }
}

void Processes::drop(std::size_t index) noexcept {
  if (index >= file_count_) return;
  files_[index] = files_[--file_count_];
}

void Processes::drop_pid(std::uint32_t pid) noexcept {
  for (std::size_t i = file_count_; i-- > 0;) {
    if (files_[i].pid == pid) drop(i);
  }
}

void Processes::look_into(std::uint32_t pid, std::uint32_t parent, bool in_tree,
                          const Devices& devices) noexcept {
  char path[kPathBytes];
  if (!make_path(path, "%s/%u/fdinfo", options_.proc_root.c_str(), pid)) return;
  DrmFile file;
  file.pid = pid;
  file.parent = parent;
  file.in_tree = in_tree;
  const int error = numbers_in(path, [&](std::uint32_t fd) noexcept {
    if (visits_left_ == 0 || file_count_ == kMaxFiles) return false;
    visits_left_--;
    if (!may_ask(pid, fd, devices)) return true;
    char buffer[8192];
    Fdinfo info;
    file.fd = fd;
    file.device = static_cast<std::uint32_t>(devices.size());  // any
    if (!read(file, devices, buffer, info)) return true;
    file.device = static_cast<std::uint32_t>(device_of(info, devices));
    if (file.name[0] == '\0') identify(file);
    files_[file_count_++] = file;
    return true;
  });
  if (!in_tree) return;
  if (error == EACCES || error == EPERM) tree_ = Tree::denied;
  if (error == 0 && tree_ == Tree::gone) tree_ = Tree::seen;
}

// The name behind the descriptor says whether it is a GPU's, for less than reading its fdinfo.
bool Processes::may_ask(std::uint32_t pid, std::uint32_t fd,
                        const Devices& devices) const noexcept {
  char path[kPathBytes], target[256];
  if (!make_path(path, "%s/%u/fd/%u", options_.proc_root.c_str(), pid, fd)) return false;
  const ssize_t size = ::readlink(path, target, sizeof target);
  if (size < 0) return awake({}, devices);
  const std::string_view name(target, static_cast<std::size_t>(size));
  const std::size_t at = name.find("/dri/");
  return at != std::string_view::npos && awake(name.substr(at + 5), devices);
}

bool Processes::read(const DrmFile& file, const Devices& devices, std::span<char> buffer,
                     Fdinfo& info) noexcept {
  char path[kPathBytes];
  std::string_view text;
  if (!make_path(path, "%s/%u/fdinfo/%u", options_.proc_root.c_str(), file.pid, file.fd)) {
    return false;
  }
  if (read_file(path, buffer, text) != 0 || !parse_fdinfo(text, info)) return false;
  const std::size_t device = device_of(info, devices);
  return device < devices.size() && (file.device == devices.size() || file.device == device);
}

void Processes::identify(DrmFile& file) noexcept {
  std::strcpy(file.name, "?");
  char path[kPathBytes], buffer[1024];
  std::string_view text;
  if (!make_path(path, "%s/%u/stat", options_.proc_root.c_str(), file.pid)) return;
  if (read_file(path, buffer, text) != 0) return;
  base::ProcessStat stat;
  if (!base::parse_stat(text, stat)) return;
  file.name[stat.name.copy(file.name, sizeof file.name - 1)] = '\0';
  file.parent = stat.parent;
  file.start = stat.start;
}

void Processes::sweep(const Devices& devices, std::size_t most) noexcept {
  std::size_t seen = 0;
  std::uint32_t last = cursor_;
  bool more = false;
  numbers_in(options_.proc_root.c_str(), [&](std::uint32_t pid) noexcept {
    if (pid <= cursor_ || in_tree(pid)) return true;
    more = seen == most || visits_left_ == 0;
    if (more) return false;
    seen++;
    last = std::max(last, pid);
    drop_pid(pid);
    look_into(pid, 0, false, devices);
    return true;
  });
  cursor_ = more ? last : 0;
}

}  // namespace genscope::probe::drm
