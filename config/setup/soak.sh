#!/bin/sh
# `npm run soak [-- options]`: prepares what is missing, then lets clients work while parts of the server are killed.
set -eu
cd "$(dirname "$0")/../.."
. config/setup/prepare.sh
prepare bench
exec node dist/bench/soak/run.js "$@"
