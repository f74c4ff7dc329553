# The first process of its namespaces: makes what the units need, and becomes systemd. $1 is a directory with units/, meridian and drive.sh.
set -e
mount --make-rprivate /
mount -t proc proc /proc
for dir in /run /var/lib /etc/systemd /usr/local/bin; do mount -t tmpfs tmpfs $dir; done
umount -l /sys/fs/cgroup
mount -t tmpfs tmpfs /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
ip link set lo up
mkdir -p /var/lib/meridian /run/test
cp /etc/passwd /etc/group /run/test
echo 'meridian:x:990:990::/:/usr/sbin/nologin' >>/run/test/passwd
echo 'meridian:x:990:' >>/run/test/group
for file in passwd group; do mount --bind /run/test/$file /etc/$file; done
cp $1/meridian /usr/local/bin/meridian
meridian=/usr/local/bin/meridian
$meridian server init --dir /var/lib/meridian --name 127.0.0.1
$meridian server invite --dir /var/lib/meridian -o /run/test/invitation web
chown -R meridian: /var/lib/meridian
export container=other SYSTEMD_UNIT_PATH=$1/units
exec $2 --system --show-status=0 --log-target=console
