#!/usr/bin/env bash
# Builds each project (or those named) in a copy, runs it under memcheck and compares with its EXPECT file.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
item() { sed -n "s/^$1 //p" "$work/$project/EXPECT"; }

[ $# = 0 ] && set -- "$here"/*/
for folder; do
    project=$(basename "$folder")
    cp -r "$here/$project" "$work/$project"
    cd "$work/$project" || exit 2
    while read -r command; do
        sh -c "$command" > build.log 2>&1 < /dev/null || { tail -20 build.log; echo "$project: build fails: $command"; bad=1; continue 2; }
    done < <(item build)
    program=./$(item program)
    [ "$("$program" $(item args))" = "$(item stdout)" ] || { echo "$project: unexpected output"; bad=1; }
    valgrind --leak-check=full --show-leak-kinds=all --num-callers=30 --trace-children=yes --log-file="$work/$project/memcheck.%p" \
        "$program" $(item args) > /dev/null
    # The last process to end is the program itself; a libtool wrapper and its children are other programs.
    log=$(grep -l "Command: .*$(basename "$program")\( \|$\)" memcheck.* | xargs ls -t | head -1)
    awk '{ gsub(/,/, "") }
        /blocks are (definitely lost|indirectly lost|possibly lost|still reachable) in/ {
            match($0, /[0-9]+ (\([0-9]+ direct [0-9]+ indirect\) )?bytes/); size = substr($0, RSTART); sub(/^[0-9]+ \(/, "", size)
            match($0, /in [0-9]+ blocks/); blocks = substr($0, RSTART + 3)
            kind = /definitely/ ? "lost" : /indirectly/ ? "indirect" : /possibly/ ? "possibly" : "forgotten"; open = 1; next
        }
        /^==[0-9]+== *$/ { open = 0 }
        open && match($0, /\([^()]+:[0-9]+\)$/) {
            place = substr($0, RSTART + 1, RLENGTH - 2)
            if (place !~ /^str(n?)dup\.c/) { b[kind " " place] += blocks; s[kind " " place] += size; open = 0 }
        }
        END { for (key in b) print key, b[key], s[key] }' "$log" | sort > seen
    grep -E '^(lost|indirect|forgotten) ' EXPECT | sed 's| [^ ]*/| |' | sort > wanted
    if diff wanted seen; then echo "$project: agrees"; else echo "$project: DIFFERS"; bad=1; fi
done
exit $bad
