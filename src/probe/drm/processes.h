// Who has a GPU open: the files of the watched tree, and where asked for, of every process that we
// may look into.
//
// Tables are of fixed size; what does not fit is left out and counted. find() is for the slow tier:
// it walks the tree and its open files. The files that it found are read by the normal tier.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/file_reader.h"
#include "genscope/probe.h"
#include "probe/drm/device.h"
#include "probe/drm/fdinfo.h"

namespace genscope::probe::drm {

using Devices = std::vector<std::unique_ptr<GpuDevice>>;

// One open DRM file of one of our devices.
struct DrmFile {
  std::uint32_t pid = 0;
  std::uint32_t parent = 0;
  std::uint64_t start = 0;
  char name[32] = {};
  std::uint32_t fd = 0;
  std::uint32_t device = 0;  // its place among the devices
  bool in_tree = false;
};

class Processes {
 public:
  static constexpr std::size_t kMaxTree = 1024;    // processes of the tree
  static constexpr std::size_t kMaxFiles = 512;    // open DRM files
  static constexpr std::size_t kMaxVisits = 8192;  // files of all processes looked at by one find()
  static constexpr std::size_t kSweep = 64;        // processes outside the tree looked at by one

  enum class Tree : std::uint8_t { seen, gone, denied };

  // `everybody`: look at processes outside the tree too, some at each find().
  Processes(const ProbeOptions& options, bool everybody, base::Files& files);

  // Only devices that are awake are asked about. `thorough`: without the limits of one tick.
  void find(const Devices& devices, bool thorough = false) noexcept;
  // Reads the fdinfo of a file that find() found. False: it is closed, or of another device now.
  bool read(const DrmFile& file, const Devices& devices, std::span<char> buffer,
            Fdinfo& info) noexcept;
  void drop(std::size_t index) noexcept;  // the last file takes its place

  std::span<const DrmFile> files() const noexcept { return {files_.data(), file_count_}; }
  Tree tree() const noexcept { return tree_; }

 private:
  struct Member {
    std::uint32_t pid, parent;
  };
  void find_tree() noexcept;
  void add_children(std::uint32_t pid, std::uint32_t thread) noexcept;
  bool in_tree(std::uint32_t pid) const noexcept;
  void drop_if_stale() noexcept;
  void look_into(std::uint32_t pid, std::uint32_t parent, bool in_tree,
                 const Devices& devices) noexcept;
  bool may_ask(std::uint32_t pid, std::uint32_t fd, const Devices& devices) const noexcept;
  void sweep(const Devices& devices, std::size_t most) noexcept;
  void drop_pid(std::uint32_t pid) noexcept;
  void identify(DrmFile& file) noexcept;
  int read_file(const char* path, std::span<char> buffer, std::string_view& text) noexcept;

  const ProbeOptions& options_;
  bool everybody_;
  base::Files& source_;
  std::uint32_t root_;
  std::array<Member, kMaxTree> members_{};
  std::size_t member_count_ = 0;
  std::array<DrmFile, kMaxFiles> files_{};
  std::size_t file_count_ = 0;
  std::size_t visits_left_ = 0;
  std::uint32_t cursor_ = 0;  // the pid at which the last sweep ended
  Tree tree_ = Tree::gone;
};

}  // namespace genscope::probe::drm
