/** Validation of probes and lifecycle hooks. */

import type { Lifecycle, Probe, ProbeHandler } from '../../gen/core-v1.ts';
import { httpHeaderNameFaults, portNameFaults, portNumberFaults } from '../../meta/names.ts';
import type { Faults } from './faults.ts';

const HANDLERS = ['exec', 'httpGet', 'tcpSocket', 'grpc'] as const;

function validatePort(faults: Faults, port: number | string, path: string): void {
  faults.invalidAll(path, port, typeof port === 'number' ? portNumberFaults(port) : portNameFaults(port));
}

function validateHandler(
  faults: Faults,
  handler: ProbeHandler,
  path: string,
  kinds: readonly string[],
): void {
  const used = HANDLERS.filter((kind) => handler[kind] !== undefined);
  if (used.length === 0) faults.required(path, `one of ${kinds.join(', ')} is needed`);
  for (const extra of used.slice(1))
    faults.forbidden(`${path}.${extra}`, 'there must be exactly one handler');
  const { exec, httpGet, tcpSocket, grpc } = handler;
  if (exec !== undefined && (exec.command ?? []).length === 0) faults.required(`${path}.exec.command`);
  if (httpGet !== undefined) {
    if ((httpGet.path ?? '') === '') faults.required(`${path}.httpGet.path`);
    validatePort(faults, httpGet.port, `${path}.httpGet.port`);
    for (const [index, header] of (httpGet.httpHeaders ?? []).entries()) {
      const at = `${path}.httpGet.httpHeaders[${index}]`;
      faults.invalidAll(`${at}.name`, header.name, httpHeaderNameFaults(header.name));
      // Line ends would allow header injection.
      if (/[\r\n]/.test(header.value))
        faults.add('FieldValueInvalid', `${at}.value`, 'must be a single line');
    }
  }
  if (tcpSocket !== undefined) validatePort(faults, tcpSocket.port, `${path}.tcpSocket.port`);
  if (grpc !== undefined) validatePort(faults, grpc.port, `${path}.grpc.port`);
}

export type ProbeKind = 'livenessProbe' | 'readinessProbe' | 'startupProbe';

/** Returns every validation error of a probe. Liveness and startup probes must have a success threshold of 1. */
export function validateProbe(faults: Faults, kind: ProbeKind, probe: Probe, path: string): void {
  validateHandler(faults, probe, path, HANDLERS);
  faults.nonNegative(`${path}.initialDelaySeconds`, probe.initialDelaySeconds);
  for (const member of ['timeoutSeconds', 'periodSeconds', 'failureThreshold'] as const) {
    faults.nonNegative(`${path}.${member}`, probe[member]);
  }
  faults.nonNegative(`${path}.successThreshold`, probe.successThreshold);
  const { successThreshold = 1, terminationGracePeriodSeconds } = probe;
  if (kind !== 'readinessProbe' && successThreshold > 1) {
    faults.invalid(`${path}.successThreshold`, successThreshold, 'must be 1');
  }
  if (terminationGracePeriodSeconds === undefined) return;
  if (kind === 'readinessProbe') {
    faults.forbidden(`${path}.terminationGracePeriodSeconds`, 'a readiness probe ends no container');
  }
  faults.positive(`${path}.terminationGracePeriodSeconds`, terminationGracePeriodSeconds);
}

/** Returns every validation error of a container's hooks. */
export function validateLifecycle(faults: Faults, lifecycle: Lifecycle, path: string): void {
  for (const hook of ['postStart', 'preStop'] as const) {
    const handler = lifecycle[hook];
    if (handler !== undefined) {
      validateHandler(faults, handler, `${path}.${hook}`, ['exec', 'httpGet', 'tcpSocket']);
    }
  }
}
