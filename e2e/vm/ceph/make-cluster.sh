#!/bin/bash
# Makes a Ceph cluster of one monitor, one disk (a file) and one metadata server, with an image, a file system and a user,
# in the folder of the VM's system: natively, as each of these programs takes minutes where it is emulated.
# Arguments: pool, image, user. Leaves the user's key in /etc/ceph/USER.key.
set -eu
pool=$1 image=$2 user=$3
fsid=6a1c3d0e-54b1-4f0f-9a3c-6d3f3c1b2a10

mkdir -p /etc/ceph /var/lib/ceph/{mon/ceph-a,osd/ceph-0,mds/ceph-a} /run/ceph
cat >/etc/ceph/ceph.conf <<CONF
[global]
fsid = $fsid
mon initial members = a
mon host = [v2:127.0.0.1:3300,v1:127.0.0.1:6789]
public network = 127.0.0.0/8
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon warn on pool no redundancy = false
mon osd full ratio = 0.99
mon osd nearfull ratio = 0.98
auth allow insecure global id reclaim = false
rbd default features = 1
log to file = false
mon cluster log to file = false
[osd]
bluestore block size = 536870912
bluestore block create = true
osd memory target = 268435456
osd class update on start = false
osd op num shards = 1
osd op num threads per shard = 1
CONF

cd /etc/ceph
keyring=/etc/ceph/ceph.client.admin.keyring
ceph-authtool --create-keyring /tmp/mon.keyring --gen-key -n mon. --cap mon 'allow *'
ceph-authtool --create-keyring $keyring --gen-key -n client.admin \
  --cap mon 'allow *' --cap osd 'allow *' --cap mds 'allow *' --cap mgr 'allow *'
ceph-authtool /tmp/mon.keyring --import-keyring $keyring
monmaptool --create --addv a '[v2:127.0.0.1:3300,v1:127.0.0.1:6789]' --fsid $fsid --enable-all-features \
  --set-min-mon-release 16 /tmp/monmap
ceph-mon --mkfs -i a --monmap /tmp/monmap --keyring /tmp/mon.keyring
ceph-mon -f -i a &
mon=$!

ceph auth get-or-create osd.0 mon 'allow profile osd' osd 'allow *' -o /var/lib/ceph/osd/ceph-0/keyring
uuid=$(cat /proc/sys/kernel/random/uuid)
ceph osd new "$uuid" 0
echo bluestore >/var/lib/ceph/osd/ceph-0/type
ceph-osd -i 0 --mkfs --osd-uuid "$uuid"
ceph osd crush add osd.0 1.0 host=node1 root=default
ceph-osd -f -i 0 &
osd=$!

ceph osd pool create "$pool" 1
ceph osd pool application enable "$pool" rbd
ceph osd pool create files-meta 1
ceph osd pool create files-data 1
ceph fs new files files-meta files-data
ceph auth get-or-create mds.a mon 'allow profile mds' osd 'allow rwx' mds 'allow' -o /var/lib/ceph/mds/ceph-a/keyring
ceph auth get-or-create "client.$user" mon 'profile rbd, allow r' osd "profile rbd pool=$pool, allow rw tag cephfs data=files" mds 'allow rw'
ceph auth print-key "client.$user" >"$user.key"
rbd create --size 64M --image-feature layering "$pool/$image"
ceph-mds -f -i a &
mds=$!
until ceph mds stat | grep -q up:active; do sleep 0.2; done

kill $mds && wait $mds || true
kill $osd && wait $osd || true
kill $mon && wait $mon || true
rm -f /tmp/mon.keyring /tmp/monmap
chown -R ceph:ceph /var/lib/ceph /etc/ceph
