#include "phi/discrete/hypercube_transport.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace reveza::phi {
namespace {

// Less than this is what rounding left.
constexpr double kNothing = 1e-15;
constexpr int kMost = kMostHypercubeNodes;

// Four states are a ring: all flows along it follow from one, and the cost is least where that one
// is a median.
double DistanceOfTwoNodes(const std::vector<double>& surplus) {
  std::array<double, 4> along = {surplus[0], surplus[0] + surplus[1],
                                 surplus[0] + surplus[1] + surplus[3], 0.0};
  std::ranges::sort(along);
  return along[3] + along[2] - along[1] - along[0];
}

// The states in which a node below 6 is off, in one word.
constexpr std::array<std::uint64_t, 6> kOff = {0x5555555555555555, 0x3333333333333333,
                                               0x0f0f0f0f0f0f0f0f, 0x00ff00ff00ff00ff,
                                               0x0000ffff0000ffff, 0x00000000ffffffff};

// A set of states.
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

  States operator&(const States& other) const {
    States both;
    for (std::size_t i = 0; i < kWords; ++i) both.words[i] = words[i] & other.words[i];
    return both;
  }
  States operator|(const States& other) const {
    States either;
    for (std::size_t i = 0; i < kWords; ++i) either.words[i] = words[i] | other.words[i];
    return either;
  }
  States Without(const States& other) const {
    States rest;
    for (std::size_t i = 0; i < kWords; ++i) rest.words[i] = words[i] & ~other.words[i];
    return rest;
  }
  bool operator==(const States&) const = default;

  // Each state's neighbour that differs in this node.
  States Neighbours(int bit) const {
    States there;
    if (bit < 6) {
      const std::uint64_t off = kOff[static_cast<std::size_t>(bit)];
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
      if (surplus[state] > kNothing) sources_.Add(state);
      if (surplus[state] < -kNothing) sinks_.Add(state);
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
    return cost / 2;  // each edge is there from both ends
  }

 private:
  using Set = States<kWords>;

  // From where the edge of this node may be used: it leads upwards in the dual, or takes back what
  // flows against it.
  Set Usable(std::size_t bit) const { return rises_[bit] | (falls_[bit] & against_[bit]); }

  // Finds what the sources reach, ring by ring; true when there is a sink among it.
  bool Reach() {
    rings_.clear();
    rings_.push_back(sources_);
    reached_ = sources_;
    std::array<Set, kMost> usable;
    for (std::size_t bit = 0; bit < static_cast<std::size_t>(bits_); ++bit) {
      usable[bit] = Usable(bit);
    }
    bool found = false;
    for (;;) {
      Set next;
      for (int bit = 0; bit < bits_; ++bit) {
        next = next | (rings_.back() & usable[static_cast<std::size_t>(bit)]).Neighbours(bit);
      }
      next = next.Without(reached_);
      if (next.IsEmpty()) return found;
      reached_ = reached_ | next;
      rings_.push_back(next);
      if (!(next & sinks_).IsEmpty()) {
        found = true;
        return true;
      }
    }
  }

  // Makes the dual one more outside; false when nothing is there.
  bool RaiseBeyondReach() {
    const Set outside = all_.Without(reached_);
    if (outside.IsEmpty()) return false;
    for (std::size_t bit = 0; bit < static_cast<std::size_t>(bits_); ++bit) {
      const Set leaving = reached_ & outside.Neighbours(static_cast<int>(bit));
      const Set entering = outside & reached_.Neighbours(static_cast<int>(bit));
      // Leaving edges fall, or are level and rise from now on; the other way round for entering.
      const Set fell = leaving & falls_[bit];
      const Set rose = entering & rises_[bit];
      rises_[bit] = rises_[bit].Without(rose) | leaving.Without(fell);
      falls_[bit] = falls_[bit].Without(fell) | entering.Without(rose);
    }
    return true;
  }

  // Moves along one path to each sink of the last ring, where there still is one.
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
    if (std::abs(surplus) > kNothing) return;
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
    // What rounding leaves of a flow that was taken back is none.
    if (std::abs(flow) < kNothing) flow = 0;
    FlowTo(state, bit) = flow;
    FlowTo(other, bit) = -flow;
    Set& against = against_[static_cast<std::size_t>(bit)];
    against.Remove(state);
    against.Remove(other);
    if (flow < 0) against.Add(state);
    if (flow > 0) against.Add(other);
  }

  std::vector<double>& surplus_;
  std::vector<double>& flow_;
  int bits_;
  Set all_, sources_, sinks_, reached_;
  // By node: from where its edge leads to a dual of one more, one less; where flow comes in by it.
  std::array<Set, kMost> rises_, falls_, against_;
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
  if (apart < 10 * kNothing * static_cast<double>(states)) return 0;
  if (bits == 1) return std::abs(surplus_[0]);
  if (bits == 2) return DistanceOfTwoNodes(surplus_);
  flow_.assign(states * static_cast<std::size_t>(bits), 0.0);
  if (bits <= 6) return Search<1>(surplus_, flow_, bits).Run();
  if (bits == 7) return Search<2>(surplus_, flow_, bits).Run();
  return Search<4>(surplus_, flow_, bits).Run();
}

}  // namespace reveza::phi
