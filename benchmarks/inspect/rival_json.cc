#include "rival_json.h"

#include <nlohmann/json.hpp>

namespace bench {
namespace {

// Takes every event, keeps nothing: the least that such a parser costs.
struct Counter : nlohmann::json_sax<nlohmann::json> {
  std::size_t events = 0;
  bool null() override { return ++events > 0; }
  bool boolean(bool) override { return ++events > 0; }
  bool number_integer(number_integer_t) override { return ++events > 0; }
  bool number_unsigned(number_unsigned_t) override { return ++events > 0; }
  bool number_float(number_float_t, const string_t&) override { return ++events > 0; }
  bool string(string_t&) override { return ++events > 0; }
  bool binary(binary_t&) override { return ++events > 0; }
  bool start_object(std::size_t) override { return ++events > 0; }
  bool key(string_t&) override { return ++events > 0; }
  bool end_object() override { return ++events > 0; }
  bool start_array(std::size_t) override { return ++events > 0; }
  bool end_array() override { return ++events > 0; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }
};

}  // namespace

std::size_t scan_with_nlohmann(const std::string& json) {
  Counter counter;
  nlohmann::json::sax_parse(json, &counter);
  return counter.events;
}

}  // namespace bench
