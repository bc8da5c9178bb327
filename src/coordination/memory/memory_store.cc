#include "coordination/memory/memory_store.h"

#include <utility>

#include "coordination/memory/session.h"

namespace nodepool::coordination {

using memory::Access;
using memory::Session;

MemoryStore::MemoryStore(MemoryServer& server, const async::Runtime& runtime)
    : session_(std::make_shared<Session>(server, runtime)) {
  session_->open();
}

MemoryStore::~MemoryStore() {
  session_->kill();
}

Task<std::string> MemoryStore::create(std::string path, std::string data, CreateMode mode) {
  auto call = [&session = *session_, path, data = std::move(data), mode]() mutable {
    Transaction transaction;
    transaction.create(std::move(path), std::move(data), mode);
    return std::move(session.write(transaction).front().path);
  };
  return Session::perform(session_, Access::write, std::move(path), std::move(call));
}

Task<Entry> MemoryStore::get(std::string path) {
  auto call = [&session = *session_, path] { return session.tree().get(path); };
  return Session::perform(session_, Access::read, std::move(path), std::move(call));
}

Task<std::optional<Stat>> MemoryStore::exists(std::string path) {
  auto call = [&session = *session_, path] { return session.tree().exists(path); };
  return Session::perform(session_, Access::read, std::move(path), std::move(call));
}

Task<Stat> MemoryStore::set(std::string path, std::string data, std::int32_t expected) {
  auto call = [&session = *session_, path, data = std::move(data), expected]() mutable {
    Transaction transaction;
    transaction.set(std::move(path), std::move(data), expected);
    return session.write(transaction).front().stat;
  };
  return Session::perform(session_, Access::write, std::move(path), std::move(call));
}

Task<> MemoryStore::remove(std::string path, std::int32_t expected) {
  auto call = [&session = *session_, path, expected] {
    Transaction transaction;
    transaction.remove(path, expected);
    session.write(transaction);
  };
  return Session::exchange(session_, Access::write, std::move(path), std::move(call));
}

Task<std::vector<std::string>> MemoryStore::children(std::string path) {
  auto call = [&session = *session_, path] { return session.tree().children(path); };
  return Session::perform(session_, Access::read, std::move(path), std::move(call));
}

Task<std::vector<OperationResult>> MemoryStore::commit(Transaction transaction) {
  std::string what = transaction.empty() ? std::string() : transaction.operations().front().path;
  auto call = [&session = *session_, transaction = std::move(transaction)] {
    return session.write(transaction);
  };
  return Session::perform(session_, Access::write, std::move(what), std::move(call));
}

Subscription MemoryStore::watch(std::string root, WatchHandler handler) {
  return session_->watch(std::move(root), std::move(handler));
}

Subscription MemoryStore::on_session(SessionHandler handler) {
  return session_->on_session(std::move(handler));
}

SessionState MemoryStore::session_state() const {
  return session_->state();
}

std::int64_t MemoryStore::session_id() const {
  return session_->id();
}

Task<> MemoryStore::close() {
  return Session::close(session_);
}

void MemoryStore::suspend_for_tests() {
  session_->suspend();
}

void MemoryStore::resume_for_tests() {
  session_->resume();
}

void MemoryStore::expire_for_tests() {
  session_->expire();
}

void MemoryStore::kill_for_tests() {
  session_->kill();
}

void MemoryStore::abandon_for_tests() {
  session_->abandon();
}

}  // namespace nodepool::coordination
