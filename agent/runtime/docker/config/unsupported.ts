/** CRI options that docker does not support. Rejected by name: a container must not run with less than its
 *  configuration requires. Pure. */

import type { ContainerConfig, NamespaceOption, PodSandboxConfig } from '#cri/gen/cri-v1.ts';
import { CallRejection } from '#cri/server/rejection.ts';

function unsupported(field: string, advice: string): CallRejection {
  return new CallRejection('InvalidArgument', `${field}: not supported by docker; ${advice}`);
}

function checkNamespaces(path: string, options: NamespaceOption | undefined): void {
  if (options?.usernsOptions !== undefined && options.usernsOptions.mode === 'POD') {
    throw unsupported(`${path}.userns_options`, "remove it, or set docker's userns-remap for all containers");
  }
}

/** @throws CallRejection `InvalidArgument` */
export function requireSupportedSandbox(config: PodSandboxConfig): void {
  checkNamespaces(
    'linux.security_context.namespace_options',
    config.linux?.securityContext?.namespaceOptions,
  );
  for (const [index, { protocol }] of config.portMappings.entries()) {
    if (!['TCP', 'UDP', 'SCTP'].includes(protocol)) {
      throw unsupported(`port_mappings[${index}].protocol`, 'use TCP, UDP or SCTP');
    }
  }
}

/** @throws CallRejection `InvalidArgument` */
export function requireSupportedContainer(config: ContainerConfig): void {
  const security = config.linux?.securityContext;
  checkNamespaces('linux.security_context.namespace_options', security?.namespaceOptions);
  if ((security?.capabilities?.addAmbientCapabilities.length ?? 0) > 0) {
    throw unsupported('linux.security_context.capabilities.add_ambient_capabilities', 'remove it');
  }
  if (security?.supplementalGroupsPolicy === 'Strict') {
    throw unsupported('linux.security_context.supplemental_groups_policy', 'use Merge');
  }
  if (config.CDIDevices.length > 0) throw unsupported('CDI_devices', 'list the devices themselves');
  if (Object.keys(config.linux?.resources?.unified ?? {}).length > 0) {
    throw unsupported('linux.resources.unified', 'remove it, or set it on the cgroup of the pod');
  }
  for (const [index, mount] of config.mounts.entries()) {
    const path = `mounts[${index}]`;
    if (mount.recursiveReadOnly) throw unsupported(`${path}.recursive_read_only`, 'use readonly');
    if (mount.image !== undefined) throw unsupported(`${path}.image`, 'copy the files into a volume');
    if (mount.uidMappings.length > 0 || mount.gidMappings.length > 0) {
      throw unsupported(`${path}.uid_mappings`, 'remove the mappings');
    }
    if (mount.selinuxRelabel && /[:,]/.test(mount.hostPath + mount.containerPath)) {
      throw unsupported(`${path}.selinux_relabel`, 'use paths without colons and commas');
    }
  }
}
