// A few threads that run what they are given. Made when needed, ended by close().
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace genscope::optimize {

class ModelWorkers {
 public:
  // Runs it on a thread of its own; on the caller's if no thread can be made at all. `job` throws
  // nothing.
  void run(std::function<void()> job, std::size_t at_most) {
    std::unique_lock lock(mutex_);
    if (closed_) {
      lock.unlock();
      job();
      return;
    }
    jobs_.push_back(std::move(job));
    if (idle_ < jobs_.size() && threads_.size() < at_most) {
      try {
        threads_.emplace_back([this] { work(); });
      } catch (const std::system_error&) {
        if (threads_.empty()) {
          std::function<void()> own = std::move(jobs_.back());
          jobs_.pop_back();
          lock.unlock();
          own();
          return;
        }
      }
    }
    lock.unlock();
    wake_.notify_one();
  }

  // Ends the threads when nothing is left to run. Later jobs run on the caller's thread. Not to be
  // called from a job.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      idle_++;
      wake_.wait(lock, [&] { return closed_ || !jobs_.empty(); });
      idle_--;
      if (jobs_.empty()) return;
      {
        const std::function<void()> job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        job();
      }
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool closed_ = false;
};

}  // namespace genscope::optimize
