import { describe, expect, test } from 'vitest';
import type { EphemeralContainer, Pod } from '#api/gen/core-v1.ts';
import { type DebugRequest, debugContainer } from './debug.ts';

const pod = (...names: readonly string[]): Pod => ({
  spec: { containers: [{ name: 'app' }], ephemeralContainers: names.map((name) => ({ name })) },
});
const request: DebugRequest = { pod: 'web', image: 'tools', name: undefined, target: undefined, argv: [] };
const none = { stdin: false, tty: false };

describe('debugContainer', () => {
  test.each<[string, Pod, Parameters<typeof debugContainer>[1], EphemeralContainer]>([
    ['has the next free name', pod(), { ...request, streams: none }, { name: 'debugger-1', image: 'tools' }],
    [
      'fills the first gap in the names',
      pod('debugger-1', 'debugger-3'),
      { ...request, streams: none },
      { name: 'debugger-2', image: 'tools' },
    ],
    [
      'takes name, target and command as they are given',
      pod(),
      { ...request, name: 'x', target: 'app', argv: ['ps', '-e'], streams: none },
      { name: 'x', image: 'tools', command: ['ps', '-e'], targetContainerName: 'app' },
    ],
    [
      'can be joined again with a terminal',
      pod(),
      { ...request, name: 'x', streams: { stdin: true, tty: true } },
      { name: 'x', image: 'tools', stdin: true, tty: true },
    ],
    [
      'sees the end of piped input',
      pod(),
      { ...request, name: 'x', streams: { stdin: true, tty: false } },
      { name: 'x', image: 'tools', stdin: true, stdinOnce: true },
    ],
  ])('%s', (_what, target, wanted, expected) => {
    expect(debugContainer(target, wanted)).toEqual(expected);
  });
});
