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

// One request on its way to a server and back.
struct Request {
  enum class Access {
    read,
    write,
    housekeeping,  // of this connection alone: nobody waits for it, a new connection makes its own
  };

  Access access = Access::housekeeping;
  std::string path;   // what it is about, for errors
  std::string frame;  // see messages.h
  // Of which nodes it changes the data, by their paths for the store's caller.
  std::vector<std::string> changes;
  // Until when it waits to be sent while there is no connection.
  async::Clock::TimePoint deadline{};
  bool is_ping = false;
  // Takes the answer: its header and, if that tells of no error, what follows. Throws
  // MalformedMessage.
  std::function<void(const ReplyHeader& header, Reader& body)> answered;
  // Takes a failure instead; exactly one of the two is called.
  std::function<void(const StoreError& error)> failed;
};

// The requests of a session in the order of their calls: first those that have been sent, then
// those that wait. Answers come in the same order.
//
// Reads that wait one behind the other are sent as one request. How many is bounded for the sake of
// the answer, which a server makes as a whole in its memory: by what answers were like lately; and
// should a connection break while such a request is under way, by less on the next one. A server
// that does not know the request is asked for each read by itself.
class Pipeline {
 public:
  // The most reads that are sent as one.
  static constexpr std::size_t kMostReads = 128;

  Pipeline();

  // Queues a request.
  void add(Request request);

  // Queues these before all that wait: what a new connection begins with.
  void add_in_front(std::vector<Request> requests);

  bool has_none_waiting() const { return waiting_.empty(); }

  // The next requests to send, as many as one write should carry, and keeps them until they are
  // answered. They live on while somebody holds them.
  std::vector<std::shared_ptr<const Request>> send_some();

  // Whether a request that has been sent and not answered changes the data of the node.
  bool is_changing(const std::string& path) const { return changing_.contains(path); }

  // Passes an answer to the oldest request that was sent. Throws MalformedMessage if the xid is
  // another's, or the answer makes no sense; the request then counts as not answered.
  void answer(const ReplyHeader& header, Reader& body);

  // The connection is gone: what was sent fails, reads as disconnected, writes with an unknown
  // outcome; `reason` is for the messages. What waits goes on waiting, but not the housekeeping.
  void connection_lost(std::string_view reason);

  // Of the request that waits longest; there must be one.
  async::Clock::TimePoint next_deadline() const { return waiting_.front()->deadline; }

  // What has waited until its deadline fails as disconnected.
  void refuse_late(async::Clock::TimePoint now, std::string_view reason);

  // All that is left fails with this kind.
  void refuse_all(StoreError::Kind kind);

 private:
  struct Sent {
    std::int32_t xid;
    std::shared_ptr<Request> request;
    std::deque<std::shared_ptr<Request>> reads;  // that it stands for and that are not answered yet
  };

  std::size_t most_reads() const;
  // … from what the answer to one of several reads had in the mean. (What is read alone, such as
  // the children of a root, says nothing of the others.)
  void learn_size(std::size_t bytes);
  // The next request to send, and for which ones it stands.
  Sent take_next();
  void answer_each(Sent sent, const ReplyHeader& header, Reader& body);
  void forget_changes(const Request& request);
  static void fail(const Request& request, StoreError::Kind kind, std::string_view reason);

  std::deque<std::shared_ptr<Request>> waiting_;
  std::deque<Sent> sent_;
  std::unordered_multiset<std::string> changing_;  // of those
  std::int32_t last_xid_ = 0;
  bool single_reads_only_ = false;       // the servers know nothing else
  std::size_t most_reads_ = kMostReads;  // of this connection
  std::size_t expected_size_;            // of the answer to a read, in bytes
};

}  // namespace nodepool::coordination::zookeeper
