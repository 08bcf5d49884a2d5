import { describe, expect, test } from 'vitest';
import { splitArguments } from './agent-flags.ts';

describe('splitArguments', () => {
  test.each([
    { argv: [], own: [], flags: [] },
    { argv: ['--changed'], own: ['--changed'], flags: [] },
    { argv: ['-o', 'yaml', '--max-pods', '5'], own: ['-o', 'yaml'], flags: ['--max-pods', '5'] },
    { argv: ['--config', 'x', '--output=json'], own: ['--output=json'], flags: ['--config', 'x'] },
    { argv: ['--socket', '/x'], own: [], flags: ['--socket', '/x'] },
    { argv: ['--output-x'], own: [], flags: ['--output-x'] },
  ])('splits $argv', ({ argv, own, flags }) => {
    expect(splitArguments(argv)).toEqual({ own, flags });
  });
});
