/** Permissions of a node on Nodes: register itself and update itself. An allow list names the fields that a
 *  node agent writes; labels and taints have rules of their own, and all other fields are for administrators
 *  and controllers. With an owner reference a node could have itself deleted and register anew without its
 *  taints and labels; with a finalizer it could survive its deletion. Source: NodeRestriction, document 2
 *  §2.7; upstream's plugin, with its fix for CVE-2025-5187. */
import { isDeepStrictEqual } from 'node:util';
import type { Node, NodeSpec } from '#api/gen/core-v1.ts';
import type { ObjectMeta } from '#api/gen/meta-v1.ts';
import { isNodesOwnLabel, isRestrictedLabel } from '#api/meta/node-labels.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import type { AdmissionRequest } from '../contract.ts';
import { refusal } from '../refusal.ts';

type Labels = Readonly<Record<string, string>>;

/** Fields that the server itself sets or validates for every client. */
const SERVERS_OWN: readonly (keyof ObjectMeta)[] = [
  'name',
  'namespace',
  'selfLink',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
];

/** Fields of metadata that a node may change; labels have a rule beside. */
const METADATA: ReadonlySet<string> = new Set([...SERVERS_OWN, 'labels', 'annotations']);
/** Mutable spec fields; taints have a rule of their own. */
const SPEC: ReadonlySet<string> = new Set<keyof NodeSpec>(['providerID', 'unschedulable', 'taints']);

/** Keys of labels that were added, removed or changed. */
function changedLabels(now: Labels, before: Labels): readonly string[] {
  return [...new Set([...Object.keys(now), ...Object.keys(before)])].filter(
    (key) => now[key] !== before[key],
  );
}

const forbiddenLabels = (keys: readonly string[], words: Vocabulary): string =>
  keys
    .filter((key) => isRestrictedLabel(key, words) || !isNodesOwnLabel(key, words))
    .toSorted()
    .join(', ');

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);

/** Names of the members that differ and are not on the list. */
function changedBeyond(now: object, before: object, allowed: ReadonlySet<string>): readonly string[] {
  const a = new Map<string, unknown>(Object.entries(now));
  const b = new Map<string, unknown>(Object.entries(before));
  return [...new Set([...a.keys(), ...b.keys()])].filter((key) => {
    const [left, right] = [a.get(key), b.get(key)];
    return !allowed.has(key) && !(isEmpty(left) && isEmpty(right)) && !isDeepStrictEqual(left, right);
  });
}

/** The spec with its ranges in one form: clients may know of only one of the two members. */
function specOf(object: ApiObject | undefined): object {
  const { podCIDR = '', podCIDRs, ...spec } = object === undefined ? {} : (typed<Node>(object).spec ?? {});
  const ranges = podCIDRs ?? (podCIDR === '' ? [] : [podCIDR]);
  return ranges.length === 0 ? spec : { ...spec, podCIDRs: ranges };
}

/** Fields that a node changed, or set in a new Node, although they are not on the list. */
function forbiddenFields({ object, old, subresource }: AdmissionRequest): readonly string[] {
  const metadata = changedBeyond(object?.metadata ?? {}, old?.metadata ?? {}, METADATA);
  // A status update does not change the spec.
  const spec = subresource === 'status' ? [] : changedBeyond(specOf(object), specOf(old), SPEC);
  return [...metadata.map((field) => `metadata.${field}`), ...spec.map((field) => `spec.${field}`)];
}

/** @throws StatusError Forbidden */
export function checkOwnNode(request: AdmissionRequest, node: string, words: Vocabulary): void {
  const { operation, object, old } = request;
  const who = `node ${JSON.stringify(node)}`;
  const labels = object?.metadata.labels ?? {};
  if (operation === 'CREATE') {
    const bad = forbiddenLabels(changedLabels(labels, {}), words);
    if (bad !== '') throw refusal(request, `${who} is not allowed to set the following labels: ${bad}`);
  }
  const name = request.name === '' ? (object?.metadata.name ?? '') : request.name;
  if (name !== node) throw refusal(request, `${who} is not allowed to modify node ${JSON.stringify(name)}`);
  if (operation === 'DELETE') throw refusal(request, `${who} is not allowed to delete itself`);
  if (operation === 'UPDATE') checkUpdate(request, who, words);
  const fields = forbiddenFields({ ...request, old: operation === 'UPDATE' ? old : undefined });
  if (fields.length === 0) return;
  const verb = operation === 'UPDATE' ? 'modify' : 'set';
  throw refusal(request, `${who} is not allowed to ${verb} ${fields.join(', ')}`);
}

/** @throws StatusError Forbidden for taints and labels that are for administrators */
function checkUpdate(request: AdmissionRequest, who: string, words: Vocabulary): void {
  const { object, old } = request;
  if (object === undefined || old === undefined) return;
  const taints = (of: ApiObject): unknown => typed<Node>(of).spec?.taints ?? [];
  if (!isDeepStrictEqual(taints(object), taints(old)))
    throw refusal(request, `${who} is not allowed to modify taints`);
  const bad = forbiddenLabels(changedLabels(object.metadata.labels ?? {}, old.metadata.labels ?? {}), words);
  if (bad !== '') throw refusal(request, `${who} is not allowed to modify labels: ${bad}`);
}
