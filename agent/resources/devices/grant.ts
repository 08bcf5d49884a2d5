/** What plugins answered, as what a container gets. Pure. Source: upstream's device manager
 *  (`deviceRunContainerOptions`), release 1.24. */
import type { ContainerAllocateResponse } from '#cri/gen/deviceplugin-v1beta1.ts';
import type { ContainerGrant } from '../contract.ts';

/** Of equal variables, paths and annotations those of the first answer count.
 *  @param answers in the order of the resources' names */
export function grantFrom(answers: readonly ContainerAllocateResponse[]): ContainerGrant {
  const env: Record<string, string> = {};
  const annotations: Record<string, string> = {};
  const devices = new Map<string, NonNullable<ContainerGrant['devices']>[number]>();
  const mounts = new Map<string, NonNullable<ContainerGrant['mounts']>[number]>();
  for (const answer of answers) {
    for (const [name, value] of Object.entries(answer.envs)) env[name] ??= value;
    for (const [name, value] of Object.entries(answer.annotations)) annotations[name] ??= value;
    for (const { containerPath, hostPath, permissions } of answer.devices) {
      if (!devices.has(containerPath)) devices.set(containerPath, { containerPath, hostPath, permissions });
    }
    for (const { containerPath, hostPath, readOnly: readonly } of answer.mounts) {
      if (!mounts.has(containerPath)) mounts.set(containerPath, { containerPath, hostPath, readonly });
    }
  }
  return { env, annotations, devices: [...devices.values()], mounts: [...mounts.values()] };
}
