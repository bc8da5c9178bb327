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

// The lock on a session's file: while it is held, the session is alive. The kernel drops it when
// the process ends.
struct SessionLock {
  std::int64_t session = 0;
  Descriptor file;
};

// The directory next to the database through which processes notify each other. It has a file for
// each session, locked by the session's process, and a file "bell".
//
// LiveWatch gets the same event for both: a file that was open for writing has been closed. The
// kernel closes the session file of a dead process, and a process that has changed the database
// opens and closes the bell.
//
// Functions throw StoreError(storage), or StoreError(no_space) on a full disk.
class LiveDirectory {
 public:
  // Creates nothing.
  explicit LiveDirectory(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }

  // Creates the directory, if it does not exist, and the bell. The parent must exist and determines
  // their access (see FileAccess).
  void restore() const;

  // Notifies all processes of a change of the database. Replaces a bell that is a link or a pipe; a
  // link is not followed. Returns false on failure; retry then, or they miss the change.
  bool signal() const;

  // Creates and locks the file of a session that is not in the database yet.
  SessionLock hold(std::int64_t session) const;

  // Whether a live process holds this session. A session whose file this user may not open counts
  // as alive; a process that may open it will end it.
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
