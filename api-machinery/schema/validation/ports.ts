/** Validation of container ports, and of host port conflicts within a pod. */
import { isIP } from 'node:net';
import type { ContainerPort } from '../../gen/core-v1.ts';
import { portNameFaults, portNumberFaults } from '../../meta/names.ts';
import type { Faults } from './faults.ts';

/** Returns every validation error of a container's ports. */
export function validatePorts(
  faults: Faults,
  ports: readonly ContainerPort[],
  hostNetwork: boolean,
  path: string,
): void {
  const names = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const at = `${path}[${index}]`;
    const { name = '', containerPort, hostPort = 0, hostIP = '' } = port;
    if (name !== '') {
      const reasons = portNameFaults(name);
      faults.invalidAll(`${at}.name`, name, reasons);
      if (names.has(name)) faults.duplicate(`${at}.name`, name);
      names.add(name);
    }
    if (containerPort === 0) faults.required(`${at}.containerPort`);
    else faults.invalidAll(`${at}.containerPort`, containerPort, portNumberFaults(containerPort));
    if (hostPort !== 0) faults.invalidAll(`${at}.hostPort`, hostPort, portNumberFaults(hostPort));
    if (hostNetwork && hostPort !== 0 && hostPort !== containerPort) {
      faults.invalid(
        `${at}.hostPort`,
        hostPort,
        'must be the same as containerPort in a pod with hostNetwork',
      );
    }
    if (hostIP !== '' && isIP(hostIP) === 0) faults.invalid(`${at}.hostIP`, hostIP, 'must be an IP address');
    if ((port.protocol ?? '') === '') faults.required(`${at}.protocol`);
  }
}

/** The ports of one container, with the path of that container. */
export interface PortOwner {
  readonly path: string;
  readonly ports: readonly ContainerPort[] | undefined;
}

/** Reports host ports that these containers, which run at the same time, use more than once. */
export function validateHostPortConflicts(faults: Faults, owners: readonly PortOwner[]): void {
  const seen = new Set<string>();
  for (const { path, ports = [] } of owners) {
    for (const [index, port] of ports.entries()) {
      const { hostPort = 0, hostIP = '', protocol = 'TCP' } = port;
      if (hostPort === 0) continue;
      const key = `${protocol}/${hostIP}/${hostPort}`;
      if (seen.has(key)) faults.duplicate(`${path}.ports[${index}].hostPort`, key);
      seen.add(key);
    }
  }
}
