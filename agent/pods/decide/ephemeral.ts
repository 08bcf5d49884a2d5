/** Ephemeral containers, added to a running pod for debugging: started once, terminated with the pod. Pure.
 *  They are not part of the manifest, so the pod stays the same one.
 *  Source: upstream 1.24, the `ephemeralcontainers` subresource of pods. */

import type { EphemeralContainer, Pod } from '#api/gen/core-v1.ts';
import { formatFieldError } from '#api/meta/field-error.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { decode } from '#api/schema/decode.ts';
import { defaultAndValidatePod } from '#api/schema/manifest.ts';
import type { PodValidationOptions } from '#api/schema/validation/pod.ts';

/** Returns the pod with one more ephemeral container, with its defaults applied.
 *  @param value an EphemeralContainer as received
 *  @throws StatusError Invalid with every validation error */
export function addEphemeralContainer(pod: Pod, value: unknown, options: PodValidationOptions): Pod {
  const before = pod.spec?.ephemeralContainers ?? [];
  const path = ['spec', 'ephemeralContainers', before.length];
  const decoded = decode<EphemeralContainer>('core/v1.EphemeralContainer', value, { path });
  const wanted = withContainers(pod, [...before, decoded.value]);
  const { pod: next, errors } = defaultAndValidatePod(wanted, options, decoded.errors);
  if (errors.length === 0) return next;
  throw new StatusError('Invalid', errors.map(formatFieldError).join('\n'), { errors });
}

/** Returns the pod with the ephemeral containers of `earlier`, an earlier state of it. */
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
