// Kinds by their names, and names as Sites.
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include <genscope/record.h>

#include "span.h"

namespace genscope::python {
namespace {

constexpr std::string_view kKinds[] = {"none",    "session", "load",  "stage", "step", "block",
                                       "forward", "request", "batch", "epoch", "task", "function"};

struct Owned {
  std::string name;
  Site site;
  Owned(std::string_view text, SpanKind of) : name(text), site{name.c_str(), of, {0}} {}
};
using Sites = std::unordered_map<std::string_view, std::unique_ptr<Owned>>;

}  // namespace

bool kind_of(PyObject* object, SpanKind& kind) noexcept {
  std::string_view text;
  if (!text_of(object, text)) return false;
  for (std::size_t i = 1; i < std::size(kKinds); ++i) {
    if (kKinds[i] != text) continue;
    kind = static_cast<SpanKind>(i);
    return true;
  }
  PyErr_Format(PyExc_ValueError,
               "%R is no kind of span; there are session, load, stage, step, block, forward, "
               "request, batch, epoch, task and function",
               object);
  return false;
}

Site* site_of(SpanKind kind, std::string_view name) {
  // For ever: spans of other threads may use them while this one exits.
  static auto* const mutex = new std::mutex;
  static auto* const sites = new Sites[std::size(kKinds)];
  static std::size_t count = 0;
  const std::lock_guard lock(*mutex);
  Sites& of_kind = sites[static_cast<std::size_t>(kind)];
  const auto found = of_kind.find(name);
  if (found != of_kind.end()) return &found->second->site;
  if (count >= kMaxSites || name.size() > kMaxNameBytes ||
      name.find('\0') != std::string_view::npos) {
    return nullptr;
  }
  auto owned = std::make_unique<Owned>(name, kind);
  Site* const site = &owned->site;
  of_kind.emplace(owned->name, std::move(owned));
  count++;
  return site;
}

Site* site_or_none(SpanKind kind, std::string_view name) noexcept {
  try {
    return internal::may_throw() ? site_of(kind, name) : nullptr;
  } catch (...) {
    return nullptr;
  }
}

}  // namespace genscope::python
