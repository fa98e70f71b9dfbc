#include "runner/decide/estimate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <random>

namespace reveza::runner {
namespace {

constexpr std::size_t kMostSeen = 256;
constexpr std::size_t kEnough = 12;      // steps at the same number of workers
constexpr std::uint64_t kFewest = 3;     // that must have ended
constexpr std::uint64_t kPlayed = 200;   // last steps, one by one; those before are a sum
constexpr std::size_t kPlays = 41;       // how often
constexpr std::size_t kMedianPlay = 20;  // of them in order of length
constexpr std::size_t kLongPlay = 36;
constexpr std::size_t kBatches = 8;
constexpr std::size_t kFewestInBatch = 4;
constexpr double kOverdue = 0.1;  // of its time, that a step which takes longest goes on

// The variance of the times when a machine is quick and when it is slow: by how much means of
// consecutive steps differ more than chance would have it.
double VarianceBetween(std::span<const double> values, double deviation) {
  const std::size_t each = values.size() / kBatches;
  if (each < kFewestInBatch) return 0;
  std::vector<double> means;
  for (std::size_t i = 0; i < kBatches; ++i) {
    const auto batch = values.subspan(i * each, each);
    means.push_back(std::accumulate(batch.begin(), batch.end(), 0.0) / static_cast<double>(each));
  }
  const double mean = std::accumulate(means.begin(), means.end(), 0.0) / kBatches;
  double variance = 0;
  for (const double one : means) variance += (one - mean) * (one - mean) / (kBatches - 1);
  return std::max(0.0, variance - deviation * deviation / static_cast<double>(each));
}

std::chrono::nanoseconds Nanoseconds(double seconds) {
  constexpr double kMost = 100.0 * 365 * 24 * 3600;
  return std::chrono::nanoseconds(std::llround(std::clamp(seconds, 0.0, kMost) * 1e9));
}

}  // namespace

double Estimator::Model::At(double ahead, double rest) const {
  if (!drift) return rest;
  // Steps that grow shorter do not vanish.
  const double least = drift->At(last) / 4;
  return std::max(least, drift->At(last + ahead) + rest);
}

void Estimator::Finished(std::uint64_t index, std::chrono::nanoseconds duration, unsigned workers,
                         WorkClass step_class) {
  Class& of = classes_[step_class];
  // The oldest half goes at once, so that nothing is moved for each step.
  if (of.seen.size() >= 2 * kMostSeen) of.seen.erase(of.seen.begin(), of.seen.end() - kMostSeen);
  of.seen.push_back({static_cast<double>(index),
                     std::max(0.0, std::chrono::duration<double>(duration).count()), workers});
  ++of.count;
  ++finished_;
}

// The last steps, those with as many workers only where there are enough.
std::vector<TimedStep> Estimator::Comparable(const Class& of, unsigned workers) {
  const auto first =
      of.seen.end() - static_cast<std::ptrdiff_t>(std::min(of.seen.size(), kMostSeen));
  const auto alike = std::count_if(first, of.seen.end(),
                                   [&](const Seen& seen) { return seen.workers == workers; });
  const bool all = static_cast<std::size_t>(alike) < kEnough;
  std::vector<TimedStep> steps;
  for (auto seen = first; seen != of.seen.end(); ++seen) {
    if (all || seen->workers == workers) steps.push_back({seen->index, seen->seconds});
  }
  std::ranges::sort(steps, {}, &TimedStep::index);
  return steps;
}

Estimator::Model Estimator::ModelOf(WorkClass step_class, unsigned workers) const {
  Model model;
  const auto found = classes_.find(step_class);
  if (found == classes_.end()) {
    for (const auto& [name, of] : classes_) {
      for (const TimedStep& step : Comparable(of, workers)) model.rests.push_back(step.seconds);
    }
    // A map has no order that can be relied on.
    std::ranges::sort(model.rests);
  } else {
    const std::vector<TimedStep> steps = Comparable(found->second, workers);
    const Trend trend = FindTrend(steps);
    model.drift = trend.drift;
    model.last = steps.back().index;
    for (std::size_t i = trend.from; i < steps.size(); ++i) {
      model.rests.push_back(steps[i].seconds - (trend.drift ? trend.drift->At(steps[i].index) : 0));
    }
  }
  const auto count = static_cast<double>(model.rests.size());
  model.mean = std::accumulate(model.rests.begin(), model.rests.end(), 0.0) / count;
  for (const double rest : model.rests) {
    model.deviation += (rest - model.mean) * (rest - model.mean) / count;
  }
  const double between =
      found == classes_.end() ? 0 : VarianceBetween(model.rests, std::sqrt(model.deviation));
  model.unsure = std::sqrt(model.deviation / count + between);
  model.deviation = std::sqrt(model.deviation);
  return model;
}

// One way in which the rest may go.
struct Estimator::Play {
  const std::vector<std::pair<Model, std::uint64_t>>& left;
  const std::vector<std::pair<Model, double>>& running;
  unsigned workers;
  std::mt19937& random;

  double Normal() { return std::normal_distribution<double>()(random); }
  double Draw(const Model& model) { return model.rests[random() % model.rests.size()]; }

  double Unfinished(const Model& model, double elapsed) {
    for (int i = 0; i < 8; ++i) {
      const double whole = model.At(1, Draw(model));
      if (whole > elapsed) return whole - elapsed;
    }
    return kOverdue * elapsed;
  }

  // Of so many steps from now on, drawn all at once.
  static double Sum(const Model& model, double steps) {
    double sum = steps * model.mean;
    if (model.drift) {
      // The first and the last; between them it is a line.
      sum = steps / 2 * (model.At(1, model.mean) + model.At(steps, model.mean));
    }
    return std::max(0.0, sum);
  }

  double Seconds() {
    std::priority_queue<double, std::vector<double>, std::greater<>> free;
    for (const auto& [model, elapsed] : running) free.push(Unfinished(model, elapsed));
    while (free.size() < workers) free.push(0);
    std::uint64_t all = 0;
    for (const auto& [model, steps] : left) all += steps;
    double bulk = 0;
    std::vector<double> last;
    for (const auto& [model, steps] : left) {
      // How far the mean of all is from that of those that were seen.
      const double shift = Normal() * model.unsure;
      const auto total = static_cast<double>(steps);
      const double played =
          all <= kPlayed
              ? total
              : std::floor(total * static_cast<double>(kPlayed) / static_cast<double>(all));
      const double summed = total - played;
      bulk += Sum(model, summed) + summed * shift + Normal() * model.deviation * std::sqrt(summed);
      for (double i = summed; i < total; ++i) {
        last.push_back(std::max(0.0, model.At(i + 1, Draw(model)) + shift));
      }
    }
    std::ranges::shuffle(last, random);
    double end = 0;
    for (const double seconds : last) {
      const double done = free.top() + seconds;
      free.pop();
      free.push(done);
      end = std::max(end, done);
    }
    if (last.empty()) {
      for (; !free.empty(); free.pop()) end = free.top();
    }
    return end + std::max(0.0, bulk) / workers;
  }
};

std::optional<RemainingTime> Estimator::Remaining(std::span<const WorkLeft> left,
                                                  std::span<const InFlight> running,
                                                  unsigned workers) const {
  const GroupLeft group{0, workers, {left.begin(), left.end()}, {running.begin(), running.end()}};
  return Remaining({&group, 1});
}

std::optional<RemainingTime> Estimator::Remaining(std::span<const GroupLeft> groups) const {
  if (finished_ < kFewest) return std::nullopt;
  struct Group {
    std::vector<std::pair<Model, std::uint64_t>> left;
    std::vector<std::pair<Model, double>> running;
    unsigned workers = 1;
  };
  std::map<unsigned, std::vector<Group>> phases;
  for (const GroupLeft& given : groups) {
    Group group;
    group.workers = std::max(1u, given.workers);
    for (const WorkLeft& work : given.left) {
      if (work.steps == 0) continue;
      group.left.emplace_back(ModelOf(work.step_class, group.workers), work.steps);
    }
    for (const InFlight& step : given.running) {
      group.running.emplace_back(ModelOf(step.step_class, group.workers),
                                 std::chrono::duration<double>(step.elapsed).count());
    }
    phases[given.phase].push_back(std::move(group));
  }
  std::mt19937 random(1);  // the same for the same
  std::vector<double> plays;
  for (std::size_t i = 0; i < kPlays; ++i) {
    double seconds = 0;
    for (const auto& [phase, at_once] : phases) {
      double longest = 0;
      for (const Group& group : at_once) {
        longest =
            std::max(longest, Play{group.left, group.running, group.workers, random}.Seconds());
      }
      seconds += longest;
    }
    plays.push_back(seconds);
  }
  std::ranges::sort(plays);
  return RemainingTime{Nanoseconds(plays[kMedianPlay]), Nanoseconds(plays[kLongPlay])};
}

std::optional<Drift> Estimator::MainDrift() const {
  const auto main =
      std::ranges::max_element(classes_, {}, [](const auto& entry) { return entry.second.count; });
  if (main == classes_.end()) return std::nullopt;
  return FindTrend(Comparable(main->second, main->second.seen.back().workers)).drift;
}

}  // namespace reveza::runner
