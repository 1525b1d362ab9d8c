#!/usr/bin/env bash
# A run that is killed at random moments, and goes on, and is killed again, is
# in the end the run that was left alone: the same bytes. And after every kill
# the newest checkpoint opens, and is none older than the last one that the
# run said it had saved.
# kill.sh [RUNS [FIRST]]: so many runs (100), each with its own number as seed.
cd "$(dirname "$0")/../.." || exit 70
. tests/deep/killed.bash

begin
for ((i = ${2:-1}; i < ${2:-1} + ${1:-100}; i++)); do
    RANDOM=$i
    rm -rf "$dir/run"
    told=0
    kills=$((1 + RANDOM % 3))
    for ((k = 1; k <= kills; k++)); do
        ms=$((RANDOM % length))
        what="run $i, kill $k after $ms ms"
        command=$(next_command)
        ./$command > "$dir/log" 2>&1 &
        child=$!
        sleep "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))"
        kill -KILL $child 2> /dev/null
        wait $child 2> /dev/null
        [ $? -eq 137 ] && killed=$((killed + 1))
        note_told
        newest_opens "$what"
    done
    goes_on "$what"
done
echo "$killed kills, $unopened of them before the first checkpoint"
conclude
