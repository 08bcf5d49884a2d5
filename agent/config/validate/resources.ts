/** Validation of cgroups, their enforcement, and sysctls. */
import type { AgentConfig } from '../gen/config.ts';
import { type ConfigFieldError, errorOf } from './fault.ts';

const SYSCTL_NAME = /^[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?(?:[./][a-z0-9](?:[-_a-z0-9]*[a-z0-9])?)*$/;
const SYSCTL_PATTERN = /^[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?(?:[./][a-z0-9](?:[-_a-z0-9]*[a-z0-9])?)*[./]?\*$/;

/** Namespaced sysctls, the only ones that pods may set.
 *  Source: kernel documentation, ipc_namespaces(7), network_namespaces(7). */
const NAMESPACED = [/^kernel[./]shm/, /^kernel[./]msg/, /^kernel[./]sem$/, /^fs[./]mqueue[./]/, /^net[./]/];

/** Returns the validation errors of the sysctl patterns. */
function checkSysctls({ allowedUnsafeSysctls }: AgentConfig): readonly ConfigFieldError[] {
  return allowedUnsafeSysctls.flatMap((badValue, index) => {
    const options = { badValue, path: `[${index}]` };
    if (!SYSCTL_NAME.test(badValue) && !SYSCTL_PATTERN.test(badValue)) {
      const detail =
        'must be the name of a sysctl, or a prefix and *, such as net.core.somaxconn or kernel.msg*';
      return [errorOf('allowedUnsafeSysctls', detail, options)];
    }
    if (NAMESPACED.some((pattern) => pattern.test(badValue))) return [];
    const detail =
      'belongs to the whole machine; only kernel.shm*, kernel.msg*, kernel.sem, fs.mqueue.*, net.*';
    return [errorOf('allowedUnsafeSysctls', detail, options)];
  });
}

/** Returns the validation errors of the enforcement of allocatable. */
function checkEnforcement(config: AgentConfig): readonly ConfigFieldError[] {
  const key = 'enforceNodeAllocatable';
  const groups: readonly string[] = config.enforceNodeAllocatable;
  const errors: ConfigFieldError[] = [];
  const enforced = groups.filter((group) => group !== 'none');
  if (!config.cgroupsPerQOS && enforced.length > 0) {
    const detail = 'must be empty or none while cgroupsPerQOS is false';
    errors.push(errorOf(key, detail, { badValue: groups, others: ['cgroupsPerQOS'] }));
  }
  if (groups.includes('none') && enforced.length > 0) {
    errors.push(errorOf(key, 'none must stand alone', { badValue: groups }));
  }
  for (const group of new Set(groups.filter((one, index) => groups.indexOf(one) !== index))) {
    errors.push(errorOf(key, 'must not repeat a group', { kind: 'FieldValueDuplicate', badValue: group }));
  }
  const cgroups = {
    'system-reserved': 'systemReservedCgroup',
    'plat-reserved': 'platReservedCgroup',
  } as const;
  for (const [group, cgroup] of Object.entries(cgroups)) {
    if (!groups.includes(group) || config[cgroup] !== '') continue;
    const detail = `${group} needs its cgroup: ${cgroup} (--${group}-cgroup)`;
    errors.push(errorOf(key, detail, { badValue: group, others: [cgroup] }));
  }
  return errors;
}

/** Returns the validation errors of cgroups, pod counts and sysctls. */
export function validateResources(config: AgentConfig): readonly ConfigFieldError[] {
  const errors = [...checkEnforcement(config), ...checkSysctls(config)];
  if (config.systemCgroups !== '' && config.cgroupRoot === '') {
    const badValue = config.systemCgroups;
    errors.push(errorOf('systemCgroups', 'needs cgroupRoot', { badValue, others: ['cgroupRoot'] }));
  }
  if (config.podsPerCore !== 0 && config.podsPerCore > config.maxPods) {
    const detail = `must not be above maxPods, which is ${config.maxPods}`;
    errors.push(errorOf('podsPerCore', detail, { badValue: config.podsPerCore, others: ['maxPods'] }));
  }
  const factor = config.memoryThrottlingFactor;
  if (factor <= 0 || factor > 1) {
    const detail = 'must be above 0 and at most 1';
    errors.push(errorOf('memoryThrottlingFactor', detail, { badValue: factor }));
  }
  for (const key of ['systemReservedCgroup', 'platReservedCgroup'] as const) {
    if (config[key] === '' || config[key].startsWith('/')) continue;
    errors.push(errorOf(key, 'must be an absolute name such as /system.slice', { badValue: config[key] }));
  }
  return errors;
}
