/** Host ports of pods. Pure. */
import type { Pod } from '#api/gen/core-v1.ts';

export interface HostPort {
  readonly protocol: string;
  readonly ip: string;
  readonly port: number;
}

const ANY: ReadonlySet<string> = new Set(['', '0.0.0.0', '::']);

export function hostPorts(pod: Pod): readonly HostPort[] {
  const sidecars = (pod.spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  return [...sidecars, ...(pod.spec?.containers ?? [])].flatMap(({ ports = [] }) =>
    ports
      .filter(({ hostPort = 0 }) => hostPort > 0)
      .map(({ protocol = 'TCP', hostIP = '', hostPort = 0 }) => ({ protocol, ip: hostIP, port: hostPort })),
  );
}

const collide = (a: HostPort, b: HostPort): boolean =>
  a.protocol === b.protocol && a.port === b.port && (a.ip === b.ip || ANY.has(a.ip) || ANY.has(b.ip));

/** Returns the first host port of the pod that another pod uses, and that pod. */
export function hostPortConflict(
  pod: Pod,
  others: readonly Pod[],
): { readonly port: HostPort; readonly holder: Pod } | undefined {
  for (const port of hostPorts(pod)) {
    const holder = others.find((other) => hostPorts(other).some((taken) => collide(port, taken)));
    if (holder !== undefined) return { port, holder };
  }
  return undefined;
}
