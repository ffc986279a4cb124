#include "service/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace genscope::service {

using optimize::Failed;
using optimize::Failure;

serve::HttpResponse plain(int status, std::string text) {
  return {.status = status, .body = std::move(text) + "\n"};
}

serve::HttpResponse busy(std::string_view why, std::optional<double> after) {
  serve::HttpResponse out = plain(503, fmt::format("busy: {}; come again", why));
  const double seconds = std::clamp(std::ceil(after.value_or(1)), 1.0, 3600.0);
  out.headers.emplace_back("Retry-After", fmt::format("{:.0f}", seconds));
  return out;
}

serve::HttpResponse answer_of(const Failed& failure) {
  switch (failure.kind) {
    case Failure::validation:
      return plain(422, failure.message);
    case Failure::timeout:
    case Failure::out_of_memory:
    case Failure::rejected:
    case Failure::throttled:
      return busy(failure.message, failure.retry_after_seconds);
    default:
      return plain(500, "the engine failed: " + failure.message);
  }
}

const char* words_of(optimize::Refusal why) noexcept {
  switch (why) {
    case optimize::Refusal::queue_full:
      return "too many wait already";
    case optimize::Refusal::deadline:
      return "it would end after its deadline";
    case optimize::Refusal::overdue:
      return "its deadline came too close while it waited";
    case optimize::Refusal::closed:
      return "the service is closing";
    default:
      return name(why);
  }
}

std::string prometheus_text(const ServiceStats& stats, std::string_view name) {
  const std::string who = base::prometheus_label(name);
  std::string out;
  const auto add = [&](const char* metric, const char* help, std::uint64_t value) {
    out += fmt::format(
        "# HELP genscope_service_{0}_total {1}\n# TYPE genscope_service_{0}_total counter\n"
        "genscope_service_{0}_total{{name=\"{2}\"}} {3}\n",
        metric, help, who, value);
  };
  add("cache_hits", "Requests answered from the cache.", stats.hits);
  add("shared", "Requests that joined an equal one.", stats.shared);
  add("abandoned", "Requests whose client left.", stats.abandoned);
  add("malformed", "Requests that could not be read.", stats.bad);
  return out;
}

std::string to_json(const ServiceFigures& figures) {
  const optimize::AdmissionStats& admission = figures.admission;
  const nlohmann::json out = {
      {"requests", nlohmann::json::parse(to_json(figures.requests), nullptr, false)},
      {"admission",
       {{"admitted", admission.admitted},
        {"rejected", admission.rejected},
        {"overdue", admission.overdue},
        {"cancelled", admission.cancelled},
        {"waiting", admission.waiting},
        {"running", admission.running}}},
      {"batches", {{"requests", figures.batches.requests}, {"batches", figures.batches.batches}}},
      {"models", {{"loads", figures.models.loads}}},
      {"cache",
       {{"hits", figures.service.hits},
        {"shared", figures.service.shared},
        {"entries", figures.kept}}},
      {"abandoned", figures.service.abandoned},
      {"malformed", figures.service.bad}};
  return out.dump(1) + "\n";
}

}  // namespace genscope::service
