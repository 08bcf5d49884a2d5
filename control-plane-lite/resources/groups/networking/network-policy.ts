/** NetworkPolicies. Source: networking/v1. */

import type { IPBlock, NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from '#api/gen/networking-v1.ts';
import { parseIp, parseIpRange, rangeContains } from '#api/meta/ip.ts';
import { portNameErrors, portNumberErrors } from '#api/meta/names.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import { validateLabelSelector } from '#api/schema/validation/label-selector.ts';
import type { KindEntry } from '../../contract.ts';
import { ageOf, formatSelectorCell } from '../../rows.ts';
import { validateConditions } from '../conditions.ts';
import { kindStrategy, statusPart } from '../kind.ts';

function validateEndPort(errors: FieldErrors, { port, endPort }: NetworkPolicyPort, path: string): void {
  if (endPort === undefined) return;
  if (port === undefined) return errors.required(`${path}.port`, 'must be specified when `endPort` is');
  if (typeof port === 'string') {
    return errors.invalid(`${path}.endPort`, endPort, 'may not be specified when `port` is non-numeric');
  }
  if (endPort < port) {
    return errors.invalid(`${path}.endPort`, endPort, 'must be greater than or equal to `port`');
  }
  return errors.invalidAll(`${path}.endPort`, endPort, portNumberErrors(endPort));
}

function validatePort(errors: FieldErrors, entry: NetworkPolicyPort, path: string): void {
  const { port } = entry;
  if (typeof port === 'number') errors.invalidAll(`${path}.port`, port, portNumberErrors(port));
  else if (port !== undefined) errors.invalidAll(`${path}.port`, port, portNameErrors(port));
  validateEndPort(errors, entry, path);
}

function validateBlock(errors: FieldErrors, { cidr, except = [] }: IPBlock, path: string): void {
  if (cidr === '') return errors.required(`${path}.cidr`);
  const range = parseIpRange(cidr);
  if (range === undefined) return errors.invalid(`${path}.cidr`, cidr, 'not a valid CIDR');
  for (const [index, text] of except.entries()) {
    const at = `${path}.except[${index}]`;
    const inner = parseIpRange(text);
    const first = parseIp(text.split('/')[0] ?? '');
    if (inner === undefined || first === undefined) errors.invalid(at, text, 'not a valid CIDR');
    else if (!rangeContains(range, first) || inner.prefixBits <= range.prefixBits) {
      errors.invalid(at, text, 'must be a strict subset of `cidr`');
    }
  }
  return undefined;
}

function validatePeer(errors: FieldErrors, peer: NetworkPolicyPeer, path: string): void {
  const { podSelector, namespaceSelector, ipBlock } = peer;
  const selects = podSelector !== undefined || namespaceSelector !== undefined;
  if (podSelector !== undefined) validateLabelSelector(errors, podSelector, `${path}.podSelector`);
  if (namespaceSelector !== undefined) {
    validateLabelSelector(errors, namespaceSelector, `${path}.namespaceSelector`);
  }
  if (ipBlock !== undefined) {
    validateBlock(errors, ipBlock, `${path}.ipBlock`);
    if (selects) errors.forbidden(path, 'may not specify both ipBlock and another peer');
  } else if (!selects) errors.required(path, 'must specify a peer');
}

interface AnyRule {
  readonly ports?: readonly NetworkPolicyPort[];
  readonly peers: readonly NetworkPolicyPeer[];
}

function validateRule(
  errors: FieldErrors,
  { ports = [], peers }: AnyRule,
  member: string,
  path: string,
): void {
  for (const [index, port] of ports.entries()) validatePort(errors, port, `${path}.ports[${index}]`);
  for (const [index, peer] of peers.entries()) validatePeer(errors, peer, `${path}.${member}[${index}]`);
}

export const networkPolicy: KindEntry = {
  strategy: kindStrategy<NetworkPolicy>({
    validate(errors, { spec }) {
      if (spec === undefined) return errors.required('spec');
      const { podSelector, ingress = [], egress = [], policyTypes = [] } = spec;
      validateLabelSelector(errors, podSelector, 'spec.podSelector');
      for (const [index, { from = [], ports = [] }] of ingress.entries()) {
        validateRule(errors, { ports, peers: from }, 'from', `spec.ingress[${index}]`);
      }
      for (const [index, { to = [], ports = [] }] of egress.entries()) {
        validateRule(errors, { ports, peers: to }, 'to', `spec.egress[${index}]`);
      }
      if (policyTypes.length > 2) {
        errors.invalid('spec.policyTypes', policyTypes, 'may not specify more than two policyTypes');
      }
      return undefined;
    },
    row: (object, { nowMs }) => [
      object.metadata?.name ?? '',
      formatSelectorCell(object.spec?.podSelector),
      ageOf(object, nowMs),
    ],
  }),
  parts: {
    status: statusPart<NetworkPolicy>({
      validate: (errors, { status }) => validateConditions(errors, status?.conditions, 'status.conditions'),
    }),
  },
};
