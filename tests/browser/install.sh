#!/bin/sh
# Make sure that a Chromium is there for the browser tests. Usage: install.sh PYTHON
set -eu
for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable; do
  if [ -n "$name" ] && command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
if [ "$(id -u)" = 0 ] && grep -qs '^ID=debian' /etc/os-release; then
  echo "Installing chromium for the browser tests ..."
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y chromium >/dev/null
else
  "$1" -m playwright install chromium || true # where this fails, the tests say what to do
fi
