// Integration cycles, a few at a time: `run`.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/python/native.h"
#include "phi/cycles/engine.h"
#include "phi/python/arrays.h"
#include "phi/run/device.h"
#include "phi/run/measured_cycles.h"
#include "phi/run/settings.h"

namespace reveza::phi {
namespace {

namespace nb = nanobind;
using python::Arguments;
using python::Check;
using python::Raise;
using python::ValueOf;
using python::WithoutLock;

RunSettings SettingsOf(const Arguments& given) {
  constexpr std::int64_t kMaxInteger = INT32_MAX;
  RunSettings settings;
  EngineSettings& engine = settings.engine;
  CycleConstants& constants = engine.constants;
  settings.cycles = given.Get<std::uint64_t>("cycles");
  engine.runs = given.Whole<int>("runs", 1, kMaxInteger);
  engine.seed = given.Get<std::uint64_t>("seed");
  engine.first_run = given.Get<std::uint32_t>("first_run");
  constants.dimension = given.Whole<int>("dimension", 1, kMaxInteger);
  constants.temperature = given.Get<float>("temperature");
  constants.repression = given.Get<float>("repression");
  constants.decay = given.Get<float>("decay");
  constants.min_variance = given.Get<float>("least_variance");
  constants.feedback = given.Get<float>("feedback");
  settings.window = given.Whole<int>("window", 1, kMaxInteger);
  settings.every = given.Whole<int>("every", 1, kMaxInteger);
  settings.lag = given.Whole<int>("lag", 1, kMaxInteger);
  settings.minimum = given.Get<bool>("mip");
  Check(SetMeasures(given.Get<std::string>("measures"), settings));
  Check(Prepare(settings));
  return settings;
}

// The runs of an iterator. Not moved: its members refer to each other.
class Cycles {
 public:
  explicit Cycles(nb::dict arguments) {
    const Arguments given(std::move(arguments));
    settings_ = SettingsOf(given);
    const auto wanted = given.Whole<int>("threads", 0, kMaxThreads);
    const int threads = wanted > 0 ? wanted : DefaultThreads(settings_.engine.runs);
    const Device device = ValueOf(ParseDevice(given.Get<std::string>("device")));
    const CpuOptions cpu = {.threads = threads};
    Check(CheckMemory(settings_, MaxHostBytes(device, settings_.engine, cpu, {}), FreeMemory()));
    engine_ = ValueOf(WithoutLock([&] { return MakeEngine(device, settings_.engine, cpu, {}); }));
    cycles_ = std::make_unique<MeasuredCycles>(settings_, *engine_, threads);
  }

  Cycles(const Cycles&) = delete;
  Cycles& operator=(const Cycles&) = delete;

  // Computes up to `most` of the cycles that are left. Returns their number, what they observed, a
  // row for each cycle and run, and their values, likewise.
  nb::tuple Advance(int most) {
    if (busy_) Raise(PyExc_RuntimeError, "another thread is using this iterator");
    const std::uint64_t left = settings_.cycles - cycles_->cycle();
    const auto count =
        static_cast<int>(std::min<std::uint64_t>(static_cast<std::uint64_t>(most), left));
    if (count == 0) return nb::make_tuple(0, nb::none(), nb::none(), nb::none());
    busy_ = true;
    std::vector<float> states;
    std::vector<std::uint64_t> hashes;
    const Status done = WithoutLock([&] {
      auto advanced = cycles_->Advance(count);
      for (const Observation& each : cycles_->observations()) {
        AppendStates(each, states);
        hashes.push_back(each.hash);
      }
      return advanced;
    });
    busy_ = false;
    Check(done);
    std::vector<double> values(cycles_->values().begin(), cycles_->values().end());
    const std::size_t rows = hashes.size();
    return nb::make_tuple(count, ArrayOf(std::move(hashes), rows, 1),
                          ArrayOf(std::move(states), rows, LayoutOf(settings_).states.size()),
                          ArrayOf(std::move(values), rows, cycles_->measures()));
  }

  std::vector<std::string> StateNames() const { return LayoutOf(settings_).states; }
  std::vector<std::string> Measures() const { return MeasureNames(settings_); }
  std::string Engine() const { return engine_->name(); }

 private:
  RunSettings settings_;
  std::unique_ptr<CycleEngine> engine_;
  std::unique_ptr<MeasuredCycles> cycles_;
  bool busy_ = false;  // of the lock of the interpreter
};

}  // namespace

void AddCycles(nb::module_& module) {
  nb::class_<Cycles>(module, "Cycles")
      .def(nb::init<nb::dict>(), nb::arg("arguments"))
      .def("advance", &Cycles::Advance, nb::arg("most"))
      .def_prop_ro("states", &Cycles::StateNames)
      .def_prop_ro("measures", &Cycles::Measures)
      .def_prop_ro("engine", &Cycles::Engine);
}

}  // namespace reveza::phi
