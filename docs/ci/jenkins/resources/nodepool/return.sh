#!/bin/sh
set -eu
lease=$(sed -n 's/^{"lease": "\([^"]*\)".*/\1/p' "$NODEPOOL_DIRECTORY/lease.json" 2>/dev/null || true)
rm -rf "$NODEPOOL_DIRECTORY"
[ -n "$lease" ] || exit 0
nodepool release "$lease"
