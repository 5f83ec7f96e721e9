#!/bin/sh
# `npm run pictures [-- part of a name …]`: takes the pictures of README and of the documentation from the running server.
set -eu
cd "$(dirname "$0")/../.."
. config/setup/prepare.sh
prepare test
exec node dist/test/pictures.js "$@"
