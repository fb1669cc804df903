#!/bin/sh
# Runs the program on the Node.js in its package, from any folder, even for a user without a home directory.
here=$(dirname "$(readlink -f "$0")")
exec "$here/../runtime/node" --max-semi-space-size=12 "$here/plantstore.js" "$@"
