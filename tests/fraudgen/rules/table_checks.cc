// The checks of taxpayer numbers, labels and graphs.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>

#include "fraudgen/values/civil_time.h"
#include "fraudgen/values/cpf.h"
#include "fraudgen/values/random.h"
#include "tests/fraudgen/rules/table_check.h"

namespace reveza::fraudgen::rules {
namespace {

bool HasCpfFormat(std::string_view text) {
  constexpr std::string_view kShape = "ddd.ddd.ddd-dd";
  return std::ranges::equal(text, kShape, [](char c, char shape) {
    return shape == 'd' ? c >= '0' && c <= '9' : c == shape;
  });
}

class CpfCheck final : public TableCheck {
 public:
  void Add(const Batch& batch, const Position& position) override {
    if (batch.table().name != "customers" && batch.table().name != "drivers") return;
    const Field cpf(batch, "cpf");
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      if (!cpf.Has(row)) continue;
      const std::string_view text = cpf.Text(row);
      const auto describe = [&] { return std::string(text); };
      const bool formatted = HasCpfFormat(text);
      shapes_.Check(formatted, position, row, describe);
      if (!formatted) continue;
      valid_.Check(IsValidCpf(text), position, row, describe);
    }
  }

  void Report(Tallies& tallies) const override {
    tallies.push_back(shapes_);
    tallies.push_back(valid_);
  }

 private:
  Tally shapes_{"CPFs: format is ddd.ddd.ddd-dd"};
  Tally valid_{"CPFs: check digits match"};
};

struct LabelCount {
  uint64_t rows = 0;
  uint64_t frauds = 0;
};

class LabelCheck final : public TableCheck {
 public:
  void Add(const Batch& batch, const Position& position) override {
    const std::string_view table = batch.table().name;
    if (table != "transactions" && table != "rides") return;
    const Field label(batch, "is_fraud");
    LabelCount& count = counts_[table][position.block];
    count.rows += batch.rows();
    for (std::size_t row = 0; row < batch.rows(); ++row) count.frauds += label.Flag(row) ? 1 : 0;
  }

  void Report(Tallies& tallies) const override {
    for (const auto& [table, blocks] : counts_) {
      LabelCount all;
      for (const auto& [block, count] : blocks) {
        all.rows += count.rows;
        all.frauds += count.frauds;
      }
      Tally even(fmt::format("labels: frauds of {} are spread evenly over blocks", table));
      for (const auto& [block, count] : blocks) {
        even.AddChecked();
        const double part = static_cast<double>(all.frauds) * static_cast<double>(count.rows) /
                            static_cast<double>(std::max<uint64_t>(1, all.rows));
        if (std::abs(static_cast<double>(count.frauds) - part) > 1.001) {
          even.AddFailure("block {} has {} frauds in {} rows, expected {:.1f}", block, count.frauds,
                          count.rows, part);
        }
      }
      tallies.push_back(even);
    }
  }

 private:
  std::map<std::string_view, std::map<uint64_t, LabelCount>> counts_;  // by table and block
};

uint64_t HashOfNode(std::string_view text) { return std::hash<std::string_view>()(text); }

// Hashes what an edge and its payment have in common.
uint64_t HashOfPayment(std::string_view transaction, std::string_view target, int64_t time,
                       int64_t amount, bool is_fraud) {
  uint64_t hash = Mix(HashOfNode(transaction) + HashOfNode(target));
  hash = Mix(hash ^ static_cast<uint64_t>(time));
  hash = Mix(hash ^ static_cast<uint64_t>(amount));
  return hash + (is_fraud ? 1 : 0);
}

class GraphCheck final : public TableCheck {
 public:
  void Add(const Batch& batch, const Position& position) override {
    const std::string_view table = batch.table().name;
    if (table == "nodes") AddNodes(batch, position);
    if (table == "edges") AddEdges(batch, position);
    if (table == "transactions" && has_edges_) AddPayments(batch, position);
  }

  void EndBlock() override {
    if (has_edges_) {
      same_.AddChecked();
      if (edges_ != payments_) same_.AddFailure("block {}", block_);
    }
    nodes_.clear();
    edges_ = payments_ = 0;
    has_edges_ = false;
  }

  void Report(Tallies& tallies) const override {
    for (const Tally* tally : {&once_, &ends_, &same_}) tallies.push_back(*tally);
  }

 private:
  void AddNodes(const Batch& batch, const Position& position) {
    const Field id(batch, "node_id");
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      once_.Check(nodes_.insert(HashOfNode(id.Text(row))).second, position, row,
                  [&] { return std::string(id.Text(row)); });
    }
  }

  void AddEdges(const Batch& batch, const Position& position) {
    const auto [source, target, transaction, time, amount, is_fraud] =
        NamedFields(batch, "source", "target", "transaction_id", "at", "amount", "is_fraud");
    has_edges_ = true;
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      ends_.AddChecked();
      for (const Field& end : {source, target}) {
        if (nodes_.contains(HashOfNode(end.Text(row)))) continue;
        ends_.AddFailure(position, row, [&] { return std::string(end.Text(row)); });
      }
      if (!transaction.Has(row)) continue;
      edges_ += HashOfPayment(transaction.Text(row), target.Text(row), time.Number(row),
                              amount.Number(row), is_fraud.Flag(row));
    }
  }

  void AddPayments(const Batch& batch, const Position& position) {
    const auto [id, status, merchant, receiver, time, amount, is_fraud] =
        NamedFields(batch, "transaction_id", "status", "merchant_id", "counterparty_account",
                    "timestamp", "amount", "is_fraud");
    block_ = position.block;
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      if (!status.Is(row, "APPROVED") && !status.Is(row, "PENDING")) continue;
      if (!merchant.Has(row) && !receiver.Has(row)) continue;
      const Field& target = merchant.Has(row) ? merchant : receiver;
      payments_ += HashOfPayment(id.Text(row), target.Text(row), time.Number(row),
                                 amount.Number(row), is_fraud.Flag(row));
    }
  }

  std::unordered_set<uint64_t> nodes_;  // hashes of their identifiers
  // Order-independent sums of hashes over the block.
  uint64_t edges_ = 0;
  uint64_t payments_ = 0;
  uint64_t block_ = 0;
  bool has_edges_ = false;

  Tally once_{"nodes: unique within a block"};
  Tally ends_{"edges: connect nodes of their block"};
  Tally same_{"edges: match the payments of their block"};
};

}  // namespace

std::unique_ptr<TableCheck> CheckCpfs() { return std::make_unique<CpfCheck>(); }

std::unique_ptr<TableCheck> CheckLabels() { return std::make_unique<LabelCheck>(); }

std::unique_ptr<TableCheck> CheckGraph() { return std::make_unique<GraphCheck>(); }

}  // namespace reveza::fraudgen::rules
