// Endpoints against a server that does what each test says.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "bench/http/load.h"
#include "bench/http/testing/raw_server.h"

namespace genscope::bench {
namespace {

using testing::RawConnection;
using testing::RawRequest;
using testing::RawServer;

Sample ask(const HttpOptions& options, double timeout_s = 30) {
  const auto subject = http_subject(options);
  Request request;
  request.prompt = "a \"cat\"";
  request.seed = 5;
  request.timeout_s = timeout_s;
  return subject->measure(request);
}

Sample ask(const RawServer& server, const std::string& path = "/", double timeout_s = 30) {
  HttpOptions options;
  options.url = server.url(path);
  return ask(options, timeout_s);
}

void expect_failure(const Sample& sample, FailureClass kind) {
  ASSERT_TRUE(sample.failure);
  EXPECT_EQ(name(sample.failure->kind), name(kind)) << sample.failure->detail;
  EXPECT_FALSE(sample.metrics.contains("latency_s"));
}

TEST(HttpSubject, AHostOfTheUsersReplacesOurs) {
  std::string head;
  RawServer server([&](const RawRequest& request, RawConnection& c) {
    head = request.head;
    c.answer("{}");
  });
  HttpOptions options;
  options.url = server.url("/");
  options.headers = {{"host", "api.example.com"}};
  EXPECT_FALSE(ask(options).failure);
  EXPECT_NE(head.find("host: api.example.com\r\n"), std::string::npos) << head;
  EXPECT_EQ(head.find("Host: 127"), std::string::npos) << head;
}

TEST(HttpSubject, MeasuresAndUsesTheConnectionAgain) {
  RawServer server([](const RawRequest&, RawConnection& c) { c.answer("{\"a\": 1}"); });
  HttpOptions options;
  options.url = server.url("/x?size={size}");
  const auto subject = http_subject(options);
  ASSERT_FALSE(subject->begin({{"size", "9"}}));
  Request request;
  request.params = {{"size", "9"}};
  for (int i = 0; i < 3; ++i) {
    const Sample sample = subject->measure(request);
    ASSERT_FALSE(sample.failure) << sample.failure->detail;
    EXPECT_GT(sample.metrics.at("latency_s"), 0);
    EXPECT_LE(sample.metrics.at("ttfb_s"), sample.metrics.at("latency_s"));
    EXPECT_EQ(sample.metrics.at("response_bytes"), 8);
    EXPECT_EQ(sample.metrics.contains("connect_s"), i == 0);
  }
  EXPECT_EQ(server.connections(), 1U);
  EXPECT_EQ(server.requests(), 3U);
}

TEST(HttpSubject, ReadsChunkedAnswers) {
  RawServer server([](const RawRequest&, RawConnection& c) {
    c.send(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
    c.send("3\r\n{\"a\r\n");
    c.send("5;x=y\r\n\": 1}\r\n0\r\n\r\n");
  });
  const Sample sample = ask(server);
  EXPECT_FALSE(sample.failure) << sample.failure->detail;
  EXPECT_EQ(sample.metrics.at("response_bytes"), 8);
}

TEST(HttpSubject, AnswerWithoutALengthEndsWithTheConnection) {
  RawServer server([](const RawRequest&, RawConnection& c) {
    c.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nhello");
    c.close();
  });
  EXPECT_FALSE(ask(server).failure);
}

TEST(HttpSubject, ClassesOfFailure) {
  RawServer server([](const RawRequest& request, RawConnection& c) {
    const auto asks = [&](const char* path) {
      return request.head.find(std::string(" ") + path + " ") != std::string::npos;
    };
    if (asks("/error")) c.answer("{\"error\": \"no\"}", "application/json", 500);
    if (asks("/oom")) c.answer("torch.OutOfMemoryError: CUDA out of memory", "text/plain", 500);
    if (asks("/nan")) c.answer("{\"loss\": NaN}");
    if (asks("/text")) c.answer("{\"loss\": ");
    if (asks("/empty")) c.answer("");
    if (asks("/zeros")) c.answer(std::string(100, '\0'), "image/raw");
    if (asks("/drop")) c.close();
    if (asks("/half")) {
      c.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
      c.close();
    }
    if (asks("/garbage")) {
      c.send("SSH-2.0-OpenSSH\r\n");
      c.close();
    }
  });
  expect_failure(ask(server, "/error"), FailureClass::http_error);
  expect_failure(ask(server, "/oom"), FailureClass::oom_gpu);
  expect_failure(ask(server, "/nan"), FailureClass::nan_output);
  expect_failure(ask(server, "/text"), FailureClass::bad_output);
  expect_failure(ask(server, "/empty"), FailureClass::blank_output);
  expect_failure(ask(server, "/zeros"), FailureClass::blank_output);
  expect_failure(ask(server, "/drop"), FailureClass::http_error);
  expect_failure(ask(server, "/half"), FailureClass::http_error);
  expect_failure(ask(server, "/garbage"), FailureClass::bad_output);
  expect_failure(ask(server, "/silence", 0.05), FailureClass::timeout);
}

TEST(HttpSubject, NobodyListens) {
  std::string url;
  {
    RawServer server([](const RawRequest&, RawConnection&) {});
    url = server.url();
  }
  HttpOptions options;
  options.url = url;
  expect_failure(ask(options), FailureClass::http_error);
}

TEST(HttpSubject, BodiesAreBounded) {
  RawServer server([](const RawRequest& request, RawConnection& c) {
    if (request.head.find("/declared") != std::string::npos) {
      c.send("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n");
    } else {
      c.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      for (int i = 0; i < 100; ++i) c.send("400\r\n" + std::string(0x400, 'x') + "\r\n");
    }
    c.close();
  });
  HttpOptions options;
  options.body_limit_bytes = 10'000;
  for (const char* const path : {"/declared", "/chunked"}) {
    options.url = server.url(path);
    const Sample sample = ask(options);
    expect_failure(sample, FailureClass::bad_output);
    EXPECT_NE(sample.failure->detail.find("larger than 10000 bytes"), std::string::npos);
  }
}

TEST(HttpSubject, ExpectsWhatThePointerSays) {
  RawServer server([](const RawRequest&, RawConnection& c) {
    c.answer(R"({"status": "done", "images": [], "n": 3})");
  });
  HttpOptions options;
  options.url = server.url();
  options.ok_pointer = "/status";
  options.ok_value = "done";
  EXPECT_FALSE(ask(options).failure);
  options.ok_pointer = "/n";
  options.ok_value = "3";
  EXPECT_FALSE(ask(options).failure);
  options.ok_value = "4";
  expect_failure(ask(options), FailureClass::bad_output);
  options.ok_value.reset();
  options.ok_pointer = "/images";
  expect_failure(ask(options), FailureClass::blank_output);
  options.ok_pointer = "/missing";
  expect_failure(ask(options), FailureClass::bad_output);
}

TEST(HttpSubject, ParametersReachAnImageEndpoint) {
  std::mutex mutex;
  std::string body;
  RawServer server([&](const RawRequest& request, RawConnection& c) {
    {
      const std::lock_guard lock(mutex);
      body = request.body;
    }
    c.answer(R"({"data": [{"b64_json": "aGVsbG8="}]})");
  });
  HttpOptions options;
  options.url = server.url("/v1/images/generations");
  const auto subject = http_subject(options);
  Request request;
  request.params = {{"size", "512x512"}, {"steps", "20"}};
  request.prompt = "a \"cat\"";
  request.seed = 5;
  const Sample sample = subject->measure(request);
  ASSERT_FALSE(sample.failure) << sample.failure->detail;
  const std::lock_guard lock(mutex);
  EXPECT_EQ(body, R"({"prompt":"a \"cat\"","n":1,"response_format":"b64_json",)"
                  R"("size":"512x512","steps":20,"seed":5})");
}

TEST(HttpSubject, TimesTheTokensOfAStream) {
  RawServer server([](const RawRequest&, RawConnection& c) {
    c.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n");
    c.send("data: {\"choices\": [{\"delta\": {\"role\": \"assistant\"}}]}\n\n");
    for (const char* const word : {"A", "B", "C"}) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      c.send("data: {\"choices\": [{\"delta\": {\"content\": \"" + std::string(word) +
             "\"}}]}\n\n");
    }
    c.send("data: {\"choices\": [], \"usage\": {\"completion_tokens\": 3}}\n\ndata: [DONE]\n\n");
    c.close();
  });
  const Sample sample = ask(server, "/v1/chat/completions");
  ASSERT_FALSE(sample.failure) << sample.failure->detail;
  EXPECT_EQ(sample.metrics.at("tokens"), 3);
  EXPECT_GE(sample.metrics.at("ttft_s"), 0.02);
  EXPECT_GE(sample.metrics.at("tpot_s"), 0.01);
  EXPECT_GT(sample.metrics.at("ttft_s"), sample.metrics.at("ttfb_s"));
}

TEST(HttpSubject, AStreamThatBreaksOffIsBad) {
  RawServer server([](const RawRequest& request, RawConnection& c) {
    c.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
    if (request.body.find("error") != std::string::npos) {
      c.send("data: {\"error\": {\"message\": \"CUDA out of memory\"}}\n\n");
    } else {
      c.send("data: {\"choices\": [{\"delta\": {\"content\": \"x\"}}]}\n\n");
    }
    c.close();
  });
  expect_failure(ask(server, "/v1/chat/completions"), FailureClass::bad_output);
  HttpOptions options;
  options.url = server.url("/v1/chat/completions");
  options.body = R"({"error": true})";
  expect_failure(ask(options), FailureClass::oom_gpu);
}

TEST(HttpSubject, ComfyIsAskedUntilThePictureIsThere) {
  std::atomic<int> looks = 0;
  RawServer server([&](const RawRequest& request, RawConnection& c) {
    if (request.head.starts_with("POST /api/prompt ")) {
      EXPECT_NE(request.body.find(R"({"prompt": {"3": {"seed": 5)"), std::string::npos);
      c.answer(R"({"prompt_id": "ab-1"})");
    } else {
      EXPECT_TRUE(request.head.starts_with("GET /api/history/ab-1 ")) << request.head;
      c.answer(++looks < 3 ? "{}" : R"({"ab-1": {"outputs": {"9": {"images": [{}]}}}})");
    }
  });
  HttpOptions options;
  options.url = server.url("/api/prompt");
  options.body = R"({"3": {"seed": {seed}}})";
  const Sample sample = ask(options);
  ASSERT_FALSE(sample.failure) << sample.failure->detail;
  EXPECT_EQ(looks, 3);
  EXPECT_GT(sample.metrics.at("poll_error_s"), 0);
  EXPECT_LT(sample.metrics.at("poll_error_s"), sample.metrics.at("latency_s"));
}

TEST(HttpSubject, OptionsThatCannotBeUsedAreAFailureOfBegin) {
  const auto failure = [](HttpOptions options) { return http_subject(options)->begin({}); };
  HttpOptions options;
  options.url = "https://127.0.0.1:1/";
  EXPECT_FALSE(failure(options));
  options.ca_file = "/nonexistent.pem";
  EXPECT_NE(failure(options)->detail.find("/nonexistent.pem"), std::string::npos);
  options.url = "http://127.0.0.1:1/x";
  EXPECT_FALSE(failure(options));
  options.endpoint = "openai-image";
  EXPECT_NE(failure(options)->detail.find("openai-images"), std::string::npos);
  options.endpoint = "";
  options.body = R"({"a": {promt}})";
  EXPECT_NE(failure(options)->detail.find("{prompt}"), std::string::npos);
  options.body = R"({"a": )";
  EXPECT_TRUE(failure(options));
  options.body = "";
  options.headers = {{"X", "a\r\nY: b"}};
  EXPECT_TRUE(failure(options));
  options.headers = {{"Content-length", "3"}};
  EXPECT_TRUE(failure(options));
}

}  // namespace
}  // namespace genscope::bench
