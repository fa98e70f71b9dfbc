#include "scheduler/room.h"

#include <algorithm>

#include "scheduler/admission.h"
#include "scheduler/gates.h"
#include "scheduler/host.h"
#include "scheduler/slices.h"

namespace reveza::scheduler {
namespace {

// In the order in which their memory goes: who runs last goes first.
std::vector<Job*> EvictionOrder(Books& books, const JobSet& in) {
  std::vector<Job*> order;
  for (auto& [id, job] : books.jobs) {
    if (!in.contains(id)) order.push_back(&job);
  }
  const auto key = [](const Job* job) {
    const bool waits = job->waiting_since.has_value();
    // Idle ones by their last turn, oldest first; waiting ones by their wait, youngest first.
    const Time::rep age = waits ? -job->waiting_since->count() : job->turn_start.count();
    return std::make_tuple(waits && !job->queued, age, job->id);
  };
  std::sort(order.begin(), order.end(),
            [&](const Job* a, const Job* b) { return key(a) < key(b); });
  return order;
}

Bytes EvictLeft(const Client& client) {
  Bytes sum = 0;
  for (const auto& [gpu, holding] : client.gpus) sum += holding.evict_left;
  return sum;
}

Bytes HostFree(const Books& books) {
  const Bytes reserved = books.HostReserved();
  return books.config.host_budget > reserved ? books.config.host_budget - reserved : 0;
}

// What the jobs of `in`, and an approved context, lack on a GPU.
Bytes Lacking(const Books& books, GpuId gpu, const JobSet& in) {
  Bytes sum = 0;
  for (const JobId id : in) sum += books.Deficit(books.jobs.at(id), gpu);
  for (const PendingGrowth& growth : books.growths) {
    if (growth.gpu != gpu || !in.contains(growth.job) || !books.ComesWithEntry(growth)) continue;
    sum += growth.bytes;
  }
  const Gpu& card = books.gpus.at(gpu);
  return sum + (card.context_for ? books.ContextEstimate(card) : 0);
}

// The same beyond what is free or on its way back.
std::int64_t Shortage(const Books& books, GpuId gpu, const JobSet& in) {
  return static_cast<std::int64_t>(Lacking(books, gpu, in)) - books.Free(gpu) -
         static_cast<std::int64_t>(books.Returning(gpu));
}

struct Grant {
  Books& books;
  GpuId gpu;
  std::int64_t left;  // negative: what is lacking so far

  bool Take(Bytes bytes) {
    const bool enough = left >= static_cast<std::int64_t>(bytes);
    left -= static_cast<std::int64_t>(bytes);
    return enough;
  }
};

void GrantGrowths(Grant& grant) {
  Books& books = grant.books;
  for (auto growth = books.growths.begin(); growth != books.growths.end();) {
    if (growth->gpu != grant.gpu || !growth->approved || !grant.Take(growth->bytes)) {
      ++growth;
      continue;
    }
    Holding& holding = *books.Find(growth->client, growth->gpu);
    holding.credit += growth->bytes;
    if (growth->kind == GrowthKind::kPinned) holding.pinned_on_the_way += growth->bytes;
    books.decisions.push_back(AnswerGrowth{growth->client, growth->request, growth->gpu,
                                           Growth::kGranted, growth->bytes});
    growth = books.growths.erase(growth);
  }
}

void GrantContext(Grant& grant) {
  Gpu& card = grant.books.gpus.at(grant.gpu);
  if (!card.context_for) return;
  const Bytes estimate = grant.books.ContextEstimate(card);
  if (grant.Take(estimate)) AdmitNow(grant.books, grant.gpu, *card.context_for, estimate);
}

void GiveToEntering(Grant& grant, Job& job) {
  for (auto& [id, client] : job.clients) {
    const Bytes deficit = grant.books.Deficit(client, grant.gpu);
    if (deficit == 0) continue;
    if (grant.left > 0 && client.swap_in_serial != 0) {
      const Bytes give = std::min<Bytes>(deficit, static_cast<Bytes>(grant.left));
      client.gpus.at(grant.gpu).credit += give;
      grant.books.decisions.push_back(GiveCredit{id, grant.gpu, give});
    }
    grant.left -= static_cast<std::int64_t>(deficit);
  }
}

void SendEvictions(Books& books, GpuId gpu, std::int64_t shortage) {
  Bytes host_free = HostFree(books);
  const Bytes granule = std::max<Bytes>(books.gpus.at(gpu).config.granule, 1);
  for (Job* job : EvictionOrder(books, books.InOrEntering())) {
    if (shortage <= 0) return;
    if (job->phase != Phase::kOut) continue;
    if (!books.Reached(job->evictable_at)) continue;
    Bytes none = 0;
    Bytes& host_left = KeepsItsPlace(books, *job) ? none : host_free;
    for (auto& [id, client] : job->clients) {
      const Bytes most = books.Evictable(client, gpu);
      if (most == 0 || shortage <= 0) continue;
      Holding& holding = client.gpus.at(gpu);
      if (holding.evict_serial != 0) continue;
      const Bytes wanted = std::min(most, RoundUp(static_cast<Bytes>(shortage), granule));
      const Bytes bytes =
          Books::EvictableWithin(client, wanted, EvictLeft(client), granule, host_left);
      if (bytes == 0) continue;
      client.host_reserved =
          std::max(Books::HostReserved(client),
                   std::min(client.Swapped() + EvictLeft(client) + bytes, client.Backed()));
      client.swap_in_serial = 0;
      holding.evict_serial = books.NextSerial();
      holding.evict_asked = holding.evict_left = bytes;
      books.decisions.push_back(Evict{id, gpu, bytes, holding.evict_serial});
      shortage -= static_cast<std::int64_t>(bytes);
    }
  }
}

void SendSwapIns(Books& books) {
  for (auto& [job_id, job] : books.jobs) {
    if (job.phase != Phase::kEntering) continue;
    for (auto& [id, client] : job.clients) {
      if (client.swap_in_serial != 0 || client.Swapped() == 0 || client.Evicting()) continue;
      client.swap_in_serial = books.NextSerial();
      books.decisions.push_back(SwapIn{id, client.swap_in_serial});
    }
  }
}

std::vector<Job*> EnteringByAge(Books& books) {
  std::vector<Job*> entering;
  for (auto& [id, job] : books.jobs) {
    if (job.phase == Phase::kEntering) entering.push_back(&job);
  }
  std::sort(entering.begin(), entering.end(),
            [](const Job* a, const Job* b) { return a->entered < b->entered; });
  return entering;
}

// Neither while it could not be closed, after a failed drain.
bool SliceIsOver(Books& books, const Job& job) {
  return job.phase == Phase::kIn && books.Reached(ClosableAt(books, job));
}

// Whether a job may lose its place for the growth of another.
bool GivesWay(Books& books, const Job& job, const Job& grower) {
  // It comes in by right of its turn; or its memory could go nowhere.
  if (job.phase == Phase::kEntering && job.displaced_others) return false;
  if (KeepsItsPlace(books, job)) return false;
  if (job.phase == Phase::kIn && job.AllIdle()) return true;
  if (KeepsItsPlace(books, grower)) return true;
  const bool over = SliceIsOver(books, job);
  if (over != SliceIsOver(books, grower)) return over;
  return !over && job.entered > grower.entered;
}

// Who may be closed to make room, the first to go first: idle ones, then those whose slice is over,
// those that ran longest first, then those that came in last; at the very end who has nowhere to
// go. `grower` 0: not for growth, but for something that comes before any slice.
std::vector<Job*> ClosingOrder(Books& books, GpuId gpu, JobId grower) {
  const auto key = [&](const Job& job) {
    const bool over = SliceIsOver(books, job);
    return std::make_tuple(
        KeepsItsPlace(books, job), job.phase == Phase::kEntering && job.displaced_others,
        !(over && job.AllIdle()), !over,
        over ? job.turn_start.count() : -static_cast<Time::rep>(job.entered), job.id);
  };
  std::vector<std::pair<decltype(key(Job{})), Job*>> order;
  for (auto& [id, job] : books.jobs) {
    if (id == grower || books.Entry(job, gpu) <= books.Fixed(job, gpu)) continue;
    if (job.phase != Phase::kIn && job.phase != Phase::kEntering) continue;
    if (grower == 0 || GivesWay(books, job, books.jobs.at(grower))) {
      order.emplace_back(key(job), &job);
    }
  }
  std::sort(order.begin(), order.end());
  std::vector<Job*> jobs;
  for (const auto& [position, job] : order) jobs.push_back(job);
  return jobs;
}

bool HasRoom(Books& books, GpuId gpu, const JobSet& in) {
  return books.Fits(gpu, in) && EvictionsSuffice(books, in);
}

// Whether the job could have what is approved for it with nobody else in.
bool HasRoomAlone(Books& books, const Job& job) {
  return books.CanRunAlone(job) && EvictionsSuffice(books, JobSet{job.id});
}

// Those closed first may not have been needed once a larger one was chosen.
template <typename Enough>
void LeaveWhoMust(Books& books, const std::vector<Job*>& closing, JobSet in, Enough enough) {
  for (Job* job : closing) {
    in.insert(job->id);
    if (enough(in)) continue;
    in.erase(job->id);
    Leave(books, *job);
  }
}

}  // namespace

bool EvictionsSuffice(Books& books, const JobSet& in) {
  Bytes host_free = HostFree(books);
  std::map<ClientId, Bytes> planned;
  for (const auto& [gpu, card] : books.gpus) {
    std::int64_t shortage = Shortage(books, gpu, in);
    // What a card is beyond its budget keeps nobody waiting who lacks nothing there.
    if (shortage <= 0 || Lacking(books, gpu, in) == 0) continue;
    const Bytes granule = std::max<Bytes>(card.config.granule, 1);
    for (Job* job : EvictionOrder(books, in)) {
      if (shortage <= 0) break;
      if (!job->Uses(gpu) || !books.Reached(job->evictable_at)) continue;
      Bytes none = 0;
      Bytes& host_left = KeepsItsPlace(books, *job) ? none : host_free;
      for (const auto& [id, client] : job->clients) {
        const Bytes evictable = books.Evictable(client, gpu);
        const auto holding = client.gpus.find(gpu);
        if (evictable == 0 || evictable <= holding->second.evict_left || shortage <= 0) continue;
        const Bytes most = evictable - holding->second.evict_left;
        const Bytes wanted = std::min(most, RoundUp(static_cast<Bytes>(shortage), granule));
        const Bytes bytes = Books::EvictableWithin(client, wanted, EvictLeft(client) + planned[id],
                                                   granule, host_left);
        planned[id] += bytes;
        shortage -= static_cast<std::int64_t>(bytes);
      }
    }
    if (shortage > 0) return false;
  }
  return true;
}

Fit MakeFit(Books& books, GpuId gpu, JobId grower) {
  JobSet in = books.InOrEntering();
  JobSet in_later = in;  // when also those have left that cannot be closed now
  std::vector<Job*> closing;
  for (Job* job : ClosingOrder(books, gpu, grower)) {
    if (HasRoom(books, gpu, in)) break;
    in_later.erase(job->id);
    if (job->GateOpenSomewhere() && !books.Reached(job->closable_at)) continue;
    in.erase(job->id);
    closing.push_back(job);
  }
  if (HasRoom(books, gpu, in)) {
    LeaveWhoMust(books, closing, in,
                 [&](const JobSet& fewer) { return HasRoom(books, gpu, fewer); });
    return Fit::kYes;
  }
  if (HasRoom(books, gpu, in_later)) return Fit::kNotNow;
  const bool lacks_host_memory = books.Fits(gpu, in_later);
  if (grower != 0 && in_later.size() > 1) {
    JobSet others = books.InOrEntering();
    others.erase(grower);
    const bool its_turn_will_do = !lacks_host_memory || HasRoomAlone(books, books.jobs.at(grower));
    if (its_turn_will_do && books.Fits(gpu, others)) return Fit::kItself;
  }
  return lacks_host_memory ? Fit::kNoHostMemory : Fit::kNotNow;
}

void Shrink(Books& books) {
  for (auto& [gpu, card] : books.gpus) {
    JobSet in = books.InOrEntering();
    if (books.Fits(gpu, in)) continue;
    card.context_for.reset();
    for (PendingGrowth& growth : books.growths) {
      if (growth.gpu == gpu) growth.approved = false;
    }
    std::vector<Job*> closing;
    for (Job* job : ClosingOrder(books, gpu, 0)) {
      if (books.Fits(gpu, in)) break;
      if (job->GateOpenSomewhere() && !books.Reached(job->closable_at)) continue;
      in.erase(job->id);
      closing.push_back(job);
    }
    LeaveWhoMust(books, closing, in, [&](const JobSet& fewer) { return books.Fits(gpu, fewer); });
  }
}

void GiveUpWhatIsHopeless(Books& books) {
  std::vector<Job*> entering = EnteringByAge(books);
  while (!entering.empty() && !EvictionsSuffice(books, books.InOrEntering())) {
    Job& last = *entering.back();
    entering.pop_back();
    bool lacks = false;
    for (const auto& [gpu, card] : books.gpus) lacks = lacks || books.Deficit(last, gpu) > 0;
    if (lacks && !last.GateOpenSomewhere()) Leave(books, last);
  }
  for (auto& [gpu, card] : books.gpus) {
    if (!card.context_for || EvictionsSuffice(books, books.InOrEntering())) continue;
    card.context_for.reset();
  }
  for (auto growth = books.growths.rbegin(); growth != books.growths.rend(); ++growth) {
    if (!growth->approved || EvictionsSuffice(books, books.InOrEntering())) continue;
    growth->approved = false;
  }
}

void MoveMemory(Books& books) {
  SendSwapIns(books);
  const std::vector<Job*> entering = EnteringByAge(books);
  for (auto& [gpu, card] : books.gpus) {
    Grant grant{books, gpu, books.Free(gpu)};
    GrantGrowths(grant);
    GrantContext(grant);
    for (Job* job : entering) GiveToEntering(grant, *job);
    const std::int64_t shortage = -grant.left - static_cast<std::int64_t>(books.Returning(gpu));
    SendEvictions(books, gpu, shortage);
  }
}

}  // namespace reveza::scheduler
