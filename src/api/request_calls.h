#pragma once

#include <chrono>

#include "api/call.h"
#include "web/tally.h"

// The calls about orders (model/lease_request.h); the API calls them requests. All throw CallError
// and StoreError.
namespace nodepool::api {

// What a lease is if nobody says how long, and how long an order is waited for.
inline constexpr auto kUsualLease = std::chrono::hours(2);
inline constexpr auto kUsualTimeout = std::chrono::hours(1);
inline constexpr auto kLongestTimeout = std::chrono::hours(24);
inline constexpr std::size_t kMostLabels = 1000;

// Nodes that clients have asked for and that have not been seen in the store yet, by client.
using InFlightQuota = web::Tally;

async::Task<web::Response> place_order(Call& call, InFlightQuota& placements);
async::Task<web::Response> show_order(Call& call);
async::Task<web::Response> list_orders(Call& call);
async::Task<web::Response> stream_order(Call& call);
async::Task<web::Response> end_order(Call& call);

}  // namespace nodepool::api
