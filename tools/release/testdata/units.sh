# An unpacked package in $1 is a machine: agent and server are started with the lines of its units, and record a session. $2 is the server's line, $3 the agent's.
set -e
root=$1
mount --make-rprivate /
mount -t proc proc /proc
mkdir -p $root/proc $root/dev $root/tmp $root/etc/meridian $root/var/lib/meridian $root/var/lib/meridian-agent
mount -t proc proc $root/proc
mount --rbind /dev $root/dev
mount -t tmpfs tmpfs $root/dev/shm
ip link set lo up
systemd-sysusers --root=$root
user=$(sed -n 's/^meridian:[^:]*:\([0-9]*:[0-9]*\):.*/\1/p' $root/etc/passwd)
chmod 700 $root/var/lib/meridian $root/var/lib/meridian-agent # StateDirectoryMode

server() { chroot $root /usr/bin/meridian server "$@"; }
ask() { command=$1; shift; server $command --key /var/lib/meridian/.trust/operator.key --server tls://127.0.0.1:4222 "$@"; }
await() {
	for i in $(seq 600); do
		"$@" >$root/answer 2>&1 && return
		sleep 0.1
	done
	echo "never: $*"
	cat $root/answer
	exit 1
}
lists() { ask sessions | grep -q "$1"; }
waits() { ask hosts | grep -q waiting; }

server init --dir /var/lib/meridian --name 127.0.0.1
chown -R $user $root/var/lib/meridian
chroot --userspec=$user $root $2 & collector=$!
server invite --dir /var/lib/meridian -o /etc/meridian/invitation web
chown -R $user $root/var/lib/meridian
chroot $root $3 & agent=$!
await waits
ask start night -- --flush 10ms
await lists 'web *recording'
ask stop night
await lists 'web *ended'
echo "server's user: $(stat -c %u:%g /proc/$collector), of the package: $user"
server fetch night --key /var/lib/meridian/.trust/operator.key --server tls://127.0.0.1:4222 -o /fetched
chroot $root /usr/bin/meridian convert -q /fetched/web --method none -o /events.csv && echo "events are read"
kill -TERM $agent # as systemd does
wait $agent
kill -TERM $collector
wait $collector
echo "both ended"
