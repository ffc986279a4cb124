#include "record/process_info.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "genscope/version.h"
#include "trace/recorded_command.h"
#include "trace/run_folder.h"

namespace genscope::record {
namespace {

std::string boot_id() {
  auto text = base::read_file("/proc/sys/kernel/random/boot_id", 256);
  if (!text.ok()) return {};
  while (!text->empty() && text->back() == '\n') text->pop_back();
  return *text;
}

// The command line as a JSON array.
std::string own_command_json(bool keep_args) {
  auto raw = base::read_file("/proc/self/cmdline", 1 << 20);
  std::string_view rest = raw.ok() ? std::string_view(*raw) : std::string_view();
  std::vector<std::string> words;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\0'), rest.size());
    words.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return trace::command_json(words, trace::keeps_args(keep_args));
}

// The first of the launchers' variables that is set: torchrun, Open MPI, MPICH, Slurm.
std::optional<int> from_environment(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* const text = std::getenv(name);
    if (text == nullptr) continue;
    int value = 0;
    const std::string_view view(text);
    const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
    if (error == std::errc() && end == view.data() + view.size()) return value;
  }
  return std::nullopt;
}

class JsonObject {
 public:
  void add(std::string_view key, std::string_view json) {
    text_ += text_.size() > 1 ? "," : "";
    text_ += base::json_quote(key);
    text_ += ':';
    text_ += json;
  }
  void add_text(std::string_view key, std::string_view value) { add(key, base::json_quote(value)); }
  template <class T>
  void add_number(std::string_view key, T value) {
    add(key, std::to_string(value));
  }
  std::string finish() const { return text_ + "}"; }

 private:
  std::string text_ = "{";
};

}  // namespace

std::string to_json(const ProcessFacts& facts) {
  JsonObject json;
  json.add_text("trace_id", facts.trace_id);
  json.add_number("segment", facts.segment);
  json.add_text("version", GENSCOPE_VERSION_STRING);
  json.add_number("pid", ::getpid());
  json.add_number("ppid", ::getppid());
  json.add_text("host", trace::host_name());
  json.add_text("boot_id", boot_id());
  json.add("command", own_command_json(facts.keep_args));
  json.add_text("clock", facts.clock);
  json.add_number("ticks_per_second", facts.ticks_per_second);
  json.add_number("started_ticks", facts.started.ticks);
  json.add_number("started_monotonic_ns", facts.started.monotonic_ns);
  json.add_number("started_unix_ns", facts.started.realtime_ns);
  json.add_text("live", facts.live);
  json.add("keep_newest", facts.keep_newest ? "true" : "false");
  auto rank = from_environment({"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"});
  auto size = from_environment({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"});
  // The script of an sbatch job has rank 0 in its environment, too; only what srun starts has a
  // step. Else every task of a job array would call itself rank 0.
  if (std::getenv("SLURM_STEP_ID") != nullptr) {
    if (!rank) rank = from_environment({"SLURM_PROCID"});
    if (!size) size = from_environment({"SLURM_NTASKS"});
  }
  if (rank) json.add_number("rank", *rank);
  if (size) json.add_number("world_size", *size);
  return json.finish();
}

Status write_manifest(const std::string& run_dir, std::string_view name, bool keep_args) {
  const std::string path = run_dir + "/run.json";
  if (::access(path.c_str(), F_OK) == 0) return Done{};
  Result<bool> made =
      base::create_file(path, trace::manifest_json(run_dir.substr(run_dir.rfind('/') + 1), name,
                                                   own_command_json(keep_args)));
  if (!made.ok()) return made.error();
  return Done{};
}

}  // namespace genscope::record
