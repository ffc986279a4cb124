// Small trees like /sys and /proc, made for a test: one of each sort of GPU, and processes that use
// them. Values are round and all different, so that a test sees which file a reading came from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>

#include "genscope/probe.h"

namespace genscope::probe::drm {

// A gpu_metrics blob of that version, all fields not available but those given.
struct BlobField {
  std::size_t offset;
  std::size_t bytes;
  std::uint64_t value;
};
inline std::string make_blob(int format, int content, std::size_t size,
                             std::initializer_list<BlobField> fields) {
  std::string blob(size, '\xff');
  const auto put = [&](const BlobField& field) {
    for (std::size_t i = 0; i < field.bytes; ++i) {
      blob[field.offset + i] = static_cast<char>(field.value >> (8 * i) & 0xff);
    }
  };
  put({0, 2, size});
  put({2, 1, static_cast<std::uint64_t>(format)});
  put({3, 1, static_cast<std::uint64_t>(content)});
  for (const BlobField& field : fields) put(field);
  return blob;
}

class TestTree {
 public:
  explicit TestTree(std::string root) : root_(std::move(root)) {
    std::filesystem::create_directories(root_ + "/sys/class/drm");
    std::filesystem::create_directories(root_ + "/proc");
  }

  ProbeOptions options() const {
    ProbeOptions options;
    options.sys_root = root_ + "/sys";
    options.proc_root = root_ + "/proc";
    options.pid = 100;
    return options;
  }
  std::string path(const std::string& name) const { return root_ + "/" + name; }
  std::string card(const std::string& name) const { return "sys/class/drm/card0/" + name; }
  std::string device(const std::string& name) const { return card("device/" + name); }
  std::string hwmon(const std::string& name) const { return device("hwmon/hwmon3/" + name); }

  // Creates folders as needed; replaces, as the kernel does, the content of the same file.
  void write(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << text;
  }
  void remove(const std::string& name) const { std::filesystem::remove_all(path(name)); }
  // A symbolic link to what need not exist.
  void link(const std::string& name, const std::string& target) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::filesystem::create_symlink(target, path(name));
  }

  void write_identity(const char* driver, const char* pci_id, const char* pci) const {
    const std::string id = pci_id;
    write(device("uevent"), std::string("DRIVER=") + driver + "\nPCI_CLASS=30000\nPCI_ID=" + id +
                                "\nPCI_SLOT_NAME=" + pci + "\n");
    write(device("vendor"), "0x" + id.substr(0, 4) + "\n");
    write(device("power/runtime_status"), "active\n");
  }

  static std::string blob_13() {
    return make_blob(1, 3, 120,
                     {{4, 2, 61},
                      {6, 2, 72},
                      {8, 2, 83},
                      {16, 2, 44},
                      {18, 2, 22},
                      {22, 2, 150},
                      {24, 8, 123456},
                      {54, 2, 2100},
                      {58, 2, 1200},
                      {68, 4, 1},
                      {74, 2, 16},
                      {76, 2, 160},
                      {112, 8, (1ull << 36) | 1}});
  }

  // A discrete AMD card with everything, padded as some captures are.
  void write_amd_discrete() const {
    write_identity("amdgpu", "1002:744C", "0000:03:00.0");
    write(device("mem_info_vram_total"), "25753026560\n");
    write(device("mem_info_vram_used"), padded("8589934592\n"));
    write(device("mem_info_gtt_total"), "33554432000\n");
    write(device("mem_info_gtt_used"), "62369792\n");
    write(device("gpu_busy_percent"), padded("87\n"));
    write(device("mem_busy_percent"), "35\n");
    write(device("current_link_speed"), "16.0 GT/s PCIe\n");
    write(device("current_link_width"), "16\n");
    write(device("pp_dpm_sclk"), "0: 500Mhz \n1: 1900Mhz *\n2: 2500Mhz \n");
    write(device("pp_dpm_mclk"), "0: 96Mhz \n1: 1249Mhz *\n");
    write(device("pcie_bw"), "1 2 256\n");
    write(device("gpu_metrics"), padded(blob_13()));
    write(hwmon("name"), "amdgpu\n");
    write(hwmon("power1_average"), "241000000\n");
    write(hwmon("power1_cap"), "290000000\n");
    write(hwmon("temp1_label"), "edge\n");
    write(hwmon("temp1_input"), "53000\n");
    write(hwmon("temp1_crit"), "100000\n");
    write(hwmon("temp2_label"), "junction\n");
    write(hwmon("temp2_input"), "61500\n");
    write(hwmon("temp3_label"), "mem\n");
    write(hwmon("temp3_input"), "68000\n");
    write(hwmon("freq1_label"), "sclk\n");
    write(hwmon("freq1_input"), "1850000000\n");
    write(hwmon("freq2_label"), "mclk\n");
    write(hwmon("freq2_input"), "1250000000\n");
    write(hwmon("fan1_input"), "1600\n");
    write(hwmon("fan1_max"), "3200\n");
  }

  // An APU that the table of names does not know: it is told by its second voltage.
  void write_amd_apu() const {
    write_identity("amdgpu", "1002:FFF0", "0000:64:00.0");
    write(device("mem_info_vram_total"), "536870912\n");
    write(device("mem_info_vram_used"), "268435456\n");
    write(device("mem_info_gtt_total"), "31433977856\n");
    write(device("mem_info_gtt_used"), "12884901888\n");
    write(device("gpu_busy_percent"), "12\n");
    write(device("pp_dpm_mclk"), "0: 400Mhz *\n1: 800Mhz \n");
    write(device("gpu_metrics"), make_blob(2, 2, 128,
                                           {{4, 2, 4512},
                                            {28, 2, 79},
                                            {40, 2, 3401},
                                            {76, 2, 800},
                                            {108, 4, 0},
                                            {120, 8, 1ull << 47}}));
    write(hwmon("in1_label"), "vddnb\n");
    write(hwmon("power1_average"), "3103000\n");
    write(hwmon("power1_input"), "3142000\n");
    write(hwmon("temp1_label"), "edge\n");
    write(hwmon("temp1_input"), "25000\n");
    write(hwmon("freq1_label"), "sclk\n");
    write(hwmon("freq1_input"), "800000000\n");
  }

  void write_i915() const {
    write_identity("i915", "8086:56A5", "0000:0b:00.0");
    write(device("current_link_speed"), "2.5 GT/s PCIe\n");
    write(device("current_link_width"), "1\n");
    write(hwmon("name"), "i915\n");
    write(hwmon("energy1_input"), "25637161804\n");
    write(hwmon("power1_max"), "55000000\n");
    write(hwmon("temp1_input"), "55000\n");
    write(card("gt_act_freq_mhz"), "1950\n");
    write(card("gt_RP0_freq_mhz"), "2450\n");
    write(card("gt/gt0/rps_act_freq_mhz"), "1951\n");
    for (const char* reason : {"status", "pl1", "pl2", "thermal", "prochot", "ratl", "vr_tdc"}) {
      write(card(std::string("gt/gt0/throttle_reason_") + reason), "0\n");
    }
  }

  void write_xe() const {
    write_identity("xe", "8086:E20B", "0000:09:00.0");
    write(hwmon("name"), "xe\n");
    write(hwmon("energy1_label"), "card\n");
    write(hwmon("energy1_input"), "0\n");
    write(hwmon("energy2_label"), "pkg\n");
    write(hwmon("energy2_input"), "19000000000\n");
    write(hwmon("power1_label"), "card\n");
    write(hwmon("power1_max"), "0\n");
    write(hwmon("power1_crit"), "380000000\n");
    write(hwmon("temp2_label"), "pkg\n");
    write(hwmon("temp2_input"), "54000\n");
    write(hwmon("temp2_crit"), "100000\n");
    write(hwmon("temp3_label"), "vram\n");
    write(hwmon("temp3_input"), "56000\n");
    write(device("tile0/gt0/engines/rcs/job_timeout_ms"), "5000\n");
    write(device("tile0/gt0/freq0/act_freq"), "2400\n");
    write(device("tile0/gt0/freq0/rp0_freq"), "2850\n");
    write(device("tile0/gt0/freq0/throttle/status"), "1\n");
    write(device("tile0/gt0/freq0/throttle/reason_pl1"), "1\n");
    write(device("tile0/gt0/freq0/throttle/reason_thermal"), "0\n");
    write(device("tile0/gt1/engines/vcs/job_timeout_ms"), "5000\n");
    write(device("tile0/gt1/freq0/act_freq"), "1200\n");
    write(device("tile0/gt1/freq0/throttle/reasons"), "vr_thermalert\n");
    write(device("tile0/gt1/freq0/throttle/status"), "1\n");
  }

  // A process with one thread, its children, and its name.
  void write_process(int pid, int parent, const std::string& name,
                     const std::string& children = "") const {
    const std::string folder = "proc/" + std::to_string(pid);
    write(folder + "/task/" + std::to_string(pid) + "/children", children);
    write(folder + "/stat", std::to_string(pid) + " (" + name + ") S " + std::to_string(parent) +
                                " 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 " + std::to_string(pid * 10) +
                                " 0 0\n");
    std::filesystem::create_directories(path(folder + "/fdinfo"));
  }
  void write_fdinfo(int pid, int fd, const std::string& text) const {
    write("proc/" + std::to_string(pid) + "/fdinfo/" + std::to_string(fd), text);
  }

  static std::string padded(std::string text) {
    text.resize(4096, '\0');
    return text;
  }

 private:
  std::string root_;
};

}  // namespace genscope::probe::drm
