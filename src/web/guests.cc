#include "web/guests.h"

#include <algorithm>

#include "web/origin.h"

namespace nodepool::web {

Guests::Limits Guests::fitted(Limits limits, std::size_t descriptors) {
  const std::size_t free = descriptors / 2;
  if (limits.connections + limits.local <= free) return limits;
  limits.local = std::min(limits.local, free / 4);
  limits.connections = std::min(limits.connections, free - limits.local);
  return limits;
}

Guests::Place::Place(Guests& guests, Peer peer, std::function<void()> hang_up)
    : guests_(guests),
      peer_(std::move(peer)),
      origin_(origin(peer_)),
      hang_up_(std::move(hang_up)) {
  ++guests_.count_of(peer_);
  guests_.of_origin_.add(origin_, 1);
  rest();
}

Guests::Place::~Place() {
  work();
  if (!is_let_go_) guests_.leave(*this);
}

void Guests::Place::rest() {
  if (is_resting_ || is_let_go_) return;
  is_resting_ = true;
  resting_ = guests_.resting_.insert(guests_.resting_.end(), this);
  guests_.room_.set();
}

void Guests::Place::work() {
  if (std::exchange(is_resting_, false)) guests_.resting_.erase(resting_);
}

std::unique_ptr<Guests::Place> Guests::enter(const Peer& peer, std::function<void()> hang_up,
                                             Refusal& refusal) {
  const std::string from = origin(peer);
  if (of_origin_.of(from) >= (is_near(peer) ? limits_.of_near : limits_.of_one)) {
    Place* resting = longest_resting(from);
    refusal = Refusal::origin_is_full;
    if (resting == nullptr) return nullptr;
    let_go(*resting);
  }
  const bool is_local = peer.user.has_value();
  if (count_of(peer) >= (is_local ? limits_.local : limits_.connections)) {
    Place* resting = longest_resting(is_local);
    refusal = Refusal::all_is_full;
    if (resting == nullptr) return nullptr;
    let_go(*resting);
  }
  refusal = Refusal::none;
  return std::make_unique<Place>(*this, peer, std::move(hang_up));
}

async::Task<> Guests::until_room() {
  co_await room_.wait();
}

Guests::Place* Guests::longest_resting(bool is_local) const {
  const auto found = std::ranges::find_if(resting_, [is_local](const Place* place) {
    return place->peer_.user.has_value() == is_local;
  });
  return found == resting_.end() ? nullptr : *found;
}

Guests::Place* Guests::longest_resting(const std::string& origin) const {
  const auto found = std::ranges::find(resting_, origin, &Place::origin_);
  return found == resting_.end() ? nullptr : *found;
}

void Guests::let_go(Place& place) {
  place.work();
  leave(place);
  place.is_let_go_ = true;
  place.hang_up_();
}

void Guests::leave(Place& place) {
  --count_of(place.peer_);
  of_origin_.remove(place.origin_, 1);
  room_.set();
}

std::unique_ptr<Guests::Hold> Guests::take_stream(const Peer& peer, const std::string& client) {
  const std::string from = origin(peer);
  const bool is_refused =
      streams_ >= limits_.streams ||
      streams_of_origin_.of(from) >=
          (is_near(peer) ? limits_.streams_of_near : limits_.streams_of_one) ||
      (!client.empty() && streams_of_client_.of(client) >= limits_.streams_of_client);
  if (is_refused) return nullptr;
  ++streams_;
  streams_of_origin_.add(from, 1);
  streams_of_client_.add(client, 1);
  return std::make_unique<Hold>([this, from, client] {
    --streams_;
    streams_of_origin_.remove(from, 1);
    streams_of_client_.remove(client, 1);
  });
}

std::unique_ptr<Guests::Hold> Guests::take_output(const Peer& peer,
                                                  std::shared_ptr<const std::string> bytes) {
  const std::string from = origin(peer);
  const std::size_t size = bytes ? bytes->size() : 0;
  const std::size_t more = readers_.contains(bytes.get()) ? 0 : size;
  const std::size_t more_of_one = readers_of_origin_.contains({from, bytes.get()}) ? 0 : size;
  // One answer is always possible, whatever its size.
  const bool is_much = output_ > 0 && output_ + more > limits_.output;
  const std::size_t of_one = output_of_origin_.of(from);
  const bool is_much_of_one =
      of_one > 0 &&
      of_one + more_of_one > (is_near(peer) ? limits_.output_of_near : limits_.output_of_one);
  if (is_much || is_much_of_one) return nullptr;
  output_ += more;
  output_of_origin_.add(from, more_of_one);
  ++readers_[bytes.get()];
  ++readers_of_origin_[{from, bytes.get()}];
  return std::make_unique<Hold>(
      [this, from, bytes = std::move(bytes)] { release_output(from, bytes.get()); });
}

void Guests::release_output(const std::string& origin, Bytes bytes) {
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
