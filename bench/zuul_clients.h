#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "coordination/store.h"

// Requestors that do with the store what Zuul does, write by write: ask, wait for the answer, lock
// the nodes, delete the request, mark them in use, then used, unlock them.
namespace nodepool::bench {

struct Load {
  int requests = 0;
  int clients = 0;
  std::vector<std::string> labels = {};  // that each request wants
  // Before each request a client pauses for a random time up to this.
  std::chrono::milliseconds longest_pause{0};
};

struct Served {
  // From the creation of each request until it was seen fulfilled, in milliseconds, sorted.
  std::vector<double> milliseconds = {};
  int writes = 0;  // of the requestors
  int not_fulfilled = 0;
  int served_twice = 0;  // nodes, or slots of a host, that two had at a time
};

// Asks until all requests are served, with one watch for all, as a scheduler has. What goes wrong
// with a request is said on standard error and counted as not fulfilled.
async::Task<Served> serve(async::Runtime runtime, coordination::Store& store, Load load);

// The requestors' writes alone, with nobody to answer: as fast as the store takes them. Each works
// with a node of its own.
async::Task<Served> write_only(async::Runtime runtime, coordination::Store& store, Load load);

// Of `sorted`; 0 if there is nothing.
double percentile(const std::vector<double>& sorted, double part);

}  // namespace nodepool::bench
