/** Reclaiming of released volumes by their policy: who does it, and the pod that empties a recycled volume. Pure.
 *  Source: upstream's host path and NFS plugins (`Delete`, `Recycle`, `NewPersistentVolumeRecyclerPodTemplate`),
 *  release 1.24. */
import type { PersistentVolume, Pod, PodSpec, VolumeSource } from '#api/gen/core-v1.ts';
import { value } from '#api/meta/quantity.ts';
import { type BinderNames, nameOf } from './model.ts';

export type Reclaim =
  /** Somebody else deletes the volume, or nobody does. */
  | { readonly kind: 'none' }
  | { readonly kind: 'failed'; readonly reason: string; readonly message: string }
  /** Delete this directory of the server's machine, and the volume. */
  | { readonly kind: 'deletePath'; readonly path: string }
  /** Run the recycler pod, and make the volume available again. */
  | { readonly kind: 'recycle' };

/** As upstream, host paths elsewhere are never deleted. */
const DELETABLE = '/tmp/';

function deletion(volume: PersistentVolume, { provisionedBy, internalPrefix }: BinderNames): Reclaim {
  const provisioner = volume.metadata?.annotations?.[provisionedBy] ?? '';
  if (provisioner !== '' && !provisioner.startsWith(internalPrefix)) return { kind: 'none' };
  const fail = (message: string): Reclaim => ({ kind: 'failed', reason: 'VolumeFailedDelete', message });
  const path = volume.spec?.hostPath?.path;
  if (path === undefined)
    return fail(
      `error getting deleter volume plugin for volume "${nameOf(volume)}": no deletable volume plugin matched`,
    );
  const parts = path.split('/').slice(2);
  const isSafe = path.startsWith(DELETABLE) && parts.every((part) => part !== '..' && part !== '.');
  if (isSafe && parts.some((part) => part !== '')) return { kind: 'deletePath', path };
  return fail(`host_path deleter only supports /tmp/.+ but received provided ${path}`);
}

function recycling({ spec }: PersistentVolume): Reclaim {
  if (spec?.hostPath !== undefined || spec?.nfs !== undefined) return { kind: 'recycle' };
  const message = 'No recycler plugin found for the volume!';
  return { kind: 'failed', reason: 'VolumeFailedRecycle', message };
}

export function decideReclaim(volume: PersistentVolume, names: BinderNames): Reclaim {
  const { persistentVolumeReclaimPolicy: policy = 'Retain' } = volume.spec ?? {};
  if (policy === 'Delete') return deletion(volume, names);
  return policy === 'Recycle' ? recycling(volume) : { kind: 'none' };
}

export const RECYCLER_NAMESPACE = 'default';
const PREFIX = 'recycler-for-';
export const recyclerName = (volume: string): string => `${PREFIX}${volume}`;
/** Returns the volume of a recycler pod; undefined for other pods. */
export const volumeOfRecycler = (namespace: string, pod: string): string | undefined =>
  namespace === RECYCLER_NAMESPACE && pod.startsWith(PREFIX) ? pod.slice(PREFIX.length) : undefined;

const IMAGE = 'docker.io/library/busybox:1.36';
/** Upstream's script: removes everything, hidden files too, and fails if something is left. */
const SCRUB =
  'test -e /scrub && rm -rf /scrub/..?* /scrub/.[!.]* /scrub/* && test -z "$(ls -A /scrub)" || exit 1';
const GIB = 2 ** 30;
const SECONDS_PER_GIB = 30;
const LEAST_SECONDS = { hostPath: 60, nfs: 300 };

function deadlineOf({ spec }: PersistentVolume): number {
  const size = value(spec?.capacity?.['storage'] ?? '0');
  const least = spec?.nfs === undefined ? LEAST_SECONDS.hostPath : LEAST_SECONDS.nfs;
  return Math.max(least, Math.floor(size / GIB) * SECONDS_PER_GIB);
}

function sourceOf({ spec }: PersistentVolume): VolumeSource {
  const { hostPath, nfs } = spec ?? {};
  if (nfs !== undefined) return { nfs };
  return hostPath === undefined ? {} : { hostPath };
}

/** Deviation: the pod runs where the volume can be used, if that is restricted. */
export function recyclerSpec(volume: PersistentVolume): PodSpec {
  const nodeSelector = volume.spec?.nodeAffinity?.required;
  return {
    restartPolicy: 'Never',
    activeDeadlineSeconds: deadlineOf(volume),
    volumes: [{ name: 'vol', ...sourceOf(volume) }],
    containers: [
      {
        name: 'pv-recycler',
        image: IMAGE,
        command: ['/bin/sh'],
        args: ['-c', SCRUB],
        volumeMounts: [{ name: 'vol', mountPath: '/scrub' }],
      },
    ],
    ...(nodeSelector === undefined
      ? {}
      : {
          affinity: {
            nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: nodeSelector },
          },
        }),
  };
}

export type RecyclerAction =
  | { readonly kind: 'create' }
  | { readonly kind: 'wait' }
  /** The pod is not needed any more, or was created for something else. */
  | { readonly kind: 'replace' }
  | { readonly kind: 'succeeded' }
  | { readonly kind: 'failed'; readonly message: string };

/** Reports whether the pod empties this very volume. */
function isFor({ spec }: Pod, volume: PersistentVolume): boolean {
  const [mounted, ...others] = spec?.volumes?.filter(({ name }) => name === 'vol') ?? [];
  const wanted = sourceOf(volume);
  return (
    others.length === 0 &&
    mounted?.hostPath?.path === wanted.hostPath?.path &&
    mounted?.nfs?.server === wanted.nfs?.server &&
    mounted?.nfs?.path === wanted.nfs?.path
  );
}

export function decideRecycler(pod: Pod | undefined, volume: PersistentVolume): RecyclerAction {
  if (pod === undefined) return { kind: 'create' };
  if (pod.metadata?.deletionTimestamp !== undefined) return { kind: 'wait' };
  if (!isFor(pod, volume)) return { kind: 'replace' };
  const { phase, message = '' } = pod.status ?? {};
  if (phase === 'Succeeded') return { kind: 'succeeded' };
  if (phase !== 'Failed') return { kind: 'wait' };
  return { kind: 'failed', message: message === '' ? 'pod failed, pod.Status.Message unknown.' : message };
}
