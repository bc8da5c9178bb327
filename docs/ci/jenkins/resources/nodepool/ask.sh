#!/bin/sh
set -eu
umask 077
mkdir -p "$NODEPOOL_DIRECTORY"
cp "$NODEPOOL_SSH_KEY" "$NODEPOOL_DIRECTORY/key"

# Status 1: for example, no launcher has answered. A retry with the same key finds a request that was created meanwhile.
attempt=1
status=1
while [ "$status" -eq 1 ] && [ "$attempt" -le 3 ]; do
  [ "$attempt" -eq 1 ] || sleep 5
  attempt=$((attempt + 1))
  status=0
  # Word splitting is intended: NODEPOOL_LABELS is a list. -- : a label is never taken for an option.
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
