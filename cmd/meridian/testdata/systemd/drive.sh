# What an operator does, with the units of examples/systemd under systemd.
ask() { command=$1; shift; /usr/local/bin/meridian server $command --key /var/lib/meridian/.trust/operator.key --server tls://127.0.0.1:4222 "$@"; }
await() { for i in $(seq 600); do "$@" >/run/test/answer 2>&1 && return; sleep 0.1; done; echo "never: $*"; cat /run/test/answer; }
lists() { ask sessions | grep -q "$1"; }
waits() { ask hosts | grep -q waiting; }
await waits
ask start night -- --flush 10ms
systemctl restart meridian-server
kill -KILL $(systemctl show --value -p MainPID meridian-agent)
await lists 'web *recording'
ask stop night
await lists 'web *ended'
ask fetch night -o /run/test/out
/usr/local/bin/meridian align /run/test/out/web >/dev/null && echo aligned
systemctl stop meridian-agent meridian-server
for unit in meridian-agent meridian-server; do
	echo "$unit: $(systemctl show --value -p ActiveState -p Result -p ExecMainStatus $unit | tr '\n' ' ')"
done
systemd-analyze security --no-pager meridian-agent.service meridian-server.service 2>/dev/null
echo over
