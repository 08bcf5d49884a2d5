/** Containers that are added to a pod while it runs, to look into it: started once, ended with the pod. Pure.
 *  They are no part of the manifest, so the pod stays the same one.
 *  Spec: upstream 1.24, the pods' subresource of this name. */
import { formatFieldError } from '#api/meta/field-error.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { decode } from '#api/schema/decode.ts';
import type { EphemeralContainer, Pod } from '#api/schema/gen/core-v1.ts';
import { defaultAndValidatePod } from '#api/schema/manifest.ts';
import type { PodValidationOptions } from '#api/schema/validation/pod.ts';

/** The pod with one more container, which has its defaults.
 *  @param value an EphemeralContainer as it was given
 *  @throws StatusError Invalid with every fault */
export function addEphemeralContainer(pod: Pod, value: unknown, options: PodValidationOptions): Pod {
  const before = pod.spec?.ephemeralContainers ?? [];
  const path = ['spec', 'ephemeralContainers', before.length];
  const decoded = decode<EphemeralContainer>('core/v1.EphemeralContainer', value, { path });
  const wanted = withContainers(pod, [...before, decoded.value]);
  const { pod: next, errors } = defaultAndValidatePod(wanted, options, decoded.errors);
  if (errors.length === 0) return next;
  throw new StatusError('Invalid', errors.map(formatFieldError).join('\n'), { faults: errors });
}

/** The pod with the containers that were added to `earlier`, an earlier state of it. */
export function withEphemeralContainersOf(pod: Pod, earlier: Pod): Pod {
  const own = pod.spec?.ephemeralContainers ?? [];
  const added = (earlier.spec?.ephemeralContainers ?? []).filter(
    ({ name }) => !own.some((container) => container.name === name),
  );
  return added.length === 0 ? pod : withContainers(pod, [...own, ...added]);
}

const withContainers = (pod: Pod, ephemeralContainers: readonly EphemeralContainer[]): Pod => ({
  ...pod,
  spec: { ...pod.spec, containers: pod.spec?.containers ?? [], ephemeralContainers },
});
