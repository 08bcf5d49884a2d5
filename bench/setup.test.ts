import { describe, expect, test } from 'vitest';
import { unitEnvironment, unitNodeFlags } from './setup.ts';

const UNIT = `[Service]
Environment=MALLOC_ARENA_MAX=2
Environment=NODE_COMPILE_CACHE=%C/nodeagent
ExecStart=/usr/lib/x/bin/node --expose-gc \\
  --max-semi-space-size=1 \\
  /usr/lib/x/nodeagent.js run \\
  --config=/etc/x.yaml
`;

describe('unitNodeFlags', () => {
  test('returns the flags before the script', () => {
    expect(unitNodeFlags(UNIT)).toEqual(['--expose-gc', '--max-semi-space-size=1']);
  });
});

describe('unitEnvironment', () => {
  test('omits values that depend on the installation', () => {
    expect(unitEnvironment(UNIT)).toEqual({ MALLOC_ARENA_MAX: '2' });
  });
});
