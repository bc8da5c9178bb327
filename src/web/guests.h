#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "async/event.h"
#include "async/task.h"
#include "web/message.h"
#include "web/tally.h"

namespace nodepool::web {

// Who is connected, by all doors of a program, and what they take of it: connections, streams, and
// memory for answers that they have not read yet. There is so much of each in all, and so much for
// those from one place (web/origin.h), that nobody keeps out the others.
class Guests {
 public:
  struct Limits {
    std::size_t connections = 2048;  // over TCP
    std::size_t local = 1024;        // beside them, by the Unix socket
    std::size_t of_one = 512;        // connections of one origin
    std::size_t of_near = 1536;      // … that is on this machine
    std::size_t streams = 1280;
    std::size_t streams_of_one = 256;
    std::size_t streams_of_near = 1280;
    std::size_t streams_of_client = 1024;                 // of all who show one token
    std::size_t output = std::size_t{256} << 20;          // bytes; what many are sent counts once
    std::size_t output_of_one = std::size_t{64} << 20;    // bytes
    std::size_t output_of_near = std::size_t{192} << 20;  // bytes
  };

  // The limits, lowered so that half of that many descriptors is left to the rest of the program. A
  // quarter of the others is for the Unix socket.
  static Limits fitted(Limits limits, std::size_t descriptors);

  explicit Guests(const Limits& limits) : limits_(limits) {}
  Guests(const Guests&) = delete;
  Guests& operator=(const Guests&) = delete;

  // A connection's place, until it ends. It must not outlive the Guests.
  class Place {
   public:
    Place(Guests& guests, Peer peer, std::function<void()> hang_up);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    const Peer& peer() const { return peer_; }
    // It waits for a request from now on, and may be hung up on to make room; at the beginning it
    // does.
    void rest();
    // It has one.
    void work();

   private:
    friend class Guests;

    Guests& guests_;
    Peer peer_;
    std::string origin_;
    std::function<void()> hang_up_;
    bool is_resting_ = false;
    bool is_let_go_ = false;  // it no longer counts
    std::list<Place*>::iterator resting_;
  };

  enum class Refusal {
    none,
    origin_is_full,  // those from there have all that they may have, and use it
    all_is_full,     // all places are taken, and used
  };

  // A place for the connection. If there is none, the connection that has waited for a request
  // longest, of the same origin or of all, is hung up on by its `hang_up`; if none waits, the
  // result is null, for the reason in `refusal`.
  std::unique_ptr<Place> enter(const Peer& peer, std::function<void()> hang_up, Refusal& refusal);

  // Returns when a connection has ended, or rests. Throws Cancelled.
  async::Task<> until_room();

  // What is held until the end of this object, which must not outlive the Guests.
  class Hold {
   public:
    explicit Hold(std::function<void()> release) : release_(std::move(release)) {}
    ~Hold() { release_(); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    std::function<void()> release_;
  };

  // The right to a stream, for the client of that name (empty: none); null if there are too many.
  std::unique_ptr<Hold> take_stream(const Peer& peer, const std::string& client);

  // The right to have these bytes sent; null if too many wait for being read already. The bytes may
  // be null: nothing.
  std::unique_ptr<Hold> take_output(const Peer& peer, std::shared_ptr<const std::string> bytes);

 private:
  using Bytes = const std::string*;

  std::size_t& count_of(const Peer& peer) { return peer.user ? local_ : connections_; }
  Place* longest_resting(bool is_local) const;
  Place* longest_resting(const std::string& origin) const;
  void let_go(Place& place);
  void leave(Place& place);
  void release_output(const std::string& origin, Bytes bytes);

  Limits limits_;
  std::size_t connections_ = 0;  // over TCP
  std::size_t local_ = 0;
  Tally of_origin_;            // connections
  std::list<Place*> resting_;  // the longest first
  async::Event room_{"a connection of a web client ended, or rests"};
  std::size_t streams_ = 0;
  Tally streams_of_origin_;
  Tally streams_of_client_;
  std::size_t output_ = 0;  // bytes
  Tally output_of_origin_;
  // How many are sent the same bytes: in all, and of an origin.
  std::map<Bytes, std::size_t> readers_;
  std::map<std::pair<std::string, Bytes>, std::size_t> readers_of_origin_;
};

}  // namespace nodepool::web
