#!/bin/sh
# Installs Plantstore as a systemd service, with its user, folders and first token, and starts it. The script of a newer
# version upgrades: it keeps the settings, the store and the folder of the older version.
set -eu

PREFIX=/opt/plantstore
CONFIG=/etc/plantstore/plantstore.conf
STATE=/var/lib/plantstore
UNIT=/etc/systemd/system/plantstore.service

fail() {
  echo "install.sh: $1" >&2
  exit "${2:-1}"
}

isSystemdRunning() {
  [ -d /run/systemd/system ]
}

start=yes
for argument in "$@"; do
  case $argument in
    --no-start) start=no ;;
    --help)
      echo "usage: install.sh [--no-start]"
      echo "Installs this version in $PREFIX, its unit, the user plantstore, and an administrator's token, and starts it."
      exit 0
      ;;
    *) fail "there is no option $argument; --help lists the options" 2 ;;
  esac
done

[ "$(id -u)" = 0 ] || fail "only root may install: sudo ./install.sh"
here=$(dirname "$(readlink -f "$0")")
version=$("$here/bin/plantstore" --version) || fail "the program does not run on this machine (Linux $(uname -m))"
target=$PREFIX-$version
if [ -e "$PREFIX" ] && [ ! -L "$PREFIX" ]; then
  fail "$PREFIX is a folder that this script did not make; move it away first"
fi

if ! getent passwd plantstore >/dev/null; then
  useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin plantstore
fi
install -d -m 0700 -o plantstore -g plantstore "$STATE"
install -d -m 0755 "$(dirname "$CONFIG")"
[ -e "$CONFIG" ] || install -m 0640 "$here/systemd/plantstore.conf" "$CONFIG"
# Only root and the service may read the settings, which may hold the password of a database.
chown root:plantstore "$CONFIG"
chmod 0640 "$CONFIG"

# Completes the folder under another name first, so that an interrupted installation leaves no incomplete one.
if [ "$here" != "$target" ]; then
  rm -rf "$target.new"
  cp -R "$here" "$target.new"
  chown -R root:root "$target.new"
  chmod -R u=rwX,go=rX "$target.new"
  rm -rf "$target.old"
  [ ! -e "$target" ] || mv "$target" "$target.old"
  mv "$target.new" "$target"
  rm -rf "$target.old"
fi
ln -sfn "$target" "$PREFIX.new"
mv -T "$PREFIX.new" "$PREFIX"
install -m 0644 "$here/systemd/plantstore.service" "$UNIT"
# The command, its completions in shells and its page of the manual.
(cd "$PREFIX" && find bin/plantstore share -type f) | while read -r path; do
  install -d "/usr/local/$(dirname "$path")"
  ln -sfn "$PREFIX/$path" "/usr/local/$path"
done

# Creates a token only for a new store at the default path. For any other store, the administrator creates one.
if grep -q "^PLANTSTORE_STORE=sqlite:$STATE/plants.db" "$CONFIG" && [ ! -e "$STATE/plants.db" ]; then
  token=$(cd / && runuser -u plantstore -- "$PREFIX/bin/plantstore" token create --config "$CONFIG" \
    --name administrator --scopes all)
  echo "Token    $token"
  echo "         (shown only once; keep it in a safe place)"
fi

if ! isSystemdRunning; then
  echo "Installed $version. systemd does not run here: enable plantstore.service where it does."
  exit 0
fi
systemctl daemon-reload
systemctl enable --quiet plantstore.service
if [ "$start" = yes ]; then
  systemctl restart plantstore.service
  echo "Plantstore $version runs; \"journalctl -u plantstore\" shows its log."
else
  echo "Installed $version; \"systemctl start plantstore\" starts it."
fi
