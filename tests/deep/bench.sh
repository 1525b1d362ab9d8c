# `make bench`, briefly: a table with a row of this project, and the file.
cd "$(dirname "$0")/../.." || exit 70
make -s bench BENCH="--rounds=1 --seconds=0.3 --shapes=d --threads=1" |
    tee build/bench.txt
grep -q '^d 1  plumb  *[0-9.]* ms' build/bench.txt && python3 - <<'END'
import json
result = json.load(open("build/bench.json"))["results"][0]["result"]
own = result["plumb"]
assert 0 < result["delivered"] <= 1 < result["peak_gflops"], result
assert 0 < own["share_of_peak"] < 1 and own["ms_p10"] <= own["ms"] <= own["ms_p90"], own
assert own["peak_memory_mib"] > 1 and own["first_step_ms"] > 0, own
END
