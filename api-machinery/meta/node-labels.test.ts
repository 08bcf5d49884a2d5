import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '../vocabulary.ts';
import { isNodesOwnLabel, isRestrictedLabel } from './node-labels.ts';

describe.each(Object.values(VOCABULARIES))('labels of nodes in vocabulary $name', (vocabulary) => {
  const { domain, apiGroupDomain, nodeAgentLabelDomain } = vocabulary;
  test.each<[string, boolean]>([
    ['own', true],
    ['example.com/own', true],
    [`${domain}/hostname`, true],
    [`topology.${domain}/zone`, true],
    [`node.${domain}/instance-type`, true],
    [`${nodeAgentLabelDomain}/x`, true],
    [`sub.${nodeAgentLabelDomain}/x`, true],
    [`${domain}/else`, false],
    [`x.${apiGroupDomain}/y`, false],
    [`my${domain}/y`, true],
    [`node-restriction.${domain}/x`, false],
  ])('%s', (key, own) => expect(isNodesOwnLabel(key, vocabulary)).toBe(own));

  test.each<[string, boolean]>([
    [`node-restriction.${domain}/x`, true],
    [`a.node-restriction.${domain}/x`, true],
    [`node.${domain}/x`, false],
    [`node-restriction.${domain}`, false],
  ])('%s is for administrators: %s', (key, restricted) =>
    expect(isRestrictedLabel(key, vocabulary)).toBe(restricted),
  );
});
