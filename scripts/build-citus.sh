#!/bin/sh
# build-citus.sh SOURCES POSTGRESQL: builds Citus 12.1 from a checkout of its sources for the PostgreSQL 14 to 16 in a
# folder, and installs it there, for `npm run test:citus -- --build POSTGRESQL`. It takes about 12 minutes of a processor.
# Debian and Ubuntu have what it needs as autoconf, flex, gcc, make, postgresql-server-dev-16 and the libraries lz4, zstd,
# ssl, krb5, icu, xslt, pam, selinux and edit (-dev).
set -eu
[ $# -eq 2 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
cd "$1"
# Without its JIT and its questions for updates, neither of which a test needs.
./configure PG_CONFIG="$2/bin/pg_config" --without-libcurl
make -j"$(nproc)" extension with_llvm=no
make install-extension with_llvm=no
