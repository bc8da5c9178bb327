#pragma once

#include "api/call.h"

// The calls that read nodes, labels, explanations, the history and the client itself.
namespace nodepool::api {

async::Task<web::Response> list_nodes(Call& call);
async::Task<web::Response> show_node(Call& call);
async::Task<web::Response> list_labels(Call& call);
async::Task<web::Response> explain_subject(Call& call);
async::Task<web::Response> show_history(Call& call);
async::Task<web::Response> show_client(Call& call);

}  // namespace nodepool::api
