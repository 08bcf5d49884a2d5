/** ephemeral: a claim created for the pod from its own template, named after pod and volume, and deleted
 *  with the pod. A controller creates it; this source uses it only if the pod owns it. Source: volume
 *  sources, document 3 §2.3. */
import type { PersistentVolumeClaim, Pod } from '#api/gen/core-v1.ts';
import { defineSource, type SourcePlugin } from '../contract/source.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { setUpClaim } from './persistent-volume-claim.ts';

/** Source: upstream's `VolumeIsForPod`, release 1.24.
 *  @throws VolumeSetupError for a claim that the pod does not own, which it must not reach by its name */
function checkOwner(pod: Pod, { metadata }: PersistentVolumeClaim): void {
  const { uid, name, namespace = 'default' } = pod.metadata ?? {};
  const owners = metadata?.ownerReferences ?? [];
  if (uid !== undefined && owners.some((owner) => owner.controller === true && owner.uid === uid)) return;
  throw new VolumeSetupError(
    `PersistentVolumeClaim ${namespace}/${metadata?.name} was not created for pod ${namespace}/${name} (pod is not owner)`,
  );
}

/** @param plugins sources of PersistentVolumes */
export function createEphemeral(plugins: readonly SourcePlugin[]): SourcePlugin {
  return defineSource(
    'ephemeral',
    {
      summary: 'A PersistentVolume for one pod, through a claim created from a template.',
      use: 'pod',
      block: true,
      mountOptions: true,
      notes: [
        'An existing claim `<pod>-<volume>` that the pod does not own blocks the pod.',
        'Without an API server the agent binds an unused PersistentVolume of the manifests and releases it when the pod is gone. Its content is retained.',
      ],
    },
    (_, request) => {
      const { pod, volumeName } = request;
      const claimName = `${pod.metadata?.name ?? ''}-${volumeName}`;
      return setUpClaim(plugins, { claimName, check: (claim) => checkOwner(pod, claim) }, request);
    },
  );
}
