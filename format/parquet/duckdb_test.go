package parquet

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"meridian/internal/testneed"
)

// duckdb is the package of npm that has DuckDB with its native library, and the version that these tests were written with.
const duckdb = "@duckdb/node-api"
const duckdbVersion = "1.5.6-r.1"

// duckdbHome returns a directory in which node finds DuckDB. Where the tests guard a release it is fetched, once for a
// user's cache; elsewhere it is used if it is there.
func duckdbHome(t *testing.T) string {
	t.Helper()
	testneed.Program(t, "node")
	cache, err := os.UserCacheDir()
	if err != nil {
		testneed.Missing(t, "no folder for a cache of DuckDB: %v", err)
	}
	home := filepath.Join(cache, "meridian", "duckdb-"+duckdbVersion)
	if _, err := os.Stat(filepath.Join(home, "node_modules", duckdb, "package.json")); err == nil {
		return home
	}
	if os.Getenv("MERIDIAN_CI") != "1" {
		t.Skipf("DuckDB is not installed: npm install --prefix %s %s@%s", home, duckdb, duckdbVersion)
	}
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("npm", "install", "--no-audit", "--no-fund", "--prefix", home, duckdb+"@"+duckdbVersion)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", c.Args, err, out)
	}
	return home
}

const duckdbScript = `
const { DuckDBInstance } = require("@duckdb/node-api");
(async () => {
  const db = await (await DuckDBInstance.create(":memory:")).connect();
  const all = [];
  for (const q of JSON.parse(process.argv[1])) all.push((await db.runAndReadAll(q)).getRowsJson());
  console.log(JSON.stringify(all));
})().catch(e => { console.error(String(e)); process.exit(1); });
`

func TestDuckDBReadsTheSame(t *testing.T) {
	home := duckdbHome(t)
	path := filepath.Join(t.TempDir(), "t.parquet")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	writeBusy(t, f, 200_001)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	checks := []struct{ query, want string }{
		{"select count(*), min(time)::varchar, sum(time_ns - low_ns) from 't.parquet'", `[["200001","2023-11-14 22:13:20+00","10000050"]]`},
		{"select host, \"row\", row_kind, event, phase, count(*) from 't.parquet' group by all order by host",
			`[["db","CPU 0","cpu","load","instant","100000"],["web","nginx 12","thread","request","instant","100001"]]`},
		{"select sum(len), max(len), min(\"ip.ttl\"), any_value(url) from 't.parquet'", `[[20000150000,200000,"64","/index.html"]]`},
		{"select count(flow), max(flow), count(slice), count(fields), count(url) from 't.parquet'", `[["100001","200001","0","0","100001"]]`},
		{"select typeof(time), typeof(time_ns), typeof(flow), typeof(host), typeof(len), typeof(\"ip.ttl\"), typeof(fields) from 't.parquet' limit 1",
			`[["TIMESTAMP WITH TIME ZONE","BIGINT","UBIGINT","VARCHAR","DOUBLE","BIGINT","JSON"]]`},
		{"select decode(value) from parquet_kv_metadata('t.parquet') where decode(key) = 'meridian.method'", `[["envelope"]]`},
	}
	queries := []string{"set timezone = 'UTC'"}
	for _, c := range checks {
		queries = append(queries, c.query)
	}
	text, _ := json.Marshal(queries)
	c := exec.Command("node", "-e", duckdbScript, string(text))
	c.Dir = filepath.Dir(path)
	c.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(home, "node_modules"))
	out, err := c.Output()
	if err != nil {
		if failed, ok := err.(*exec.ExitError); ok {
			t.Fatalf("%v: %s", err, failed.Stderr)
		}
		t.Fatal(err)
	}
	var got []json.RawMessage
	if err := json.Unmarshal(out, &got); err != nil || len(got) != len(queries) {
		t.Fatalf("%v: %s", err, out)
	}
	for i, c := range checks {
		if string(got[i+1]) != c.want {
			t.Errorf("%s\n is %s\nnot %s", c.query, got[i+1], c.want)
		}
	}
}
