#!/bin/sh
# Runs the program on the Node.js beside it, from any folder, also for a user without a home.
here=$(dirname "$(readlink -f "$0")")
exec "$here/../runtime/node" --max-semi-space-size=16 "$here/plantstore.js" "$@"
