/** JSON options for flex drivers; the agent's own keys are in the vocabulary's domain. Pure.
 *  Source: upstream's flexvolume plugin (`driver-call.go`, `util.go`), release 1.24. */
import type { Buffer } from 'node:buffer';
import type { Pod } from '#api/gen/core-v1.ts';

export interface FlexVolume {
  readonly fsType: string;
  readonly readOnly: boolean;
  /** Name of the PersistentVolume, or of the pod's volume. */
  readonly name: string;
  readonly options: Readonly<Record<string, string>>;
}

/** Options that only the calls for one pod contain. */
export interface FlexPod {
  readonly pod: Pod;
  readonly fsGroup: number | undefined;
  readonly secrets: ReadonlyMap<string, Buffer>;
}

function podOptions(domain: string, { pod, fsGroup, secrets }: FlexPod): Record<string, string> {
  const { name = '', namespace = 'default', uid = '' } = pod.metadata ?? {};
  const members: Record<string, string> = {
    [`${domain}/pod.name`]: name,
    [`${domain}/pod.namespace`]: namespace,
    [`${domain}/pod.uid`]: uid,
    [`${domain}/serviceAccount.name`]: pod.spec?.serviceAccountName ?? '',
  };
  if (fsGroup !== undefined) members[`${domain}/fsGroup`] = String(fsGroup);
  for (const [key, data] of secrets) members[`${domain}/secret/${key}`] = data.toString('base64');
  return members;
}

/** Returns one JSON object with sorted keys. Options of the volume cannot override those of the agent. */
export function formatOptions(domain: string, volume: FlexVolume, ofPod?: FlexPod): string {
  const members: Record<string, string> = {
    ...volume.options,
    [`${domain}/fsType`]: volume.fsType,
    [`${domain}/readwrite`]: volume.readOnly ? 'ro' : 'rw',
    [`${domain}/pvOrVolumeName`]: volume.name,
    ...(ofPod === undefined ? {} : podOptions(domain, ofPod)),
  };
  const entries = Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(Object.fromEntries(entries));
}
