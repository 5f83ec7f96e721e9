#!/bin/sh
# `npm run bench [-- options]`: prepares what is missing, then measures.
set -eu
cd "$(dirname "$0")/../.."
. config/setup/prepare.sh
prepare bench
exec node dist/bench/run.js "$@"
