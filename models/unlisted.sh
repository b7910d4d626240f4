#!/bin/sh
# Lists the functions that these headers declare with pointers in their types
# and that no model has: `models/unlisted.sh stdio.h regex.h`.
set -eu
folder=$(dirname "$0")

declared() {
    printf '#include <%s>\n' "$@" |
        clang-19 -x c -D_GNU_SOURCE -w -fsyntax-only -Xclang -ast-dump -fno-color-diagnostics - |
        sed -n "s/^[|\`]-FunctionDecl .* \([A-Za-z_0-9]*\) '\([^']*\)'.*/\1 \2/p" |
        grep '[*]' | cut -d' ' -f1 | sort -u
}

quoted=$(grep -ho '"[A-Za-z_0-9]*[*]*"' "$folder"/*.toml | tr -d '"' | sort -u)
declared "$@" | awk -v quoted="$quoted" '
    BEGIN {
        count = split(quoted, names, "\n")
        for (i = 1; i <= count; i++) {
            if (sub(/[*]$/, "", names[i])) prefixes[names[i]]
            else known[names[i]]
        }
    }
    {
        if ($1 in known) next
        for (prefix in prefixes) if (index($1, prefix) == 1) next
        print
    }'
