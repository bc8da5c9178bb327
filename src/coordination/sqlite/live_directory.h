#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "coordination/sqlite/file_access.h"

namespace nodepool::coordination::sqlite {

// Owns an open file; closed on exec.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

// The proof that a session is alive: while this exists, nobody else can lock the session's file.
// The kernel drops the lock with the process.
struct SessionLock {
  std::int64_t session = 0;
  Descriptor file;
};

// The directory beside the database where processes see each other live. It has a file for each
// session, which the session's process holds locked, and one called "bell".
//
// Both kinds of news are the same event for whoever watches the directory (see LiveWatch): a file
// that was open for writing has been closed. The kernel does that for a process that dies, and a
// process that has changed the database does it to the bell.
//
// Functions throw StoreError(storage).
class LiveDirectory {
 public:
  // Touches nothing yet.
  explicit LiveDirectory(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }

  // Creates the directory if it does not exist, and the bell; its parent must exist. Who may use
  // them follows that (see FileAccess).
  void restore() const;

  // Tells all processes that the database has changed. Returns false if that was not possible; it
  // should be tried again then, or they miss the change.
  bool signal() const;

  // Creates and locks the file of a session that nobody knows of yet.
  SessionLock hold(std::int64_t session) const;

  // Whether a living process holds this session. One whose file may not be looked at is somebody
  // else's, and counts as alive: to end it is for those who may.
  bool is_held(std::int64_t session) const;

  // Removes a session's file, if it exists.
  void drop(std::int64_t session) const;

  // The sessions that have a file.
  std::vector<std::int64_t> sessions() const;

 private:
  std::string file_of(std::int64_t session) const;
  FileAccess access() const;

  std::string path_;
};

// The name of the bell in its directory.
inline constexpr const char* kBellName = "bell";

}  // namespace nodepool::coordination::sqlite
