import { describe, expect, test } from 'vitest';
import type { Container, Pod } from '#api/gen/core-v1.ts';
import { hugePageSize, memorySize, parseSizeLimit } from './empty-dir.ts';

const podOf = (
  limits: readonly Record<string, string>[],
  init: readonly Record<string, string>[] = [],
): Pod => {
  const container = (resources: Record<string, string>, index: number): Container => ({
    name: `c${index}`,
    resources: { limits: resources },
  });
  return { spec: { containers: limits.map(container), initContainers: init.map(container) } };
};

describe('parseSizeLimit', () => {
  test.each([
    [undefined, undefined],
    ['0', undefined],
    ['1Mi', 2 ** 20],
    ['1500m', 2],
  ])('reads %s as %s', (text, bytes) => expect(parseSizeLimit(text)).toBe(bytes));
  test.each(['lots', '-1'])('rejects %s', (text) => {
    expect(() => parseSizeLimit(text)).toThrow('sizeLimit');
  });
});

describe('memorySize', () => {
  const memory = (text: string): Record<string, string> => ({ memory: text });
  test.each([
    ['nothing known', podOf([{}]), undefined, undefined, undefined],
    ['the node', podOf([{}]), undefined, 1000, 1000],
    ['the limit of the volume', podOf([{}]), 10, 1000, 10],
    ['the sum of the containers', podOf([memory('100'), memory('200')]), undefined, 1000, 300],
    ['the larger init container', podOf([memory('100')], [memory('400')]), undefined, 1000, 400],
    ['not a sum that one container has no part in', podOf([memory('100'), {}]), undefined, 1000, 1000],
    ['the smallest of all', podOf([memory('100')]), 200, 1000, 100],
    [
      'the containers and the pod overhead',
      { spec: { ...podOf([memory('100')]).spec, overhead: memory('20') } } as Pod,
      undefined,
      1000,
      120,
    ],
  ])('is %s', (_, pod, sizeLimit, node, expected) => {
    expect(memorySize(pod, sizeLimit, node)).toBe(expected);
  });
});

describe('hugePageSize', () => {
  const pages = (...sizes: string[]): Record<string, string> =>
    Object.fromEntries(sizes.map((size) => [`hugepages-${size}`, '1Gi']));
  test.each([
    ['HugePages', podOf([pages('2Mi')]), 2 ** 21],
    ['HugePages-1Gi', podOf([pages('2Mi'), pages('1Gi')]), 2 ** 30],
    ['HugePages-2Mi', podOf([{}], [pages('2Mi')]), 2 ** 21],
  ])('%s', (medium, pod, bytes) => expect(hugePageSize(pod, medium)).toBe(bytes));
  test.each([
    ['HugePages', podOf([pages('2Mi', '1Gi')]), 'uses several page sizes'],
    ['HugePages', podOf([{}]), 'needs a container that requests hugepages-<size>'],
    ['HugePages-1Gi', podOf([pages('2Mi')]), 'needs a container that requests hugepages-1Gi'],
    ['HugePages-x', podOf([pages('x')]), 'has no readable page size'],
  ])('rejects %s', (medium, pod, message) => {
    expect(() => hugePageSize(pod, medium)).toThrow(message);
  });
});
