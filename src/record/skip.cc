#include "record/skip.h"

#include <algorithm>
#include <atomic>

#include "genscope/record.h"
#include "genscope/trace.h"

namespace genscope::record {
namespace {

// What is replaced is never freed: another thread may be reading it.
std::atomic<const std::vector<std::string>*> g_words{nullptr};

bool has(const std::vector<std::string>& words, std::string_view kind,
         std::string_view name) noexcept {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    if (!word.starts_with(kind)) return false;
    word.remove_prefix(kind.size());
    return word.empty() || (word[0] == '/' && word.substr(1) == name);
  });
}

// Steps and blocks have numbers from the start.
void set_number(Site& site, std::uint32_t number) noexcept {
  site.id.store(skipped(site.kind, site.name) ? 0 : number, std::memory_order_relaxed);
}

}  // namespace

void set_skipped(const std::vector<std::string>& words) {
  const std::vector<std::string>* const old = g_words.load();
  if (old == nullptr ? !words.empty() : *old != words) {
    g_words.store(new std::vector<std::string>(words));
  }
  set_number(step_site, internal::kSiteStep);
  set_number(block_site, internal::kSiteBlock);
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) words.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return words;
}

bool skipped(SpanKind kind, std::string_view name) noexcept {
  const std::vector<std::string>* const words = g_words.load(std::memory_order_acquire);
  return words != nullptr && kind != SpanKind::none && has(*words, genscope::name(kind), name);
}

}  // namespace genscope::record
