#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coordination/store.h"
#include "coordination/zookeeper/paths.h"
#include "coordination/zookeeper/wire.h"

namespace nodepool::coordination::zookeeper {

// The request "multi" (MultiOperationRecord.java): for each operation a MultiHeader {int type,
// bool done, int err} and what a single request of its type has; at the end a header {-1, true,
// -1}. The operations' paths are mapped by `paths`.
std::string multi_request(const Transaction& transaction, const Paths& paths);

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

}  // namespace nodepool::coordination::zookeeper
