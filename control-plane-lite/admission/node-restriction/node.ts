/** What a node may do with Nodes: register itself and keep itself up to date, but for taints and labels that are
 *  for administrators. */
import { isDeepStrictEqual } from 'node:util';
import { isNodesOwnLabel, isRestrictedLabel } from '#api/meta/node-labels.ts';
import type { Node } from '#api/schema/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { typed } from '../../resources/view.ts';
import type { AdmissionRequest } from '../contract.ts';
import { refusal } from '../refusal.ts';

type Labels = Readonly<Record<string, string>>;

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
  if (operation !== 'UPDATE' || object === undefined || old === undefined) return;
  const taints = (of: typeof object): unknown => typed<Node>(of).spec?.taints ?? [];
  if (!isDeepStrictEqual(taints(object), taints(old)))
    throw refusal(request, `${who} is not allowed to modify taints`);
  const bad = forbiddenLabels(changedLabels(labels, old.metadata.labels ?? {}), words);
  if (bad !== '') throw refusal(request, `${who} is not allowed to modify labels: ${bad}`);
}
