import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import { CommandError, UsageError } from './errors.ts';
import { findPod, parsePodName } from './find-pod.ts';

const pod = (namespace: string, name: string, nodeName = 'n1'): Pod => ({
  metadata: { namespace, name },
  spec: { nodeName, containers: [] },
});

describe('parsePodName', () => {
  test.each([
    ['web', undefined, { namespace: 'default', name: 'web' }],
    ['web', 'shop', { namespace: 'shop', name: 'web' }],
    ['pod/web', undefined, { namespace: 'default', name: 'web' }],
    ['po/web', 'shop', { namespace: 'shop', name: 'web' }],
    ['shop/web', undefined, { namespace: 'shop', name: 'web' }],
    ['shop/web', 'shop', { namespace: 'shop', name: 'web' }],
  ])('reads %s with -n %s', (text, namespace, expected) => {
    expect(parsePodName(text, namespace)).toEqual(expected);
  });

  test.each(['', '/', 'a/', '/a', 'a/b/c', 'pod/'])('refuses %j', (text) => {
    expect(() => parsePodName(text, undefined)).toThrow(UsageError);
  });

  test('refuses two namespaces that contradict each other', () => {
    expect(() => parsePodName('shop/web', 'default')).toThrow(
      /names the namespace shop, and -n says default/,
    );
  });
});

describe('findPod', () => {
  const pods = [pod('default', 'web-n1'), pod('default', 'api'), pod('shop', 'cart-N1', 'N1')];

  test('finds a pod by its name', () => {
    expect(findPod(pods, { namespace: 'default', name: 'api' })).toBe(pods[1]);
  });

  test('finds a pod by the name in its manifest', () => {
    expect(findPod(pods, { namespace: 'default', name: 'web' })).toBe(pods[0]);
  });

  test('prefers the exact name', () => {
    const exact = pod('default', 'web');
    expect(findPod([...pods, exact], { namespace: 'default', name: 'web' })).toBe(exact);
  });

  test.each([
    ['wib', 'default', /there is no pod "wib" in namespace default; did you mean web\?/],
    ['cart-N1', 'default', /there is one with -n shop/],
    ['something-else', 'default', /nodeagent ps lists all/],
    ['we', 'other', /nodeagent ps lists all/],
  ])('says of %s in %s what there is instead', (name, namespace, message) => {
    expect(() => findPod(pods, { namespace, name })).toThrow(message);
    expect(() => findPod(pods, { namespace, name })).toThrow(CommandError);
  });
});
