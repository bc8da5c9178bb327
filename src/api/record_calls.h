#pragma once

#include "api/call.h"

// The calls that only look at nodes, labels, and what has become of things.
namespace nodepool::api {

async::Task<web::Response> list_nodes(Call& call);
async::Task<web::Response> show_node(Call& call);
async::Task<web::Response> list_labels(Call& call);
async::Task<web::Response> explain_subject(Call& call);
async::Task<web::Response> show_history(Call& call);
async::Task<web::Response> show_client(Call& call);

}  // namespace nodepool::api
