#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "coordination/store.h"

// Requestors with the same writes as Zuul: create a request, wait until it is fulfilled, lock the
// nodes, delete the request, mark the nodes in use, then used, and unlock them.
namespace nodepool::bench {

struct Load {
  int requests = 0;
  int clients = 0;
  std::vector<std::string> labels = {};  // of each request
  // The longest random pause of a client before each request.
  std::chrono::milliseconds longest_pause{0};
};

struct Served {
  // The time from the creation of each request until its client saw it fulfilled, sorted.
  std::vector<double> milliseconds = {};
  int writes = 0;  // of the requestors
  int not_fulfilled = 0;
  int served_twice = 0;  // nodes, or slots of a host, with two clients at a time
};

// Runs clients until all requests are served, with one watch for all, like a scheduler. A failed
// request is reported on standard error and counted as not fulfilled.
async::Task<Served> serve(async::Runtime runtime, coordination::Store& store, Load load);

// Only the requestors' writes, without a launcher, as fast as the store allows. Each client has a
// node of its own.
async::Task<Served> write_only(async::Runtime runtime, coordination::Store& store, Load load);

// A percentile of `sorted`; 0 if it is empty.
double percentile(const std::vector<double>& sorted, double part);

}  // namespace nodepool::bench
