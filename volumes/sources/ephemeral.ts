/** ephemeral: a claim made for the pod from its own template, named after pod and volume, and gone with the pod. Others
 *  make it; here it is only used, if it is the pod's own. Spec: document 3, 2.3. */
import type { PersistentVolumeClaim, Pod } from '#api/schema/gen/core-v1.ts';
import { VolumeSetupError } from '../setup-error.ts';
import { setUpClaim } from './persistent-volume-claim.ts';
import { defineSource, type SourcePlugin } from './source.ts';

/** Source: upstream's `VolumeIsForPod`, release 1.24.
 *  @throws VolumeSetupError for a claim that somebody else made, which the pod must not get at by its name */
function checkOwner(pod: Pod, { metadata }: PersistentVolumeClaim): void {
  const { uid, name, namespace = 'default' } = pod.metadata ?? {};
  const owners = metadata?.ownerReferences ?? [];
  if (uid !== undefined && owners.some((owner) => owner.controller === true && owner.uid === uid)) return;
  throw new VolumeSetupError(
    `PersistentVolumeClaim ${namespace}/${metadata?.name} was not created for pod ${namespace}/${name} (pod is not owner)`,
  );
}

/** @param plugins the sources that a PersistentVolume may have */
export function createEphemeral(plugins: readonly SourcePlugin[]): SourcePlugin {
  return defineSource(
    'ephemeral',
    {
      summary: 'A PersistentVolume for the pod alone, through a claim that is made from a template.',
      use: 'pod',
      block: true,
      mountOptions: true,
      notes: [
        'A claim of the name `<pod>-<volume>` that is not the pod’s own blocks the pod.',
        'Without an API server the agent takes a PersistentVolume of the manifests that nobody has and gives it back when the pod is gone; its content stays as it is.',
      ],
    },
    (_, request) => {
      const { pod, volumeName } = request;
      const claimName = `${pod.metadata?.name ?? ''}-${volumeName}`;
      return setUpClaim(plugins, { claimName, check: (claim) => checkOwner(pod, claim) }, request);
    },
  );
}
