#pragma once

#include <cstddef>
#include <string>
#include <vector>

// The black box of a launch: what is known of one attempt at making a machine once it has ended.
namespace nodepool::driver {

// Something that happened. The same thing several times in a row is one note. Nothing in it is
// secret: of calls there are neither headers nor bodies.
struct TraceEvent {
  enum class Kind {
    step,        // `what` begins
    call,        // of the cloud: `what` for, and what came back
    look,        // at a list that is shared with other launches: `what`
    connection,  // to the machine: to `what`, with which `outcome`
  };

  Kind kind = Kind::step;
  double after = 0;  // seconds since the attempt began
  std::string what = {};
  std::string outcome = {};
  std::string method = {};  // of a call; empty where the cloud's client is no HTTP client
  std::string path = {};
  int status = 0;           // 0: no answer
  std::string id = {};      // what the cloud calls the last of these calls, to search its logs by
  double milliseconds = 0;  // the longest of these calls
  std::size_t times = 1;
  double until = 0;  // seconds, when it happened last
};

// One attempt, from its beginning to its end. Everything in it is bounded.
struct LaunchTrace {
  std::size_t attempt = 1;
  std::size_t attempts = 1;  // the most that are made
  bool resumed = false;      // another launcher has begun it: what it had in memory is lost
  double seconds = 0;        // in this launcher
  std::string result;        // a word of launch_metrics.h
  std::string failure;       // empty: the machine is ready
  std::size_t calls = 0;     // of the cloud, all
  std::vector<TraceEvent> events;
  std::size_t left_out = 0;  // notes from the middle
  std::string console;       // its end; empty: it was not read
};

// For the history, in a few words: "attempt 1 of 3 failed after 31.0 s, 4 calls of the cloud: …".
std::string summary(const LaunchTrace& trace);

// For the history, a JSON object: all of it if the attempt has failed, else without the notes.
std::string to_json(const LaunchTrace& trace);

}  // namespace nodepool::driver
