/** Labels in the platform's own domains, and which of them a node may set on itself. Pure.
 *  Source: NodeRestriction, document 2 §2.7; node labels, document 3 §4.3. */
import type { Vocabulary } from '../vocabulary.ts';

type VocabularyNames = Pick<Vocabulary, 'domain' | 'apiGroupDomain' | 'nodeAgentLabelDomain'>;

const prefixOf = (key: string): string => (key.includes('/') ? key.slice(0, key.indexOf('/')) : '');

const isBelow = (prefix: string, parent: string): boolean =>
  prefix === parent || prefix.endsWith(`.${parent}`);

/** Labels by which administrators isolate nodes: a node must not set them on itself. */
export const isRestrictedLabel = (key: string, { domain }: VocabularyNames): boolean =>
  isBelow(prefixOf(key), `node-restriction.${domain}`);

/** Reports whether a node may set the label on itself: any outside the platform's domains, and a few
 *  inside. */
export function isNodesOwnLabel(key: string, vocabulary: VocabularyNames): boolean {
  const { domain, apiGroupDomain, nodeAgentLabelDomain } = vocabulary;
  const prefix = prefixOf(key);
  if (!isBelow(prefix, domain) && !isBelow(prefix, apiGroupDomain)) return true;
  if (isBelow(prefix, nodeAgentLabelDomain) || isBelow(prefix, `node.${domain}`)) return true;
  return [
    `${domain}/hostname`,
    `${domain}/arch`,
    `${domain}/os`,
    `beta.${domain}/arch`,
    `beta.${domain}/os`,
    `beta.${domain}/instance-type`,
    `failure-domain.beta.${domain}/region`,
    `failure-domain.beta.${domain}/zone`,
    `topology.${domain}/region`,
    `topology.${domain}/zone`,
  ].includes(key);
}
