#!/bin/sh
# Sends requests by curl, and prints what the caller sees of the last one.
#
#   sh client.sh BEFORE TOKEN METHOD URL BODY
#
# BEFORE is the URL of a GET that comes first on the same connection, or empty.
before=$1 token=$2 method=$3 url=$4 body=$5
set -- -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -X "$method" "$url"
[ -z "$body" ] || set -- --data "$body" "$@"
[ -z "$before" ] || set -- "$before" --next -sS -o /dev/null "$@"
curl -sS -o /dev/null "$@" 2>&1 && echo 'status 2xx'
