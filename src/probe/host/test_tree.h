// Makes small /proc and /sys trees for tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace genscope::probe {

// Writes `text`, with the folders on the way.
inline void put(const std::string& path, const std::string& text) {
  const std::filesystem::path where(path);
  std::filesystem::create_directories(where.parent_path());
  std::ofstream(where, std::ios::binary | std::ios::trunc) << text;
}

// What a fake process shows. CPU in ticks of 10 ms, memory in pages.
struct FakeProcess {
  std::uint32_t pid = 0;
  std::uint32_t parent = 1;
  std::string name = "fake";
  char state = 'S';
  std::uint64_t user = 0, system = 0, reaped_user = 0, reaped_system = 0;
  std::uint64_t minor = 0, reaped_minor = 0, major = 0, reaped_major = 0;
  std::uint64_t threads = 1;
  std::uint64_t main_user = 0;  // of its main thread
  std::uint64_t start = 1000;
  std::uint64_t pages = 1000, resident = 100, shared = 40;
  std::uint64_t read_bytes = 0, write_bytes = 0;
  std::uint64_t swap_kib = 0, pss_kib = 0;
  std::uint64_t ran_ns = 1, waited_ns = 0;  // of its main thread, as the scheduler counts
  std::vector<std::uint32_t> children = {};
};

inline std::string stat_text(const FakeProcess& p) {
  const auto n = [](std::uint64_t value) { return " " + std::to_string(value); };
  return std::to_string(p.pid) + " (" + p.name + ") " + p.state + n(p.parent) +
         " 1 1 0 -1 4194304" + n(p.minor) + n(p.reaped_minor) + n(p.major) + n(p.reaped_major) +
         n(p.user) + n(p.system) + n(p.reaped_user) + n(p.reaped_system) + " 20 0" + n(p.threads) +
         " 0" + n(p.start) + " 1 2 3\n";
}

inline void put(const std::string& proc, const FakeProcess& p) {
  const std::string folder = proc + "/" + std::to_string(p.pid);
  const auto n = [](std::uint64_t value) { return std::to_string(value); };
  put(folder + "/stat", stat_text(p));
  put(folder + "/statm", n(p.pages) + " " + n(p.resident) + " " + n(p.shared) + " 1 0 2 0\n");
  put(folder + "/io", "rchar: 7\nwchar: 7\nread_bytes: " + n(p.read_bytes) +
                          "\nwrite_bytes: " + n(p.write_bytes) + "\n");
  put(folder + "/status", "Name:\t" + p.name + "\nVmSwap:\t  " + n(p.swap_kib) + " kB\n");
  put(folder + "/smaps_rollup", "1-2 ---p 0 00:00 0 [rollup]\nPss:     " + n(p.pss_kib) + " kB\n");
  FakeProcess main = p;
  main.user = p.main_user;
  main.system = 0;
  put(folder + "/task/" + n(p.pid) + "/stat", stat_text(main));
  put(folder + "/task/" + n(p.pid) + "/schedstat", n(p.ran_ns) + " " + n(p.waited_ns) + " 3\n");
  std::string list;
  for (const std::uint32_t child : p.children) list += n(child) + " ";
  put(folder + "/task/" + n(p.pid) + "/children", list);
}

inline void remove(const std::string& proc, std::uint32_t pid) {
  std::filesystem::remove_all(proc + "/" + std::to_string(pid));
}

}  // namespace genscope::probe
