#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "driver/images.h"
#include "model/installation.h"
#include "model/node.h"

namespace nodepool::driver {

// By what the things of one provider of this installation are told from those of others.
class Ownership {
 public:
  // The installation is another one when the store is.
  Ownership(std::shared_ptr<const model::Installation> installation, std::string provider);

  // To be attached to all that is made for a node, of which the record says where it belongs. A
  // node that is older than the installation's id gets no such mark: what has been made for it has
  // none either.
  Metadata of_node(const model::Node& node) const;

  // Whether it was made for the node.
  bool is_of_node(const Metadata& metadata, const model::Node& node) const;

  // Whether it may have been: where the store was taken over, the Python Nodepool's machines carry
  // no installation's id.
  bool may_be_of_node(const Metadata& metadata, const model::Node& node) const;

  // Who made something, as far as its metadata tells.
  enum class Maker {
    other_provider,      // nothing to do with us
    this_installation,   // it carries its id, or is a node's that is older than that
    other_installation,  // it carries another id
    unknown,             // it carries this provider's name, and no installation's id
  };
  Maker maker_of(const Metadata& metadata) const;

  const model::Installation& installation() const { return *installation_; }

 private:
  bool is_older(std::string_view node_id) const;

  std::shared_ptr<const model::Installation> installation_;
  std::string provider_;
};

// Whether what carries `metadata` says that it was made for another node with the id of this one:
// where an older copy of the store is put in its place, ids are given once more.
bool is_of_another_record(const Metadata& metadata, const model::Node& node);

// Whether `all` has all of `some`, so that it was made for the same node. That it does not say when
// the node was made is no contradiction: releases before this one did not tell.
bool carries(const Metadata& all, const Metadata& some);

// The value of a key; empty if there is none.
std::string value_of(const Metadata& metadata, std::string_view key);

}  // namespace nodepool::driver
