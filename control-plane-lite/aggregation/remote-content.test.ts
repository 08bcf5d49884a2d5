import { describe, expect, test } from 'vitest';
import { isEmptiable, parseItems } from './remote-content.ts';

describe('isEmptiable', () => {
  const resource = {
    name: 'gadgets',
    singularName: '',
    namespaced: true,
    kind: 'Gadget',
    verbs: ['list', 'delete'],
  };
  test.each([
    ['with delete', {}, true],
    ['with deletecollection', { verbs: ['list', 'deletecollection'] }, true],
    ['that can only be read', { verbs: ['get', 'list'] }, false],
    ['that can not be listed', { verbs: ['delete'] }, false],
    ['of the cluster', { namespaced: false }, false],
    ['that is a part', { name: 'gadgets/status' }, false],
  ])('%s', (_, more, expected) => expect(isEmptiable({ ...resource, ...more })).toBe(expected));
});

describe('parseItems', () => {
  test('takes what has a name', () => {
    const items = [{ metadata: { name: 'a', finalizers: ['f', 1] } }, { metadata: { name: 'b' } }, {}, null];
    expect(parseItems({ items })).toEqual([
      { name: 'a', finalizers: ['f'] },
      { name: 'b', finalizers: [] },
    ]);
    expect([parseItems(undefined), parseItems({ items: 1 })]).toEqual([[], []]);
  });
});
