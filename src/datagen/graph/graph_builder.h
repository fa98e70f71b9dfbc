// Makes nodes and edges of the rows of one block. Not safe from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "datagen/batch.h"
#include "datagen/model.h"
#include "datagen/schema_graph.h"

namespace reveza::datagen {

class GraphBuilder {
 public:
  // Null: nobody wants those.
  GraphBuilder(BatchSink* nodes, BatchSink* edges);

  // All accounts of the block, before anything else of it.
  Status AddAccounts(const Batch& accounts);
  Status AddDevices(const Batch& devices);
  Status AddTransactions(const Batch& transactions);
  void AddRings(const Batch& rings);
  // The edges of frauds come last, when all chains are known.
  Status End();

 private:
  struct Edge {
    std::string_view source;
    std::string_view target;
    EdgeKind kind = EdgeKind::kOwns;
    int64_t at = 0;
    std::string_view transaction = {};  // empty: no payment, and none of what follows
    int64_t amount = 0;
    uint16_t payment_type = 0;
    bool is_fraud = false;
    uint16_t fraud_role = 0;
    std::string_view fraud_ring = {};
  };
  // One that has to wait, with its texts.
  struct FraudEdge {
    std::string source;
    std::string target;
    std::string transaction;
    Edge rest;
  };

  Status AddNode(std::string_view id, NodeKind kind);
  Status AddEdge(const Edge& edge);
  Status FlushNodes();
  Status FlushEdges();

  BatchSink* node_sink_;
  BatchSink* edge_sink_;
  Batch nodes_;
  Batch edges_;
  std::size_t node_rows_ = 0;
  std::size_t edge_rows_ = 0;
  std::unordered_set<uint64_t> seen_;                   // nodes, by kind and number
  std::unordered_map<uint64_t, std::string> accounts_;  // of customers, by their number
  std::unordered_map<uint64_t, std::string> rings_;     // of payments, by their number
  std::vector<FraudEdge> frauds_;
};

}  // namespace reveza::datagen
