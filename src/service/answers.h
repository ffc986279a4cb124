// What the service says: answers other than a generation, and its figures.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <genscope/monitor.h>
#include <genscope/optimize/batch.h>
#include <genscope/optimize/models.h>
#include <genscope/service.h>

#include "serve/http.h"

namespace genscope::service {

serve::HttpResponse plain(int status, std::string text);
// 503 with Retry-After.
serve::HttpResponse busy(std::string_view why, std::optional<double> after_seconds);
serve::HttpResponse answer_of(const optimize::Failed& failure);
const char* words_of(optimize::Refusal why) noexcept;

std::string prometheus_text(const ServiceStats& stats, std::string_view name);

struct ServiceFigures {
  RequestStats requests;
  optimize::AdmissionStats admission;
  optimize::BatchStats batches;
  optimize::BookStats models;
  ServiceStats service;
  std::size_t kept = 0;  // answers in the cache
};
std::string to_json(const ServiceFigures& figures);

}  // namespace genscope::service
