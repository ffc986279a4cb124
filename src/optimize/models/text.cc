// What the book tells people: the ledger, and why a model left.
#include <fmt/format.h>

#include "base/figures.h"
#include "optimize/models/book.h"

namespace genscope::optimize {
std::string_view name(ModelState state) noexcept {
  switch (state) {
    case ModelState::absent:
      return "absent";
    case ModelState::loading:
      return "loading";
    case ModelState::ready:
      return "ready";
    case ModelState::falling_asleep:
      return "falling_asleep";
    case ModelState::sleeping:
      return "sleeping";
    case ModelState::waking:
      return "waking";
    case ModelState::unloading:
      return "unloading";
    case ModelState::failed:
      return "failed";
  }
  return "absent";
}

std::string_view name(ModelAction::Kind kind) noexcept {
  switch (kind) {
    case ModelAction::Kind::load:
      return "load";
    case ModelAction::Kind::wake:
      return "wake";
    case ModelAction::Kind::sleep:
      return "sleep";
    case ModelAction::Kind::unload:
      return "unload";
    case ModelAction::Kind::abort:
      return "abort";
    case ModelAction::Kind::grant:
      return "grant";
    case ModelAction::Kind::fail:
      return "fail";
  }
  return "load";
}

std::string_view name(LeaseRefusal refusal) noexcept {
  switch (refusal) {
    case LeaseRefusal::none:
      return "none";
    case LeaseRefusal::deadline:
      return "deadline";
    case LeaseRefusal::cancelled:
      return "cancelled";
    case LeaseRefusal::broken:
      return "broken";
    case LeaseRefusal::no_room:
      return "no_room";
    case LeaseRefusal::closed:
      return "closed";
  }
  return "none";
}

std::string to_text(const Ledger& ledger) {
  std::string text;
  for (const DeviceRow& device : ledger.devices) {
    text += fmt::format("{}: {} reserved of {}", device.device, base::bytes(device.reserved_bytes),
                        base::bytes(device.budget_bytes));
    if (device.activation_bytes != 0) {
      text += fmt::format(", {} kept for the work", base::bytes(device.activation_bytes));
    }
    if (device.foreign_bytes != 0) {
      text += fmt::format(", {} used by others", base::bytes(device.foreign_bytes));
    }
    text += '\n';
    for (const LedgerRow& row : ledger.models) {
      if (row.device != device.device) continue;
      text +=
          fmt::format("  {}: {}, {}", row.model, name(row.state), base::bytes(row.reserved_bytes));
      if (row.leases != 0) text += fmt::format(", {} leased", row.leases);
      if (row.pinned) text += ", pinned";
      if (row.waiting != 0) text += fmt::format(", {} waiting", row.waiting);
      text += '\n';
    }
  }
  if (ledger.host_bytes != 0) {
    text += fmt::format("host: {} of {} for models that sleep\n",
                        base::bytes(ledger.host_reserved_bytes), base::bytes(ledger.host_bytes));
  }
  return text;
}

void ModelBook::Impl::note(std::int64_t now, std::uint32_t model, std::uint32_t device,
                           std::string_view what, std::uint32_t for_model, std::string text) {
  if (options.why_entries == 0) return;
  if (log.size() >= options.why_entries) log.pop_front();
  WhyEntry entry;
  entry.at_ns = now;
  entry.model = models[model].spec.name;
  if (device != kAnyDevice) entry.device = devices[device].spec.name;
  entry.what = what;
  if (for_model != kNoModel) entry.for_model = models[for_model].spec.name;
  entry.text = std::move(text);
  log.push_back(std::move(entry));
}

Error ModelBook::Impl::no_room(std::uint32_t model, std::string_view why) const {
  return {ErrorCode::no_space,
          fmt::format("model {} ({}): {}. In memory now:\n{}", models[model].spec.name,
                      base::bytes(std::max(models[model].learned, models[model].spec.bytes)), why,
                      to_text(ledger()))};
}

}  // namespace genscope::optimize
