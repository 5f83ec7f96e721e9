#!/bin/sh
# `npm run corpus [-- options]`: prepares what is missing, fetches files of geodata, and imports them all.
set -eu
cd "$(dirname "$0")/../.."
. config/setup/prepare.sh
prepare bench
[ -d data/corpus ] || sh bench/corpus/fetch.sh data/corpus
exec node dist/bench/corpus/run.js "$@"
