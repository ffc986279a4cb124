#include "store/import/formats.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "store/import/whole_file.h"

// A profile of samples is a list of stacks with weights. Calls that stand at the same depth in
// neighbouring stacks, with the same callers, are one span: that is what a sampler can know. Linear
// in the frames of all stacks; memory is that of the JSON, some ten times the file.
namespace genscope::store {
namespace {

using Json = nlohmann::json;

struct Frame {
  std::string name, file, line;
};

class Reading {
 public:
  Reading(ChromeHandler& handler, const Json& file, ForeignRead& told)
      : handler_(handler), file_(file), told_(told) {}

  Status read() {
    const Json* const frames = list(member(file_, "shared"), "frames");
    const Json* const profiles = list(&file_, "profiles");
    if (frames == nullptr || profiles == nullptr) {
      return bad("it has no shared.frames or no profiles");
    }
    for (const Json& frame : *frames) {
      frames_.push_back({text(frame, "name"), text(frame, "file"), number_text(frame, "line")});
    }
    for (const Json& profile : *profiles) {
      if (const Status done = one(profile); !done) return done;
    }
    return Done{};
  }

 private:
  static Error bad(const std::string& what) { return {ErrorCode::bad_data, what}; }

  static const Json* member(const Json& owner, const char* key) {
    const auto found = owner.is_object() ? owner.find(key) : owner.end();
    return owner.is_object() && found != owner.end() ? &*found : nullptr;
  }
  static const Json* list(const Json* owner, const char* key) {
    const Json* const found = owner != nullptr ? member(*owner, key) : nullptr;
    return found != nullptr && found->is_array() ? found : nullptr;
  }
  static std::string text(const Json& owner, const char* key) {
    const Json* const found = member(owner, key);
    return found != nullptr && found->is_string() ? found->get<std::string>() : "";
  }
  static std::string number_text(const Json& owner, const char* key) {
    const Json* const found = member(owner, key);
    return found != nullptr && found->is_number_integer() ? found->dump() : "";
  }

  Status one(const Json& profile) {
    constexpr std::pair<std::string_view, double> kUnits[] = {
        {"seconds", 1e9}, {"milliseconds", 1e6}, {"microseconds", 1e3}, {"nanoseconds", 1}};
    const std::string unit = text(profile, "unit"), type = text(profile, "type");
    scale_ = 0;
    for (const auto& [name, ns] : kUnits) {
      if (unit == name) scale_ = ns;
    }
    if (scale_ == 0) {
      return bad(fmt::format("the unit of profile \"{}\" is \"{}\": only time can be imported",
                             text(profile, "name"), unit));
    }
    tid_ = std::to_string(++profiles_);
    name_thread(text(profile, "name"));
    stack_.clear();
    const Json* const start = member(profile, "startValue");
    begin_ = start != nullptr && start->is_number() ? start->get<double>() : 0;
    const Json* const samples = list(&profile, "samples");
    const Json* const weights = list(&profile, "weights");
    const Json* const events = list(&profile, "events");
    if (type == "sampled" && samples != nullptr && weights != nullptr) {
      sampled(*samples, *weights);
    } else if (type == "evented" && events != nullptr) {
      evented(*events, member(profile, "endValue"));
    } else {
      return bad(
          fmt::format("profile \"{}\" is neither evented nor sampled", text(profile, "name")));
    }
    return Done{};
  }

  void sampled(const Json& samples, const Json& weights) {
    if (samples.size() != weights.size()) complain("samples and weights differ in number");
    double at = begin_;
    for (std::size_t i = 0; i < std::min(samples.size(), weights.size()); ++i) {
      const Json& stack = samples[i];
      if (!stack.is_array() || !weights[i].is_number()) {
        complain("a sample that is no list, or has no weight");
        continue;
      }
      std::size_t same = 0;
      while (same < stack_.size() && same < stack.size() && stack[same].is_number_unsigned() &&
             stack_[same].first == stack[same].get<std::size_t>()) {
        ++same;
      }
      close_down_to(same, at);
      for (std::size_t k = same; k < stack.size(); ++k) {
        if (!known(stack[k])) break;
        stack_.emplace_back(stack[k].get<std::size_t>(), at);
      }
      at += std::max(0.0, weights[i].get<double>());
    }
    close_down_to(0, at);
  }

  void evented(const Json& events, const Json* end) {
    double at = begin_;
    for (const Json& event : events) {
      const Json* const when = member(event, "at");
      const Json* const frame = member(event, "frame");
      if (when == nullptr || !when->is_number() || frame == nullptr) {
        complain("an event without a time or a frame");
        continue;
      }
      if (!known(*frame)) continue;
      at = std::max(at, when->get<double>());
      if (text(event, "type") == "O") {
        stack_.emplace_back(frame->get<std::size_t>(), at);
      } else if (!stack_.empty() && stack_.back().first == frame->get<std::size_t>()) {
        close_down_to(stack_.size() - 1, at);
      } else {
        complain("a call that ends and is not the innermost one");
      }
    }
    close_down_to(0, end != nullptr && end->is_number() ? std::max(at, end->get<double>()) : at);
  }

  bool known(const Json& frame) {
    const bool fine = frame.is_number_unsigned() && frame.get<std::size_t>() < frames_.size();
    if (!fine) complain("a frame that shared.frames does not have");
    return fine;
  }

  void complain(const char* what) { told_.complain(what); }

  std::int64_t ns(double value) const {
    const double scaled = value * scale_;
    constexpr double kLast = 4e18;
    return std::isfinite(scaled) && std::abs(scaled) < kLast ? std::llround(scaled) : 0;
  }

  void close_down_to(std::size_t depth, double at) {
    for (; stack_.size() > depth; stack_.pop_back()) {
      const auto& [frame, begin] = stack_.back();
      event_.clear();
      event_.phase = 'X';
      event_.name = frames_[frame].name;
      event_.category = "python_function";
      event_.pid = "1";
      event_.tid = tid_;
      event_.has_time = event_.has_duration = true;
      event_.at_ns = ns(begin);
      event_.duration_ns = std::max<std::int64_t>(0, ns(at) - event_.at_ns);
      if (!frames_[frame].file.empty()) {
        event_.args.push_back({"file", JsonType::string, frames_[frame].file});
      }
      if (!frames_[frame].line.empty()) {
        event_.args.push_back({"line", JsonType::number, frames_[frame].line});
      }
      if (const char* const wrong = handler_.event(event_)) complain(wrong);
    }
  }

  void name_thread(const std::string& name) {
    event_.clear();
    event_.phase = 'M';
    event_.name = "thread_name";
    event_.pid = "1";
    event_.tid = tid_;
    event_.args.push_back({"name", JsonType::string, name});
    handler_.event(event_);
  }

  ChromeHandler& handler_;
  const Json& file_;
  ForeignRead& told_;
  std::vector<Frame> frames_;
  std::vector<std::pair<std::size_t, double>> stack_;  // frame and begin, the outermost first
  std::size_t profiles_ = 0;
  double scale_ = 0, begin_ = 0;
  std::string tid_;
  ChromeEvent event_;
};

}  // namespace

Result<ForeignRead> read_speedscope(const std::string& path, const ImportOptions& options,
                                    ChromeHandler& handler) {
  const Result<std::string> bytes = whole_file(path, options, "a speedscope profile");
  if (!bytes.ok()) return bytes.error();
  const Json file = Json::parse(*bytes, nullptr, false);
  if (file.is_discarded()) {
    return Error{ErrorCode::bad_data, path + ": the speedscope profile is no whole JSON document"};
  }
  ForeignRead told;
  told.bytes = bytes->size();
  if (const Status done = Reading(handler, file, told).read(); !done) {
    return Error{done.error().code, path + ": " + done.error().message};
  }
  return told;
}

}  // namespace genscope::store
