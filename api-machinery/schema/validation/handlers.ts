/** Validation of probes and lifecycle hooks. */

import type { Lifecycle, Probe, ProbeHandler } from '../../gen/core-v1.ts';
import { httpHeaderNameErrors, portNameErrors, portNumberErrors } from '../../meta/names.ts';
import type { FieldErrors } from './field-errors.ts';

const HANDLERS = ['exec', 'httpGet', 'tcpSocket', 'grpc'] as const;

function validatePort(errors: FieldErrors, port: number | string, path: string): void {
  errors.invalidAll(path, port, typeof port === 'number' ? portNumberErrors(port) : portNameErrors(port));
}

function validateHandler(
  errors: FieldErrors,
  handler: ProbeHandler,
  path: string,
  kinds: readonly string[],
): void {
  const used = HANDLERS.filter((kind) => handler[kind] !== undefined);
  if (used.length === 0) errors.required(path, `one of ${kinds.join(', ')} is needed`);
  for (const extra of used.slice(1))
    errors.forbidden(`${path}.${extra}`, 'there must be exactly one handler');
  const { exec, httpGet, tcpSocket, grpc } = handler;
  if (exec !== undefined && (exec.command ?? []).length === 0) errors.required(`${path}.exec.command`);
  if (httpGet !== undefined) {
    if ((httpGet.path ?? '') === '') errors.required(`${path}.httpGet.path`);
    validatePort(errors, httpGet.port, `${path}.httpGet.port`);
    for (const [index, header] of (httpGet.httpHeaders ?? []).entries()) {
      const at = `${path}.httpGet.httpHeaders[${index}]`;
      errors.invalidAll(`${at}.name`, header.name, httpHeaderNameErrors(header.name));
      // Line ends would allow header injection.
      if (/[\r\n]/.test(header.value))
        errors.add('FieldValueInvalid', `${at}.value`, 'must be a single line');
    }
  }
  if (tcpSocket !== undefined) validatePort(errors, tcpSocket.port, `${path}.tcpSocket.port`);
  if (grpc !== undefined) validatePort(errors, grpc.port, `${path}.grpc.port`);
}

export type ProbeKind = 'livenessProbe' | 'readinessProbe' | 'startupProbe';

/** Returns every validation error of a probe. Liveness and startup probes must have a success threshold of 1. */
export function validateProbe(errors: FieldErrors, kind: ProbeKind, probe: Probe, path: string): void {
  validateHandler(errors, probe, path, HANDLERS);
  errors.nonNegative(`${path}.initialDelaySeconds`, probe.initialDelaySeconds);
  for (const member of ['timeoutSeconds', 'periodSeconds', 'failureThreshold'] as const) {
    errors.nonNegative(`${path}.${member}`, probe[member]);
  }
  errors.nonNegative(`${path}.successThreshold`, probe.successThreshold);
  const { successThreshold = 1, terminationGracePeriodSeconds } = probe;
  if (kind !== 'readinessProbe' && successThreshold > 1) {
    errors.invalid(`${path}.successThreshold`, successThreshold, 'must be 1');
  }
  if (terminationGracePeriodSeconds === undefined) return;
  if (kind === 'readinessProbe') {
    errors.forbidden(`${path}.terminationGracePeriodSeconds`, 'a readiness probe ends no container');
  }
  errors.positive(`${path}.terminationGracePeriodSeconds`, terminationGracePeriodSeconds);
}

/** Returns every validation error of a container's hooks. */
export function validateLifecycle(errors: FieldErrors, lifecycle: Lifecycle, path: string): void {
  for (const hook of ['postStart', 'preStop'] as const) {
    const handler = lifecycle[hook];
    if (handler !== undefined) {
      validateHandler(errors, handler, `${path}.${hook}`, ['exec', 'httpGet', 'tcpSocket']);
    }
  }
}
