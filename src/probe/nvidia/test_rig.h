// For the tests: the probe over a double of the driver's library, a board, and a clock that the
// test moves. Steps as the sampler would: fast, normal, slow, and a rescan when one is wanted.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>

#include "probe/nvidia/probe.h"
#include "probe/test_board.h"

#include "test_paths.h"

namespace genscope::probe::nvml {

class TestRig {
 public:
  // `level`: which driver the double is like; `scenario` as in tests/nvml_double/nvml_double.cc.
  explicit TestRig(const std::string& scenario, int level = 580) {
    if (::mkdtemp(dir_.data()) == nullptr) throw std::runtime_error("no temporary folder");
    options.nvml_library = library_path(level);
    options.sys_root = dir_ + "/sys";
    options.proc_root = dir_ + "/proc";
    write("scenario", scenario);
    ::setenv("GENSCOPE_NVML_SCENARIO", (dir_ + "/scenario").c_str(), 1);
    library_ = ::dlopen(options.nvml_library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error(::dlerror());
    function<void()>("nvml_double_reset")();
  }
  ~TestRig() {
    probe.reset();
    ::dlclose(library_);
    std::error_code ignored;
    std::filesystem::remove_all(dir_, ignored);
  }
  TestRig(const TestRig&) = delete;
  TestRig& operator=(const TestRig&) = delete;

  static std::string library_path(int level) {
    return std::string(GENSCOPE_NVML_DOUBLE_DIR) + "/" + std::to_string(level) +
           "/libnvidia-ml.so.1";
  }

  void write(const std::string& name, const std::string& content) const {
    const std::filesystem::path path = dir_ + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << content;
  }
  void add_pci(const std::string& pci, const std::string& runtime_status) const {
    const std::string folder = "sys/bus/pci/devices/" + pci;
    write(folder + "/vendor", "0x10de\n");
    write(folder + "/class", "0x030200\n");
    write(folder + "/power/runtime_status", runtime_status + "\n");
    write(folder + "/power/control", "auto\n");
  }

  // Opens the probe at second 0 and reads every tier once.
  ProbeState open() {
    set_time(0);
    probe = make_probe(options, base::Files::system(),
                       function<std::int64_t() noexcept>("nvml_double_clock_ns"));
    const ProbeState state = probe->open(board);
    for (const Tier tier : {Tier::fast, Tier::normal, Tier::slow})
      probe->sample(tier, now_ns(), board);
    return state;
  }

  // Lets time pass in steps of 100 ms up to that second; `each` after every step.
  template <typename Each>
  void run_to(double seconds, Each each) {
    const auto end = static_cast<long>(seconds * 10 + 0.5);
    while (step_ < end) {
      set_time(step_ + 1);
      probe->sample(Tier::fast, now_ns(), board);
      if (step_ % 10 == 0) probe->sample(Tier::normal, now_ns(), board);
      if (step_ % 50 == 0) probe->sample(Tier::slow, now_ns(), board);
      if (step_ % 10 == 0 && probe->wants_rescan()) last_state = probe->open(board);
      each();
    }
  }
  void run_to(double seconds) {
    run_to(seconds, [] {});
  }

  double seconds() const { return static_cast<double>(step_) / 10; }
  std::int64_t now_ns() const { return std::int64_t{step_} * 100'000'000; }

  // What the double saw.
  std::uint64_t calls(const char* name) const {
    return function<std::uint64_t(const char*)>("nvml_double_calls")(name);
  }
  std::uint64_t thread(const char* name) const {
    return function<std::uint64_t(const char*)>("nvml_double_thread")(name);
  }
  std::uint64_t violations() const { return function<std::uint64_t()>("nvml_double_violations")(); }
  int initialized() const { return function<int()>("nvml_double_initialized")(); }

  // How often an event of that name came, of that entity if an id is given.
  int events(std::string_view name, std::string_view id = "") const {
    int count = 0;
    for (const TestBoard::Event& event : board.events) {
      if (event.name == name && (id.empty() || board.entities[event.entity].id == id)) count++;
    }
    return count;
  }
  std::string fact(std::string_view id, std::string_view key) const {
    const int entity = board.entity(id);
    if (entity < 0) return "no entity";
    for (const auto& [name, value] : board.entities[static_cast<std::size_t>(entity)].facts) {
      if (name == key) return value;
    }
    return "";
  }
  const std::vector<ProcessRow>& processes(std::string_view id) {
    return board.processes[static_cast<std::uint32_t>(board.entity(id))];
  }
  std::string source(std::string_view id, std::string_view metric) const {
    const TestBoard::Series* const series = board.find(id, metric);
    return series != nullptr ? series->source : "no series";
  }

  ProbeOptions options;
  TestBoard board;
  std::unique_ptr<Probe> probe;
  ProbeState last_state;  // of the last rescan

 private:
  template <typename Signature>
  Signature* function(const char* name) const {
    return reinterpret_cast<Signature*>(::dlsym(library_, name));
  }
  void set_time(long step) {
    step_ = step;
    function<void(std::int64_t)>("nvml_double_set_time_ns")(now_ns());
  }

  std::string dir_ = std::filesystem::temp_directory_path() / "genscope-nvml-XXXXXX";
  void* library_ = nullptr;
  long step_ = 0;  // tenths of a second
};

inline std::string gpu_id(int n) { return "GPU-0000000" + std::to_string(n); }

// `n` GPUs of the newest kind in good order; `more` lines are added, and win.
inline std::string healthy(int n, const std::string& more = "") {
  std::string text = "time virtual\ndevices " + std::to_string(n) + "\n";
  for (int i = 0; i < n; ++i) {
    const std::string who = std::to_string(i);
    text += who + " uuid = " + gpu_id(i) + "\n";
    text += who + " pci = 0000:0" + who + ":00.0\n";
    text += who + " index " + who + "\n";
    text += who + " busy.gpu " + std::to_string(10 + i) + "\n";
    text += who + " field.185 ramp 0:" + std::to_string(100000 + 1000 * i) + " 60:400000\n";
  }
  text +=
      "system driver = 570.86.15\n"
      "system cuda 12080\n"
      "* name = NVIDIA H100 80GB HBM3\n"
      "* architecture 9\n"
      "* memory.total 85520809984\n* memory.reserved 502267904\n"
      "* memory.used ramp 0:1000000000 60:61000000000\n* memory.free 60000000000\n"
      "* busy.memory 7\n"
      "* samples.busy 10\n"
      "* field.186 120000\n* field.83 integral field.185\n* field.190 700000\n"
      "* field.82 61\n* field.74 ramp 0:0 60:6000000000\n* field.75 3000\n"
      "* field.197 ramp 0:0 60:60000000\n* field.198 4096\n"
      "* field.138 10\n* field.139 20\n"
      "* power 999000\n* energy 999\n* limit 999000\n"
      "* clock.1 1980\n* clock.2 2619\n* clock.3 1545\n* max_clock.1 1981\n"
      "* temperature 45\n* margin 42\n* threshold.1 87\n* fan 33\n* throttle 4\n"
      "* link_generation 5\n* link_width 16\n* pcie.0 100\n* pcie.1 200\n* ecc 3\n"
      "* processes.compute none\n* processes.graphics none\n* processes.mps none\n";
  return text + more;
}

inline SampleStatus status(const TestRig& rig, std::string_view metric, int gpu = 0) {
  return rig.board.get(gpu_id(gpu), metric).status;
}

}  // namespace genscope::probe::nvml
