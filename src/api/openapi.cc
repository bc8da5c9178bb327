#include "api/openapi.h"

namespace nodepool::api {

std::string_view openapi_document() {
  // clang-format off
  return R"json({
  "openapi": "3.1.0",
  "info": {
    "title": "Nodepool",
    "version": "1",
    "description": "Ask for nodes, hold them for a time, give them back. Times are seconds since 1970."
  },
  "paths": {
    "/api/v1/requests": {
      "post": {
        "summary": "Ask for nodes",
        "security": [{"token": []}],
        "parameters": [
          {
            "name": "wait",
            "in": "query",
            "description": "Answer when the request waits no longer, or after so long: 60 seconds at most",
            "schema": {"type": "string", "pattern": "^[0-9]+[smhd]?$"}
          },
          {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}
        ],
        "requestBody": {
          "required": true,
          "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}}
        },
        "responses": {
          "201": {
            "description": "Asked",
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Request"}}}
          },
          "200": {
            "description": "It had been asked for with this key before",
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Request"}}}
          },
          "401": {"$ref": "#/components/responses/Problem"},
          "403": {"$ref": "#/components/responses/Problem"},
          "429": {"$ref": "#/components/responses/Problem"},
          "503": {"$ref": "#/components/responses/Problem"},
          "400": {"$ref": "#/components/responses/Problem"},
          "409": {"$ref": "#/components/responses/Problem"},
          "413": {"$ref": "#/components/responses/Problem"},
          "422": {"$ref": "#/components/responses/Problem"}
        }
      },
      "get": {
        "summary": "All requests",
        "security": [{"token": []}, {}],
        "parameters": [
          {
            "name": "limit",
            "in": "query",
            "schema": {"type": "integer", "minimum": 1, "maximum": 1000}
          },
          {
            "name": "after",
            "in": "query",
            "description": "Only what comes after this id",
            "schema": {"type": "string"}
          }
        ],
        "responses": {
          "200": {
            "description": "OK",
            "content": {
              "application/json": {
                "schema": {
                  "type": "object",
                  "properties": {
                    "requests": {"type": "array", "items": {"$ref": "#/components/schemas/OtherRequest"}},
                    "next": {"type": "string", "description": "Where the rest is"}
                  },
                  "required": ["requests"]
                }
              }
            }
          },
          "401": {"$ref": "#/components/responses/Problem"},
          "403": {"$ref": "#/components/responses/Problem"},
          "429": {"$ref": "#/components/responses/Problem"},
          "503": {"$ref": "#/components/responses/Problem"},
          "422": {"$ref": "#/components/responses/Problem"}
        }
      }
    },
    "/api/v1/requests/{id}": {
      "get": {
        "summary": "A request that was made here",
        "security": [{"token": []}, {}],
        "parameters": [
          {
            "name": "id",
            "in": "path",
            "required": true,
            "description": "Id of a request",
            "schema": {"type": "string"}
          },
          {
            "name": "wait",
            "in": "query",
            "description": "Answer when the request waits no longer, or after so long: 60 seconds at most",
            "schema": {"type": "string", "pattern": "^[0-9]+[smhd]?$"}
          }
        ],
        "responses": {
          "200": {
            "description": "OK",
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Request"}}}
          },
          "401": {"$ref": "#/components/responses/Problem"},
          "403": {"$ref": "#/components/responses/Problem"},
          "429": {"$ref": "#/components/responses/Problem"},
          "503": {"$ref": "#/components/responses/Problem"},
          "404": {"$ref": "#/components/responses/Problem"},
          "422": {"$ref": "#/components/responses/Problem"}
        }
      },
      "delete": {
        "summary": "Give it up: withdraw it, or release what it has got",
        "security": [{"token": []}],
        "parameters": [
          {
            "name": "id",
            "in": "path",
            "required": true,
            "description": "Id of a request",
            "schema": {"type": "string"}
          },
          {"name": "node", "in": "query", "schema": {"type": "string"}}
        ],
        "responses": {
          "204": {"description": "Done"},
          "401": {"$ref": "#/components/responses/Problem"},
          "403": {"$ref": "#/components/responses/Problem"},
          "429": {"$ref": "#/components/responses/Problem"},
          "503": {"$ref": "#/components/responses/Problem"},
          "404": {"$ref": "#/components/responses/Problem"}
        }
      }
    },
    "/api/v1/requests/{id}/events": {
      "get": {
        "summary": "The same as server-sent events: one for each change, until it waits no longer",
        "security": [{"token": []}, {}],
        "parameters": [
          {
            "name": "id",
            "in": "path",
            "required": true,
            "description": "Id of a request",
            "schema": {"type": "string"}
          }
        ],
        "responses": {
          "200": {
            "description": "Events `request`, with a Request as data, or `gone`",
            "content": {"text/event-stream": {"schema": {"type": "object"}}}
          },
          "401": {"$ref": "#/components/responses/Problem"},
          "403": {"$ref": "#/components/responses/Problem"},
          "429": {"$ref": "#/components/responses/Problem"},
          "503": {"$ref": "#/components/responses/Problem"},
          "404": {"$ref": "#/components/responses/Problem"}
        }
      }
    },
    "/api/v1/leases": {
      "get": {
        "summary": "All leases",
        "security": [{"token": []}, {}],
        "parameters": [
          {
            "name": "limit",
            "in": "query",
            "schema": {"type": "integer", "minimum": 1, "maximum": 1000}
          },
          {
            "name": "after",
            "in": "query",
            "description": "Only what comes after this id",
            "schema": {"type": "string"}
          }
        ],
        "responses": {
          "200": {
            "description": "OK",
            "content": {
              "application/json": {
                "schema": {
                  "type": "object",
                  "properties": {
                    "leases": {"type": "array", "items": {"$ref": "#/components/schemas/Lease"}},
                    "next": {"type": "string", "description": "Where the rest is"}
                  },
                  "required": ["leases"]
                }
              }
            }
          },
          "401": {"$ref": "#/components/responses/Problem"},
          "403": {"$ref": "#/components/responses/Problem"},
          "429": {"$ref": "#/components/responses/Problem"},
          "503": {"$ref": "#/components/responses/Problem"},
          "422": {"$ref": "#/components/responses/Problem"}
        }
      }
    },
    "/api/v1/leases/{id}": {
      "get": {
        "summary": "A lease",
        "security": [{"token": []}, {}],
        "parameters": [
          {
            "name": "id",
            "in": "path",
            "required": true,
            "description": "Id of a lease: that of the request which it answers",
            "schema": {"type": "string"}
          }
        ],
        "responses": {
          "200": {
            "description": "OK",
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Lease"}}}
          },
          "401": {"$ref": "#/components/responses/Problem"},
          "403": {"$ref": "#/components/responses/Problem"},
          "429": {"$ref": "#/components/responses/Problem"},
          "503": {"$ref": "#/components/responses/Problem"},
          "404": {"$ref": "#/components/responses/Problem"}
        }
      },
      "delete": {
        "summary": "Give the nodes back",
        "security": [{"token": []}],
        "parameters": [
          {
            "name": "id",
            "in": "path",
            "required": true,
            "description": "Id of a lease: that of the request which it answers",
            "schema": {"type": "string"}
          },
          {
            "name": "node",
            "in": "query",
            "schema": {"type": "string"},
            "description": "Only this one"
          }
        ],
        "responses": {
          "204": {"description": "Done"},
          "401": {"$ref": "#/components/responses/Problem"},
          "403": {"$ref": "#/components/responses/Problem"},
          "429": {"$ref": "#/components/responses/Problem"},
          "503": {"$ref": "#/components/responses/Problem"},
          "404": {"$ref": "#/components/responses/Problem"}
        }
      }
    },
    "/api/v1/leases/{id}/hold": {
      "post": {
        "summary": "Keep nodes for a person to look at: they leave the lease, and are not given back",
        "security": [{"token": []}],
        "parameters": [
          {
            "name": "id",
            "in": "path",
            "required": true,
            "description": "Id of a lease: that of the request which it answers",
            "schema": {"type": "string"}
          }
        ],
        "requestBody": {
          "required": false,
          "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Hold"}}}
        },
        "responses": {
          "204": {"description": "Done"},
          "400": {"$ref": "#/components/responses/Problem"},
          "401": {"$ref": "#/components/responses/Problem"},
          "403": {"$ref": "#/components/responses/Problem"},
          "404": {"$ref": "#/components/responses/Problem"},
          "409": {"$ref": "#/components/responses/Problem"},
          "413": {"$ref": "#/components/responses/Problem"},
          "422": {"$ref": "#/components/responses/Problem"},
          "429": {"$ref": "#/components/responses/Problem"},
          "503": {"$ref": "#/components/responses/Problem"}
        }
      }
    },
    "/api/v1/leases/{id}/renew": {
      "post": {
        "summary": "Let the lease run for so long from now: 2 hours, if nothing is said",
        "security": [{"token": []}],
        "parameters": [
          {
            "name": "id",
            "in": "path",
            "required": true,
            "description": "Id of a lease: that of the request which it answers",
            "schema": {"type": "string"}
          }
        ],
        "requestBody": {
          "required": false,
          "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Renewal"}}}
        },
        "responses": {
          "200": {
            "description": "OK",
            "content": {
              "application/json": {
                "schema": {
                  "type": "object",
                  "properties": {"id": {"type": "string"}, "expires": {"type": "number"}},
                  "required": ["id", "expires"]
                }
              }
            }
          },
          "401": {"$ref": "#/components/responses/Problem"},
          "403": {"$ref": "#/components/responses/Problem"},
          "429": {"$ref": "#/components/responses/Problem"},
          "503": {"$ref": "#/components/responses/Problem"},
          "400": {"$ref": "#/components/responses/Problem"},
          "404": {"$ref": "#/components/responses/Problem"},
          "409": {"$ref": "#/components/responses/Problem"},
          "413": {"$ref": "#/components/responses/Problem"},
          "422": {"$ref": "#/components/responses/Problem"}
        }
      }
    },
    "/api/v1/nodes": {
      "get": {
        "summary": "All nodes",
        "security": [{"token": []}, {}],
        "parameters": [
          {
            "name": "limit",
            "in": "query",
            "schema": {"type": "integer", "minimum": 1, "maximum": 1000}
          },
          {
            "name": "after",
            "in": "query",
            "description": "Only what comes after this id",
            "schema": {"type": "string"}
          },
          {"name": "label", "in": "query", "schema": {"type": "string"}},
          {"name": "state", "in": "query", "schema": {"type": "string"}},
          {"name": "provider", "in": "query", "schema": {"type": "string"}}
        ],
        "responses": {
          "200": {
            "description": "OK",
            "content": {
              "application/json": {
                "schema": {
                  "type": "object",
                  "properties": {
                    "nodes": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}},
                    "next": {"type": "string"}
                  },
                  "required": ["nodes"]
                }
              }
            }
          },
          "401": {"$ref": "#/components/responses/Problem"},
          "403": {"$ref": "#/components/responses/Problem"},
          "429": {"$ref": "#/components/responses/Problem"},
          "503": {"$ref": "#/components/responses/Problem"},
          "422": {"$ref": "#/components/responses/Problem"}
        }
      }
    },
    "/api/v1/nodes/{id}": {
      "get": {
        "summary": "A node",
        "security": [{"token": []}, {}],
        "parameters": [
          {
            "name": "id",
            "in": "path",
            "required": true,
            "description": "Id of a node",
            "schema": {"type": "string"}
          }
        ],
        "responses": {
          "200": {
            "description": "OK",
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Node"}}}
          },
          "401": {"$ref": "#/components/responses/Problem"},
          "403": {"$ref": "#/components/responses/Problem"},
          "429": {"$ref": "#/components/responses/Problem"},
          "503": {"$ref": "#/components/responses/Problem"},
          "404": {"$ref": "#/components/responses/Problem"}
        }
      }
    },
    "/api/v1/labels": {
      "get": {
        "summary": "What can be asked for, and how much of it is free",
        "security": [{"token": []}, {}],
        "responses": {
          "200": {
            "description": "OK",
            "content": {
              "application/json": {
                "schema": {
                  "type": "object",
                  "properties": {"labels": {"type": "array", "items": {"type": "object"}}},
                  "required": ["labels"]
                }
              }
            }
          },
          "401": {"$ref": "#/components/responses/Problem"},
          "403": {"$ref": "#/components/responses/Problem"},
          "429": {"$ref": "#/components/responses/Problem"},
          "503": {"$ref": "#/components/responses/Problem"}
        }
      }
    },
    "/api/v1/explain/{id}": {
      "get": {
        "summary": "Why a request waits, what becomes of a node, how a label or a host is doing",
        "security": [{"token": []}, {}],
        "parameters": [
          {
            "name": "id",
            "in": "path",
            "required": true,
            "description": "Id of a request or node, a label, or a host",
            "schema": {"type": "string"}
          }
        ],
        "responses": {
          "200": {
            "description": "OK",
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Explanation"}}}
          },
          "401": {"$ref": "#/components/responses/Problem"},
          "403": {"$ref": "#/components/responses/Problem"},
          "429": {"$ref": "#/components/responses/Problem"},
          "503": {"$ref": "#/components/responses/Problem"},
          "404": {"$ref": "#/components/responses/Problem"}
        }
      }
    },
    "/api/v1/history/{id}": {
      "get": {
        "summary": "What has happened to a request or node, as this launcher has written it down",
        "security": [{"token": []}, {}],
        "parameters": [
          {
            "name": "id",
            "in": "path",
            "required": true,
            "description": "Id of a request or node",
            "schema": {"type": "string"}
          }
        ],
        "responses": {
          "200": {
            "description": "OK",
            "content": {
              "application/json": {
                "schema": {
                  "type": "object",
                  "properties": {"history": {"type": "array", "items": {"type": "object"}}},
                  "required": ["history"]
                }
              }
            }
          },
          "401": {"$ref": "#/components/responses/Problem"},
          "403": {"$ref": "#/components/responses/Problem"},
          "429": {"$ref": "#/components/responses/Problem"},
          "503": {"$ref": "#/components/responses/Problem"},
          "404": {"$ref": "#/components/responses/Problem"}
        }
      }
    },
    "/api/v1/client": {
      "get": {
        "summary": "Who the token is, and what it may do",
        "security": [{"token": []}, {}],
        "responses": {
          "200": {
            "description": "OK",
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Client"}}}
          },
          "401": {"$ref": "#/components/responses/Problem"},
          "403": {"$ref": "#/components/responses/Problem"},
          "429": {"$ref": "#/components/responses/Problem"},
          "503": {"$ref": "#/components/responses/Problem"}
        }
      }
    },
    "/api/v1/openapi.json": {
      "get": {
        "summary": "This document",
        "security": [{"token": []}, {}],
        "responses": {
          "200": {"description": "OK", "content": {"application/json": {"schema": {"type": "object"}}}},
          "401": {"$ref": "#/components/responses/Problem"},
          "403": {"$ref": "#/components/responses/Problem"},
          "429": {"$ref": "#/components/responses/Problem"},
          "503": {"$ref": "#/components/responses/Problem"}
        }
      }
    }
  },
  "components": {
    "schemas": {
      "Problem": {
        "type": "object",
        "properties": {
          "type": {"type": "string"},
          "title": {"type": "string"},
          "status": {"type": "integer"},
          "detail": {"type": "string"}
        },
        "required": ["type", "title", "status", "detail"]
      },
      "Order": {
        "type": "object",
        "properties": {
          "labels": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "minItems": 1,
            "maxItems": 1000,
            "description": "One for each node"
          },
          "lease": {
            "description": "How long the nodes are held: 2 hours, if nothing is said. Seconds, or a time like 90s, 10m, 2h, 1d",
            "oneOf": [
              {"type": "integer", "minimum": 1},
              {"type": "string", "pattern": "^[0-9]+[smhd]?$"}
            ]
          },
          "timeout": {
            "description": "How long to wait for them: an hour, if nothing is said; 24 hours at most. Seconds, or a time",
            "oneOf": [
              {"type": "integer", "minimum": 1},
              {"type": "string", "pattern": "^[0-9]+[smhd]?$"}
            ]
          },
          "priority": {"enum": ["high", "normal", "low"]},
          "relative_priority": {
            "type": "integer",
            "minimum": 0,
            "maximum": 1000000,
            "description": "Lower is first within one priority"
          },
          "tenant": {"type": "string", "maxLength": 200, "description": "Whose limits count"},
          "holder": {"type": "string", "maxLength": 200, "description": "For people: what it is for"},
          "idempotency_key": {
            "type": "string",
            "maxLength": 200,
            "description": "The same request with the same key is made once, however often it is sent. Also as the header Idempotency-Key"
          }
        },
        "required": ["labels"],
        "additionalProperties": false
      },
      "Request": {
        "type": "object",
        "properties": {
          "id": {"type": "string"},
          "state": {"enum": ["requested", "pending", "fulfilled", "failed"]},
          "labels": {"type": "array", "items": {"type": "string"}},
          "owner": {"type": "string"},
          "holder": {"type": "string"},
          "tenant": {"type": ["string", "null"]},
          "created": {"type": ["number", "null"]},
          "expires": {
            "type": "number",
            "description": "When it is waited for no longer, or when its lease ends"
          },
          "place": {"type": ["integer", "null"], "description": "In line: 1 is next"},
          "declined": {
            "type": "array",
            "items": {
              "type": "object",
              "properties": {"pool": {"type": "string"}, "reason": {"type": ["string", "null"]}},
              "required": ["pool", "reason"]
            }
          },
          "lease": {"oneOf": [{"$ref": "#/components/schemas/Lease"}, {"type": "null"}]}
        },
        "required": [
          "id",
          "state",
          "labels",
          "owner",
          "holder",
          "tenant",
          "created",
          "expires",
          "place",
          "declined",
          "lease"
        ]
      },
      "Lease": {
        "type": "object",
        "properties": {
          "id": {"type": "string"},
          "owner": {"type": "string"},
          "holder": {"type": "string"},
          "tenant": {"type": ["string", "null"]},
          "expires": {"type": "number"},
          "nodes": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}}
        },
        "required": ["id", "owner", "holder", "tenant", "expires", "nodes"]
      },
      "Node": {
        "type": "object",
        "properties": {
          "id": {"type": "string"},
          "label": {"type": ["string", "null"]},
          "state": {"type": "string"}
        },
        "required": ["id", "label", "state"],
        "description": "Of an own lease with all that is needed to log in: interface_ip, connection_port, username, host_keys and others of its record"
      },
      "OtherRequest": {
        "type": "object",
        "properties": {
          "id": {"type": "string"},
          "state": {"type": "string"},
          "node_types": {"type": "array", "items": {"type": "string"}},
          "requestor": {"type": ["string", "null"]},
          "tenant": {"type": ["string", "null"]}
        },
        "required": ["id", "state", "node_types"],
        "description": "As `nodepool request-list -o json` shows it"
      },
      "Hold": {
        "type": "object",
        "properties": {
          "reason": {"type": "string", "maxLength": 200},
          "nodes": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "maxItems": 1000,
            "description": "Only these; all, if nothing is said"
          }
        },
        "additionalProperties": false
      },
      "Renewal": {
        "type": "object",
        "properties": {
          "lease": {
            "description": "Seconds, or a time like 90s, 10m, 2h, 1d",
            "oneOf": [
              {"type": "integer", "minimum": 1},
              {"type": "string", "pattern": "^[0-9]+[smhd]?$"}
            ]
          }
        },
        "required": [],
        "additionalProperties": false
      },
      "Client": {
        "type": "object",
        "properties": {
          "name": {"type": "string"},
          "scope": {"enum": ["none", "read", "request", "admin"]},
          "tenant": {"type": ["string", "null"]},
          "nodes": {"type": "integer"},
          "max_nodes": {"type": ["integer", "null"]},
          "max_lease": {"type": ["integer", "null"]},
          "rate": {"type": "number"}
        },
        "required": ["name", "scope", "tenant", "nodes", "max_nodes", "max_lease", "rate"]
      },
      "Explanation": {
        "type": "object",
        "properties": {
          "statements": {"type": "array", "items": {"$ref": "#/components/schemas/Statement"}},
          "others": {"type": "array", "items": {"$ref": "#/components/schemas/Explanation"}},
          "not_shown": {"type": "integer"}
        },
        "required": ["statements"]
      },
      "Statement": {
        "type": "object",
        "properties": {
          "key": {"type": "string"},
          "name": {"type": "string"},
          "text": {"type": "string"},
          "details": {"type": "array", "items": {"$ref": "#/components/schemas/Statement"}}
        },
        "required": ["key", "text"]
      }
    },
    "responses": {
      "Problem": {
        "description": "What is wrong",
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
      }
    },
    "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}
  }
}
)json";
  // clang-format on
}

}  // namespace nodepool::api
