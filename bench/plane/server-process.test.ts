import { describe, expect, test } from 'vitest';
import { launcherSettings } from './server-process.ts';

const SCRIPT = `#!/bin/sh
NODE_COMPILE_CACHE=\${NODE_COMPILE_CACHE:-$here/cache}
MALLOC_ARENA_MAX=\${MALLOC_ARENA_MAX:-2}
export MALLOC_ARENA_MAX
exec "$node" --max-semi-space-size=8 "$here/control-plane-lite/bin.ts" "$@"
`;

describe('launcherSettings', () => {
  test('returns the script’s settings for Node, without those that depend on the installation', () => {
    expect(launcherSettings(SCRIPT)).toEqual({
      nodeFlags: ['--max-semi-space-size=8'],
      environment: { MALLOC_ARENA_MAX: '2' },
    });
  });
});
