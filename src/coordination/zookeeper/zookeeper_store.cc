#include "coordination/zookeeper/zookeeper_store.h"

#include <algorithm>
#include <utility>

#include "coordination/path.h"
#include "coordination/zookeeper/arguments.h"
#include "coordination/zookeeper/errors.h"
#include "coordination/zookeeper/multi.h"
#include "coordination/zookeeper/session.h"

namespace nodepool::coordination::zookeeper {

using Access = Request::Access;

ZooKeeperStore::ZooKeeperStore(std::shared_ptr<Session> session) : session_(std::move(session)) {}

ZooKeeperStore::~ZooKeeperStore() {
  session_->abandon();
}

// Operations own the session, not the store, which may be destroyed while they wait.

Task<std::string> ZooKeeperStore::create(std::string path, std::string data, CreateMode mode) {
  const auto session = session_;
  require_creatable(path, data, mode);
  std::string frame = create_request(session->paths().to_server(path), data, mode, session->acl());
  auto read = [path, &paths = session->paths()](const ReplyHeader& header, Reader& body) {
    require_ok(header.error, OpCode::create2, path);
    return paths.from_server(read_created(body).path);
  };
  Task<std::string> performing =
      Session::perform(session, Access::write, std::move(path), std::move(frame), std::move(read));
  co_return co_await std::move(performing);
}

Task<Entry> ZooKeeperStore::get(std::string path) {
  const auto session = session_;
  require_valid_path(path);
  std::string frame = get_request(session->paths().to_server(path));
  auto read = [path](const ReplyHeader& header, Reader& body) {
    require_ok(header.error, OpCode::get_data, path);
    return read_entry(body);
  };
  Task<Entry> performing =
      Session::perform(session, Access::read, std::move(path), std::move(frame), std::move(read));
  co_return co_await std::move(performing);
}

Task<std::optional<Stat>> ZooKeeperStore::exists(std::string path) {
  const auto session = session_;
  require_valid_path(path);
  std::string frame = exists_request(session->paths().to_server(path));
  auto read = [path](const ReplyHeader& header, Reader& body) -> std::optional<Stat> {
    if (header.error == kNoNode) return std::nullopt;
    require_ok(header.error, OpCode::exists, path);
    return read_stat(body);
  };
  Task<std::optional<Stat>> performing =
      Session::perform(session, Access::read, std::move(path), std::move(frame), std::move(read));
  co_return co_await std::move(performing);
}

Task<Stat> ZooKeeperStore::set(std::string path, std::string data, std::int32_t expected) {
  const auto session = session_;
  require_settable(path, data);
  std::string frame = set_request(session->paths().to_server(path), data, expected);
  auto read = [path](const ReplyHeader& header, Reader& body) {
    require_ok(header.error, OpCode::set_data, path);
    return read_stat(body);
  };
  std::vector<std::string> changes{path};
  Task<Stat> performing = Session::perform(session, Access::write, std::move(path),
                                           std::move(frame), std::move(read), std::move(changes));
  co_return co_await std::move(performing);
}

Task<> ZooKeeperStore::remove(std::string path, std::int32_t expected) {
  const auto session = session_;
  require_removable(path);
  std::string frame = remove_request(session->paths().to_server(path), expected);
  auto read = [path](const ReplyHeader& header, Reader& /*body*/) {
    require_ok(header.error, OpCode::remove, path);
    return true;
  };
  Task<bool> performing =
      Session::perform(session, Access::write, std::move(path), std::move(frame), std::move(read));
  co_await std::move(performing);
}

Task<std::vector<std::string>> ZooKeeperStore::children(std::string path) {
  const auto session = session_;
  require_valid_path(path);
  std::string frame = children_request(session->paths().to_server(path));
  auto read = [path](const ReplyHeader& header, Reader& body) {
    require_ok(header.error, OpCode::get_children, path);
    std::vector<std::string> names = body.strings();
    std::ranges::sort(names);
    return names;
  };
  Task<std::vector<std::string>> performing =
      Session::perform(session, Access::read, std::move(path), std::move(frame), std::move(read));
  co_return co_await std::move(performing);
}

Task<std::vector<OperationResult>> ZooKeeperStore::commit(Transaction transaction) {
  const auto session = session_;
  if (transaction.empty()) {
    session->require_open({});
    co_return std::vector<OperationResult>();
  }
  require_committable(transaction);
  std::string path = transaction.operations().front().path;
  std::string frame = multi_request(transaction, session->paths(), session->acl());
  std::vector<std::string> changes;
  for (const Transaction::Operation& operation : transaction.operations()) {
    if (operation.kind == Transaction::Kind::set) changes.push_back(operation.path);
  }
  auto read = [path, transaction = std::move(transaction), &session = *session](
                  const ReplyHeader& header, Reader& body) {
    require_ok(header.error, OpCode::multi, path);
    const Committed committed{header.zxid, session.credentials().session_id, session.now()};
    return read_multi(body, transaction, session.paths(), committed);
  };
  Task<std::vector<OperationResult>> performing =
      Session::perform(session, Access::write, std::move(path), std::move(frame), std::move(read),
                       std::move(changes));
  co_return co_await std::move(performing);
}

Subscription ZooKeeperStore::watch(std::string root, WatchHandler handler) {
  return session_->watch(root, std::move(handler));
}

Subscription ZooKeeperStore::on_session(SessionHandler handler) {
  return session_->on_session(std::move(handler));
}

SessionState ZooKeeperStore::session_state() const {
  return session_->state();
}

std::int64_t ZooKeeperStore::session_id() const {
  return session_->credentials().session_id;
}

Task<> ZooKeeperStore::close() {
  return Session::close(session_);
}

void ZooKeeperStore::reconfigure(const ZooKeeperOptions& options) {
  session_->reconfigure(options);
}

std::string ZooKeeperStore::problem() const {
  return session_->problem();
}

const std::string& ZooKeeperStore::server() const {
  return session_->server();
}

const std::string& ZooKeeperStore::kept_server_problem() const {
  return session_->kept_server_problem();
}

const std::string& ZooKeeperStore::name_mismatch() const {
  return session_->name_mismatch();
}

std::string ZooKeeperStore::session_password_for_tests() const {
  return session_->credentials().password;
}

Task<std::unique_ptr<ZooKeeperStore>> open_store(async::Runtime runtime, ZooKeeperOptions options) {
  Task<std::shared_ptr<Session>> opening = Session::open(runtime, std::move(options));
  co_return std::make_unique<ZooKeeperStore>(co_await std::move(opening));
}

}  // namespace nodepool::coordination::zookeeper
