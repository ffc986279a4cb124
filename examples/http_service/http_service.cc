// A tiny generation service on Boost.Beast: every request is timed from the accept on, through the
// queue of the one worker, to its last byte, and joined to the generation that it waited for.
//
//   GET /generate   makes a "picture"      GET /fail      an error of ours
//   GET /metrics    for Prometheus         anything else  404
//
// As a test it asks itself a few times and ends; with the argument `serve` it goes on.
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include <genscope/monitor.h>
#include <genscope/record.h>

namespace http = boost::beast::http;
using boost::asio::ip::tcp;

namespace {

genscope::GenerationMonitor generations({.generation = {.model_name = "demo", .num_steps = 4}});
genscope::RequestMonitor requests({.slo_seconds = 0.5});

std::string generate(genscope::ServedRequest& request) {
  genscope::Generation generation = generations.start(request.generation());
  for (int i = 0; i < 4; ++i) {
    const auto step = generation.step();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  const genscope::GenerationMetrics metrics = generation.end();
  request.join(metrics);
  return to_json(metrics);
}

// [snippet answer]
void answer(tcp::socket& socket, genscope::ServedRequest request) {
  request.started();  // it left the queue
  boost::beast::flat_buffer buffer;
  http::request<http::empty_body> asked;
  boost::system::error_code broken;
  http::read(socket, buffer, asked, broken);
  if (broken) {
    request.fail("read");
    return;
  }
  http::response<http::string_body> reply{http::status::ok, asked.version()};
  const std::string path(asked.target());
  if (path == "/generate") {
    reply.body() = generate(request);
  } else if (path == "/metrics") {
    reply.body() = requests.prometheus_text();
  } else {
    reply.result(path == "/fail" ? http::status::internal_server_error : http::status::not_found);
  }
  for (const auto& [name, value] : requests.response_headers(request)) reply.set(name, value);
  reply.prepare_payload();
  reply.keep_alive(false);
  request.first_byte();
  http::write(socket, reply, broken);
  if (broken) {
    request.fail("write");
  } else {
    request.finish(static_cast<int>(reply.result_int()));
  }
}
// [/snippet]

struct Job {
  tcp::socket socket;
  genscope::ServedRequest request;
};

// Connections that wait for the one worker, as they would for one GPU.
class Queue {
 public:
  void push(Job job) {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    wake_.notify_one();
  }
  Job pop() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return !jobs_.empty(); });
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    return job;
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> jobs_;
};

std::string get(const tcp::endpoint& server, const std::string& path) {
  boost::asio::io_context io;
  tcp::socket socket(io);
  socket.connect(server);
  http::request<http::empty_body> ask{http::verb::get, path, 11};
  ask.set(http::field::host, "localhost");
  http::write(socket, ask);
  boost::beast::flat_buffer buffer;
  http::response<http::string_body> reply;
  http::read(socket, buffer, reply);
  return reply.body();
}

}  // namespace

int main(int argc, char** argv) {
  const genscope::Session session("http_service");
  const bool forever = argc > 1 && std::string_view(argv[1]) == "serve";
  boost::asio::io_context io;
  tcp::acceptor acceptor(io, {boost::asio::ip::address_v4::loopback(), 0});
  const tcp::endpoint here = acceptor.local_endpoint();
  std::printf("http://127.0.0.1:%d/generate\n", here.port());
  std::fflush(stdout);
  constexpr int kAsked = 8;
  Queue queue;
  std::thread accepting([&] {
    for (int i = 0; forever || i < kAsked; ++i) {
      tcp::socket socket = acceptor.accept();
      queue.push({std::move(socket), requests.enqueue("http")});
    }
  });
  std::thread working([&] {
    for (int i = 0; forever || i < kAsked; ++i) {
      Job job = queue.pop();
      answer(job.socket, std::move(job.request));
    }
  });
  std::string metrics;
  if (!forever) {
    for (const char* path : {"/generate", "/generate", "/nothing", "/generate", "/fail",
                             "/generate", "/generate", "/metrics"}) {
      metrics = get(here, path);
    }
  }
  accepting.join();
  working.join();
  std::printf("%s%s", metrics.c_str(), to_json(requests.stats()).c_str());
  const genscope::RequestStats stats = requests.stats();
  return stats.finished == kAsked && stats.failed == 2 && stats.generation.count == 5 ? 0 : 1;
}
