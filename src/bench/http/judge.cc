// An answer with a good status may still be worth nothing: not JSON, NaN in it, an empty picture, a
// stream that broke off. Each has its class, so that "it was fast" is never said of nothing.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "bench/http/base64.h"
#include "bench/http/endpoint.h"
#include "bench/quality/image.h"

namespace genscope::bench {
namespace {

using AnswerJson = nlohmann::json;

constexpr std::size_t kShownBytes = 200;

double seconds_between(std::int64_t from_ns, std::int64_t to_ns) {
  return static_cast<double>(to_ns - from_ns) * 1e-9;
}

std::string beginning_of(std::string_view text) {
  return base::printable(base::shorten(text.substr(0, 4 * kShownBytes), kShownBytes));
}

bool says_out_of_memory(std::string_view text) {
  for (const std::string_view sign : {"CUDA out of memory", "OutOfMemoryError", "HIP out of memory",
                                      "CUBLAS_STATUS_ALLOC_FAILED"}) {
    if (text.find(sign) != std::string_view::npos) return true;
  }
  return false;
}

// NaN or Infinity outside strings: Python's json writes them, and they are no JSON.
bool holds_nan(std::string_view text) {
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (in_string && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      in_string = !in_string;
    } else if (!in_string && (text.substr(i, 3) == "NaN" || text.substr(i, 8) == "Infinity")) {
      return true;
    }
  }
  return false;
}

std::optional<Failure> check_bytes(std::string_view bytes) {
  if (bytes.empty()) return Failure{FailureClass::blank_output, "the picture is empty"};
  if (std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == '\0'; })) {
    return Failure{FailureClass::blank_output, "the picture is all zeros"};
  }
  if (!bytes.starts_with("\x89PNG")) return std::nullopt;
  const Result<Image> image = read_png(bytes, "the picture");
  if (!image) return Failure{FailureClass::bad_output, image.error().message};
  if (is_blank(*image)) return Failure{FailureClass::blank_output, "the picture has one colour"};
  return std::nullopt;
}

const AnswerJson* answer_at(const AnswerJson& answer, const std::string& pointer) {
  try {
    const AnswerJson::json_pointer place(pointer);
    return answer.contains(place) ? &answer.at(place) : nullptr;
  } catch (const AnswerJson::exception&) {
    return nullptr;
  }
}

bool says_something(const AnswerJson& value) {
  if (value.is_null() || (value.is_boolean() && !value.get<bool>())) return false;
  if (value.is_string()) return !value.get_ref<const std::string&>().empty();
  return !value.is_structured() || !value.empty();
}

std::optional<Failure> check_pointer(const AnswerJson& answer, const std::string& pointers,
                                     const std::optional<std::string>& wanted) {
  for (std::string_view rest = pointers; !rest.empty();) {
    const std::string pointer(rest.substr(0, rest.find('|')));
    rest.remove_prefix(std::min(rest.size(), pointer.size() + 1));
    const AnswerJson* const value = answer_at(answer, pointer);
    if (value == nullptr) continue;
    if (!wanted) {
      if (says_something(*value)) return std::nullopt;
      return Failure{FailureClass::blank_output, fmt::format("{} of the answer is empty", pointer)};
    }
    const std::string text = value->is_string() ? value->get<std::string>() : value->dump();
    if (text == *wanted) return std::nullopt;
    return Failure{FailureClass::bad_output, fmt::format("{} of the answer is {}, not {}", pointer,
                                                         beginning_of(text), *wanted)};
  }
  return Failure{FailureClass::bad_output,
                 fmt::format("the answer has no {}: {}", pointers, beginning_of(answer.dump()))};
}

Failure not_json(std::string_view body) {
  if (holds_nan(body)) return {FailureClass::nan_output, "NaN in the answer"};
  return {FailureClass::bad_output, "the answer is not JSON: " + beginning_of(body)};
}

void judge_json(const Endpoint& endpoint, const Reply& reply, Outcome& out) {
  const std::string& pointer = endpoint.options().ok_pointer;
  if (reply.body.empty()) {
    if (!pointer.empty() || (!endpoint.options().ok_status && reply.status != 204)) {
      out.failure = Failure{FailureClass::blank_output, "the answer is empty"};
    }
    return;
  }
  if (pointer.empty() && reply.type.find("json") == std::string::npos) {
    if (reply.type.starts_with("image/")) out.failure = check_bytes(reply.body);
    return;
  }
  const AnswerJson answer = AnswerJson::parse(reply.body, nullptr, false);
  if (answer.is_discarded()) {
    out.failure = not_json(reply.body);
  } else if (!pointer.empty()) {
    out.failure = check_pointer(answer, pointer, endpoint.options().ok_value);
  }
}

void judge_images(const Endpoint& endpoint, const Reply& reply, bool keep, Outcome& out) {
  const AnswerJson answer = AnswerJson::parse(reply.body, nullptr, false);
  if (answer.is_discarded()) {
    out.failure = not_json(reply.body);
    return;
  }
  const HttpOptions& options = endpoint.options();
  out.failure = check_pointer(
      answer,
      options.ok_pointer.empty() ? std::string(endpoint.kind().ok_pointer) : options.ok_pointer,
      options.ok_value);
  const AnswerJson* const data = answer_at(answer, "/data");
  if (out.failure || data == nullptr || !data->is_array()) return;
  out.metrics["images"] = static_cast<double>(data->size());
  for (const AnswerJson& item : *data) {
    const AnswerJson* const text = answer_at(item, "/b64_json");
    if (text == nullptr || !text->is_string()) continue;
    std::optional<std::string> bytes = from_base64(text->get_ref<const std::string&>());
    out.failure =
        bytes ? check_bytes(*bytes) : Failure{FailureClass::bad_output, "b64_json is not base64"};
    if (out.failure) return;
    if (keep) out.images.push_back(*std::move(bytes));
  }
}

// What the events of a chat add up to.
struct ChatStream {
  std::int64_t first_ns = 0, last_ns = 0;  // of text
  std::uint64_t pieces = 0;
  std::optional<double> tokens;  // as the server counts them
  bool ended = false;
  std::optional<Failure> failure;

  void take(const TimedEvent& event) {
    if (event.data == "[DONE]") {
      ended = true;
      return;
    }
    const AnswerJson answer = AnswerJson::parse(event.data, nullptr, false);
    if (!answer.is_object()) {
      failure = not_json(event.data);
      return;
    }
    if (const AnswerJson* error = answer_at(answer, "/error");
        error != nullptr && !error->is_null()) {
      const std::string text = error->dump();
      failure = Failure{says_out_of_memory(text) ? FailureClass::oom_gpu : FailureClass::http_error,
                        "the stream ended with an error: " + beginning_of(text)};
      return;
    }
    const AnswerJson* const reason = answer_at(answer, "/choices/0/finish_reason");
    if (reason != nullptr && !reason->is_null()) ended = true;
    const AnswerJson* const count = answer_at(answer, "/usage/completion_tokens");
    if (count != nullptr && count->is_number()) tokens = count->get<double>();
    for (const char* const place :
         {"/choices/0/delta/content", "/choices/0/delta/reasoning_content", "/choices/0/text"}) {
      const AnswerJson* const text = answer_at(answer, place);
      if (text == nullptr || !text->is_string() || text->get_ref<const std::string&>().empty()) {
        continue;
      }
      if (pieces++ == 0) first_ns = event.at_ns;
      last_ns = event.at_ns;
      break;
    }
  }
};

void judge_chat_stream(const Reply& reply, Outcome& out) {
  ChatStream chat;
  for (const TimedEvent& event : reply.events) {
    chat.take(event);
    if (chat.failure) break;
  }
  out.failure = chat.failure;
  if (chat.pieces > 0) out.metrics["ttft_s"] = seconds_between(reply.began_ns, chat.first_ns);
  if (!out.failure && !chat.ended) {
    out.failure = Failure{FailureClass::bad_output, "the stream ended before its end: no [DONE]"};
  }
  if (out.failure) return;
  if (chat.pieces == 0) {
    out.failure = Failure{FailureClass::blank_output, "the stream holds no text"};
    return;
  }
  // Without a count of the server's, pieces stand for tokens: most servers send one in each.
  const double tokens = chat.tokens.value_or(static_cast<double>(chat.pieces));
  out.metrics["tokens"] = tokens;
  if (tokens > 1 && chat.last_ns > chat.first_ns) {
    out.metrics["tpot_s"] = seconds_between(chat.first_ns, chat.last_ns) / (tokens - 1);
  }
}

void judge_chat(const Endpoint& endpoint, const Reply& reply, Outcome& out) {
  if (reply.event_stream) return judge_chat_stream(reply, out);
  const AnswerJson answer = AnswerJson::parse(reply.body, nullptr, false);
  if (answer.is_discarded()) {
    out.failure = not_json(reply.body);
    return;
  }
  const std::string& pointer = endpoint.options().ok_pointer;
  out.failure = check_pointer(answer, pointer.empty() ? "/choices/0/message/content" : pointer,
                              endpoint.options().ok_value);
  const AnswerJson* const count = answer_at(answer, "/usage/completion_tokens");
  if (count != nullptr && count->is_number()) out.metrics["tokens"] = count->get<double>();
}

void judge_comfy(const Reply& reply, Outcome& out) {
  if (reply.poll_error_s) out.metrics["poll_error_s"] = *reply.poll_error_s;
  const AnswerJson history = AnswerJson::parse(reply.body, nullptr, false);
  if (!history.is_object() || history.empty() || !reply.poll_error_s) {
    out.failure = history.is_discarded()
                      ? not_json(reply.body)
                      : Failure{FailureClass::bad_output,
                                "the answer has no prompt_id: " + beginning_of(reply.body)};
    return;
  }
  const AnswerJson& entry = history.begin().value();
  const AnswerJson* const state = answer_at(entry, "/status/status_str");
  if (state != nullptr && *state == "error") {
    const std::string text = entry["status"].dump();
    out.failure =
        Failure{says_out_of_memory(text) ? FailureClass::oom_gpu : FailureClass::bad_output,
                "the workflow failed: " + beginning_of(text)};
    return;
  }
  const AnswerJson* const outputs = answer_at(entry, "/outputs");
  if (outputs == nullptr || !says_something(*outputs)) {
    out.failure = Failure{FailureClass::blank_output, "the workflow made no output"};
  }
}

std::optional<Failure> check_status(const HttpOptions& options, const Reply& reply) {
  const bool good = options.ok_status ? reply.status == *options.ok_status
                                      : reply.status >= 200 && reply.status < 300;
  if (good) return std::nullopt;
  if (says_out_of_memory(reply.body)) {
    return Failure{FailureClass::oom_gpu, fmt::format("status {}: out of memory", reply.status)};
  }
  const std::string said = beginning_of(reply.body);
  return Failure{FailureClass::http_error,
                 fmt::format("status {}{}{}", reply.status, said.empty() ? "" : ": ", said)};
}

}  // namespace

Outcome judge(const Endpoint& endpoint, const Reply& reply, bool keep_images) {
  Outcome out;
  if (reply.connected_ns > 0) {
    out.metrics["connect_s"] = seconds_between(reply.began_ns, reply.connected_ns);
  }
  if (reply.first_byte_ns > 0) {
    out.metrics["ttfb_s"] = seconds_between(reply.began_ns, reply.first_byte_ns);
    out.metrics["response_bytes"] = static_cast<double>(reply.bytes);
  }
  out.failure = reply.failure ? reply.failure : check_status(endpoint.options(), reply);
  if (out.failure) return out;
  switch (endpoint.kind().reading) {
    case AnswerKind::json:
      judge_json(endpoint, reply, out);
      break;
    case AnswerKind::images:
      judge_images(endpoint, reply, keep_images, out);
      break;
    case AnswerKind::chat:
      judge_chat(endpoint, reply, out);
      break;
    case AnswerKind::comfy:
      judge_comfy(reply, out);
      break;
  }
  return out;
}

}  // namespace genscope::bench
