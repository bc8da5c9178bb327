#pragma once

#include <map>
#include <string>

#include "tests/support/http_server.h"

namespace nodepool::drivers::ibmvpc {

// A stand-in for one bucket of Cloud Object Storage. It verifies Content-MD5.
class BucketStandIn {
 public:
  struct Reply {
    int status = 200;
    std::string body = {};
    std::string headers = {};
  };

  struct Part {
    std::size_t size = 0;
    std::string md5;  // hexadecimal
    int times = 0;    // it was sent
  };
  struct Upload {
    std::string key;
    std::map<int, Part> parts;
  };

  static constexpr const char* kName = "ci-images";

  static bool is_call(const http::HttpServer::Call& call);
  // What a call does, as S3 calls it.
  static std::string action(const http::HttpServer::Call& call);
  Reply serve(const http::HttpServer::Call& call);

  std::map<std::string, Upload> uploads;       // by id
  std::map<std::string, std::size_t> objects;  // sizes by key

 private:
  Reply put(Upload& upload, int number, const http::HttpServer::Call& call);
  Reply complete(const std::string& id, const std::string& body);
  Reply list_parts(const Upload& upload) const;
  Reply list_uploads(const std::string& prefix) const;
  Reply list_objects(const std::string& prefix) const;

  int last_id_ = 0;
};

}  // namespace nodepool::drivers::ibmvpc
