/** Validation of container ports, and of host port conflicts within a pod. */
import { isIP } from 'node:net';
import type { ContainerPort } from '../../gen/core-v1.ts';
import { portNameErrors, portNumberErrors } from '../../meta/names.ts';
import type { FieldErrors } from './field-errors.ts';

/** Returns every validation error of a container's ports. */
export function validatePorts(
  errors: FieldErrors,
  ports: readonly ContainerPort[],
  hostNetwork: boolean,
  path: string,
): void {
  const names = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const at = `${path}[${index}]`;
    const { name = '', containerPort, hostPort = 0, hostIP = '' } = port;
    if (name !== '') {
      const reasons = portNameErrors(name);
      errors.invalidAll(`${at}.name`, name, reasons);
      if (names.has(name)) errors.duplicate(`${at}.name`, name);
      names.add(name);
    }
    if (containerPort === 0) errors.required(`${at}.containerPort`);
    else errors.invalidAll(`${at}.containerPort`, containerPort, portNumberErrors(containerPort));
    if (hostPort !== 0) errors.invalidAll(`${at}.hostPort`, hostPort, portNumberErrors(hostPort));
    if (hostNetwork && hostPort !== 0 && hostPort !== containerPort) {
      errors.invalid(
        `${at}.hostPort`,
        hostPort,
        'must be the same as containerPort in a pod with hostNetwork',
      );
    }
    if (hostIP !== '' && isIP(hostIP) === 0) errors.invalid(`${at}.hostIP`, hostIP, 'must be an IP address');
    if ((port.protocol ?? '') === '') errors.required(`${at}.protocol`);
  }
}

/** The ports of one container, with the path of that container. */
export interface PortOwner {
  readonly path: string;
  readonly ports: readonly ContainerPort[] | undefined;
}

/** Reports host ports that these containers, which run at the same time, use more than once. */
export function validateHostPortConflicts(errors: FieldErrors, owners: readonly PortOwner[]): void {
  const seen = new Set<string>();
  for (const { path, ports = [] } of owners) {
    for (const [index, port] of ports.entries()) {
      const { hostPort = 0, hostIP = '', protocol = 'TCP' } = port;
      if (hostPort === 0) continue;
      const key = `${protocol}/${hostIP}/${hostPort}`;
      if (seen.has(key)) errors.duplicate(`${path}.ports[${index}].hostPort`, key);
      seen.add(key);
    }
  }
}
