#include "coordination/faulty/faulty_store.h"

#include <exception>
#include <utility>

#include "coordination/faulty/lane.h"

namespace nodepool::coordination {

using Kind = StoreError::Kind;

// Shared with pending operations, which may outlive the store.
struct FaultyStore::Link {
  enum class Access { read, write };
  enum class Fault { none, disconnected, lost_request, lost_answer, lost_session };
  struct Watch {
    WatchHandler handler;
    Subscription inner;
  };

  Link(const async::Runtime& runtime, FaultPlan fault_plan, std::uint64_t seed)
      : plan(std::move(fault_plan)),
        random(seed),
        requests(runtime),
        answers(runtime),
        events(runtime) {}

  void close() {
    requests.close();
    answers.close();
    events.close();
  }

  Fault draw_fault(Access access);
  async::Duration draw_delay();
  bool draw(double chance, std::uint64_t& count);
  void notify(const std::weak_ptr<Watch>& weak, const WatchEvent& event);
  void send_event(const std::weak_ptr<Watch>& weak, const WatchEvent& event);

  static Task<> perform(std::shared_ptr<Link> self, Task<> operation, Access access,
                        std::string what);

  template <typename T>
  static Task<T> perform(std::shared_ptr<Link> self, Task<T> operation, Access access,
                         std::string what) {
    std::optional<T> result;
    auto keep = [](Task<T> inner, std::optional<T>& out) -> Task<> {
      out.emplace(co_await std::move(inner));
    };
    Task<> keeping = keep(std::move(operation), result);
    Task<> performing = perform(std::move(self), std::move(keeping), access, std::move(what));
    co_await std::move(performing);
    co_return std::move(*result);
  }

  FaultPlan plan;
  async::Random random;
  FaultCounts counts;
  // Responses and events are separate: a store may report a change after its record can be read.
  faulty::Lane requests;
  faulty::Lane answers;
  faulty::Lane events;
};

bool FaultyStore::Link::draw(double chance, std::uint64_t& count) {
  if (random.fraction() >= chance) return false;
  ++count;
  return true;
}

FaultyStore::Link::Fault FaultyStore::Link::draw_fault(Access access) {
  if (draw(plan.disconnected, counts.disconnected)) return Fault::disconnected;
  if (plan.lose_session && draw(plan.lost_session, counts.lost_session)) return Fault::lost_session;
  if (access == Access::read) return Fault::none;
  if (draw(plan.lost_request, counts.lost_request)) return Fault::lost_request;
  if (draw(plan.lost_answer, counts.lost_answer)) return Fault::lost_answer;
  return Fault::none;
}

async::Duration FaultyStore::Link::draw_delay() {
  if (!draw(plan.delay, counts.delay)) return async::Duration::zero();
  return async::Duration(random.below(static_cast<std::uint64_t>(plan.longest_delay.count()) + 1));
}

Task<> FaultyStore::Link::perform(std::shared_ptr<Link> self, Task<> operation, Access access,
                                  std::string what) {
  const Fault fault = self->draw_fault(access);
  Task<> request = self->requests.pass(self->draw_delay());
  co_await std::move(request);

  std::exception_ptr failure;
  if (fault == Fault::lost_session) self->plan.lose_session();
  const bool is_full = access == Access::write && self->plan.is_full && self->plan.is_full();
  if (is_full) {
    ++self->counts.full;
    failure = std::make_exception_ptr(store_error(Kind::no_space, what, "the store is full"));
  } else if (fault != Fault::disconnected && fault != Fault::lost_request) {
    try {
      co_await std::move(operation);
    } catch (...) {
      failure = std::current_exception();
    }
  }

  Task<> answer = self->answers.pass(self->draw_delay());
  co_await std::move(answer);
  if (fault == Fault::disconnected) throw store_error(Kind::disconnected, what);
  if (fault == Fault::lost_request || fault == Fault::lost_answer) {
    throw store_error(Kind::unknown_outcome, what);
  }
  if (failure) std::rethrow_exception(failure);
}

void FaultyStore::Link::notify(const std::weak_ptr<Watch>& weak, const WatchEvent& event) {
  const WatchEvent resync{WatchEvent::Kind::resync, {}};
  if (event.kind != WatchEvent::Kind::resync) {
    if (draw(plan.lost_event, counts.lost_event)) return send_event(weak, resync);
    if (draw(plan.extra_resync, counts.extra_resync)) send_event(weak, resync);
  }
  send_event(weak, event);
}

void FaultyStore::Link::send_event(const std::weak_ptr<Watch>& weak, const WatchEvent& event) {
  events.send(draw_delay(), [weak, event] {
    if (const auto watch = weak.lock()) watch->handler(event);
  });
}

FaultyStore::FaultyStore(Store& inner, const async::Runtime& runtime, FaultPlan plan,
                         std::uint64_t seed)
    : ForwardingStore(inner), link_(std::make_shared<Link>(runtime, std::move(plan), seed)) {}

FaultyStore::~FaultyStore() {
  link_->close();
}

void FaultyStore::set_plan(FaultPlan plan) {
  link_->plan = std::move(plan);
}

const FaultCounts& FaultyStore::counts() const {
  return link_->counts;
}

Task<std::string> FaultyStore::create(std::string path, std::string data, CreateMode mode) {
  Task<std::string> operation = ForwardingStore::create(path, std::move(data), mode);
  return Link::perform(link_, std::move(operation), Link::Access::write, std::move(path));
}

Task<Entry> FaultyStore::get(std::string path) {
  Task<Entry> operation = ForwardingStore::get(path);
  return Link::perform(link_, std::move(operation), Link::Access::read, std::move(path));
}

Task<std::optional<Stat>> FaultyStore::exists(std::string path) {
  Task<std::optional<Stat>> operation = ForwardingStore::exists(path);
  return Link::perform(link_, std::move(operation), Link::Access::read, std::move(path));
}

Task<Stat> FaultyStore::set(std::string path, std::string data, std::int32_t expected) {
  Task<Stat> operation = ForwardingStore::set(path, std::move(data), expected);
  return Link::perform(link_, std::move(operation), Link::Access::write, std::move(path));
}

Task<> FaultyStore::remove(std::string path, std::int32_t expected) {
  Task<> operation = ForwardingStore::remove(path, expected);
  return Link::perform(link_, std::move(operation), Link::Access::write, std::move(path));
}

Task<std::vector<std::string>> FaultyStore::children(std::string path) {
  Task<std::vector<std::string>> operation = ForwardingStore::children(path);
  return Link::perform(link_, std::move(operation), Link::Access::read, std::move(path));
}

Task<std::vector<OperationResult>> FaultyStore::commit(Transaction transaction) {
  std::string what = transaction.empty() ? std::string() : transaction.operations().front().path;
  Task<std::vector<OperationResult>> operation = ForwardingStore::commit(std::move(transaction));
  return Link::perform(link_, std::move(operation), Link::Access::write, std::move(what));
}

Subscription FaultyStore::watch(std::string root, WatchHandler handler) {
  const auto watch = std::make_shared<Link::Watch>(std::move(handler));
  const std::weak_ptr<Link::Watch> weak = watch;
  watch->inner = ForwardingStore::watch(
      std::move(root),
      [link = link_, weak](const WatchEvent& event) { link->notify(weak, event); });
  return watch;
}

}  // namespace nodepool::coordination
