#pragma once

#include "api/call.h"

// The calls that operators make: what `nodepool hold`, `delete`, `image-build`, `image-pause` and
// `image-unpause` do.
namespace nodepool::api {

async::Task<web::Response> hold_node(Call& call);
async::Task<web::Response> delete_node(Call& call);
async::Task<web::Response> build_image(Call& call);
async::Task<web::Response> pause_image(Call& call);
async::Task<web::Response> unpause_image(Call& call);

}  // namespace nodepool::api
