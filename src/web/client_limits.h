#pragma once

#include <cstddef>
#include <cstdint>
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

// Limits connections, streams and memory for unread responses over all listeners of a program. Each
// has a total limit and a limit per origin (web/origin.h), so that no client can lock out others.
class ClientLimits {
 public:
  struct Limits {
    std::size_t connections = 2048;       // over TCP
    std::size_t local = 1024;             // in addition, over the Unix socket
    std::size_t per_origin = 512;         // connections of one origin
    std::size_t per_local_origin = 1536;  // the same if the origin is this machine
    std::size_t streams = 1280;
    std::size_t streams_per_origin = 256;
    std::size_t streams_per_local_origin = 1280;
    std::size_t streams_per_client = 1024;                  // of one token
    std::size_t output = std::size_t{256} << 20;            // bytes; shared content counts once
    std::size_t output_per_origin = std::size_t{64} << 20;  // bytes
    std::size_t output_per_local_origin = std::size_t{192} << 20;  // bytes
  };

  // The limits, lowered so that connections use at most half of the process's descriptors. The Unix
  // socket then gets a quarter of that half, and an origin the same part of the rest as before.
  static Limits fitted(Limits limits, std::size_t descriptors);

  explicit ClientLimits(const Limits& limits) : limits_(limits) {}
  ClientLimits(const ClientLimits&) = delete;
  ClientLimits& operator=(const ClientLimits&) = delete;

  // Counts a connection during its lifetime. It must not outlive the ClientLimits.
  class ConnectionSlot {
   public:
    ConnectionSlot(ClientLimits& client_limits, Peer peer, std::function<void()> disconnect);
    ~ConnectionSlot();
    ConnectionSlot(const ConnectionSlot&) = delete;
    ConnectionSlot& operator=(const ConnectionSlot&) = delete;

    const Peer& peer() const { return peer_; }
    // The connection waits for a request and may be evicted. This is the initial state.
    void set_idle();
    // The connection has a request. It may be evicted if no connection is idle.
    void set_busy();
    // The request of the busy connection has a valid token: it is not evicted.
    void set_known();

    // Returns when the connection is evicted while it is busy: its request is to be cancelled.
    // Throws Cancelled.
    async::Task<> until_cut_off() { return cut_off_.wait(); }

   private:
    friend class ClientLimits;

    void enter(std::list<ConnectionSlot*>& list);
    void leave();

    ClientLimits& client_limits_;
    Peer peer_;
    std::string origin_;
    std::function<void()> disconnect_;
    bool is_evicted_ = false;                     // not counted any more
    std::list<ConnectionSlot*>* list_ = nullptr;  // has this; null: it is not evicted
    std::list<ConnectionSlot*>::iterator position_;
    std::uint64_t turn_ = 0;  // orders connections by the time since when they are busy
    async::Event cut_off_{"a busy web connection is evicted"};
  };

  enum class BadRequest {
    none,
    origin_is_full,  // limit of the origin reached, all its connections are busy and known
    all_is_full,     // total limit reached, all connections are busy and known
  };

  // Admits a connection. At a limit, evicts another, of the same origin or of all, by calling its
  // `disconnect`: the one that has been idle longest. If none is idle, of the origin with most busy
  // connections without a valid token, the one that has been busy longest. If there is none either,
  // returns null and sets `refusal`.
  std::unique_ptr<ConnectionSlot> admit(const Peer& peer, std::function<void()> disconnect,
                                        BadRequest& refusal);

  // Returns when a connection has ended or may be evicted. Throws Cancelled.
  async::Task<> wait_for_capacity();

  // Releases the reserved resource when it is destroyed. It must not outlive the ClientLimits.
  class Reservation {
   public:
    explicit Reservation(std::function<void()> release) : release_(std::move(release)) {}
    ~Reservation() { release_(); }
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;

   private:
    std::function<void()> release_;
  };

  // Reserves a stream for a client (name of its token; empty: none). Returns null at a limit.
  std::unique_ptr<Reservation> reserve_stream(const Peer& peer, const std::string& client);

  // Reserves memory for bytes that are sent to the client. Bytes that are sent to several clients
  // count once. Returns null at a limit, unless nothing else is being sent. Null `bytes` are empty.
  std::unique_ptr<Reservation> reserve_output(const Peer& peer,
                                              std::shared_ptr<const std::string> bytes);

 private:
  using Bytes = const std::string*;

  std::size_t& count_of(const Peer& peer) { return peer.user ? local_ : connections_; }
  ConnectionSlot* evictable(bool is_local) const;
  ConnectionSlot* evictable(const std::string& origin) const;
  void evict(ConnectionSlot& slot);
  void release(ConnectionSlot& slot);
  void release_output(const std::string& origin, Bytes bytes);

  Limits limits_;
  std::size_t connections_ = 0;  // over TCP
  std::size_t local_ = 0;
  Tally of_origin_;                  // connections
  std::list<ConnectionSlot*> idle_;  // longest idle first
  // Busy ones without a valid token, by origin, longest busy first. No list is empty.
  std::map<std::string, std::list<ConnectionSlot*>> busy_;
  std::uint64_t turns_ = 0;
  async::Event capacity_{"a web connection ended or may be evicted"};
  std::size_t streams_ = 0;
  Tally streams_of_origin_;
  Tally streams_of_client_;
  std::size_t output_ = 0;  // bytes
  Tally output_of_origin_;
  // Number of clients that are sent the same bytes: in total, and by origin.
  std::map<Bytes, std::size_t> readers_;
  std::map<std::pair<std::string, Bytes>, std::size_t> readers_of_origin_;
};

}  // namespace nodepool::web
