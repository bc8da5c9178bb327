#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "driver/images.h"
#include "model/installation.h"
#include "model/node.h"

namespace nodepool::driver {

// The owner tags of one provider: they distinguish its resources from those of other providers and
// installations.
class Ownership {
 public:
  // `installation` changes when the store is replaced.
  Ownership(std::shared_ptr<const model::Installation> installation, std::string provider);

  // The tags for all resources of a node. A node that is older than the installation's id gets no
  // tag with that id, as its earlier resources have none.
  Metadata of_node(const model::Node& node) const;

  // Whether the tags prove that the resource was made for the node.
  bool is_of_node(const Metadata& metadata, const model::Node& node) const;

  // Whether the resource may have been made for the node: in a store taken over from the Python
  // Nodepool, its machines have no installation id.
  bool may_be_of_node(const Metadata& metadata, const model::Node& node) const;

  // The maker of a resource according to its tags.
  enum class Maker {
    other_provider,
    this_installation,   // has its id, or belongs to a node that is older than that
    other_installation,  // has another id
    unknown,             // has this provider's name, and no installation id
  };
  Maker maker_of(const Metadata& metadata) const;

  const model::Installation& installation() const { return *installation_; }

 private:
  bool is_older(std::string_view node_id) const;

  std::shared_ptr<const model::Installation> installation_;
  std::string provider_;
};

// Whether the tags name another node that had the id of this one. Node ids are reused after an
// older copy of the store is restored.
bool is_of_another_record(const Metadata& metadata, const model::Node& node);

// Whether `all` contains all tags of `some`, so that both are of the same node. A missing creation
// time counts as equal: earlier releases did not attach it.
bool carries(const Metadata& all, const Metadata& some);

// The value of a key; empty if there is none.
std::string value_of(const Metadata& metadata, std::string_view key);

}  // namespace nodepool::driver
