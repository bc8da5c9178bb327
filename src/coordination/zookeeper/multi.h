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
// bool done, int err} and what a single request of its type has; at the end a header {-1, true,
// -1}. The operations' paths are mapped by `paths`, and created nodes have this `acl`.
std::string multi_request(const Transaction& transaction, const Paths& paths, const Acl& acl);

// What the answer to a transaction does not say of the nodes that it created.
struct Committed {
  std::int64_t zxid = 0;        // from the answer's header: that of the transaction itself
  std::int64_t session_id = 0;  // who owns the ephemeral ones
  std::int64_t now = 0;         // milliseconds since the epoch
};

// Its answer (MultiResponse.java): likewise, with the answers of single requests; but that to a
// create has no stat (servers up to 3.9 at least: they answer as to the older request "create"), so
// it is put together from what is known. If an operation is refused, all have an ErrorResponse {int
// err} instead: 0 for those before the first that failed, its error, and "runtime inconsistency"
// for those behind it. Throws TransactionError, or MalformedMessage if the answer does not fit the
// transaction.
std::vector<OperationResult> read_multi(Reader& reader, const Transaction& transaction,
                                        const Paths& paths, const Committed& committed);

// --- Several reads at once: the request "multiRead", since ZooKeeper 3.6

// Whether a request can be one of several: a get or the children of a node; other reads cannot.
bool is_part_of_multi_read(std::string_view frame);

// The request for all that these frames ask for, in their order. It has the form of a "multi".
std::string multi_read_request(std::span<const std::string_view> frames);

// Its answer has that form, too, but each read succeeds or fails by itself. For each of them in
// turn: reads what precedes its own answer, which follows if there is no error, and returns the
// error. Throws MalformedMessage.
std::int32_t read_error_of_part(Reader& reader);
// Reads the end of the answer. Throws MalformedMessage if it goes on.
void read_end_of_parts(Reader& reader);

}  // namespace nodepool::coordination::zookeeper
