import re, subprocess, sys
for f in sys.argv[1:]:
    out = subprocess.run(["callgrind_annotate", "--auto=no", "--threshold=100", f], capture_output=True, text=True).stdout
    total, parts = 0, {}
    for line in out.splitlines():
        m = re.match(r"\s*([\d,]+) \(\s*[\d.]+%\)\s+(\S.*)", line)
        if not m or "PROGRAM TOTALS" in line: 
            if m: total = int(m[1].replace(",", ""))
            continue
        n, what = int(m[1].replace(",", "")), m[2]
        if re.search(r"ZSTD|HUF_|FSE_|HIST_", what): k = "zstd"
        elif "libparquet" in what: k = "libparquet"
        elif "libarrow" in what: k = "libarrow, not zstd"
        elif "memset" in what or "memmove" in what or "memcpy" in what: k = "memcpy, memset"
        elif "memcmp" in what: k = "memcmp"
        elif "GroupDictionary" in what or "group_dictionary" in what: k = "GroupDictionary"
        elif re.search(r"fraudgen/output|ArrowColumns|ColumnBuffers|ColumnPages|RunEncoder|ColumnPages|PageBytes|AppendDeltas|AppendRuns|AppendSplit|EncodeRuns", what): k = "fraudgen output"
        elif "XXH3" in what: k = "hash of the file"
        elif "fraudgen" in what: k = "fraudgen model"
        else: k = "rest (libc, loader)"
        parts[k] = parts.get(k, 0) + n
    print(f, f"{total/200000:,.0f} instructions a row")
    for k, v in sorted(parts.items(), key=lambda x: -x[1]): print(f"   {k:24} {v/200000:8,.0f}")
