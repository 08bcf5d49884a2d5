import { describe, expect, test } from 'vitest';
import type { Resource } from './contract.ts';
import { createResourceRegistry } from './registry.ts';

function resource(version: string, plural: string, kind = plural): Resource {
  const info = { group: 'shop.example', version, plural, kind };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the registry looks at names alone
  return { info } as unknown as Resource;
}

describe('createResourceRegistry', () => {
  test('finds by name and by kind', () => {
    const cakes = resource('v1', 'cakes', 'Cake');
    const registry = createResourceRegistry([cakes]);
    expect(registry.find('shop.example', 'v1', 'cakes')).toBe(cakes);
    expect(registry.findKind('shop.example/v1', 'Cake')).toBe(cakes);
    expect(registry.find('shop.example', 'v2', 'cakes')).toBeUndefined();
    expect(registry.all()).toEqual([cakes]);
  });

  test('makes one change of what goes and what comes', () => {
    const old = resource('v1', 'cakes', 'Cake');
    const registry = createResourceRegistry([old]);
    const seen: (readonly string[])[] = [];
    registry.onChange(() => seen.push(registry.all().map(({ info }) => info.version)));
    const before = registry.generation;
    registry.replace([old.info], [resource('v2', 'cakes', 'Cake'), resource('v3', 'cakes', 'Cake')]);
    expect(seen).toEqual([['v2', 'v3']]);
    expect(registry.generation).toBe(before + 1);
    expect(registry.findKind('shop.example/v1', 'Cake')).toBeUndefined();
  });

  test('is silent where nothing changes, and to those who no longer listen', () => {
    const registry = createResourceRegistry();
    let calls = 0;
    const stop = registry.onChange(() => {
      calls += 1;
    });
    registry.remove('shop.example', 'v1', 'cakes');
    expect(calls).toBe(0);
    registry.put(resource('v1', 'cakes'));
    expect(calls).toBe(1);
    stop();
    registry.remove('shop.example', 'v1', 'cakes');
    expect(calls).toBe(1);
    expect(registry.all()).toEqual([]);
  });
});
