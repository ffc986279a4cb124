#include "bench/http/load_judge.h"

namespace genscope::bench {
namespace {

constexpr std::size_t kSmallAnswer = 32u << 10;
constexpr std::size_t kMostWaiting = 256u << 20;

}  // namespace

bool LoadJudge::take(std::size_t place, Reply& reply) {
  if (reply.body.size() < kSmallAnswer) return false;
  {
    const std::lock_guard lock(mutex_);
    if (ending_ || waiting_bytes_ + reply.body.size() > kMostWaiting) return false;
    waiting_bytes_ += reply.body.size();
    waiting_.emplace_back(place, std::move(reply));
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  wake_.notify_one();
  return true;
}

void LoadJudge::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const auto [place, reply] = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_bytes_ -= reply.body.size();
    lock.unlock();
    Outcome outcome = judge(endpoint_, reply, false);
    lock.lock();
    judged_.emplace_back(place, std::move(outcome));
  }
}

std::vector<std::pair<std::size_t, Outcome>> LoadJudge::finish() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
  return std::move(judged_);
}

}  // namespace genscope::bench
