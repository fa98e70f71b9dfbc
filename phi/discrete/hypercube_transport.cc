#include "phi/discrete/hypercube_transport.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

namespace reveza::phi {
namespace {

// Amounts below this are rounding errors.
constexpr double kNegligibleFlow = 1e-15;

// Four states form a ring: one flow determines the others, and its median minimises the cost.
double DistanceOfTwoNodes(const std::vector<double>& surplus) {
  std::array<double, 4> along = {surplus[0], surplus[0] + surplus[1],
                                 surplus[0] + surplus[1] + surplus[3], 0.0};
  std::ranges::sort(along);
  return along[3] + along[2] - along[1] - along[0];
}

// Masks of the states in which node 0 .. 5 is off, within a word.
constexpr std::array<std::uint64_t, 6> kOff = {0x5555555555555555, 0x3333333333333333,
                                               0x0f0f0f0f0f0f0f0f, 0x00ff00ff00ff00ff,
                                               0x0000ffff0000ffff, 0x00000000ffffffff};

// A set of states as bits.
template <std::size_t kWords>
struct States {
  std::array<std::uint64_t, kWords> words = {};

  bool Has(std::uint32_t state) const { return (words[state / 64] >> (state % 64) & 1) != 0; }
  void Add(std::uint32_t state) { words[state / 64] |= std::uint64_t{1} << (state % 64); }
  void Remove(std::uint32_t state) { words[state / 64] &= ~(std::uint64_t{1} << (state % 64)); }
  bool IsEmpty() const {
    std::uint64_t any = 0;
    for (const std::uint64_t word : words) any |= word;
    return any == 0;
  }

  template <typename Operation>
  States Combined(const States& other, const Operation& operation) const {
    States result;
    for (std::size_t i = 0; i < kWords; ++i) {
      result.words[i] = operation(words[i], other.words[i]);
    }
    return result;
  }
  States operator&(const States& other) const { return Combined(other, std::bit_and()); }
  States operator|(const States& other) const { return Combined(other, std::bit_or()); }
  States Without(const States& other) const {
    return Combined(other, [](std::uint64_t a, std::uint64_t b) { return a & ~b; });
  }
  bool operator==(const States&) const = default;

  // Maps each state to its neighbour that differs in this node.
  States Neighbours(int bit) const {
    States there;
    if (bit < 6) {
      const std::uint64_t off = kOff[bit];
      const int distance = 1 << bit;
      for (std::size_t i = 0; i < kWords; ++i) {
        there.words[i] = (words[i] & off) << distance | (words[i] >> distance & off);
      }
    } else {
      const std::size_t distance = std::size_t{1} << (bit - 6);
      for (std::size_t i = 0; i < kWords; ++i) there.words[(i ^ distance) % kWords] = words[i];
    }
    return there;
  }

  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (std::size_t i = 0; i < kWords; ++i) {
      for (std::uint64_t left = words[i]; left != 0; left &= left - 1) {
        visit(static_cast<std::uint32_t>(64 * i) +
              static_cast<std::uint32_t>(std::countr_zero(left)));
      }
    }
  }
};

}  // namespace

template <std::size_t kWords>
class HypercubeTransport::Search {
 public:
  Search(std::vector<double>& surplus, std::vector<double>& flow, int bits)
      : surplus_(surplus), flow_(flow), bits_(bits) {
    for (std::uint32_t state = 0; state < surplus.size(); ++state) {
      all_.Add(state);
      if (surplus[state] > kNegligibleFlow) sources_.Add(state);
      if (surplus[state] < -kNegligibleFlow) sinks_.Add(state);
    }
  }

  double Run() {
    while (!sources_.IsEmpty() && !sinks_.IsEmpty()) {
      if (Reach()) {
        MoveAll();
      } else if (!RaiseBeyondReach()) {
        break;
      }
    }
    double cost = 0;
    for (const double flow : flow_) cost += std::abs(flow);
    return cost / 2;  // each edge is counted from both ends
  }

 private:
  using Set = States<kWords>;

  // The states from which the edge of this node is admissible: it ascends in the dual, or cancels
  // flow in the opposite direction.
  Set Usable(std::size_t bit) const { return rises_[bit] | (falls_[bit] & against_[bit]); }

  // Breadth-first search from the sources. Returns true if it reaches a sink.
  bool Reach() {
    rings_.clear();
    rings_.push_back(sources_);
    reached_ = sources_;
    std::array<Set, kMaxHypercubeNodes> usable;
    for (std::size_t bit = 0; bit < static_cast<std::size_t>(bits_); ++bit) {
      usable[bit] = Usable(bit);
    }
    for (;;) {
      Set next;
      for (int bit = 0; bit < bits_; ++bit) {
        next = next | (rings_.back() & usable[bit]).Neighbours(bit);
      }
      next = next.Without(reached_);
      if (next.IsEmpty()) return false;
      reached_ = reached_ | next;
      rings_.push_back(next);
      if (!(next & sinks_).IsEmpty()) return true;
    }
  }

  // Raises the dual of unreached states by one. Returns false if there are none.
  bool RaiseBeyondReach() {
    const Set outside = all_.Without(reached_);
    if (outside.IsEmpty()) return false;
    for (std::size_t bit = 0; bit < static_cast<std::size_t>(bits_); ++bit) {
      const Set leaving = reached_ & outside.Neighbours(static_cast<int>(bit));
      const Set entering = outside & reached_.Neighbours(static_cast<int>(bit));
      // Leaving edges descend, or are level and ascend from now on; the converse for entering ones.
      const Set fell = leaving & falls_[bit];
      const Set rose = entering & rises_[bit];
      rises_[bit] = rises_[bit].Without(rose) | leaving.Without(fell);
      falls_[bit] = falls_[bit].Without(fell) | entering.Without(rose);
    }
    return true;
  }

  // Augments along one path to each sink of the last level that is still reachable.
  void MoveAll() {
    const Set ends = rings_.back() & sinks_;
    ends.ForEach([this](std::uint32_t end) { MoveTo(end); });
  }

  void MoveTo(std::uint32_t end) {
    path_.clear();
    std::uint32_t state = end;
    double amount = -surplus_[end];
    for (std::size_t ring = rings_.size() - 1; ring > 0; --ring) {
      int found = -1;
      for (int bit = 0; bit < bits_ && found < 0; ++bit) {
        const std::uint32_t before = state ^ (std::uint32_t{1} << bit);
        if (rings_[ring - 1].Has(before) && Usable(static_cast<std::size_t>(bit)).Has(before) &&
            (ring > 1 || sources_.Has(before))) {
          found = bit;
        }
      }
      if (found < 0) return;
      state ^= std::uint32_t{1} << found;
      const double flow = FlowTo(state, found);
      if (flow < 0) amount = std::min(amount, -flow);
      path_.push_back(found);
    }
    amount = std::min(amount, surplus_[state]);
    Change(surplus_[state], state, -amount);
    Change(surplus_[end], end, amount);
    for (; !path_.empty(); path_.pop_back()) {
      const int bit = path_.back();
      Push(state, bit, amount);
      state ^= std::uint32_t{1} << bit;
    }
  }

  void Change(double& surplus, std::uint32_t state, double more) {
    surplus += more;
    if (std::abs(surplus) > kNegligibleFlow) return;
    surplus = 0;
    sources_.Remove(state);
    sinks_.Remove(state);
  }

  double& FlowTo(std::uint32_t state, int bit) {
    return flow_[state * static_cast<std::size_t>(bits_) + static_cast<std::size_t>(bit)];
  }

  void Push(std::uint32_t state, int bit, double amount) {
    const std::uint32_t other = state ^ (std::uint32_t{1} << bit);
    double flow = FlowTo(state, bit) + amount;
    // Clear the rounding error of a cancelled flow.
    if (std::abs(flow) < kNegligibleFlow) flow = 0;
    FlowTo(state, bit) = flow;
    FlowTo(other, bit) = -flow;
    Set& against = against_[bit];
    against.Remove(state);
    against.Remove(other);
    if (flow < 0) against.Add(state);
    if (flow > 0) against.Add(other);
  }

  std::vector<double>& surplus_;
  std::vector<double>& flow_;
  int bits_;
  Set all_, sources_, sinks_, reached_;
  // By node: the states whose edge ascends, descends in the dual, and those that receive flow by
  // it.
  std::array<Set, kMaxHypercubeNodes> rises_, falls_, against_;
  std::vector<Set> rings_;
  std::vector<int> path_;
};

double HypercubeTransport::Distance(std::span<const double> p, std::span<const double> q) {
  const std::size_t states = p.size();
  const int bits = std::countr_zero(states);
  surplus_.resize(states);
  double apart = 0;
  for (std::size_t state = 0; state < states; ++state) {
    surplus_[state] = p[state] - q[state];
    apart += std::abs(surplus_[state]);
  }
  if (apart < 10 * kNegligibleFlow * static_cast<double>(states)) return 0;
  if (bits == 1) return std::abs(surplus_[0]);
  if (bits == 2) return DistanceOfTwoNodes(surplus_);
  flow_.assign(states * static_cast<std::size_t>(bits), 0.0);
  if (bits <= 6) return Search<1>(surplus_, flow_, bits).Run();
  if (bits == 7) return Search<2>(surplus_, flow_, bits).Run();
  return Search<4>(surplus_, flow_, bits).Run();
}

}  // namespace reveza::phi
