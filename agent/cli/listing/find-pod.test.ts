import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { CommandError, UsageError } from '../errors.ts';
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

  test('rejects contradicting namespaces', () => {
    expect(() => parsePodName('shop/web', 'default')).toThrow(
      /namespace shop of "shop\/web" contradicts -n default/,
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
    ['wib', 'default', /pod "wib" not found in namespace default; did you mean web\?/],
    ['cart-N1', 'default', /found with -n shop/],
    ['something-else', 'default', /list all pods with nodeagent ps/],
    ['we', 'other', /list all pods with nodeagent ps/],
  ])('suggests alternatives for %s in %s', (name, namespace, message) => {
    expect(() => findPod(pods, { namespace, name })).toThrow(message);
    expect(() => findPod(pods, { namespace, name })).toThrow(CommandError);
  });
});
