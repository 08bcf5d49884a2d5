/** Volume with which containers reach the API as their service account: a rotated token, the server's CA, and
 *  the namespace. */

import type { Container, Pod, Volume, VolumeMount } from '#api/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { rootCaName } from '../../resources/core/root-ca-name.ts';
import { generateName } from '../../resources/generate-name.ts';
import { draftSpec, typed } from '../../resources/view.ts';

/** An hour and a few seconds, which distinguishes these tokens from those requested by users. */
const TOKEN_SECONDS = 3607;
const FILE_MODE = 0o644;

const tokenMountPath = ({ domain }: Vocabulary): string => `/var/run/secrets/${domain}/serviceaccount`;

function tokenVolume(name: string, vocabulary: Vocabulary): Volume {
  return {
    name,
    projected: {
      sources: [
        { serviceAccountToken: { expirationSeconds: TOKEN_SECONDS, path: 'token' } },
        { configMap: { name: rootCaName(vocabulary), items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        {
          downwardAPI: {
            items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
          },
        },
      ],
      defaultMode: FILE_MODE,
    },
  };
}

/** Mounts the volume wherever nothing is mounted in its place. Changes the draft. */
export function mountToken(draft: ApiObject, vocabulary: Vocabulary): void {
  const { spec: pod } = typed<Pod>(draft);
  if (pod === undefined) return;
  const prefix = `${vocabulary.componentPrefix}-api-access-`;
  const mountPath = tokenMountPath(vocabulary);
  const given = pod.volumes?.find(({ name }) => name.startsWith(prefix));
  const name = given?.name ?? generateName(prefix);
  const mount: VolumeMount = { name, readOnly: true, mountPath };
  let mounted = false;
  const mountIn = (containers: readonly Container[]): readonly Container[] =>
    containers.map((container) => {
      const mounts = container.volumeMounts ?? [];
      if (mounts.some((each) => each.mountPath === mountPath)) return container;
      mounted = true;
      return { ...container, volumeMounts: [...mounts, { ...mount }] };
    });
  const spec = draftSpec<NonNullable<Pod['spec']>>(draft);
  if (pod.initContainers !== undefined) spec.initContainers = mountIn(pod.initContainers);
  spec.containers = mountIn(pod.containers ?? []);
  if (given === undefined && mounted) spec.volumes = [...(pod.volumes ?? []), tokenVolume(name, vocabulary)];
}
