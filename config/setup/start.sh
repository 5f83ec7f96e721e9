#!/bin/sh
# `npm start`: prepares what is missing, then becomes the server. Arguments are those of `mapwright serve`.
set -eu
cd "$(dirname "$0")/../.."
. config/setup/prepare.sh
prepare start
exec node dist/src/main.js serve --local "$@"
