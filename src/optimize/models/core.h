// What is behind a ModelManager and its leases: the book under one lock, the objects, the threads.
//
// Each entry locks, tells the book, and takes what it decided as Effects; these are carried out
// after the lock is let go: answers on the entry's own thread, transfers on the workers. No
// callback of a user ever runs with the lock held.
#pragma once

#include <genscope/optimize/models.h>
#include <genscope/record.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "optimize/models/model_workers.h"

namespace genscope::optimize::internal_models {

struct Core : std::enable_shared_from_this<Core> {
  // A model on a device.
  struct Slot {
    ModelPointer object;
    std::stop_source stop;                     // of the load under way
    std::optional<std::uint64_t> taken_bytes;  // by its load, as the device saw it
  };
  struct Waiter {
    std::function<void(LeaseAnswer)> then;
    std::int64_t since_ns = 0;
    Handle span;
  };
  // What is to be done without the lock.
  struct Effects {
    std::vector<std::pair<Waiter, LeaseAnswer>> answers;
    std::vector<ModelAction> transfers;
    std::vector<std::stop_source> aborts;
    std::size_t threads = 0;  // at most, for the transfers
  };

  explicit Core(const ManagerOptions& given) : options(given), book(given.book) {}

  const ManagerOptions options;
  mutable std::mutex mutex;
  std::condition_variable changed;  // a transfer ended
  std::condition_variable timer_wake;
  ModelBook book;
  std::vector<ModelHooks> hooks;         // by model
  std::vector<std::vector<Slot>> slots;  // by model and device
  std::map<std::uint64_t, Waiter> waiters;
  std::deque<TransferRow> transfers;
  std::map<std::pair<std::string, std::string>, std::uint64_t> leaks;
  // Loads and unloads of a device. What its memory did meanwhile tells of one of them only if no
  // other began, went on or ended.
  struct Traffic {
    std::size_t under_way = 0;
    std::uint64_t changes = 0;
  };
  std::map<std::uint32_t, Traffic> traffic;  // by device
  std::size_t moving = 0;
  std::int64_t timer_at = kNever;
  bool closing = false, timer_stop = false;
  std::thread timer;
  ModelWorkers workers;

  // manager.cc
  std::uint64_t ask(std::string_view model, const LeaseOptions& asked,
                    std::function<void(LeaseAnswer)> then);
  bool cancel(std::uint64_t request);
  void release(std::uint64_t lease) noexcept;
  bool out_of_memory(std::uint64_t lease);
  void close();
  // With the lock.
  Effects take_effects();
  void collect_answer(const ModelAction& action, Effects& effects);
  // Without.
  void carry_out(Effects effects);
  void keep_time();

  // transfer.cc
  void transfer(const ModelAction& action) noexcept;
  ActionOutcome load(const ModelAction& action, ModelPointer& object, TransferRow& row);
  ActionOutcome other(const ModelAction& action, ModelPointer& object, TransferRow& row);
  std::optional<std::uint64_t> used(std::uint32_t device) const noexcept;
  std::string model_name(std::uint32_t model) const;
  std::string device_name(std::uint32_t device) const;
};

}  // namespace genscope::optimize::internal_models
