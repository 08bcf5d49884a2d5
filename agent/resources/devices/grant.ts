/** Container grant from Allocate responses. Pure. Source: upstream's device manager
 *  (`deviceRunContainerOptions`), release 1.24. */
import type { ContainerAllocateResponse } from '#cri/gen/deviceplugin-v1beta1.ts';
import type { ContainerGrant } from '../contract.ts';

/** Of duplicate variables, paths and annotations those of the first response win.
 *  @param responses in the order of the resource names */
export function grantFrom(responses: readonly ContainerAllocateResponse[]): ContainerGrant {
  const env: Record<string, string> = {};
  const annotations: Record<string, string> = {};
  const devices = new Map<string, NonNullable<ContainerGrant['devices']>[number]>();
  const mounts = new Map<string, NonNullable<ContainerGrant['mounts']>[number]>();
  for (const response of responses) {
    for (const [name, value] of Object.entries(response.envs)) env[name] ??= value;
    for (const [name, value] of Object.entries(response.annotations)) annotations[name] ??= value;
    for (const { containerPath, hostPath, permissions } of response.devices) {
      if (!devices.has(containerPath)) devices.set(containerPath, { containerPath, hostPath, permissions });
    }
    for (const { containerPath, hostPath, readOnly: readonly } of response.mounts) {
      if (!mounts.has(containerPath)) mounts.set(containerPath, { containerPath, hostPath, readonly });
    }
  }
  return { env, annotations, devices: [...devices.values()], mounts: [...mounts.values()] };
}
