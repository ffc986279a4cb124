// The inside of ModelBook. book.cc takes requests and answers, ledger.cc counts bytes, choice.cc
// finds who is next and who goes, plan.cc acts on it, text.cc tells people.
#pragma once

#include <genscope/optimize/model_book.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <set>
#include <utility>

namespace genscope::optimize {

inline constexpr std::uint32_t kNoModel = 0xFFFFFFFF;

// A model on a device.
struct BookEntry {
  ModelState state = ModelState::absent;
  std::uint32_t level = 0;     // while it falls asleep, sleeps and wakes
  std::uint64_t reserved = 0;  // in the device's ledger
  std::uint64_t host = 0;      // in the host's
  std::uint32_t leases = 0;
  std::int64_t ready_at = 0;    // when it was last loaded or woken
  std::int64_t changed_at = 0;  // when the current state began
  std::int64_t last_used = 0;
  bool draining = false;   // no new lease: somebody overdue needs its room
  bool leaving = false;    // to be unloaded, not put to sleep
  bool oom_retry = false;  // the load under way is the second try
  bool aborting = false;
  bool resident() const noexcept { return state == ModelState::ready && !draining; }
};

struct BookModel {
  ModelSpec spec;
  std::vector<BookEntry> on;                              // by device
  std::uint64_t learned = 0;                              // most that a load took
  std::int64_t load_ns = 0, wake_ns = 0, service_ns = 0;  // measured; 0: not yet
  double use = 0;                                         // requests, halved every use_half_life_ns
  std::int64_t use_at = 0;                                // of the last request
  std::int64_t gap_ns = 0;                          // between requests, smoothed; 0: fewer than two
  std::set<std::pair<int, std::uint64_t>> waiting;  // (-priority, id): the next comes first
  std::set<std::uint64_t> arrivals;                 // ids: the oldest comes first
  double arrival_sum = 0;                           // seconds, over `waiting`
  std::uint32_t failures = 0;
  std::int64_t retry_at = 0;
  std::string failure;
  std::int64_t prefetch_until = 0;
  std::uint32_t prefetch_device = kAnyDevice;
  std::uint32_t elsewhere = 0;  // arrivals in a row that another device would serve sooner
};

struct BookDevice {
  DeviceSpec spec;
  std::uint64_t reserved = 0, foreign = 0;
  std::uint32_t leases = 0;
  std::uint32_t target = kNoModel;  // the model for which room is being made
  bool target_retry = false;        // it ran out of memory before
};

struct BookRequest {
  std::uint32_t model = 0;
  int priority = 0;
  std::int64_t arrival = 0, deadline = kNever;
  std::uint32_t device = kAnyDevice;
};

struct BookLease {
  std::uint32_t model = 0, device = 0;
  std::int64_t since = 0;
};

struct ModelBook::Impl {
  BookOptions options;
  std::vector<BookModel> models;
  std::vector<BookDevice> devices;
  std::map<std::uint64_t, BookRequest> waiting;
  std::set<std::pair<std::int64_t, std::uint64_t>> deadlines;
  std::map<std::uint64_t, BookLease> leases;
  std::vector<ModelAction> actions;
  std::deque<WhyEntry> log;
  BookStats stats;
  std::uint64_t next_id = 1;
  std::uint64_t host_reserved = 0;
  std::int64_t last_now = 0;
  std::uint32_t reading = 0;  // loads under way, on all devices

  // book.cc
  void answer_grant(std::int64_t now, std::uint64_t id, std::uint32_t device);
  void answer_fail(std::int64_t now, std::uint64_t id, LeaseRefusal refusal, Error error);
  void fail_all(std::int64_t now, std::uint32_t model, LeaseRefusal refusal, const Error& error);
  void forget(std::uint64_t id);
  void load_ended(std::int64_t now, std::uint32_t model, std::uint32_t device,
                  const ActionOutcome& outcome);
  void load_out_of_memory(std::int64_t now, std::uint32_t model, std::uint32_t device,
                          const std::string& message);
  void load_failed(std::int64_t now, std::uint32_t model, const std::string& message);
  bool evict_idle(std::int64_t now, std::uint32_t device, std::uint32_t except,
                  std::string_view what);
  void abort_unwanted(std::int64_t now);
  void note_placement(std::int64_t now, std::uint32_t model);

  // ledger.cc
  std::uint64_t budget(std::uint32_t device) const;
  std::uint64_t room(std::uint32_t device) const;
  void reserve(std::uint32_t model, std::uint32_t device, std::uint64_t bytes);
  void reserve_host(BookEntry& entry, std::uint64_t bytes);
  std::uint64_t needed(std::uint32_t model, std::uint32_t device) const;
  std::uint64_t freed_by_eviction(const BookModel& model, const BookEntry& entry) const;
  std::uint32_t sleep_level(const BookModel& model, const BookEntry& entry) const;
  std::int64_t load_time(std::uint32_t model, std::uint32_t device) const;
  std::int64_t arrival_cost(std::uint32_t model, std::uint32_t device) const;
  double use_now(const BookModel& model, std::int64_t now) const;
  double worth(std::int64_t now, std::uint32_t model, std::uint32_t device) const;
  bool fits_ever(std::uint32_t model, std::uint32_t device) const;
  Ledger ledger() const;
  Error no_room(std::uint32_t model, std::string_view why) const;

  // plan.cc
  struct Victims {
    bool possible = false;
    bool settled = true;  // all past their residency, none leased
    bool leased = false;
    std::vector<std::uint32_t> models;
  };
  void decide(std::int64_t now);
  void expire(std::int64_t now);
  bool grant(std::int64_t now, std::uint32_t device);
  bool shrink(std::int64_t now, std::uint32_t device);
  bool plan_load(std::int64_t now, std::uint32_t device);
  bool follow_target(std::int64_t now, std::uint32_t device);
  bool plan_prefetch(std::int64_t now, std::uint32_t device);
  bool idle_out(std::int64_t now);
  bool settle_impossible(std::int64_t now);
  bool wanted_on(const BookModel& model, std::uint32_t device) const;
  bool may_load(std::int64_t now, std::uint32_t model, std::uint32_t device) const;
  std::uint64_t first_for(const BookModel& model, std::uint32_t device) const;
  std::vector<std::uint32_t> targets(std::int64_t now, std::uint32_t device) const;
  std::uint32_t home(std::int64_t now, std::uint32_t model) const;
  double backlog_ns(std::int64_t now, std::uint32_t device) const;
  Victims victims(std::int64_t now, std::uint32_t model, std::uint32_t device,
                  bool with_leased) const;
  bool residents_wanted(std::uint32_t device) const;
  bool settled(std::int64_t now, std::uint32_t model, std::uint32_t device) const;
  bool overdue(std::int64_t now, std::uint32_t model, std::uint32_t device) const;
  std::int64_t patience() const;
  bool transferring(std::uint32_t device) const;
  void make_room(std::int64_t now, std::uint32_t model, std::uint32_t device, const Victims& plan);
  void start_load(std::int64_t now, std::uint32_t model, std::uint32_t device, bool retry);
  void evict(std::int64_t now, std::uint32_t model, std::uint32_t device, std::string_view what,
             std::uint32_t for_model);
  void drop_target(std::uint32_t device);
  std::int64_t next_time() const;

  // text.cc
  void note(std::int64_t now, std::uint32_t model, std::uint32_t device, std::string_view what,
            std::uint32_t for_model, std::string text);
};

}  // namespace genscope::optimize
