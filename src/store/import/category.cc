#include "store/import/category.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace genscope::store {
namespace {

struct Word {
  std::string_view text;
  Category category;
};
constexpr Word kWords[] = {
    {"cpu_op", Category::cpu_op},
    {"operator", Category::cpu_op},  // as older versions call it
    {"user_annotation", Category::annotation},
    {"python_function", Category::python},
    {"runtime", Category::call},
    {"kernel", Category::device_work},
    {"gpu_memcpy", Category::device_work},
    {"gpu_memset", Category::device_work},
    {"memcpy", Category::device_work},
    {"memset", Category::device_work},
    {"gpu_user_annotation", Category::device_annotation},
    {"cuda_sync", Category::device_sync},
    {"overhead", Category::overhead},
    {"Trace", Category::window},
};

// Libraries of collectives mark each of them by an annotation; these are no stages.
constexpr std::string_view kCollectives[] = {"nccl:", "rccl:", "gloo:", "mpi:", "ucc:", "xccl:"};

constexpr std::string_view kDropped[] = {
    "External id",
    "correlation",
    "device",
    "stream",
    "context",
    "queued",
    "cbid",
    "Ev Idx",
    "Record function id",
    "Trace name",
    "Trace iteration",
    "Python id",
    "Python parent id",
    "Python thread",
    "Python module id",
    "external id",
    "Op count",
};

}  // namespace

Category category_of(std::string_view text) {
  for (const Word& word : kWords) {
    if (word.text == text) return word.category;
  }
  // cuda_runtime, cuda_driver, hip_runtime, xpu_runtime, privateuse1_runtime, ...
  if (text.ends_with("_runtime") || text.ends_with("_driver")) return Category::call;
  return Category::plain;
}

bool profiler_step(std::string_view name, std::uint64_t& number) {
  constexpr std::string_view kStep = "ProfilerStep#";
  if (!name.starts_with(kStep)) return false;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kStep.size(), end, number);
  return error == std::errc() && stop == end;
}

SpanKind kind_of(Category category, std::string_view name) {
  switch (category) {
    case Category::annotation:
    case Category::device_annotation: {
      const bool collective =
          std::any_of(std::begin(kCollectives), std::end(kCollectives),
                      [&](std::string_view start) { return name.starts_with(start); });
      return collective || category == Category::device_annotation ? SpanKind::task
                                                                   : SpanKind::stage;
    }
    case Category::python:
      return name.starts_with("nn.Module: ") ? SpanKind::forward : SpanKind::function;
    case Category::device_work:
    case Category::device_sync:
    case Category::overhead:
      return SpanKind::task;
    case Category::window:
      return SpanKind::session;
    case Category::cpu_op:
    case Category::call:
    case Category::plain:
      return SpanKind::function;
  }
  return SpanKind::function;
}

bool is_dropped_argument(std::string_view key) {
  return std::find(std::begin(kDropped), std::end(kDropped), key) != std::end(kDropped);
}

}  // namespace genscope::store
