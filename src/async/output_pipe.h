#pragma once

#include <memory>
#include <string>

#include "async/task.h"

namespace nodepool::async {

// A pipe for the output of a child process.
class OutputPipe {
 public:
  // Throws std::system_error.
  explicit OutputPipe(const Executor& executor);
  ~OutputPipe();
  OutputPipe(const OutputPipe&) = delete;
  OutputPipe& operator=(const OutputPipe&) = delete;

  // For the program; Subprocess::Command::output.
  int writing_end() const;
  // To be called after the start of the program, so that the output ends when the program and its
  // descendants have closed their ends.
  void close_writing_end();

  // Returns when there is something to read or the output has ended. Throws Cancelled.
  Task<> readable();

  // Reads without waiting. May be used on any thread, and may outlive the pipe.
  class Reader {
   public:
    enum class Found { some, nothing, end };

    // Replaces `text` by the available output, at most the capacity of a pipe.
    Found read(std::string& text) const;

   private:
    friend class OutputPipe;
    struct Descriptor;
    explicit Reader(int descriptor);
    std::shared_ptr<const Descriptor> descriptor_;
  };
  const Reader& reader() const;

 private:
  struct Ends;
  std::unique_ptr<Ends> ends_;
};

}  // namespace nodepool::async
