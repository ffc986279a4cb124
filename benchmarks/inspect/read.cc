// bench_inspect: CPU time and memory of reading the headers of models, files in the page cache.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include <genscope/inspect.h>

#include "allocations.h"
#include "harness/measure.h"
#include "harness/table.h"
#include "inspect/read/folder.h"
#include "models.h"
#include "rival_json.h"

namespace {

using namespace bench;

// Median CPU milliseconds of `work`, after one run that warms up.
double cpu_ms(int repetitions, const std::function<void()>& work) {
  work();
  std::vector<double> times;
  for (int i = 0; i < repetitions; ++i) {
    const std::uint64_t from = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    work();
    times.push_back(static_cast<double>(clock_ns(CLOCK_THREAD_CPUTIME_ID) - from) / 1e6);
  }
  return median(times);
}

genscope::TensorFile read(const std::string& path) {
  genscope::Result<genscope::TensorFile> file = genscope::read_tensor_file(path);
  if (!file) {
    std::printf("%s\n", file.error().message.c_str());
    std::exit(1);
  }
  return std::move(*file);
}

void inspect(const std::string& path) {
  const genscope::Result<genscope::Model> model = genscope::inspect_model(path);
  if (!model) {
    std::printf("%s\n", model.error().message.c_str());
    std::exit(1);
  }
}

double add_time(Table& table, const char* name, double bar_ms, int repetitions,
                const std::function<void()>& work) {
  const double ms = cpu_ms(repetitions, work);
  char bar[32] = "";
  if (bar_ms > 0) std::snprintf(bar, sizeof bar, "< %.0f ms", bar_ms);
  table.add({name, ms, "ms of CPU", "", 0, bar, ms < bar_ms, ""});
  return ms;
}

// Peak of what was allocated, the result included, over the bytes of the header.
void add_memory(Table& table, const char* name, const std::string& path, bool promised) {
  reset_peak();
  const genscope::TensorFile file = read(path);
  const double ratio = static_cast<double>(peak_bytes()) / static_cast<double>(file.header_bytes);
  char note[64];
  std::snprintf(note, sizeof note, "%zu tensors, header of %llu bytes", file.tensors.size(),
                static_cast<unsigned long long>(file.header_bytes));
  table.add({name, ratio, "x header", "", 0, promised ? "< 3 x" : "", ratio < 3, note});
}

void safetensors_rows(Table& table, const ModelFolder& folder, bool quick) {
  const std::string path = folder / "model.safetensors";
  write_safetensors(path, 0, 2000);
  const int times = quick ? 20 : 200;
  const double ours = add_time(table, "safetensors, 2,000 tensors", 2, times, [&] { read(path); });
  add_time(table, "  read and identified", 2, times, [&] { inspect(path); });
  const std::string json = header_of(path);
  const double theirs = cpu_ms(times, [&] { scan_with_nlohmann(json); });
  table.add({"  nlohmann's event parser on its JSON", theirs, "ms of CPU", "ours", theirs / ours,
             "", true, "parsing only"});
  add_memory(table, "safetensors, 2,000 tensors: memory", path, true);
}

void million_rows(Table& table, const ModelFolder& folder, bool quick) {
  const std::string path = folder / "million.safetensors";
  write_safetensors(path, 0, quick ? 100'000 : 1'000'000, true);
  add_time(table, "safetensors, a million tensors", 1000, 3, [&] { read(path); });
  add_memory(table, "safetensors, a million tensors: memory", path, true);
}

void gguf_rows(Table& table, const ModelFolder& folder, bool quick) {
  const std::string path = folder / "model.gguf";
  write_gguf(path, 150'000);
  add_time(table, "GGUF, arrays of 150,000 strings", 50, quick ? 5 : 50, [&] { read(path); });
  add_memory(table, "GGUF, arrays of 150,000 strings: memory", path, true);
}

void torch_rows(Table& table, const ModelFolder& folder, bool quick) {
  const std::string path = folder / "model.pt";
  write_torch(path, 2000);
  add_time(table, "torch, 2,000 tensors", 0, quick ? 5 : 50, [&] { read(path); });
  add_memory(table, "torch, 2,000 tensors: memory", path, false);
}

void folder_rows(Table& table, const ModelFolder& folder, bool quick) {
  const std::string path = folder / "pipeline";
  write_pipeline(path);
  std::size_t tensors = 0;
  add_time(table, "diffusers folder of 30 files", 20, quick ? 5 : 50, [&] {
    const auto model = genscope::inspect::read_folder(path);
    if (!model) std::exit(1);
    tensors = 0;
    for (const auto& part : model->parts)
      tensors += part.weights ? part.weights->tensors.size() : 0;
  });
  add_time(table, "  read and identified", 20, quick ? 5 : 50, [&] { inspect(path); });
  std::printf("  the folder has %zu tensors\n", tensors);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const ModelFolder folder;
  Table table;
  const std::pair<const char*, void (*)(Table&, const ModelFolder&, bool)> groups[] = {
      {"safetensors", safetensors_rows},
      {"million", million_rows},
      {"gguf", gguf_rows},
      {"torch", torch_rows},
      {"folder", folder_rows},
  };
  for (const auto& [name, rows] : groups) {
    if (std::string(name).find(options.only) != std::string::npos)
      rows(table, folder, options.quick);
  }
  table.finish(options.json);
  return 0;
}
