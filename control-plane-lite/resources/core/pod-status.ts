/** Status of a pod: written by its node, never together with the spec. Source: upstream's pod status
 *  strategy, release 1.24. */
import { isIP } from 'node:net';
import type { ContainerStatus, Pod, PodStatus } from '#api/gen/core-v1.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { dns1123SubdomainErrors, qualifiedNameErrors } from '#api/meta/names.ts';
import { createBoundedFieldErrors, type FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { ApiObject, PartStrategy } from '../contract.ts';
import { keepMember, membersOf, typed } from '../view.ts';
import { validateLastingAnnotations } from './pod-update.ts';

/** `podIP` is the first of `podIPs`; a client may know of only one of the two. */
function alignPodIPs(draft: ApiObject): void {
  const { podIP = '', podIPs = [] } = typed<Pod>(draft).status ?? {};
  const first = podIPs[0]?.ip ?? '';
  if (podIP === first) return;
  // The older field wins: a client that changes only this field does not know the other.
  const aligned = podIP === '' ? { podIP: first } : { podIPs: [{ ip: podIP }] };
  draft['status'] = { ...membersOf(draft, 'status'), ...aligned };
}

function prepareForUpdate(draft: ApiObject, old: ApiObject): void {
  keepMember(draft, old, 'spec');
  // Old node agents send owners that garbage collection would stumble over.
  keepMember(draft.metadata, old.metadata, 'ownerReferences');
  alignPodIPs(draft);
}

/** A container that has ended for good runs again in another pod only. */
function validateTransitions(
  errors: FieldErrors,
  now: readonly ContainerStatus[] = [],
  before: readonly ContainerStatus[] = [],
  path: string,
  restartPolicy: string,
): void {
  if (restartPolicy === 'Always') return;
  for (const [index, old] of before.entries()) {
    const ended = old.state?.terminated;
    if (ended === undefined || (ended.exitCode !== 0 && restartPolicy === 'OnFailure')) continue;
    const next = now.find(({ name }) => name === old.name);
    if (next !== undefined && next.state?.terminated === undefined) {
      errors.forbidden(`${path}[${index}].state`, 'may not be transitioned to non-terminated state');
    }
  }
}

function validateIPs(errors: FieldErrors, { podIPs = [] }: PodStatus): void {
  const path = 'status.podIPs';
  const addresses = podIPs.map(({ ip = '' }) => ip);
  for (const [index, ip] of addresses.entries()) {
    if (isIP(ip) === 0) {
      errors.invalid(
        `${path}[${index}]`,
        ip,
        'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      );
    }
    if (addresses.indexOf(ip) < index) errors.duplicate(`${path}[${index}]`, ip);
  }
  const families = new Set(addresses.map(isIP));
  if (addresses.length > 1 && (addresses.length > 2 || families.size < 2)) {
    errors.invalid(path, addresses, 'may specify no more than one IP for each IP family');
  }
}

const SYSTEM_CONDITIONS: readonly string[] = ['PodScheduled', 'Ready', 'Initialized', 'ContainersReady'];

function validateConditions(errors: FieldErrors, { conditions = [] }: PodStatus): void {
  for (const [index, { type }] of conditions.entries()) {
    if (SYSTEM_CONDITIONS.includes(type)) continue;
    errors.invalidAll(`status.conditions[${index}].type`, type, qualifiedNameErrors(type));
  }
}

function validateStatus(errors: FieldErrors, pod: Pod, old: Pod): void {
  const [now, before] = [pod.status ?? {}, old.status ?? {}];
  const policy = old.spec?.restartPolicy ?? 'Always';
  validateConditions(errors, now);
  const nominated = now.nominatedNodeName ?? '';
  if (nominated !== '' && nominated !== before.nominatedNodeName) {
    errors.invalidAll('status.nominatedNodeName', nominated, dns1123SubdomainErrors(nominated));
  }
  for (const [member, restarts] of [
    ['containerStatuses', policy],
    // Sidecars are restarted regardless of the pod's restart policy.
    ['initContainerStatuses', hasSidecars(old) ? 'Always' : policy],
    ['ephemeralContainerStatuses', 'Never'],
  ] as const) {
    validateTransitions(errors, now[member], before[member], `status.${member}`, restarts);
  }
  validateIPs(errors, now);
}

const hasSidecars = ({ spec }: Pod): boolean =>
  (spec?.initContainers ?? []).some(({ restartPolicy }) => restartPolicy === 'Always');

export const podStatusPart: PartStrategy = {
  changesMetadata: true,
  prepareForUpdate,
  validateUpdate(object, oldObject, { vocabulary }): readonly FieldError[] {
    const [pod, old] = [typed<Pod>(object), typed<Pod>(oldObject)];
    const errors = createBoundedFieldErrors();
    validateLastingAnnotations(errors, pod, old, vocabulary);
    validateStatus(errors, pod, old);
    return errors.all;
  },
};
