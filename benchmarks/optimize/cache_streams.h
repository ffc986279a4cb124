// The streams of requests on which the cache is judged. All are made from one seed, so that a
// figure can be had again and compared with other programs' on the same keys.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

struct SplitMix {
  std::uint64_t state;
  std::uint64_t next() {
    state += 0x9E3779B97F4A7C15;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
};

// Ranks from 0, by the inverse of the distribution function.
class Zipf {
 public:
  Zipf(std::size_t count, double exponent) : sums_(count) {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i)
      sums_[i] = sum += std::pow(static_cast<double>(i + 1), -exponent);
    for (double& s : sums_) s /= sum;
  }
  std::uint32_t draw(SplitMix& random) const {
    return static_cast<std::uint32_t>(std::lower_bound(sums_.begin(), sums_.end(), random.unit()) -
                                      sums_.begin());
  }

 private:
  std::vector<double> sums_;
};

class StreamMaker {
 public:
  StreamMaker(std::size_t count, std::uint64_t seed) : random_{seed}, count_(count) {
    keys_.reserve(count);
  }

  std::vector<std::uint32_t> make(std::string_view name) {
    if (name == "zipf") fill(Zipf(1'000'000, 0.99), count_);
    if (name == "flat zipf") fill(Zipf(1'000'000, 0.7), count_);
    if (name == "scans") blocks(Zipf(1'000'000, 0.99), 80'000, [this] { fresh(20'000); });
    if (name == "one-shots") one_shots(Zipf(1'000'000, 0.99), 0.3);
    if (name == "loops") blocks(Zipf(1'000'000, 0.99), 80'000, [this] { loop(20'000, 20'000); });
    if (name == "drift") drift(Zipf(1'000'000, 0.99), 250'000, 1'000, 1'000'000);
    if (name == "bursts") bursts(Zipf(100'000, 0.9), 200, 0.25, 0.7);
    if (name == "held zipf") fill(Zipf(300'000, 0.85), count_);
    if (name == "held bursts") bursts(Zipf(20'000, 1.1), 50, 0.1, 0.5);
    if (name == "held phases")
      blocks(Zipf(500'000, 1.0), 500'000, [this] { loop(500'000, 15'000); });
    if (name == "held repeats") repeats(Zipf(200'000, 0.9), 2.0 / 3, 3'000);
    // New ones: no parameter of the cache was chosen on them.
    if (name == "new scans")
      blocks(Zipf(400'000, 0.8), 30'000,
             [this] { fresh(1'000 + static_cast<std::size_t>(random_.unit() * 40'000)); });
    if (name == "new bursts") bursts(Zipf(50'000, 1.0), 500, 0.4, 0.5);
    if (name == "new moves") drift(Zipf(100'000, 1.1), 300'000, 100'000, 2'000'000);
    if (name == "new recency") recency(0.3, 5'000);
    if (name == "new loop") mixed_loop(Zipf(100'000, 0.7), 0.5, 5'000);
    return std::move(keys_);
  }

  // A stream whose parameters are drawn, too: what the cache was never seen with.
  static constexpr std::size_t kSorts = 10;
  std::vector<std::uint32_t> draw(std::size_t sort) {
    const auto between = [this](double low, double high) {  // evenly on a logarithmic scale
      return low * std::pow(high / low, random_.unit());
    };
    const auto whole = [&](double low, double high) {
      return static_cast<std::uint32_t>(between(low, high));
    };
    const std::uint32_t keys = whole(20'000, 1'000'000);
    const Zipf zipf(keys, between(0.6, 1.2));
    switch (sort) {
      case 0:
        fill(zipf, count_);
        break;
      case 1: {
        const std::size_t block = whole(5'000, 200'000), scan = whole(2'000, 100'000);
        blocks(zipf, block, [&] { fresh(scan); });
        break;
      }
      case 2:
        one_shots(zipf, between(0.1, 0.7));
        break;
      case 3: {
        const std::size_t block = whole(5'000, 200'000), length = whole(1'000, 50'000);
        blocks(zipf, block, [&] { loop(length, length); });
        break;
      }
      case 4:
        drift(zipf, whole(20'000, 500'000), whole(50, 5'000), 2 * keys);
        break;
      case 5: {
        const std::size_t users = whole(20, 2'000);
        const double change = between(0.05, 0.6);
        bursts(zipf, users, change, between(0.2, 0.9));
        break;
      }
      case 6: {
        const std::size_t block = whole(100'000, 600'000), length = whole(1'000, 40'000);
        blocks(zipf, block, [&] { loop(block, length); });
        break;
      }
      case 7: {
        const double share = between(0.3, 0.8);
        repeats(zipf, share, whole(200, 20'000));
        break;
      }
      case 8: {
        const double unseen = between(0.1, 0.5);
        recency(unseen, between(500, 50'000));
        break;
      }
      default: {
        const double share = between(0.2, 0.7);
        mixed_loop(zipf, share, whole(500, 30'000));
      }
    }
    return std::move(keys_);
  }

 private:
  static constexpr std::uint32_t kLoop = 2'000'000, kFresh = 3'000'000;
  bool full() const { return keys_.size() >= count_; }
  void push(std::uint32_t key) { keys_.push_back(key); }

  void fill(const Zipf& zipf, std::size_t count) {
    for (std::size_t i = 0; i < count && !full(); ++i) push(zipf.draw(random_));
  }
  void fresh(std::size_t count) {
    for (std::size_t i = 0; i < count && !full(); ++i) push(fresh_++);
  }
  void loop(std::size_t count, std::size_t length) {
    for (std::size_t i = 0; i < count && !full(); ++i)
      push(static_cast<std::uint32_t>(kLoop + i % length));
  }
  template <class Between>
  void blocks(const Zipf& zipf, std::size_t block, const Between& between) {
    while (!full()) {
      fill(zipf, block);
      between();
    }
  }
  void one_shots(const Zipf& zipf, double share) {
    while (!full()) push(random_.unit() < share ? fresh_++ : zipf.draw(random_));
  }
  void drift(const Zipf& zipf, std::size_t every, std::uint32_t by, std::uint32_t of) {
    std::uint32_t shift = 0;
    while (!full()) {
      if (!keys_.empty() && keys_.size() % every == 0) shift += by;
      push((zipf.draw(random_) + shift) % of);
    }
  }
  void bursts(const Zipf& zipf, std::size_t users, double change, double unseen) {
    std::vector<std::uint32_t> prompts(users);
    for (std::uint32_t& prompt : prompts) prompt = fresh_++;
    while (!full()) {
      std::uint32_t& prompt =
          prompts[static_cast<std::size_t>(random_.unit() * static_cast<double>(users))];
      if (random_.unit() < change) prompt = random_.unit() < unseen ? fresh_++ : zipf.draw(random_);
      push(prompt);
    }
  }
  void repeats(const Zipf& zipf, double share, std::size_t later) {
    std::deque<std::pair<std::size_t, std::uint32_t>> due;
    while (!full()) {
      if (!due.empty() && due.front().first <= keys_.size()) {
        push(due.front().second);
        due.pop_front();
      } else if (random_.unit() < share) {
        push(zipf.draw(random_));
      } else {
        due.emplace_back(keys_.size() + later, fresh_);
        push(fresh_++);
      }
    }
  }
  void recency(double unseen, double depth) {
    while (!full()) {
      const double back = std::pow(random_.unit(), 3) * depth + 1;
      if (keys_.size() < 100 || random_.unit() < unseen) {
        push(fresh_++);
      } else {
        push(keys_[keys_.size() - std::min(static_cast<std::size_t>(back), keys_.size())]);
      }
    }
  }
  void mixed_loop(const Zipf& zipf, double share, std::uint32_t length) {
    std::uint32_t at = 0;
    while (!full()) push(random_.unit() < share ? kLoop + at++ % length : zipf.draw(random_));
  }

  SplitMix random_;
  std::size_t count_;
  std::uint32_t fresh_ = kFresh;
  std::vector<std::uint32_t> keys_;
};

}  // namespace bench
