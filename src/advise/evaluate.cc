// The three-valued arithmetic of conditions.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "advise/expression.h"

namespace genscope::advice {
namespace {

// A node's value, or none: not known. The names of the missing facts are collected on the way up.
using Value = std::optional<FactValue>;
using Missing = std::vector<std::pair<std::string, std::string>>;

bool is(const FactValue& value, FactType type) {
  return value.index() == static_cast<std::size_t>(type);
}
static_assert(std::is_same_v<std::variant_alternative_t<0, FactValue>, double>);
static_assert(std::is_same_v<std::variant_alternative_t<1, FactValue>, bool>);

double number(const Value& value) { return std::get<double>(*value); }
bool flag(const Value& value) { return std::get<bool>(*value); }
const std::string& text(const Value& value) { return std::get<std::string>(*value); }

void merge(Missing& into, Missing&& more) {
  for (auto& fact : more) {
    const auto same = [&](const auto& known) { return known.first == fact.first; };
    if (std::none_of(into.begin(), into.end(), same)) into.push_back(std::move(fact));
  }
}

class Evaluation {
 public:
  Evaluation(const std::vector<Node>& nodes, const Facts& facts) : nodes_(nodes), facts_(facts) {}

  Value of(std::size_t index, Missing& missing) const {
    const Node& node = nodes_[index];
    switch (node.op) {
      case Op::literal:
        return node.value;
      case Op::fact:
        return fact(node, missing);
      case Op::has: {
        Missing ignored;
        return of(node.args[0], ignored).has_value();
      }
      case Op::and_:
        return logic(node, false, missing);
      case Op::or_:
        return logic(node, true, missing);
      default:
        return strict(node, missing);
    }
  }

 private:
  Value fact(const Node& node, Missing& missing) const {
    const std::string& name = std::get<std::string>(node.value);
    const FactValue* const known = facts_.find(name);
    std::string reason;
    if (known == nullptr) {
      reason = facts_.why_missing(name);
      if (reason.empty()) reason = "not known";
    } else if (!is(*known, node.type)) {
      reason = "is not " + std::string(advice::name(node.type));
    } else if (is(*known, FactType::number) && !std::isfinite(std::get<double>(*known))) {
      reason = "is not a finite number";
    } else {
      return *known;
    }
    missing.emplace_back(name, std::move(reason));
    return std::nullopt;
  }

  // && is decided by one false, || by one true; only if neither side decides do both count.
  Value logic(const Node& node, bool decides, Missing& missing) const {
    Missing needed;
    bool all_known = true;
    for (const std::uint32_t arg : node.args) {
      Missing here;
      const Value value = of(arg, here);
      if (value && flag(value) == decides) return decides;
      all_known = all_known && value.has_value();
      merge(needed, std::move(here));
    }
    if (all_known) return !decides;
    merge(missing, std::move(needed));
    return std::nullopt;
  }

  // Everything else needs all that it is given.
  Value strict(const Node& node, Missing& missing) const {
    std::vector<Value> args;
    bool all_known = true;
    for (const std::uint32_t arg : node.args) {
      Missing here;
      args.push_back(of(arg, here));
      all_known = all_known && args.back().has_value();
      merge(missing, std::move(here));
    }
    if (!all_known) return std::nullopt;
    Value result = node.type == FactType::flag ? decide(node.op, args) : compute(node.op, args);
    if (!result) blame(node, missing);
    return result;
  }

  static Value decide(Op op, const std::vector<Value>& args) {
    switch (op) {
      case Op::not_:
        return !flag(args[0]);
      case Op::less:
        return number(args[0]) < number(args[1]);
      case Op::less_equal:
        return number(args[0]) <= number(args[1]);
      case Op::greater:
        return number(args[0]) > number(args[1]);
      case Op::greater_equal:
        return number(args[0]) >= number(args[1]);
      case Op::equal:
        return *args[0] == *args[1];
      case Op::not_equal:
        return *args[0] != *args[1];
      case Op::contains:
        return text(args[0]).find(text(args[1])) != std::string::npos;
      default:  // one_of
        return std::find(args.begin() + 1, args.end(), args[0]) != args.end();
    }
  }

  static Value compute(Op op, const std::vector<Value>& args) {
    double result = 0;
    switch (op) {
      case Op::negate:
        result = -number(args[0]);
        break;
      case Op::add:
        result = number(args[0]) + number(args[1]);
        break;
      case Op::subtract:
        result = number(args[0]) - number(args[1]);
        break;
      case Op::multiply:
        result = number(args[0]) * number(args[1]);
        break;
      case Op::divide:
        if (number(args[1]) == 0) return std::nullopt;
        result = number(args[0]) / number(args[1]);
        break;
      case Op::abs:
        result = std::fabs(number(args[0]));
        break;
      case Op::version:
        if (!version_number(text(args[0]), result)) return std::nullopt;
        break;
      default: {  // min, max
        const auto less = [](const Value& a, const Value& b) { return number(a) < number(b); };
        const auto [least, most] = std::minmax_element(args.begin(), args.end(), less);
        result = number(op == Op::min ? *least : *most);
      }
    }
    if (!std::isfinite(result)) return std::nullopt;
    return result;
  }

  // All is known and yet there is no result: a division by zero, a version that is none.
  void blame(const Node& node, Missing& missing) const {
    for (const std::uint32_t arg : node.args) {
      const Node& below = nodes_[arg];
      if (below.op != Op::fact) {
        blame(below, missing);
        continue;
      }
      Missing one;
      one.emplace_back(std::get<std::string>(below.value), "its value gives no result here");
      merge(missing, std::move(one));
    }
  }

  const std::vector<Node>& nodes_;
  const Facts& facts_;
};

}  // namespace

bool version_number(std::string_view text, double& number) noexcept {
  number = 0;
  double scale = 1e6;
  for (int part = 0; part < 3; ++part, scale /= 1e3) {
    unsigned value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc{} || value > 999) return part > 0 && failed != std::errc{};
    number += value * scale;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.starts_with('.')) return true;
    text.remove_prefix(1);
  }
  return true;
}

Outcome Expression::evaluate(const Facts& facts) const {
  Outcome outcome;
  const Value value = Evaluation(nodes_, facts).of(nodes_.size() - 1, outcome.missing);
  if (value) outcome.truth = flag(value) ? Truth::yes : Truth::no;
  return outcome;
}

}  // namespace genscope::advice
