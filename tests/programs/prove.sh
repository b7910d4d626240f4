#!/usr/bin/env bash
# Proves the expectations in this folder's programs with memcheck and LeakSanitizer.
#
#   prove.sh [-v] [PROGRAM...]     all programs when none is named; needs gcc, g++, clang-19 and valgrind
#
# Prints one row for each program: what it expects, and whether its native run, memcheck and LeakSanitizer agree.
# A difference is accepted when the program's header explains it (`// memcheck: differs: ...`), and an explanation
# without a difference is an error too; -v shows explained ones as well. Ends with 1 if any row is not as it should be.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# directive NAME FILE: the values of a header directive, one on each line.
directive() { sed -n "/^\/\//!q; s/^\/\/ $1: //p" "$2"; }

# expected FILE...: "file:line kind blocks bytes process" for the annotations about the end of the run, summed over labels.
expected() {
    awk '{
        if (!match($0, /.*\/\/ /)) next
        n = split(substr($0, RLENGTH + 1), parts, "; ")
        name = FILENAME; sub(/.*\//, "", name)
        for (i = 1; i <= n; i++) {
            if (parts[i] !~ /^ *(lost|indirect|forgotten)( @[^ ]+)?: / || parts[i] ~ /\(snapshot/) continue
            sub(/^ +/, "", parts[i])
            sub(/ @[^ :]+/, "", parts[i])
            split(parts[i], w, /[ :,]+/)
            process = parts[i] ~ /\(child\)/ ? "child" : "main"
            blocks[name ":" FNR, w[1], process] += w[2]; bytes[name ":" FNR, w[1], process] += w[4]
        }
    }
    END {
        for (key in blocks) { split(key, k, SUBSEP); print k[1], k[2], blocks[key], bytes[key], k[3] }
    }' "$@" | sort
}

# The places where one of $sources is the first frame that belongs to them, summed by place and kind.
# Reads "kind blocks bytes" headers and "frame FILE:LINE" lines, as both parsers below print them.
sum_places() {
    awk -v sources="$*" -v process="$process" '
        BEGIN { n = split(sources, list, " "); for (i = 1; i <= n; i++) known[list[i]] = 1 }
        function flush() { if (kind != "") { key = (place == "" ? "?" : place) " " kind; blocks[key] += b; bytes[key] += s } kind = "" }
        $1 == "frame" { split($2, at, ":"); if (place == "" && at[1] in known) place = at[1] ":" at[2]; next }
        { flush(); kind = $1; b = $2; s = $3; place = "" }
        END { flush(); for (key in blocks) print key, blocks[key], bytes[key], process }'
}

memcheck_places() {
    awk '{ gsub(/,/, "") }
        /bytes in [0-9]+ blocks are (definitely|indirectly|possibly) lost in|bytes in [0-9]+ blocks are still reachable in/ {
            match($0, /[0-9]+ (\([0-9]+ direct [0-9]+ indirect\) )?bytes in/); size = substr($0, RSTART)
            if (match(size, /^[0-9]+ \([0-9]+ direct/)) { sub(/^[0-9]+ \(/, "", size) }
            match($0, /in [0-9]+ blocks/); blocks = substr($0, RSTART + 3)
            kind = /definitely/ ? "lost" : /indirectly/ ? "indirect" : /possibly/ ? "possibly" : "forgotten"
            print kind, blocks + 0, size + 0; open = 1; next
        }
        /^==[0-9]+== *$/ { open = 0 }
        open && match($0, /\([^()]+:[0-9]+\)$/) { print "frame", substr($0, RSTART + 1, RLENGTH - 2) }' "$@" | sum_places $sources
}

lsan_places() {
    awk '/^(Direct|Indirect) leak of [0-9]+ byte/ { print ($1 == "Direct" ? "lost" : "indirect"), $7, $4; open = 1; next }
        /^$/ { open = 0 }
        open && match($0, /[^\/ ]+:[0-9]+(:[0-9]+)?$/) { print "frame", substr($0, RSTART) }' "$@" | sum_places $sources
}

# Drops what is not ours to compare: blocks that libc made for itself, and what a child was born with.
comparable() {
    while read -r place kind blocks bytes process; do
        if [ "$process" = child ] && ! grep -q "^$place $kind .* child$" "$work/expected"; then continue; fi
        if { [ "$kind" = forgotten ] || [ "$kind" = possibly ]; } && ! grep -q "^$place " "$work/expected"; then
            [ "$place" = "?" ] && continue
            sed -n "${place##*:}p" "$here/${place%%:*}" | grep -Eq 'alloc|strdup|new |getline|asprintf|memalign' || continue
        fi
        echo "$place $kind $blocks $bytes $process"
    done | sort
}

# run COMMAND...: in the program's own folder, with its input, limits and environment; sets $pid and $status.
run() {
    limits=""
    while read -r resource value; do
        case $resource in
            as) limits+="ulimit -v $((value / 1024));" ;;
            nofile) limits+="ulimit -n $value;" ;;
            fsize) limits+="ulimit -f $value;" ;;
        esac
    done < <(directive rlimit "$source")
    { (cd "$work/$name" && exec timeout 30 env $(directive env "$source") bash -c "echo \$\$ > pid; $limits exec \"\$@\"" run "$@" $(directive args "$source") \
        < "$work/$name/stdin" > "$work/$name/stdout" 2> "$work/$name/stderr")
      status=$?; } 2> /dev/null
    pid=$(cat "$work/$name/pid")
}

# verdict TOOL DIFFERENCE: agreement or a difference, against what the header says.
verdict() {
    explained=$(directive "$1" "$source")
    if [ -z "$2" ] && [ -z "$explained" ]; then echo agrees
    elif [ -n "$2" ] && [ -n "$explained" ]; then printf '%s\n' "$2" | sed "s/^/    $1, explained: /" >> "$work/notes"; echo explained
    elif [ -n "$2" ]; then printf '%s\n' "$2" | sed "s/^/    $1: /" >> "$work/problems"; echo DIFFERS
    else echo "    $1: explained, but agrees" >> "$work/problems"; echo STALE; fi
}

compile() { # compiler-for-C compiler-for-C++ flags output
    while read -r plugin arrow library; do
        [ -n "$plugin" ] && { $1 -g $3 -shared -fPIC -o "$work/$name/$library" "$here/$plugin" || return 1; }
    done < <(directive plugin "$source")
    case $source in *.cc) driver="$2 -std=c++17" ;; *) driver=$1 ;; esac
    $driver -g $3 -w -I "$include" -o "$work/$name/$4" "$source" $(directive flags "$source")
}

# What old words on a dead stack hide from LeakSanitizer varies with the addresses.
fixed=""
setarch -R true 2> /dev/null && fixed="setarch -R"

include=$here/../../include
printf '%-26s %6s %9s %6s %9s %6s %9s  %-9s %-10s %s\n' program lost bytes indir. bytes forgot bytes native memcheck lsan
bad=0 verbose=""
[ "${1:-}" = -v ] && { verbose=yes; shift; }
shopt -s extglob nullglob
if [ $# = 0 ]; then set -- "$here"/*.c "$here"/*.cc; fi
for source; do
    source=$here/$(basename "$source")
    case $source in *.plugin.c) continue ;; esac
    name=$(basename "$source"); name=${name%.*}
    mkdir -p "$work/$name"
    : > "$work/problems"
    : > "$work/notes"
    directive stdin "$source" > "$work/$name/stdin"
    sources=$(basename "$source")
    while read -r plugin rest; do [ -n "$plugin" ] && sources+=" $plugin"; done < <(directive plugin "$source")
    expected $(printf "$here/%s " $sources) > "$work/expected"
    places=$(directive places "$source")

    native=agrees memcheck=- lsan=-
    stops=$(directive stops "$source")
    report=$(directive report "$source")
    want=$(directive exit "$source"); signal=$(directive signal "$source")
    [ -n "$signal" ] && want=$((128 + signal))
    if compile gcc g++ "" native; then
        if [ -z "$stops" ]; then
            run ./native
            [ "$status" = "${want:-0}" ] || { native=FAILS; echo "    native: status $status, expected ${want:-0}: $(head -c 300 "$work/$name/stderr")" >> "$work/problems"; }
            [ "$(cat "$work/$name/stdout")" = "$(directive stdout "$source")" ] || { native=FAILS; echo "    native: stdout: $(head -c 200 "$work/$name/stdout")" >> "$work/problems"; }
            file=$(directive file "$source")
            [ -z "$file" ] || [ "$(cat "$work/$name/${file%%: *}")" = "${file#*: }" ] || { native=FAILS; echo "    native: ${file%%: *} differs" >> "$work/problems"; }
        fi
        run valgrind --leak-check=full --show-leak-kinds=all --num-callers=30 --leak-resolution=high --trace-children=yes \
            $(directive memcheck-flags "$source") \
            --keep-debuginfo=yes --log-file="$work/$name/memcheck.%p" ./native
        if [ -n "$stops" ]; then
            missing=""
            grep -q "Invalid free" "$work/$name/memcheck.$pid" || missing="no invalid free seen"
            for mark in "stops here" "first freed" allocated; do
                line=$(grep -n "// $mark\$" "$source" | cut -d: -f1)
                [ -z "$line" ] || grep -q "($(basename "$source"):$line)" "$work/$name/memcheck.$pid" || missing+=" $mark:$line"
            done
            memcheck=$(verdict memcheck "$missing")
        elif [ -z "$report" ]; then
            { process=main; memcheck_places "$work/$name/memcheck.$pid"
              others=$(ls "$work/$name"/memcheck.* | grep -v "\.$pid$")
              [ -z "$others" ] || { process=child; memcheck_places $others; }; } > "$work/seen.raw" 2> /dev/null
            if [ -n "$places" ]; then
                total() { awk '$2 == "lost" || $2 == "indirect" { b += $3; s += $4 } END { print b + 0, s + 0 }' "$1"; }
                [ "$(total "$work/expected")" = "$(total "$work/seen.raw")" ] && difference="" || difference="totals: $(total "$work/seen.raw")"
            else
                comparable < "$work/seen.raw" > "$work/seen"
                difference=$(diff "$work/expected" "$work/seen" | grep '^[<>]')
            fi
            memcheck=$(verdict memcheck "$difference")
        fi
    else
        native=FAILS
    fi
    if [ -z "$stops$report" ]; then
        if compile clang-19 clang++-19 -fsanitize=leak lsan 2> "$work/$name/clang"; then
            LSAN_OPTIONS="exitcode=0:allocator_may_return_null=1:max_leaks=0:fast_unwind_on_malloc=0:log_path=$work/$name/lsan" run $fixed ./lsan
            { process=main; [ -f "$work/$name/lsan.$pid" ] && lsan_places "$work/$name/lsan.$pid"
              others=$(ls "$work/$name"/lsan.[0-9]* 2> /dev/null | grep -v "\.$pid$")
              [ -z "$others" ] || { process=child; lsan_places $others; }; } > "$work/seen.raw"
            if [ -n "$places" ]; then
                [ "$(total "$work/expected")" = "$(total "$work/seen.raw")" ] && difference="" || difference="totals: $(total "$work/seen.raw")"
            else
                comparable < "$work/seen.raw" > "$work/seen"
                difference=$(diff <(grep -v ' forgotten ' "$work/expected") "$work/seen" | grep '^[<>]')
            fi
            [ "$status" = "${want:-0}" ] || difference+="${difference:+$'\n'}status $status"
        else
            difference="does not build: $(tail -1 "$work/$name/clang")"
        fi
        lsan=$(verdict lsan "$difference")
    fi
    awk -v name="$name" -v native="$native" -v memcheck="$memcheck" -v lsan="$lsan" '
        { blocks[$2] += $3; bytes[$2] += $4 }
        END { printf "%-26s %6d %9d %6d %9d %6d %9d  %-9s %-10s %s\n", name, blocks["lost"], bytes["lost"], blocks["indirect"],
              bytes["indirect"], blocks["forgotten"], bytes["forgotten"], native, memcheck, lsan }' "$work/expected"
    if [ -s "$work/problems" ]; then cat "$work/problems"; bad=1; fi
    [ -n "$verbose" ] && cat "$work/notes"
    rm -rf "${work:?}/$name"
done
exit $bad
