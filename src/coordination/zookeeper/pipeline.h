#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "async/clock.h"
#include "coordination/error.h"
#include "coordination/zookeeper/messages.h"

namespace nodepool::coordination::zookeeper {

// A request to a server.
struct Request {
  enum class Access {
    read,
    write,
    housekeeping,  // for this connection only; a new connection sends its own
  };

  Access access = Access::housekeeping;
  std::string path;   // for errors
  std::string frame;  // see messages.h
  // The nodes whose data it changes, by the store's paths.
  std::vector<std::string> changes;
  // How long it waits for a connection.
  async::Clock::TimePoint deadline{};
  bool is_ping = false;
  // Handles the response: its header and, without an error, the body. Throws MalformedMessage.
  std::function<void(const ReplyHeader& header, Reader& body)> on_response;
  // Handles a failure instead. Exactly one of the two is called.
  std::function<void(const StoreError& error)> failed;
};

// The requests of a session in the order of the calls: first the sent ones, then the waiting ones.
// Responses come in the same order.
//
// Consecutive waiting reads are sent as one request (multiRead). Their number is limited by the
// size of recent responses, because a server builds the response in memory, and reduced if a
// connection breaks during such a request. For a server without multiRead, reads are sent one by
// one.
class Pipeline {
 public:
  // The most reads in a multiRead.
  static constexpr std::size_t kMostReads = 128;

  Pipeline();

  // Queues a request.
  void add(Request request);

  // Queues the first requests of a new connection, before all that wait.
  void add_in_front(std::vector<Request> requests);

  bool has_no_waiting() const { return waiting_.empty(); }

  // Returns the next requests to send, as many as fit one write, and keeps them until the response.
  // The caller shares their ownership.
  std::vector<std::shared_ptr<const Request>> send_some();

  // Whether a pending sent request changes the data of the node.
  bool is_changing(const std::string& path) const { return changing_.contains(path); }

  // Passes a response to the oldest sent request. Throws MalformedMessage if the xid differs or the
  // response is malformed; the request stays pending then.
  void deliver_response(const ReplyHeader& header, Reader& body);

  // To be called when the connection is lost. Sent requests fail, reads as disconnected, writes as
  // unknown_outcome; `reason` is for the messages. Waiting requests stay, except housekeeping.
  void connection_lost(std::string_view reason);

  // The deadline of the first waiting request. There must be one.
  async::Clock::TimePoint next_deadline() const { return waiting_.front()->deadline; }

  // Fails waiting requests that are past their deadline as disconnected.
  void refuse_late(async::Clock::TimePoint now, std::string_view reason);

  // Fails all requests with this kind.
  void refuse_all(StoreError::Kind kind);

 private:
  struct Sent {
    std::int32_t xid;
    std::shared_ptr<Request> request;
    std::deque<std::shared_ptr<Request>> reads;  // of a multiRead, without a response yet
  };

  std::size_t most_reads() const;
  // Updates expected_size_ from the mean size of the responses in a multiRead. Single reads, such
  // as the children of a root, are not representative.
  void update_expected_size(std::size_t bytes);
  // Takes the next request, or the next reads as one request.
  Sent take_next();
  void deliver_parts(Sent sent, const ReplyHeader& header, Reader& body);
  void forget_changes(const Request& request);
  static void fail(const Request& request, StoreError::Kind kind, std::string_view reason);

  std::deque<std::shared_ptr<Request>> waiting_;
  std::deque<Sent> sent_;
  std::unordered_multiset<std::string> changing_;  // by sent requests
  std::int32_t last_xid_ = 0;
  bool single_reads_only_ = false;       // the servers do not support multiRead
  std::size_t most_reads_ = kMostReads;  // for this connection
  std::size_t expected_size_;            // of the response to a read, in bytes
};

}  // namespace nodepool::coordination::zookeeper
