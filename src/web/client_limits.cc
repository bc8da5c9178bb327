#include "web/client_limits.h"

#include <algorithm>
#include <utility>

#include "web/origin.h"

namespace nodepool::web {

ClientLimits::Limits ClientLimits::fitted(Limits limits, std::size_t descriptors) {
  const std::size_t free = descriptors / 2;
  if (limits.connections + limits.local <= free) return limits;
  limits.local = std::min(limits.local, free / 4);
  const std::size_t all =
      std::exchange(limits.connections, std::min(limits.connections, free - limits.local));
  for (std::size_t* const of_one : {&limits.per_origin, &limits.per_local_origin}) {
    *of_one = std::max<std::size_t>(*of_one * limits.connections / all, 1);
  }
  return limits;
}

ClientLimits::ConnectionSlot::ConnectionSlot(ClientLimits& client_limits, Peer peer,
                                             std::function<void()> disconnect)
    : client_limits_(client_limits),
      peer_(std::move(peer)),
      origin_(origin(peer_)),
      disconnect_(std::move(disconnect)) {
  ++client_limits_.count_of(peer_);
  client_limits_.of_origin_.add(origin_, 1);
  set_idle();
}

ClientLimits::ConnectionSlot::~ConnectionSlot() {
  leave();
  if (!is_evicted_) client_limits_.release(*this);
}

void ClientLimits::ConnectionSlot::enter(std::list<ConnectionSlot*>& list) {
  list_ = &list;
  position_ = list.insert(list.end(), this);
  client_limits_.capacity_.set();
}

void ClientLimits::ConnectionSlot::leave() {
  if (list_ == nullptr) return;
  list_->erase(position_);
  if (list_ != &client_limits_.idle_ && list_->empty()) client_limits_.busy_.erase(origin_);
  list_ = nullptr;
}

void ClientLimits::ConnectionSlot::set_idle() {
  if (is_evicted_ || list_ == &client_limits_.idle_) return;
  leave();
  enter(client_limits_.idle_);
}

void ClientLimits::ConnectionSlot::set_busy() {
  if (is_evicted_) return;
  leave();
  turn_ = ++client_limits_.turns_;
  enter(client_limits_.busy_[origin_]);
}

void ClientLimits::ConnectionSlot::set_known() {
  leave();
}

std::unique_ptr<ClientLimits::ConnectionSlot> ClientLimits::admit(const Peer& peer,
                                                                  std::function<void()> disconnect,
                                                                  BadRequest& refusal) {
  const std::string from = origin(peer);
  if (of_origin_.of(from) >=
      (is_on_this_machine(peer) ? limits_.per_local_origin : limits_.per_origin)) {
    ConnectionSlot* const other = evictable(from);
    refusal = BadRequest::origin_is_full;
    if (other == nullptr) return nullptr;
    evict(*other);
  }
  const bool is_local = peer.user.has_value();
  if (count_of(peer) >= (is_local ? limits_.local : limits_.connections)) {
    ConnectionSlot* const other = evictable(is_local);
    refusal = BadRequest::all_is_full;
    if (other == nullptr) return nullptr;
    evict(*other);
  }
  refusal = BadRequest::none;
  return std::make_unique<ConnectionSlot>(*this, peer, std::move(disconnect));
}

async::Task<> ClientLimits::wait_for_capacity() {
  co_await capacity_.wait();
}

ClientLimits::ConnectionSlot* ClientLimits::evictable(bool is_local) const {
  const auto is_same_kind = [is_local](const ConnectionSlot* slot) {
    return slot->peer_.user.has_value() == is_local;
  };
  const auto idle = std::ranges::find_if(idle_, is_same_kind);
  if (idle != idle_.end()) return *idle;
  ConnectionSlot* found = nullptr;
  std::size_t most = 0;
  for (const auto& [origin, slots] : busy_) {
    ConnectionSlot* const first = slots.front();
    if (!is_same_kind(first) || slots.size() < most) continue;
    if (found == nullptr || slots.size() > most || first->turn_ < found->turn_) found = first;
    most = slots.size();
  }
  return found;
}

ClientLimits::ConnectionSlot* ClientLimits::evictable(const std::string& origin) const {
  const auto idle = std::ranges::find(idle_, origin, &ConnectionSlot::origin_);
  if (idle != idle_.end()) return *idle;
  const auto busy = busy_.find(origin);
  return busy == busy_.end() ? nullptr : busy->second.front();
}

void ClientLimits::evict(ConnectionSlot& slot) {
  const bool is_busy = slot.list_ != &idle_;
  slot.leave();
  release(slot);
  slot.is_evicted_ = true;
  slot.disconnect_();
  if (is_busy) slot.cut_off_.set();
}

void ClientLimits::release(ConnectionSlot& slot) {
  --count_of(slot.peer_);
  of_origin_.remove(slot.origin_, 1);
  capacity_.set();
}

std::unique_ptr<ClientLimits::Reservation> ClientLimits::reserve_stream(const Peer& peer,
                                                                        const std::string& client) {
  const std::string from = origin(peer);
  const bool is_refused =
      streams_ >= limits_.streams ||
      streams_of_origin_.of(from) >= (is_on_this_machine(peer) ? limits_.streams_per_local_origin
                                                               : limits_.streams_per_origin) ||
      (!client.empty() && streams_of_client_.of(client) >= limits_.streams_per_client);
  if (is_refused) return nullptr;
  ++streams_;
  streams_of_origin_.add(from, 1);
  streams_of_client_.add(client, 1);
  return std::make_unique<Reservation>([this, from, client] {
    --streams_;
    streams_of_origin_.remove(from, 1);
    streams_of_client_.remove(client, 1);
  });
}

std::unique_ptr<ClientLimits::Reservation> ClientLimits::reserve_output(
    const Peer& peer, std::shared_ptr<const std::string> bytes) {
  const std::string from = origin(peer);
  const std::size_t size = bytes ? bytes->size() : 0;
  const std::size_t more = readers_.contains(bytes.get()) ? 0 : size;
  const std::size_t more_of_one = readers_of_origin_.contains({from, bytes.get()}) ? 0 : size;
  // A single response is always admitted, whatever its size.
  const bool exceeds_limit = output_ > 0 && output_ + more > limits_.output;
  const std::size_t per_origin = output_of_origin_.of(from);
  const bool exceeds_origin_limit =
      per_origin > 0 &&
      per_origin + more_of_one >
          (is_on_this_machine(peer) ? limits_.output_per_local_origin : limits_.output_per_origin);
  if (exceeds_limit || exceeds_origin_limit) return nullptr;
  output_ += more;
  output_of_origin_.add(from, more_of_one);
  ++readers_[bytes.get()];
  ++readers_of_origin_[{from, bytes.get()}];
  return std::make_unique<Reservation>(
      [this, from, bytes = std::move(bytes)] { release_output(from, bytes.get()); });
}

void ClientLimits::release_output(const std::string& origin, Bytes bytes) {
  const std::size_t size = bytes == nullptr ? 0 : bytes->size();
  const auto is_last = [](auto& readers, const auto& key) {
    const auto found = readers.find(key);
    if (--found->second > 0) return false;
    readers.erase(found);
    return true;
  };
  if (is_last(readers_, bytes)) output_ -= size;
  if (is_last(readers_of_origin_, std::pair(origin, bytes))) output_of_origin_.remove(origin, size);
}

}  // namespace nodepool::web
