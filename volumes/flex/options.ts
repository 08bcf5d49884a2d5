/** The options that a flex driver is told as JSON, those of the agent under keys of the vocabulary's domain. Pure.
 *  Source: upstream's flexvolume plugin (`driver-call.go`, `util.go`), release 1.24. */
import type { Buffer } from 'node:buffer';
import type { Pod } from '#api/schema/gen/core-v1.ts';

export interface FlexVolume {
  readonly fsType: string;
  readonly readOnly: boolean;
  /** Of the PersistentVolume, or of the pod's volume. */
  readonly name: string;
  readonly options: Readonly<Record<string, string>>;
}

/** What only the call for one pod tells. */
export interface FlexPod {
  readonly pod: Pod;
  readonly fsGroup: number | undefined;
  readonly secrets: ReadonlyMap<string, Buffer>;
}

function podOptions(domain: string, { pod, fsGroup, secrets }: FlexPod): Record<string, string> {
  const { name = '', namespace = 'default', uid = '' } = pod.metadata ?? {};
  const told: Record<string, string> = {
    [`${domain}/pod.name`]: name,
    [`${domain}/pod.namespace`]: namespace,
    [`${domain}/pod.uid`]: uid,
    [`${domain}/serviceAccount.name`]: pod.spec?.serviceAccountName ?? '',
  };
  if (fsGroup !== undefined) told[`${domain}/fsGroup`] = String(fsGroup);
  for (const [key, data] of secrets) told[`${domain}/secret/${key}`] = data.toString('base64');
  return told;
}

/** One JSON object with its keys in order. What the agent says can't be overruled by the volume's own options. */
export function formatOptions(domain: string, volume: FlexVolume, ofPod?: FlexPod): string {
  const told: Record<string, string> = {
    ...volume.options,
    [`${domain}/fsType`]: volume.fsType,
    [`${domain}/readwrite`]: volume.readOnly ? 'ro' : 'rw',
    [`${domain}/pvOrVolumeName`]: volume.name,
    ...(ofPod === undefined ? {} : podOptions(domain, ofPod)),
  };
  const entries = Object.entries(told).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(Object.fromEntries(entries));
}
