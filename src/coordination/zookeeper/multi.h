#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coordination/store.h"
#include "coordination/zookeeper/messages.h"
#include "coordination/zookeeper/paths.h"
#include "coordination/zookeeper/wire.h"

namespace nodepool::coordination::zookeeper {

// The request "multi" (MultiOperationRecord.java): for each operation a MultiHeader {int type,
// bool done, int err} and the body of a single request of its type; at the end a header {-1, true,
// -1}. `paths` maps the operations' paths, and created nodes get `acl`.
std::string multi_request(const Transaction& transaction, const Paths& paths, const Acl& acl);

// Data of created nodes that the response to a transaction does not contain.
struct Committed {
  std::int64_t zxid = 0;        // from the response's header: the transaction's id
  std::int64_t session_id = 0;  // the owner of ephemeral nodes
  std::int64_t now = 0;         // milliseconds since the epoch
};

// Its response (MultiResponse.java) has the same form, with the responses to single requests. The
// response to a create has no stat (in servers up to 3.9 at least: they respond as to the older
// request "create"), so the stat is made from `created`. If the server rejects an operation, all
// have an ErrorResponse {int err}: 0 for those before the first that failed, its error, and
// "runtime inconsistency" for those after it. Throws TransactionError, or MalformedMessage if the
// response does not match the transaction.
std::vector<OperationResult> read_multi(Reader& reader, const Transaction& transaction,
                                        const Paths& paths, const Committed& committed);

// --- Several reads at once: the request "multiRead", since ZooKeeper 3.6

// Whether a request can be part of a multiRead: only a get or the children of a node.
bool is_part_of_multi_read(std::string_view frame);

// The multiRead of these requests, in order. It has the form of a "multi".
std::string multi_read_request(std::span<const std::string_view> frames);

// Its response has that form as well, but each read succeeds or fails by itself. Reads the header
// of the next part and returns its error; without an error, the part's response follows. Throws
// MalformedMessage.
std::int32_t read_error_of_part(Reader& reader);
// Reads the end of the response. Throws MalformedMessage if there are more parts.
void read_end_of_parts(Reader& reader);

}  // namespace nodepool::coordination::zookeeper
