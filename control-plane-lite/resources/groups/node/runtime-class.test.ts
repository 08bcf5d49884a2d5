import { describe, expect, it, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { type ErrorRow, errorsOf, type KindSubject, rowOf, updateFaultsOf } from '../kind.fixture.ts';
import { runtimeClass } from './runtime-class.ts';

describe('a runtime class', () => {
  const subject: KindSubject = {
    typeRef: `node.${VOCABULARIES.plat.apiGroupDomain}/v1.RuntimeClass`,
    entry: runtimeClass,
    base: { metadata: { name: 'gvisor', creationTimestamp: '2026-11-21T11:59:00Z' }, handler: 'runsc' },
  };
  const TOLERATIONS = 'scheduling.tolerations';
  const toleration = { key: 'a', operator: 'Exists' };

  test.each<ErrorRow>([
    ['is right', { overhead: { podFixed: { cpu: '10m' } }, scheduling: { nodeSelector: { a: 'b' } } }, []],
    ['without handler', { handler: '' }, ['handler Invalid']],
    ['with a broken handler', { handler: 'a_b' }, ['handler Invalid']],
    [
      'with an overhead below zero',
      { overhead: { podFixed: { cpu: '-1' } } },
      ['overhead.podFixed[cpu] Invalid'],
    ],
    [
      'with a broken selector',
      { scheduling: { nodeSelector: { a: '-', '-': '' } } },
      ['scheduling.nodeSelector[a] Invalid', 'scheduling.nodeSelector Invalid'],
    ],
    ['with a toleration', { [TOLERATIONS]: [toleration] }, []],
    ['with a toleration twice', { [TOLERATIONS]: [toleration, toleration] }, [`${TOLERATIONS}[1] Duplicate`]],
    [
      'with broken tolerations',
      {
        [TOLERATIONS]: [
          { operator: 'Equal' },
          { key: 'a', operator: 'Exists', value: 'b' },
          { key: 'a', operator: 'Equal', value: '-' },
          { key: 'a', operator: 'Exists', tolerationSeconds: 5, effect: 'NoSchedule' },
        ],
      },
      [
        `${TOLERATIONS}[0].operator Invalid`,
        `${TOLERATIONS}[1].value Invalid`,
        `${TOLERATIONS}[2][a] Invalid`,
        `${TOLERATIONS}[3].effect Invalid`,
      ],
    ],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  test.each<ErrorRow>([
    ['scheduling', { scheduling: { nodeSelector: { a: 'b' } } }, []],
    ['handler', { handler: 'kata' }, ['handler Invalid']],
  ])('changing its %s', (_, changes, expected) => expect(updateFaultsOf(subject, changes)).toEqual(expected));

  it('has a row', () => expect(rowOf(subject)).toEqual(['gvisor', 'runsc', '60s']));
});
