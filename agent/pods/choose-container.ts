/** Which container of a pod a person means. Pure. */
import { StatusError } from '#api/meta/status-error.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import { appContainers, initContainers } from './containers.ts';
import type { ContainerSpec } from './plan.ts';

/** The container by name; without one the pod's default container, else its only or first one.
 *  @param defaultKey annotation that names the default container
 *  @throws StatusError BadRequest naming those that there are */
export function chooseContainer(pod: Pod, name: string, defaultKey: string): ContainerSpec {
  const apps = appContainers(pod);
  const all = [...apps, ...initContainers(pod), ...(pod.spec?.ephemeralContainers ?? [])];
  const wanted = name === '' ? (pod.metadata?.annotations?.[defaultKey] ?? apps[0]?.name) : name;
  const found = all.find((spec) => spec.name === wanted);
  if (found !== undefined) return found;
  const names = all.map((spec) => spec.name).join(', ');
  throw new StatusError(
    'BadRequest',
    `container ${JSON.stringify(wanted)} is not in this pod; it has: ${names}`,
  );
}
