/** Manifests for the VM: pods that use volumes and print the content, and the objects that they need. */
import type { PersistentVolumeSpec, Pod, Volume } from '#api/gen/core-v1.ts';

export function secret(name: string, stringData: Readonly<Record<string, string>>): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData };
}

/** Returns a PersistentVolume and its claim. */
export function claimed(name: string, spec: PersistentVolumeSpec): readonly object[] {
  const common = { capacity: { storage: '64Mi' }, accessModes: ['ReadWriteMany'] };
  return [
    { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name }, spec: { ...common, ...spec } },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name },
      spec: {
        volumeName: name,
        accessModes: common.accessModes,
        resources: { requests: common.capacity },
        ...(spec.volumeMode === undefined ? {} : { volumeMode: spec.volumeMode }),
      },
    },
  ];
}

type Source = Omit<Volume, 'name'>;

export const claim = (claimName: string): Source => ({ persistentVolumeClaim: { claimName } });

/** Prints `NAME wrote` for every volume, or `NAME read` and its content, finally the same with `all`; keeps
 *  files open. */
const USE_VOLUMES = `use_file() {
  if [ -e $1 ]; then did=read; else did=wrote; echo "word of $2" >$1; sync; fi
  echo "$2 $did $(cat $1)"
  files="$files $1"
}
use_device() {
  if [ "$(dd if=$1 bs=64 count=1 2>/dev/null | head -n 1)" = "word of $2" ]; then did=read
  else did=wrote; echo "word of $2" | dd of=$1 conv=fsync 2>/dev/null; fi
  echo "$2 $did $(head -n 1 $1)"
}
for path in /data/*; do
  name=$(basename $path)
  if [ -b $path ]; then use_device $path $name; else use_file $path/$name $name; fi
done
echo all $did
while :; do cat $files >/dev/null; sleep 2; done`;

/** A pod of one container; a volume is a device where its claim's name is `block`. */
export function user(name: string, sources: Readonly<Record<string, Source>>): Pod {
  const at = (volume: string): string => `/data/${volume}`;
  const isBlock = (volume: string): boolean => sources[volume]?.persistentVolumeClaim?.claimName === 'block';
  const names = Object.keys(sources);
  return shellPod(name, USE_VOLUMES, {
    volumes: Object.entries(sources).map(([volume, source]) => ({ name: volume, ...source })),
    devices: names.filter(isBlock).map((volume) => ({ name: volume, devicePath: at(volume) })),
    mounts: names
      .filter((volume) => !isBlock(volume))
      .map((volume) => ({ name: volume, mountPath: at(volume) })),
  });
}

type Container = NonNullable<Pod['spec']>['containers'][number];

interface ShellPodOptions {
  readonly volumes?: readonly Volume[];
  readonly mounts?: Container['volumeMounts'];
  readonly devices?: Container['volumeDevices'];
  readonly resources?: Container['resources'];
}

/** A pod with one container that runs a shell script. */
export function shellPod(name: string, script: string, options: ShellPodOptions = {}): Pod {
  const { volumes = [], mounts = [], devices = [], resources = {} } = options;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      hostNetwork: true,
      terminationGracePeriodSeconds: 1,
      volumes: [...volumes],
      containers: [
        {
          name: 'main',
          image: 'local/busybox:1',
          command: ['sh', '-c', script],
          volumeMounts: mounts,
          volumeDevices: devices,
          resources,
        },
      ],
    },
  };
}

/** A pod that writes to the volume's disk all the time, and prints `beat` and a number for each write on the
 *  disk. */
export function beating(name: string, source: Source): Pod {
  const script = `while :; do n=$((n+1)); echo $n | dd of=/data/beat conv=fsync 2>/dev/null && echo beat $n; sleep 0.5; done`;
  return shellPod(name, script, {
    volumes: [{ name: 'data', ...source }],
    mounts: [{ name: 'data', mountPath: '/data' }],
  });
}

/** A pod that gradually allocates this much memory, as files in memory, and retains it. */
export function memoryHog(name: string, takesMib: number, resources: Container['resources'] = {}): Pod {
  const script = `i=0; while [ $i -lt ${takesMib / 10} ]; do
  dd if=/dev/zero of=/memory/x bs=1M count=10 seek=$((i * 10)) conv=notrunc 2>/dev/null
  i=$((i+1))
done
echo took it
exec sleep 100000`;
  return shellPod(name, script, {
    resources,
    volumes: [{ name: 'memory', emptyDir: { medium: 'Memory' } }],
    mounts: [{ name: 'memory', mountPath: '/memory' }],
  });
}
