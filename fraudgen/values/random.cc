#include "fraudgen/values/random.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <numeric>
#include <vector>

#include "fraudgen/values/simd_width.h"

namespace reveza::fraudgen {
namespace {

constexpr int kIntervalBits = 9;
constexpr int kFractionBits = 32;
constexpr int kUnitBits = 16;

// Entry k is round(2^16 * quantile(1/2 + k/1024)); the last is 4 standard deviations.
constexpr std::array<int64_t, (1 << kIntervalBits) + 1> kQuantiles = {
    0,      160,    321,    481,    642,    802,    963,    1123,   1283,   1444,   1604,   1765,
    1925,   2086,   2246,   2407,   2567,   2728,   2889,   3049,   3210,   3370,   3531,   3692,
    3852,   4013,   4174,   4335,   4495,   4656,   4817,   4978,   5139,   5300,   5461,   5622,
    5783,   5944,   6105,   6266,   6427,   6588,   6750,   6911,   7072,   7234,   7395,   7557,
    7718,   7880,   8041,   8203,   8365,   8526,   8688,   8850,   9012,   9174,   9336,   9498,
    9660,   9823,   9985,   10147,  10310,  10472,  10634,  10797,  10960,  11122,  11285,  11448,
    11611,  11774,  11937,  12100,  12263,  12427,  12590,  12754,  12917,  13081,  13244,  13408,
    13572,  13736,  13900,  14064,  14228,  14393,  14557,  14721,  14886,  15051,  15215,  15380,
    15545,  15710,  15875,  16041,  16206,  16372,  16537,  16703,  16869,  17034,  17200,  17367,
    17533,  17699,  17865,  18032,  18199,  18366,  18532,  18699,  18867,  19034,  19201,  19369,
    19536,  19704,  19872,  20040,  20208,  20377,  20545,  20714,  20882,  21051,  21220,  21389,
    21559,  21728,  21898,  22067,  22237,  22407,  22577,  22748,  22918,  23089,  23259,  23430,
    23601,  23773,  23944,  24116,  24287,  24459,  24631,  24804,  24976,  25149,  25321,  25494,
    25668,  25841,  26014,  26188,  26362,  26536,  26710,  26885,  27059,  27234,  27409,  27584,
    27759,  27935,  28111,  28287,  28463,  28639,  28816,  28993,  29170,  29347,  29525,  29702,
    29880,  30058,  30237,  30415,  30594,  30773,  30952,  31132,  31311,  31491,  31671,  31852,
    32032,  32213,  32394,  32576,  32758,  32939,  33122,  33304,  33487,  33670,  33853,  34036,
    34220,  34404,  34588,  34773,  34958,  35143,  35328,  35514,  35700,  35886,  36072,  36259,
    36446,  36634,  36821,  37009,  37198,  37386,  37575,  37764,  37954,  38144,  38334,  38525,
    38715,  38907,  39098,  39290,  39482,  39675,  39868,  40061,  40254,  40448,  40642,  40837,
    41032,  41227,  41423,  41619,  41816,  42012,  42210,  42407,  42605,  42804,  43002,  43202,
    43401,  43601,  43801,  44002,  44203,  44405,  44607,  44809,  45012,  45216,  45419,  45624,
    45828,  46033,  46239,  46445,  46651,  46858,  47066,  47273,  47482,  47691,  47900,  48110,
    48320,  48531,  48742,  48954,  49166,  49379,  49592,  49806,  50021,  50235,  50451,  50667,
    50884,  51101,  51318,  51537,  51756,  51975,  52195,  52416,  52637,  52859,  53081,  53304,
    53528,  53752,  53977,  54202,  54428,  54655,  54883,  55111,  55340,  55569,  55799,  56030,
    56262,  56494,  56727,  56961,  57195,  57430,  57666,  57903,  58140,  58378,  58617,  58857,
    59097,  59339,  59581,  59824,  60067,  60312,  60557,  60804,  61051,  61299,  61548,  61798,
    62048,  62300,  62552,  62806,  63060,  63316,  63572,  63829,  64087,  64347,  64607,  64868,
    65131,  65394,  65659,  65924,  66191,  66458,  66727,  66997,  67268,  67541,  67814,  68089,
    68364,  68641,  68920,  69199,  69480,  69762,  70045,  70330,  70616,  70903,  71192,  71482,
    71774,  72067,  72361,  72657,  72954,  73253,  73554,  73855,  74159,  74464,  74771,  75079,
    75389,  75701,  76015,  76330,  76647,  76966,  77286,  77609,  77933,  78259,  78588,  78918,
    79250,  79584,  79921,  80259,  80600,  80943,  81288,  81635,  81985,  82337,  82691,  83048,
    83408,  83769,  84134,  84501,  84871,  85243,  85618,  85996,  86377,  86761,  87148,  87538,
    87931,  88327,  88727,  89129,  89536,  89945,  90358,  90775,  91196,  91620,  92048,  92481,
    92917,  93357,  93802,  94251,  94704,  95162,  95625,  96093,  96565,  97043,  97526,  98014,
    98507,  99007,  99512,  100023, 100540, 101064, 101594, 102131, 102675, 103225, 103784, 104350,
    104924, 105506, 106096, 106695, 107304, 107921, 108549, 109186, 109834, 110493, 111164, 111846,
    112540, 113248, 113968, 114703, 115453, 116218, 116999, 117797, 118613, 119448, 120303, 121178,
    122076, 122997, 123944, 124916, 125918, 126949, 128013, 129112, 130248, 131425, 132646, 133914,
    135235, 136614, 138055, 139567, 141156, 142834, 144610, 146500, 148519, 150691, 153042, 155608,
    158437, 161597, 165184, 169346, 174330, 180588, 189113, 202983, 262144,
};

}  // namespace

void FieldRandom::Fill(uint64_t row, std::span<uint64_t> bits, uint16_t draw) const {
  RunVectorised([random = *this, row, draw, bits] [[gnu::always_inline]] {
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = random.Bits(row + i, draw);
  });
}

void FieldRandom::FillAt(uint64_t row, std::span<const uint16_t> offsets, std::span<uint64_t> bits,
                         uint16_t draw) const {
  assert(bits.size() >= offsets.size());
  RunVectorised([random = *this, row, offsets, draw, out = bits.data()] [[gnu::always_inline]] {
    for (std::size_t i = 0; i < offsets.size(); ++i) out[i] = random.Bits(row + offsets[i], draw);
  });
}

void FieldRandom::FillAt(std::span<const uint64_t> rows, std::span<uint64_t> bits,
                         uint16_t draw) const {
  assert(bits.size() >= rows.size());
  RunVectorised([random = *this, rows, draw, out = bits.data()] [[gnu::always_inline]] {
    for (std::size_t i = 0; i < rows.size(); ++i) out[i] = random.Bits(rows[i], draw);
  });
}

WeightedChoice::WeightedChoice(std::span<const uint32_t> weights) : columns_(weights.size()) {
  const uint64_t total = std::accumulate(weights.begin(), weights.end(), uint64_t{0});
  assert(weights.size() <= std::numeric_limits<uint16_t>::max());
  assert(total > 0 && total <= std::numeric_limits<uint32_t>::max());
  // Each column holds `total`, each choice its weight times the number of columns. Small choices
  // leave room in their column, which large ones fill.
  const auto count = static_cast<uint32_t>(weights.size());
  std::vector<uint64_t> left(count);
  std::vector<uint32_t> small;
  std::vector<uint32_t> large;
  for (uint32_t i = 0; i < count; ++i) {
    left[i] = uint64_t{weights[i]} * count;
    (left[i] < total ? small : large).push_back(i);
  }
  const uint64_t all = std::numeric_limits<uint64_t>::max();
  while (!small.empty()) {
    const uint32_t own = small.back();
    small.pop_back();
    // Integer arithmetic is exact, so while one column is short another has a surplus.
    const uint32_t other = large.back();
    const auto part = static_cast<unsigned __int128>(left[own]) << 64;
    const auto limit = static_cast<uint64_t>(part / total);
    columns_[own] = limit == 0 ? Column{.last_own = all, .own = other, .other = other}
                               : Column{.last_own = limit - 1, .own = own, .other = other};
    left[other] -= total - left[own];
    if (left[other] < total) {
      large.pop_back();
      small.push_back(other);
    }
  }
  for (const uint32_t full : large) {
    columns_[full] = Column{.last_own = all, .own = full, .other = full};
  }
}

// A Feistel network over an even number of bits; values outside the range are fed back until they
// fall into it (cycle walking), fewer than four steps on average.
Permutation::Permutation(uint64_t key, uint64_t size) : size_(size) {
  assert(size >= 1 && size <= uint64_t{1} << 62);
  while (half_bits_ < 31 && (uint64_t{1} << (2 * half_bits_)) < size) ++half_bits_;
  half_mask_ = (uint64_t{1} << half_bits_) - 1;
  for (int round = 0; round < kRounds; ++round) {
    keys_[round] = Mix(Mix(key) + static_cast<uint64_t>(round));
  }
}

uint64_t Permutation::Forward(uint64_t value) const {
  uint64_t left = value >> half_bits_;
  uint64_t right = value & half_mask_;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t next = left ^ (Mix(right ^ keys_[round]) & half_mask_);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

uint64_t Permutation::Backward(uint64_t value) const {
  uint64_t left = value >> half_bits_;
  uint64_t right = value & half_mask_;
  for (int round = kRounds - 1; round >= 0; --round) {
    const uint64_t previous = right ^ (Mix(left ^ keys_[round]) & half_mask_);
    right = left;
    left = previous;
  }
  return left << half_bits_ | right;
}

uint64_t Permutation::At(uint64_t index) const {
  assert(index < size_);
  uint64_t value = Forward(index);
  while (value >= size_) value = Forward(value);
  return value;
}

uint64_t Permutation::IndexOf(uint64_t number) const {
  assert(number < size_);
  uint64_t value = Backward(number);
  while (value >= size_) value = Backward(value);
  return value;
}

int64_t NormalOf(uint64_t bits) {
  const bool negative = (bits >> 63) != 0;
  const uint64_t interval = (bits >> (63 - kIntervalBits)) & ((1u << kIntervalBits) - 1);
  const auto fraction = static_cast<int64_t>((bits >> (63 - kIntervalBits - kFractionBits)) &
                                             ((uint64_t{1} << kFractionBits) - 1));
  const int64_t low = kQuantiles[interval];
  const int64_t high = kQuantiles[interval + 1];
  const int64_t size = low + (((high - low) * fraction) >> kFractionBits);
  return negative ? -size : size;
}

int64_t ClampedNormal(uint64_t bits, int64_t mean, int64_t deviation, int64_t min, int64_t max) {
  constexpr int64_t kHalf = int64_t{1} << (kUnitBits - 1);
  const int64_t offset = (deviation * NormalOf(bits) + kHalf) >> kUnitBits;
  return std::clamp(mean + offset, min, max);
}

}  // namespace reveza::fraudgen
