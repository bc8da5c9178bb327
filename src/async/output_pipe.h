#pragma once

#include <memory>
#include <string>

#include "async/task.h"

namespace nodepool::async {

// A pipe by which a program that runs beside this one tells what it writes.
class OutputPipe {
 public:
  // Throws std::system_error.
  explicit OutputPipe(const Executor& executor);
  ~OutputPipe();
  OutputPipe(const OutputPipe&) = delete;
  OutputPipe& operator=(const OutputPipe&) = delete;

  // For the program; Subprocess::Command::output.
  int writing_end() const;
  // Once the program has been started: when it and all that it has started have closed theirs, the
  // output has come to its end.
  void close_writing_end();

  // Returns when there is something to read, or the output has come to its end. Throws Cancelled.
  Task<> readable();

  // Reads what is there, without waiting; may be used on any thread, and for longer than the pipe
  // lives.
  class Reader {
   public:
    enum class Found { some, nothing, end };

    // Replaces `text` by what it finds: at most a pipe's content.
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
