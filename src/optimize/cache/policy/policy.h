// What a cache keeps: the interface of the policies, and the list of nodes they are made of.
//
// A policy decides and holds no value, no key, no lock and no clock: the cache tells it what came,
// what was asked for and what went, and it names the nodes that must go. A node is a number that
// the cache gives to an entry and uses again once the entry is gone. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace genscope::optimize::cache {

using Node = std::uint32_t;
inline constexpr Node kNoNode = 0xFFFF'FFFF;

// Whoever costs less than this, or an unknown time, is as cheap as this: timings below are noise.
inline constexpr double kLeastCost = 1e-3;  // seconds

struct Item {
  std::uint64_t hash = 0;    // of the key; the same key has the same one, always
  std::uint64_t weight = 1;  // in the unit of the capacity
  double cost_s = 0;         // what making it anew takes; 0: not known
  std::uint32_t part = 0;    // which floor it is under, from 1; 0: none (floors.h)
};

// Hits of one node.
struct Touch {
  std::uint64_t hash;
  Node node;
  std::uint32_t times;
};

// A node and its hash, or kNoNode.
struct Next {
  Node node = kNoNode;
  std::uint64_t hash = 0;
};

// What may go next: the cache fetches it from memory before it is needed.
struct Soon {
  Next first;   // the first to be judged
  Next second;  // the one after it
  Next other;   // what it is judged against; mostly the same as last time
};

class Policy {
 public:
  virtual ~Policy() = default;

  // This key will be inserted soon: what that needs may come from memory meanwhile.
  virtual void expect(std::uint64_t /*hash*/) const noexcept {}
  // Takes effect with the next insert() or shrink().
  virtual void set_capacity(std::uint64_t weight) = 0;
  // `evicted` gets the nodes that must go, maybe `node` itself: it is then not worth its place.
  // They are the policy's no longer. A node that is in already is a broken promise of the caller.
  virtual void insert(Node node, const Item& item, std::vector<Node>& evicted) = 0;
  // Asked for and found. Unknown nodes are ignored: the cache tells of hits late. Several come at
  // once, so that what they need comes from memory together. Returns how many changed the order.
  virtual std::size_t touch(const Touch* touches, std::size_t count) = 0;
  // Gone for another reason: expired, replaced, erased. Unknown nodes are ignored.
  virtual void remove(Node node) = 0;
  // Down to the capacity.
  virtual void shrink(std::vector<Node>& evicted) = 0;
  // All nodes, the next to go first: for another policy that takes over.
  virtual void order(std::vector<Node>& nodes) const = 0;
  // Hash and weight of a node that is in.
  virtual Item item(Node node) const noexcept = 0;
  virtual Soon soon() const noexcept = 0;
  virtual const char* name() const noexcept = 0;
};

enum class PolicyKind : std::uint8_t { automatic, adaptive, s3, gdsf };

std::unique_ptr<Policy> make_policy(PolicyKind kind, std::uint64_t capacity);

}  // namespace genscope::optimize::cache
