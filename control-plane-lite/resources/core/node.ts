/** Nodes. Source: upstream's node strategy and printer, release 1.24. */

import type { Node, NodeSpec, Taint } from '#api/gen/core-v1.ts';
import { isMutableObject } from '#api/kit/object.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { ipFamilyOf, parseIpRange } from '#api/meta/ip.ts';
import { labelValueErrors, qualifiedNameErrors } from '#api/meta/names.ts';
import { parseQuantity } from '#api/meta/quantity.ts';
import { createBoundedFieldErrors, type FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject, Cell, KindEntry, PartStrategy } from '../contract.ts';
import { ageOf, NONE, orNone, UNKNOWN } from '../rows.ts';
import { draftSpec, keepMember, membersOf, typed } from '../view.ts';

const specOf = (object: ApiObject): NodeSpec => typed<Node>(object).spec ?? {};

/** `podCIDR` is the first of `podCIDRs`; a client may know of only one of the two. */
function alignPodCIDRs(draft: ApiObject): void {
  const { podCIDR = '', podCIDRs = [] } = specOf(draft);
  const first = podCIDRs[0] ?? '';
  if (podCIDR === first) return;
  const spec = draftSpec<NodeSpec>(draft);
  if (podCIDR === '') spec.podCIDR = first;
  else spec.podCIDRs = [podCIDR];
}

function validateTaint(errors: FieldErrors, { key, value = '', effect }: Taint, path: string): void {
  if (key === '') errors.required(`${path}.key`);
  else errors.invalidAll(`${path}.key`, key, qualifiedNameErrors(key));
  errors.invalidAll(`${path}.value`, value, labelValueErrors(value));
  // The decoder has reported an unknown effect.
  if ((effect as string) === '') errors.required(`${path}.effect`);
}

function validateTaints(errors: FieldErrors, taints: readonly Taint[]): void {
  const seen = new Set<string>();
  for (const [index, taint] of taints.entries()) {
    const path = `spec.taints[${index}]`;
    validateTaint(errors, taint, path);
    const pair = `${taint.key}:${taint.effect}`;
    if (seen.has(pair)) {
      errors.add('FieldValueDuplicate', path, 'taints must be unique by key and effect pair', taint);
    }
    seen.add(pair);
  }
}

function validateCIDRs(errors: FieldErrors, { podCIDRs = [] }: NodeSpec): void {
  const path = 'spec.podCIDRs';
  for (const [index, cidr] of podCIDRs.entries()) {
    if (parseIpRange(cidr) === undefined) {
      const detail = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';
      errors.invalid(`${path}[${index}]`, cidr, detail);
    }
    if (podCIDRs.indexOf(cidr) < index) errors.duplicate(`${path}[${index}]`, cidr);
  }
  const families = new Set(podCIDRs.map((cidr) => ipFamilyOf(cidr.split('/')[0] ?? '')));
  if (podCIDRs.length > 2 || families.size < podCIDRs.length) {
    errors.invalid(path, podCIDRs, 'may specify no more than one CIDR for each IP family');
  }
}

function validate(object: ApiObject): readonly FieldError[] {
  const errors = createBoundedFieldErrors();
  const { spec = {}, status = {} } = typed<Node>(object);
  validateTaints(errors, spec.taints ?? []);
  validateCIDRs(errors, spec);
  for (const member of ['capacity', 'allocatable'] as const) {
    for (const [name, amount] of Object.entries(status[member] ?? {})) {
      const at = `status.${member}[${name}]`;
      if (parseQuantity(amount).nanos < 0n) {
        errors.invalid(at, amount, 'must be greater than or equal to 0');
      }
    }
  }
  return errors.all;
}

function validateAddresses(errors: FieldErrors, { status }: Node): void {
  const seen = new Set<string>();
  for (const [index, { type, address }] of (status?.addresses ?? []).entries()) {
    const pair = `${type}/${address}`;
    if (seen.has(pair)) errors.duplicate(`status.addresses[${index}]`, { type, address });
    seen.add(pair);
  }
}

function validateUpdate(object: ApiObject, oldObject: ApiObject): readonly FieldError[] {
  const errors = createBoundedFieldErrors();
  const [spec, old] = [specOf(object), specOf(oldObject)];
  validateAddresses(errors, typed<Node>(object));
  const [now, before] = [spec.podCIDRs ?? [], old.podCIDRs ?? []];
  const sameCIDRs = now.length === before.length && now.every((cidr, index) => cidr === before[index]);
  if (before.length > 0 && !sameCIDRs) {
    errors.forbidden('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid');
  }
  if ((old.providerID ?? '') !== '' && spec.providerID !== old.providerID) {
    errors.forbidden('spec.providerID', 'node updates may not change providerID except from "" to valid');
  }
  if ((spec.externalID ?? '') !== (old.externalID ?? '')) {
    errors.forbidden('spec.externalID', 'may not be updated');
  }
  return errors.all;
}

const statusPart: PartStrategy = {
  changesMetadata: true,
  prepareForUpdate: (draft, old) => keepMember(draft, old, 'spec'),
  validateUpdate: (object, old) => [...validate(object), ...validateUpdate(object, old)],
};

function warnings(object: ApiObject): readonly string[] {
  const { configSource, externalID = '' } = specOf(object);
  return [
    ...(configSource === undefined
      ? []
      : ['spec.configSource: the feature is no longer supported, the value is not used']),
    ...(externalID === '' ? [] : ['spec.externalID: this field is deprecated, and is unused']),
  ];
}

function rolesOf({ metadata }: ApiObject, { domain }: Vocabulary): string {
  const prefix = `node-role.${domain}/`;
  const roles = Object.entries(metadata.labels ?? {}).map(([key, value]) => {
    if (key.startsWith(prefix)) return key.slice(prefix.length);
    return key === `${domain}/role` ? value : '';
  });
  return orNone([...new Set(roles.filter((role) => role !== ''))].toSorted().join(','));
}

function statusText({ spec, status }: Node): string {
  const ready = (status?.conditions ?? []).findLast(({ type }) => type === 'Ready');
  const word = ready?.status === 'True' ? 'Ready' : 'NotReady';
  return `${ready === undefined ? 'Unknown' : word}${spec?.unschedulable === true ? ',SchedulingDisabled' : ''}`;
}

const addressOf = ({ status }: Node, type: string): string =>
  (status?.addresses ?? []).find((address) => address.type === type)?.address ?? NONE;

/** The version's member has another name in each vocabulary. */
function versionOf(object: ApiObject, { nodeAgentVersionMember }: Vocabulary): string {
  const status = object['status'];
  const info = isMutableObject(status) ? status['nodeInfo'] : undefined;
  const version = isMutableObject(info) ? info[nodeAgentVersionMember] : undefined;
  return typeof version === 'string' ? version : '';
}

function row(object: ApiObject, nowMs: number, vocabulary: Vocabulary): readonly Cell[] {
  const node = typed<Node>(object);
  const { nodeInfo } = node.status ?? {};
  const orUnknown = (text: string | undefined): string =>
    text === undefined || text === '' ? UNKNOWN : text;
  return [
    object.metadata.name ?? '',
    statusText(node),
    rolesOf(object, vocabulary),
    ageOf(object, nowMs),
    versionOf(object, vocabulary),
    addressOf(node, 'InternalIP'),
    addressOf(node, 'ExternalIP'),
    orUnknown(nodeInfo?.osImage),
    orUnknown(nodeInfo?.kernelVersion),
    orUnknown(nodeInfo?.containerRuntimeVersion),
  ];
}

export const nodeKind: KindEntry = {
  strategy: {
    countsGeneration: false,
    // A node agent registers its node with all that it knows of it.
    keepsStatusOnCreate: true,
    normalize: alignPodCIDRs,
    prepareForCreate: (draft) => void membersOf(draft, 'status'),
    validate,
    validateUpdate,
    warnings,
    selectableFields: { 'spec.unschedulable': (object) => String(specOf(object).unschedulable === true) },
    row: (object, { nowMs, vocabulary }) => row(object, nowMs, vocabulary),
  },
  parts: { status: statusPart },
};
