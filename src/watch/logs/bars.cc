#include "watch/logs/bars.h"

#include <algorithm>

namespace genscope::watch {
namespace {

// Bars over files and weights count what is no step of a model.
bool tells_loading(const TqdmBar& bar) {
  if (!bar.at || !bar.total) return true;  // bytes
  std::string label = bar.label;
  std::transform(label.begin(), label.end(), label.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  for (const std::string_view word :
       {"loading", "fetching", "downloading", ".safetensors", ".bin"}) {
    if (label.find(word) != std::string::npos) return true;
  }
  return false;
}

bool is_done(const TqdmBar& bar) {
  if (bar.at && bar.total) return *bar.at >= *bar.total;
  const std::size_t slash = bar.count.find('/');
  return bar.count.substr(0, slash) == bar.count.substr(slash + 1);
}

}  // namespace

void Bars::show(LogSink& sink, const TqdmBar& shown, std::string_view unnamed,
                std::uint64_t parent) {
  above_ = false;
  const std::int64_t at = shown.at.value_or(0), total = shown.total.value_or(0);
  const auto same = [&](const Bar& bar) { return bar.label == shown.label && bar.total == total; };
  auto found = std::find_if(open_.begin(), open_.end(), same);
  if (found != open_.end() && at < found->at) {  // it began anew
    end(sink, static_cast<std::size_t>(found - open_.begin()), false);
    found = open_.end();
  }
  if (found == open_.end()) {
    const bool drawn_again =
        is_done(shown) && finished_.label == shown.label && finished_.count == shown.count;
    if (drawn_again || open_.size() >= kMost) return;
    begin(sink, shown, unnamed, parent);
    found = open_.end() - 1;
  }
  found->at = at;
  found->loop.reach(sink, at);
  if (!is_done(shown)) return;
  finished_ = shown;
  end(sink, static_cast<std::size_t>(found - open_.begin()), true);
}

void Bars::begin(LogSink& sink, const TqdmBar& shown, std::string_view unnamed,
                 std::uint64_t parent) {
  finished_ = {};
  if (!open_.empty()) {  // a bar below another one
    const Bar& outer = open_.back();
    parent = outer.loads ? outer.span : outer.loop.stage();
  }
  Bar& bar = open_.emplace_back();
  bar.label = shown.label;
  bar.total = shown.total.value_or(0);
  bar.loads = tells_loading(shown);
  const std::string_view name = shown.label.empty() ? unnamed : std::string_view(shown.label);
  if (bar.loads) {
    bar.span = sink.begin(SpanKind::load, name, parent);
    return;
  }
  bar.loop.begin(sink, sink.begin(SpanKind::stage, name, parent), shown.at.value_or(0), bar.total);
}

void Bars::end(LogSink& sink, std::size_t index, bool whole) {
  Bar bar = open_[index];
  open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(index));
  if (!bar.loads) return bar.loop.end(sink, whole);
  if (!whole) sink.number(bar.span, "incomplete", 1);
  sink.end(bar.span, false);
}

void Bars::text_below(LogSink& sink) {
  if (above_) finish(sink);
}

void Bars::finish(LogSink& sink) {
  while (!open_.empty()) end(sink, open_.size() - 1, false);
  above_ = false;
}

}  // namespace genscope::watch
