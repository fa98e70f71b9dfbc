#include "fraudgen/model/coherent/society.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fraudgen/lists/places.h"
#include "fraudgen/model/coherent/coherent_model.h"
#include "fraudgen/model/coherent/customer_state.h"
#include "fraudgen/model/coherent/draws.h"
#include "fraudgen/model/coherent/identity.h"
#include "fraudgen/schema/schema_coherent.h"

namespace reveza::fraudgen::coherent {
namespace society_test {

// The graph of honest payments between people, as it appears in the rows. The bounds are those of
// docs/fraud-model.md; a random graph is outside of each of them.

constexpr std::array<uint64_t, 3> kSeeds = {1, 7, 23};
constexpr std::size_t kCustomersOfTest = 1'500;

std::size_t At(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table.columns, name, &Column::name);
  return static_cast<std::size_t>(found - table.columns.begin());
}

using Edge = std::pair<uint32_t, uint32_t>;  // from, to

struct Graph {
  std::size_t customers = 0;  // the first nodes; the others are accounts at other banks
  std::vector<std::string> city;
  std::vector<int64_t> state;
  std::vector<double> income;                  // logarithm
  std::map<std::string, uint32_t> of_account;  // nodes
  std::set<Edge> edges;
  uint64_t payments = 0;

  bool IsCustomer(uint32_t node) const { return node < customers; }
};

// Collects who paid whom, by honest payments between people that were not declined.
class GraphSink : public BatchSink {
 public:
  Status Put(const Batch& batch) override {
    if (&batch.table() == &kCustomers) AddCustomers(batch);
    if (&batch.table() == &kAccounts) AddAccounts(batch);
    if (&batch.table() == &kTransactions) AddPayments(batch);
    return {};
  }
  Graph graph;

 private:
  void AddCustomers(const Batch& batch) {
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      customers_[std::string(batch.column(At(kCustomers, "customer_id")).TextAt(row))] =
          static_cast<uint32_t>(graph.customers++);
      graph.city.emplace_back(batch.column(At(kCustomers, "address.city")).TextAt(row));
      graph.state.push_back(batch.column(At(kCustomers, "address.state")).codes[row]);
      const auto income = batch.column(At(kCustomers, "monthly_income")).numbers[row];
      graph.income.push_back(std::log(static_cast<double>(income)));
    }
  }
  void AddAccounts(const Batch& batch) {
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      const std::string customer(batch.column(At(kAccounts, "customer_id")).TextAt(row));
      graph.of_account[std::string(batch.column(At(kAccounts, "account_id")).TextAt(row))] =
          customers_.at(customer);
    }
  }
  void AddPayments(const Batch& batch) {
    const std::size_t receiver = At(kTransactions, "counterparty_account");
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      const auto status =
          static_cast<PaymentStatus>(batch.column(At(kTransactions, "status")).codes[row]);
      const bool paid = status == PaymentStatus::kApproved || status == PaymentStatus::kPending;
      const bool shop = !batch.IsNull(At(kTransactions, "merchant_id"), row);
      const bool fraud = batch.column(At(kTransactions, "is_fraud")).flags[row] != 0;
      if (batch.IsNull(receiver, row) || shop || fraud || !paid) continue;
      const std::string account(batch.column(receiver).TextAt(row));
      const auto next = static_cast<uint32_t>(graph.of_account.size());
      const uint32_t to = graph.of_account.emplace(account, next).first->second;
      const std::string from(batch.column(At(kTransactions, "customer_id")).TextAt(row));
      graph.edges.emplace(customers_.at(from), to);
      ++graph.payments;
    }
  }

  std::map<std::string, uint32_t> customers_;
};

Graph GraphOf(uint64_t seed) {
  Parameters parameters;
  parameters.seed = seed;
  parameters.customers = kCustomersOfTest;
  parameters.rows = parameters.rows_per_block = 400'000;
  const auto model = CoherentModel::Make(parameters);
  GraphSink sink;
  if (!model) return sink.graph;
  // Whoever is paid must be known as a customer or not before the payments come.
  EXPECT_TRUE((*model)->Make(0, std::array{&kCustomers}, sink));
  EXPECT_TRUE((*model)->Make(0, std::array{&kAccounts}, sink));
  EXPECT_TRUE((*model)->Make(0, std::array{&kTransactions}, sink));
  return std::move(sink.graph);
}

std::vector<Edge> AmongCustomers(const Graph& graph) {
  std::vector<Edge> edges;
  std::ranges::copy_if(graph.edges, std::back_inserter(edges),
                       [&](const Edge& edge) { return graph.IsCustomer(edge.second); });
  return edges;
}

// The number of payers of each account, in descending order.
std::vector<double> InDegrees(const Graph& graph) {
  std::unordered_map<uint32_t, double> payers;
  for (const auto& [from, to] : graph.edges) ++payers[to];
  std::vector<double> degrees;
  for (const auto& [account, count] : payers) degrees.push_back(count);
  std::ranges::sort(degrees, std::greater());
  return degrees;
}

// Estimates the exponent of the tail of P(degree > x) from the `top` largest.
double Hill(const std::vector<double>& degrees, std::size_t top) {
  double sum = 0;
  for (std::size_t i = 0; i < top; ++i) sum += std::log(degrees[i] / degrees[top]);
  return static_cast<double>(top) / sum;
}

// The share of the edges that go to the `top` most popular receivers.
double ShareOfTop(const std::vector<double>& degrees, std::size_t top) {
  const double all = std::accumulate(degrees.begin(), degrees.end(), 0.0);
  return std::accumulate(degrees.begin(), degrees.begin() + static_cast<std::ptrdiff_t>(top), 0.0) /
         all;
}

double Reciprocity(const Graph& graph) {
  const std::vector<Edge> edges = AmongCustomers(graph);
  const auto mutual = std::ranges::count_if(
      edges, [&](const Edge& edge) { return graph.edges.contains({edge.second, edge.first}); });
  return static_cast<double>(mutual) / static_cast<double>(edges.size());
}

using Undirected = std::vector<Edge>;  // first < second, unique

Undirected WithoutDirection(const std::vector<Edge>& edges) {
  std::set<Edge> unique;
  for (const auto& [from, to] : edges) unique.emplace(std::min(from, to), std::max(from, to));
  return {unique.begin(), unique.end()};
}

// The share of pairs of somebody's neighbours that are neighbours, averaged over those with two or
// more.
double Clustering(const Undirected& edges) {
  const std::set<Edge> all(edges.begin(), edges.end());
  std::map<uint32_t, std::vector<uint32_t>> neighbours;
  for (const auto& [a, b] : edges) {
    neighbours[a].push_back(b);
    neighbours[b].push_back(a);
  }
  double sum = 0;
  int nodes = 0;
  for (auto& [node, others] : neighbours) {
    if (others.size() < 2) continue;
    std::ranges::sort(others);
    int closed = 0;
    for (std::size_t i = 0; i < others.size(); ++i) {
      for (std::size_t k = i + 1; k < others.size(); ++k) {
        closed += all.contains({others[i], others[k]}) ? 1 : 0;
      }
    }
    sum += 2.0 * closed / static_cast<double>(others.size() * (others.size() - 1));
    ++nodes;
  }
  return sum / nodes;
}

// A random graph with the same degrees: exchanges the ends of pairs of edges.
Undirected Rewired(Undirected edges) {
  std::set<Edge> all(edges.begin(), edges.end());
  Draws draws(1);
  for (std::size_t i = 0; i < 10 * edges.size(); ++i) {
    Edge& one = edges[draws.Below(edges.size())];
    Edge& other = edges[draws.Below(edges.size())];
    Edge first = {one.first, other.second};
    Edge second = {other.first, one.second};
    if (draws.Chance(500'000)) {
      first = {one.first, other.first};
      second = {one.second, other.second};
    }
    if (first.first > first.second) std::swap(first.first, first.second);
    if (second.first > second.second) std::swap(second.first, second.second);
    if (first.first == first.second || second.first == second.second || first == second ||
        all.contains(first) || all.contains(second)) {
      continue;
    }
    all.erase(one);
    all.erase(other);
    all.insert(first);
    all.insert(second);
    one = first;
    other = second;
  }
  return edges;
}

// The share of payments between customers whose `attribute` is the same.
double Alike(const std::vector<Edge>& edges, const auto& attribute) {
  const auto same = std::ranges::count_if(
      edges, [&](const Edge& edge) { return attribute[edge.first] == attribute[edge.second]; });
  return static_cast<double>(same) / static_cast<double>(edges.size());
}

double AlikeByChance(const auto& attribute) {
  std::map<typename std::decay_t<decltype(attribute)>::value_type, double> counts;
  for (const auto& value : attribute) ++counts[value];
  const auto all = static_cast<double>(attribute.size());
  return std::accumulate(counts.begin(), counts.end(), 0.0, [&](double sum, const auto& value) {
    return sum + value.second * value.second / all / all;
  });
}

double Correlation(const std::vector<Edge>& edges, const std::vector<double>& values) {
  double x = 0;
  double y = 0;
  double xx = 0;
  double yy = 0;
  double xy = 0;
  for (const auto& [from, to] : edges) {
    x += values[from];
    y += values[to];
    xx += values[from] * values[from];
    yy += values[to] * values[to];
    xy += values[from] * values[to];
  }
  const auto n = static_cast<double>(edges.size());
  return (xy - x * y / n) / std::sqrt((xx - x * x / n) * (yy - y * y / n));
}

class SocietyGraph : public testing::TestWithParam<uint64_t> {};

TEST_P(SocietyGraph, IsNoRandomGraph) {
  const Graph graph = GraphOf(GetParam());
  ASSERT_EQ(graph.customers, kCustomersOfTest);
  const std::vector<Edge> edges = AmongCustomers(graph);
  ASSERT_GT(edges.size(), 3 * kCustomersOfTest);

  const std::vector<double> degrees = InDegrees(graph);
  const double share = ShareOfTop(degrees, degrees.size() / 1'000);
  const double hill = Hill(degrees, 100);
  EXPECT_GT(hill, 1.2);
  EXPECT_LT(hill, 3.5);
  EXPECT_GT(share, 0.015);
  EXPECT_GT(degrees[0], 60);

  const double reciprocity = Reciprocity(graph);
  EXPECT_GT(reciprocity, 0.3);
  EXPECT_LT(reciprocity, 0.75);

  const Undirected ties = WithoutDirection(edges);
  const double clustering = Clustering(ties);
  const double random = Clustering(Rewired(ties));
  EXPECT_GT(clustering, 0.12);
  EXPECT_LT(clustering, 0.35);
  EXPECT_GT(clustering, 4 * random);

  const double city = Alike(edges, graph.city);
  const double state = Alike(edges, graph.state);
  EXPECT_GT(city, 0.5);
  EXPECT_LT(city, 0.85);
  EXPECT_GT(state, city);
  EXPECT_GT(state, 3 * AlikeByChance(graph.state));

  const double income = Correlation(edges, graph.income);
  EXPECT_GT(income, 0.08);
  RecordProperty("measures",
                 "hill " + std::to_string(hill) + ", top 0.1 % " + std::to_string(share) +
                     ", reciprocity " + std::to_string(reciprocity) + ", clustering " +
                     std::to_string(clustering) + ", rewired " + std::to_string(random) +
                     ", same city " + std::to_string(city) + ", same state " +
                     std::to_string(state) + ", income " + std::to_string(income) +
                     ", most payers " + std::to_string(degrees[0]) + ", edges " +
                     std::to_string(edges.size()) + " of " + std::to_string(graph.edges.size()));
}

INSTANTIATE_TEST_SUITE_P(Seeds, SocietyGraph, testing::ValuesIn(kSeeds));

World BlocksOf(uint64_t customers) {
  Parameters parameters;
  parameters.customers = customers;
  parameters.rows = 8 * customers;
  parameters.rows_per_block = 3'000;
  return World(parameters);
}

TEST(Society, ContactsAreUniqueAndOfTheBlockOrElsewhere) {
  const World world = BlocksOf(1'000);
  ASSERT_EQ(world.blocks(), 3u);
  for (uint64_t block = 0; block < world.blocks(); ++block) {
    const uint64_t first = world.FirstCustomer(block);
    for (uint64_t number = first; number < first + world.Customers(block); ++number) {
      const auto contacts = Society(world, block).ContactsOf(world.PersonOf(number), 10);
      EXPECT_GE(contacts.size(), 5u);
      EXPECT_LE(contacts.size(), kMaxContacts);
      EXPECT_EQ(std::set(contacts.begin(), contacts.end()).size(), contacts.size());
      for (const AccountNumber contact : contacts) {
        EXPECT_NE(contact, number);
        EXPECT_TRUE(contact >= world.customers() || contact - first < world.Customers(block));
      }
    }
  }
}

TEST(Society, TiesAreTheSameFromBothEnds) {
  const World world = BlocksOf(1'000);
  const Society society(world, 0);
  int mutual = 0;
  int one_way = 0;
  for (uint64_t number = 0; number < World::kTown; ++number) {
    const auto contacts = society.ContactsOf(world.PersonOf(number), 10);
    for (uint64_t other = 0; other < World::kTown; ++other) {
      if (other == number || !society.Pays(number, other)) continue;
      if (contacts.size() < kMaxContacts) {
        EXPECT_TRUE(std::ranges::find(contacts, other) != contacts.end());
      }
      (society.Pays(other, number) ? mutual : one_way) += 1;
    }
  }
  EXPECT_GT(mutual, 2 * one_way);
  EXPECT_GT(one_way, 10);
}

TEST(Society, SharesOfCustomersFollowTheParameter) {
  for (const uint32_t inside : {0u, 1'000'000u}) {
    Parameters parameters;
    parameters.customers = 500;
    parameters.population.contacts_inside = inside;
    const World world(parameters);
    for (uint64_t number = 0; number < 500; ++number) {
      for (const AccountNumber contact : Society(world, 0).ContactsOf(world.PersonOf(number), 20)) {
        EXPECT_EQ(contact < world.customers(), inside != 0) << number;
      }
    }
  }
}

TEST(Society, ColleaguesAreNoRelatives) {
  const World world = BlocksOf(1'000);
  std::map<uint64_t, std::set<uint64_t>> families;
  std::map<uint64_t, std::set<Place, decltype([](Place a, Place b) {
                                return std::pair(a.latitude, a.longitude) <
                                       std::pair(b.latitude, b.longitude);
                              })>>
      places;
  for (uint64_t number = 0; number < 960; ++number) {
    EXPECT_TRUE(families[world.TeamOf(number)].insert(number / World::kHousehold).second);
    const Person person = world.PersonOf(number);
    if (person.city == world.CityOfTown(number / World::kTown)) {
      places[world.TeamOf(number)].insert(person.work);
    }
  }
  EXPECT_EQ(families.size(), 960u / 8);
  for (const auto& [team, at] : places) EXPECT_EQ(at.size(), 1u) << "they work at one place";
}

TEST(Society, OutsidersLiveInTheTown) {
  const World world = BlocksOf(1'000);
  const Identity identity(world);
  int residents = 0;
  for (uint64_t index = 0; index < World::kOutsiders; ++index) {
    const Owner owner = identity.OwnerOf(world.OutsiderAccount(3, index), world.begin());
    residents += owner.city == world.CityOfTown(3) ? 1 : 0;
    EXPECT_EQ(owner.state, lists::kStateOfCity[owner.city]);
  }
  EXPECT_NEAR(residents, 256, 30);
  EXPECT_EQ(identity.OwnerOf(world.PopularAccount(17, 5), world.begin()).city, 17);
  EXPECT_FALSE(world.CityOfOutsider(world.PopularAccount(World::kCountry, 5)));
  EXPECT_FALSE(world.CityOfOutsider(world.StrangerAccount(5)));
}

}  // namespace society_test
}  // namespace reveza::fraudgen::coherent
