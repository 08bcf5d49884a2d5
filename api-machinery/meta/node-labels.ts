/** Labels of the platform's own domains, and which of them a node may give itself. Pure.
 *  Source: document 2, 2.7 (NodeRestriction), and document 3, 4.3. */
import type { Vocabulary } from '../vocabulary.ts';

type Words = Pick<Vocabulary, 'domain' | 'apiGroupDomain' | 'nodeAgentLabelDomain'>;

const prefixOf = (key: string): string => (key.includes('/') ? key.slice(0, key.indexOf('/')) : '');

const isBelow = (prefix: string, parent: string): boolean =>
  prefix === parent || prefix.endsWith(`.${parent}`);

/** Labels by which administrators keep nodes apart: no node may give itself one. */
export const isRestrictedLabel = (key: string, { domain }: Words): boolean =>
  isBelow(prefixOf(key), `node-restriction.${domain}`);

/** Whether a node may give itself the label: any but those of the platform's domains, and of these a few. */
export function isNodesOwnLabel(key: string, words: Words): boolean {
  const { domain, apiGroupDomain, nodeAgentLabelDomain } = words;
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
