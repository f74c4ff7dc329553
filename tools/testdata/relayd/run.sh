#!/bin/sh
# Usage: run.sh RATE SECONDS, as root, from the top of the checkout after "make build".
# A program's events go to lttng-relayd and then to "meridian server", over the loopback of a network of their own. Printed: how many arrived, and processor time.
set -e
if [ -z "$3" ]; then
	dir=$(mktemp -d)
	trap 'rm -r "$dir"' EXIT
	here=$(dirname "$0")
	gcc -O2 -I"$here" "$here/lttng.c" -o "$dir/emit-lttng" -llttng-ust -ldl
	gcc -O2 -I"$here" -Isensor/c "$here/sensor.c" -o "$dir/emit-sensor" -pthread
	cp bin/meridian "$dir"
	unshare --net --mount --pid --ipc --fork --kill-child sh "$0" "$1" "$2" "$dir"
	exit
fi
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /dev/shm
ip link set lo up
cp "$0" "$3/run.sh"
cd "$3"
export HOME="$3" PATH="$3:$PATH"
total=$(($1 * $2))
seconds() { awk '{ print ($14 + $15) / 100 " s of a processor" }' "/proc/$1/stat"; }

lttng-relayd --output="$HOME/relay" >relayd.log 2>&1 & relayd=$!
sleep 1
lttng-sessiond --background --no-kernel 2>>relayd.log
lttng create s --set-url=net://127.0.0.1 >/dev/null
lttng enable-event --userspace 'bench:*' >/dev/null
lttng start >/dev/null
./emit-lttng "$1" "$2"
lttng stop >/dev/null
echo "lttng-relayd: $(seconds $relayd)"
lttng destroy >/dev/null
echo "lttng-relayd: $(babeltrace2 relay 2>/dev/null | grep -c bench:six) of $total events"

meridian server --dir traces --listen 127.0.0.1:4222 >server.log 2>&1 & server=$!
sleep 1
meridian agent --server nats://127.0.0.1:4222 -o trace --probe-address off -- -q -- ./emit-sensor "$1" "$2" >agent.log 2>&1 || [ $? = 3 ]
echo "meridian server: $(seconds $server)"
meridian convert -q traces/*/* --method none --event bench:six -o events.csv >/dev/null
echo "meridian server: $(grep -c bench:six events.csv) of $total events"
kill -INT $server
wait $server
