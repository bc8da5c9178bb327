#!/bin/sh
set -eu
umask 077
mkdir -p "$NODEPOOL_DIRECTORY"
cp "$NODEPOOL_SSH_KEY" "$NODEPOOL_DIRECTORY/key"

# 1: no launcher has answered, say. What was asked for meanwhile is found again by the key.
attempt=1
status=1
while [ "$status" -eq 1 ] && [ "$attempt" -le 3 ]; do
  [ "$attempt" -eq 1 ] || sleep 5
  attempt=$((attempt + 1))
  status=0
  # The labels are words. -- : none of them is an option.
  # shellcheck disable=SC2086
  nodepool request --lease "$NODEPOOL_LEASE" --key "$NODEPOOL_KEY" --ssh-config "$NODEPOOL_SSH_CONFIG" --json \
    -- $NODEPOOL_LABELS >"$NODEPOOL_DIRECTORY/lease.json" || status=$?
done
[ "$status" -eq 0 ] || exit "$status"

cat >>"$NODEPOOL_SSH_CONFIG" <<END
Host *
    IdentityFile "$NODEPOOL_DIRECTORY/key"
    IdentitiesOnly yes
    BatchMode yes
    ServerAliveInterval 15
END
