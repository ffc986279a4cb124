// Who joins the loop at a step boundary. A boundary costs O(keys + who runs).
//
// The time of a step with b requests is fitted for each key (BatchModel), from every step, so a few
// dozen steps suffice. Joining never changes what a request's own steps compute; it only makes them
// longer: by c each. That is why a deadline of one that runs forbids it.
#include <algorithm>

#include <genscope/optimize/step_batch.h>

#include "optimize/flow/counters.h"
#include "optimize/flow/step_queue.h"

namespace genscope::optimize {

namespace {
constexpr std::size_t kMostStepKeys = 1024;
}

StepQueue::StepQueue(StepOptions options) : options_(std::move(options)) {
  options_.most = std::max<std::size_t>(1, options_.most);
}

StepQueue::Key& StepQueue::of(std::string_view text) {
  const auto found = keys_.find(text);
  if (found != keys_.end()) return found->second;
  if (keys_.size() >= kMostStepKeys) {
    std::erase_if(keys_, [this](const auto& one) {
      return one.second.waiting.empty() && &one.second != current_;
    });
  }
  return keys_[std::string(text)];
}

std::optional<std::uint64_t> StepQueue::push(std::string_view key, std::int64_t deadline_ns,
                                             std::int64_t now_ns) {
  if (waiting_count_ >= options_.most_waiting) return std::nullopt;
  of(key).waiting.push_back({next_id_, deadline_ns, now_ns});
  ++waiting_count_;
  return next_id_++;
}

bool StepQueue::may_join(const Key& key, std::int64_t now_ns) const {
  const std::size_t b = running_.size();
  if (b == 0) return true;
  if (b >= options_.most || b + 1 >= key.out_at) return false;
  if (running_.front().alone || key.waiting.front().alone) return false;
  const std::optional<double> pays = key.model.gain(2);
  if (!pays) {
    if (!key.one_seen || b >= 2) return false;  // first one, then two
  } else if (*pays < options_.least_gain) {
    const bool look =
        options_.look_again_every > 0 && b == 1 && key.alone_steps >= options_.look_again_every;
    if (!look) return false;
  }
  for (const auto& [text, other] : keys_) {
    if (&other == &key || other.waiting.empty()) continue;
    const std::int64_t since = other.waiting.front().arrived_ns;
    if (now_ns - since >= seconds_to_ns(options_.hold_seconds)) return false;
  }
  const std::optional<double> with = key.model.seconds(static_cast<double>(b + 1));
  const std::optional<double> without = key.model.seconds(static_cast<double>(b));
  if (!with || !without) return true;
  return std::all_of(running_.begin(), running_.end(), [&](const Item& one) {
    const auto steps = static_cast<double>(one.left);
    const auto late = [&](double step) {
      return later(now_ns, seconds_to_ns(steps * step)) > one.deadline_ns;
    };
    return !late(*with) || late(*without);  // one that is late anyway holds nobody back
  });
}

StepQueue::Boundary StepQueue::boundary(std::int64_t now_ns) {
  Boundary out;
  Key* oldest = nullptr;
  for (auto& [text, key] : keys_) {
    std::erase_if(key.waiting, [&](const Item& item) {
      if (item.deadline_ns > now_ns) return false;
      out.expired.push_back(item.id);
      --waiting_count_;
      return true;
    });
    if (key.waiting.empty()) continue;
    const auto before = [](const Key& a, const Key& b) {
      return a.waiting.front().id < b.waiting.front().id;
    };
    if (oldest == nullptr || before(key, *oldest)) oldest = &key;
  }
  if (running_.empty()) current_ = oldest;
  while (current_ != nullptr && !current_->waiting.empty() && may_join(*current_, now_ns)) {
    running_.push_back(current_->waiting.front());
    current_->waiting.pop_front();
    --waiting_count_;
    out.join.push_back(running_.back().id);
  }
  return out;
}

void StepQueue::stepped(double seconds) {
  if (current_ == nullptr || running_.empty()) return;
  const std::size_t b = running_.size();
  current_->model.add(static_cast<double>(b), seconds);
  current_->one_seen = current_->one_seen || b == 1;
  current_->alone_steps = b == 1 ? current_->alone_steps + 1 : 0;
}

void StepQueue::left(std::uint64_t id, std::size_t steps) {
  for (Item& one : running_) {
    if (one.id == id) one.left = steps;
  }
}

void StepQueue::ended(std::uint64_t id) {
  const auto same = [id](const Item& item) { return item.id == id; };
  if (std::erase_if(running_, same) > 0) return;
  for (auto& [text, key] : keys_) waiting_count_ -= std::erase_if(key.waiting, same);
}

std::vector<std::uint64_t> StepQueue::failed(bool out_of_memory) {
  std::vector<std::uint64_t> out;
  if (current_ == nullptr) return out;
  if (out_of_memory && running_.size() > 1) {
    current_->out_at = std::min(current_->out_at, running_.size());
  }
  while (!running_.empty()) {
    Item item = running_.back();
    running_.pop_back();
    out.push_back(item.id);
    item.alone = !out_of_memory;
    item.left = 0;
    current_->waiting.push_front(item);
    ++waiting_count_;
  }
  return out;
}

std::optional<double> StepQueue::gain(std::string_view key, std::size_t b) const {
  const auto found = keys_.find(key);
  return found != keys_.end() ? found->second.model.gain(b) : std::nullopt;
}

}  // namespace genscope::optimize
