/** Selects the container of a pod that a client request refers to. Pure. */

import type { Pod } from '#api/gen/core-v1.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { appContainers, initContainers } from './decide/containers.ts';
import type { ContainerSpec } from './decide/decision-types.ts';

/** Returns the container by name; without a name the default container of the pod, else the only or first
 *  one.
 *  @param defaultKey annotation that names the default container
 *  @throws StatusError BadRequest that lists the existing containers */
export function chooseContainer(pod: Pod, name: string, defaultKey: string): ContainerSpec {
  const apps = appContainers(pod);
  const all = [...apps, ...initContainers(pod), ...(pod.spec?.ephemeralContainers ?? [])];
  const wanted = name === '' ? (pod.metadata?.annotations?.[defaultKey] ?? apps[0]?.name) : name;
  const found = all.find((spec) => spec.name === wanted);
  if (found !== undefined) return found;
  const names = all.map((spec) => spec.name).join(', ');
  throw new StatusError(
    'BadRequest',
    `container ${JSON.stringify(wanted)} is not in this pod, which has: ${names}`,
  );
}
