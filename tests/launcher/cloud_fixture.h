#pragma once

#include <gtest/gtest.h>

#include <string>

#include "model/component.h"
#include "tests/launcher/launcher_fixture.h"

namespace nodepool::launcher {

// A provider that launches nodes, with a pool of three.
inline constexpr auto kCloud = R"(
labels: [{name: small}, {name: large}]
providers:
  - name: sky
    driver: cloud
    pools:
      - name: main
        max-servers: 3
        node-attributes: {executor-zone: z1}
        labels: [small, large]
)";

// Launchers with providers that launch nodes.
class CloudTest : public LauncherFixture {
 protected:
  model::RequestState state(const std::string& request_id) {
    return read_request(request_id).state;
  }
  bool is_paused(const std::string& name = "main") {
    for (const std::string& id : children("/nodepool/components/pool")) {
      const auto entry = as_requestor(requestor_->get("/nodepool/components/pool/" + id));
      const auto pool = model::parse_component(model::Component::Kind::pool, entry);
      if (pool.name == name) return pool.paused;
    }
    ADD_FAILURE() << "no pool " << name;
    return false;
  }
};

}  // namespace nodepool::launcher
