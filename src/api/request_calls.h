#pragma once

#include <chrono>

#include "api/call.h"
#include "web/tally.h"

// The calls for lease requests (model/lease_request.h). All throw CallError and StoreError.
namespace nodepool::api {

// Defaults of a lease and of the time after which an unfulfilled request is withdrawn.
inline constexpr auto kUsualLease = std::chrono::hours(2);
inline constexpr auto kUsualTimeout = std::chrono::hours(1);
inline constexpr auto kLongestTimeout = std::chrono::hours(24);
inline constexpr std::size_t kMostLabels = 1000;

// Number of nodes that clients have requested and that the records do not show yet, by client.
using InFlightQuota = web::Tally;

async::Task<web::Response> create_request(Call& call, InFlightQuota& placements);
async::Task<web::Response> show_request(Call& call);
async::Task<web::Response> list_requests(Call& call);
async::Task<web::Response> stream_request(Call& call);
async::Task<web::Response> delete_request(Call& call);

}  // namespace nodepool::api
