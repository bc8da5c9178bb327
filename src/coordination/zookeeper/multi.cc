#include "coordination/zookeeper/multi.h"

#include "coordination/zookeeper/errors.h"
#include "coordination/zookeeper/messages.h"

namespace nodepool::coordination::zookeeper {

namespace {

using Operation = Transaction::Operation;

// Offset in a request's frame, after its length and its xid.
constexpr std::size_t kTypeOffset = 2 * sizeof(std::int32_t);
constexpr std::size_t kBodyOffset = 3 * sizeof(std::int32_t);

struct MultiHeader {
  OpCode type = OpCode::error;
  bool done = false;
};

OpCode type_of(Transaction::Kind kind) {
  switch (kind) {
    case Transaction::Kind::create:
      return OpCode::create2;
    case Transaction::Kind::set:
      return OpCode::set_data;
    case Transaction::Kind::remove:
      return OpCode::remove;
    case Transaction::Kind::check:
      return OpCode::check;
  }
  return OpCode::error;
}

void write_header(Writer& writer, OpCode type, bool done) {
  writer.integer(static_cast<std::int32_t>(type)).boolean(done).integer(-1);
}

MultiHeader read_header(Reader& reader) {
  MultiHeader header;
  header.type = static_cast<OpCode>(reader.integer());
  header.done = reader.boolean();
  reader.integer();  // the error, which an ErrorResponse repeats
  return header;
}

void write_operation(Writer& writer, const Operation& operation, const Paths& paths,
                     const Acl& acl) {
  const std::string path = paths.to_server(operation.path);
  write_header(writer, type_of(operation.kind), false);
  switch (operation.kind) {
    case Transaction::Kind::create:
      write_create(writer, path, operation.data, operation.mode, acl);
      break;
    case Transaction::Kind::set:
      writer.string(path).string(operation.data).integer(operation.version);
      break;
    case Transaction::Kind::remove:
    case Transaction::Kind::check:
      writer.string(path).integer(operation.version);
      break;
  }
}

bool is_answer_to(OpCode type, Transaction::Kind kind) {
  return type == type_of(kind) || (kind == Transaction::Kind::create && type == OpCode::create);
}

OperationResult read_result(Reader& reader, OpCode type, const Operation& operation,
                            const Paths& paths) {
  OperationResult result;
  switch (operation.kind) {
    case Transaction::Kind::create:
      result.path = paths.from_server(reader.string());
      if (type == OpCode::create2) result.stat = read_stat(reader);
      break;
    case Transaction::Kind::set:
      result.stat = read_stat(reader);
      break;
    case Transaction::Kind::remove:
    case Transaction::Kind::check:
      break;
  }
  return result;
}

// All operations of a transaction have the same id and time, so a set's stat gives the time.
std::int64_t time_of(const Transaction& transaction, const std::vector<OperationResult>& results,
                     std::int64_t now) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (transaction.operations()[i].kind == Transaction::Kind::set) return results[i].stat.mtime;
  }
  return now;
}

void complete(std::vector<OperationResult>& results, const Transaction& transaction,
              const Committed& committed) {
  const std::int64_t time = time_of(transaction, results, committed.now);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Operation& operation = transaction.operations()[i];
    Stat& stat = results[i].stat;
    if (operation.kind != Transaction::Kind::create || stat.czxid != 0) continue;
    const bool ephemeral = operation.mode == CreateMode::ephemeral ||
                           operation.mode == CreateMode::ephemeral_sequential;
    stat.czxid = stat.mzxid = committed.zxid;
    stat.ctime = stat.mtime = time;
    stat.ephemeral_owner = ephemeral ? committed.session_id : 0;
    stat.data_length = static_cast<std::int32_t>(operation.data.size());
  }
}

}  // namespace

std::string multi_request(const Transaction& transaction, const Paths& paths, const Acl& acl) {
  Writer writer = begin_request(OpCode::multi);
  for (const Operation& operation : transaction.operations()) {
    write_operation(writer, operation, paths, acl);
  }
  write_header(writer, OpCode::error, true);
  return std::move(writer).finish();
}

std::vector<OperationResult> read_multi(Reader& reader, const Transaction& transaction,
                                        const Paths& paths, const Committed& committed) {
  std::vector<OperationResult> results;
  results.reserve(transaction.size());
  bool refused = false;
  for (std::size_t i = 0; i < transaction.size(); ++i) {
    const Operation& operation = transaction.operations()[i];
    const MultiHeader header = read_header(reader);
    if (!header.done && header.type == OpCode::error) {
      const std::int32_t code = reader.integer();
      if (code != kOk)
        throw TransactionError(error_for(code, type_of(operation.kind), operation.path), i);
      refused = true;
    } else if (!header.done && is_answer_to(header.type, operation.kind)) {
      results.push_back(read_result(reader, header.type, operation, paths));
    } else {
      throw MalformedMessage("a response that does not match its transaction");
    }
  }
  if (refused || !read_header(reader).done) {
    throw MalformedMessage("a response that does not match its transaction");
  }
  complete(results, transaction, committed);
  return results;
}

bool is_part_of_multi_read(std::string_view frame) {
  const auto type = static_cast<OpCode>(Reader(frame.substr(kTypeOffset)).integer());
  return type == OpCode::get_data || type == OpCode::get_children;
}

std::string multi_read_request(std::span<const std::string_view> frames) {
  Writer writer = begin_request(OpCode::multi_read);
  for (const std::string_view frame : frames) {
    const auto type = static_cast<OpCode>(Reader(frame.substr(kTypeOffset)).integer());
    write_header(writer, type, false);
    writer.raw(frame.substr(kBodyOffset));
  }
  write_header(writer, OpCode::error, true);
  return std::move(writer).finish();
}

std::int32_t read_error_of_part(Reader& reader) {
  const MultiHeader header = read_header(reader);
  if (header.done) throw MalformedMessage("a response to fewer reads than requested");
  if (header.type != OpCode::error) return kOk;
  const std::int32_t code = reader.integer();
  if (code == kOk) throw MalformedMessage("an error response without an error");
  return code;
}

void read_end_of_parts(Reader& reader) {
  if (!read_header(reader).done) {
    throw MalformedMessage("a response to more reads than requested");
  }
}

}  // namespace nodepool::coordination::zookeeper
