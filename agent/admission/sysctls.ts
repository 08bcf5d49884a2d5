/** Sysctls that a pod may set. Pure.
 *  Source: upstream's safe set for release 1.24; sysctl(8), namespaces(7). */
import type { Pod } from '#api/gen/core-v1.ts';

/** Safe for every pod: namespaced, and harmless for the node. */
const SAFE: ReadonlySet<string> = new Set([
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_unprivileged_port_start',
]);

type Namespace = 'ipc' | 'network';

/** Returns the namespace of a sysctl; undefined for one of the whole node. */
function namespaceOf(name: string): Namespace | undefined {
  if (name.startsWith('net.')) return 'network';
  const isIpc = name === 'kernel.sem' || /^(?:kernel\.(?:shm|msg)|fs\.mqueue\.)/.test(name);
  return isIpc ? 'ipc' : undefined;
}

const matches = (pattern: string, name: string): boolean =>
  pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name;

/** Returns the error of the first sysctl that is not allowed; undefined when all are.
 *  @param allowedUnsafe names, or patterns that end in `*`, from `--allowed-unsafe-sysctls` */
export function forbiddenSysctl(pod: Pod, allowedUnsafe: readonly string[]): string | undefined {
  const { hostNetwork = false, hostIPC = false, securityContext } = pod.spec ?? {};
  for (const { name: written } of securityContext?.sysctls ?? []) {
    const name = written.replaceAll('/', '.');
    const namespace = namespaceOf(name);
    if (namespace === undefined) return `sysctl ${JSON.stringify(name)} is not namespaced`;
    if (namespace === 'network' && hostNetwork)
      return `sysctl ${JSON.stringify(name)} is not allowed with hostNetwork`;
    if (namespace === 'ipc' && hostIPC) return `sysctl ${JSON.stringify(name)} is not allowed with hostIPC`;
    if (SAFE.has(name) || allowedUnsafe.some((pattern) => matches(pattern.replaceAll('/', '.'), name)))
      continue;
    return `sysctl ${JSON.stringify(name)} is unsafe and not in allowedUnsafeSysctls`;
  }
  return undefined;
}
