/** Command lines of all programs and scripts: `--help` prints the usage, and an unknown flag one line that names it. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { COMPILE_CACHE } from '../testing/compile-cache.ts';

const ROOT = join(import.meta.dirname, '..');
const UNKNOWN = '--unheard-of';
/** The benchmark loads most of the agent and of the API server. */
const LOADING_MS = 60_000;

/** Exit code of each entry point for an unknown flag. The programs fail with 1, as upstream's. */
const ENTRY_POINTS: Readonly<Record<string, number>> = {
  'agent/bin.ts': 1,
  'agent/demo/main.ts': 1,
  'agent/install/containerd-unit.ts': 2,
  'bench/main.ts': 2,
  'bin/control-plane-lite': 1,
  'control-plane-lite/bin.ts': 1,
  'scripts/bundle.ts': 2,
  'scripts/check-wording.ts': 2,
  'scripts/dependencies/check.ts': 2,
  'scripts/gen.ts': 2,
  'scripts/package/main.ts': 2,
  'scripts/packages.sh': 2,
  'scripts/review-counts.ts': 2,
  'scripts/run.sh': 2,
  'scripts/stock-programs.sh': 2,
  'testing/selection/main.ts': 2,
};

/** Files that read the command line, and are no fixtures or children of tests. */
function entryPoints(): readonly string[] {
  const tracked = execFileSync('git', ['ls-files', '*.ts', '*.sh', 'bin/*'], { cwd: ROOT, encoding: 'utf8' });
  const files = tracked
    .trimEnd()
    .split('\n')
    .filter((path) => !/\.(?:test|fixture)\.ts$|^e2e\/|^testing\/[^/]+$/.test(path));
  const readsArguments = (path: string): boolean =>
    /\bprocess\.argv\b(?!\[1\])|\bparseArgs\(/.test(readFileSync(join(ROOT, path), 'utf8'));
  const isEntry = (path: string): boolean =>
    !path.endsWith('.ts') || (!LIBRARIES.has(path) && readsArguments(path));
  return files.filter(isEntry);
}

/** Parts of entry points. */
const LIBRARIES: ReadonlySet<string> = new Set([
  'agent/cli/args/arguments.ts',
  'agent/demo/options.ts',
  'agent/install/main.ts',
  'agent/server/node/node-server.ts',
  'control-plane-lite/commands/install-command.ts',
  'scripts/arguments.ts',
]);

async function run(path: string, argument: string): Promise<readonly [number | null, string, string]> {
  const [program, ...before] = path.endsWith('.ts')
    ? [process.execPath]
    : path.endsWith('.sh')
      ? ['sh']
      : [join(ROOT, path)];
  const args = [...before, ...(path.includes('.') ? [join(ROOT, path)] : []), argument];
  const child = spawn(program ?? '', args, {
    cwd: ROOT,
    env: { ...process.env, ...COMPILE_CACHE },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [, out, err] = await Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)]);
  return [child.exitCode, out, err];
}

test('the table has every entry point', () => {
  expect(entryPoints()).toEqual(Object.keys(ENTRY_POINTS));
});

describe('--help shows the usage:', { timeout: LOADING_MS }, () => {
  test.each(Object.keys(ENTRY_POINTS))('%s', async (path) => {
    const [code, out, err] = await run(path, '--help');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out.split('\n', 1)[0]).toMatch(/^(?:usage: |npm |node |nodeagent |control-plane-lite )/);
  });
});

describe('an unknown flag is named in one line:', { timeout: LOADING_MS }, () => {
  test.each(Object.entries(ENTRY_POINTS))('%s', async (path, exitCode) => {
    const [code, out, err] = await run(path, UNKNOWN);
    expect({ code, out }).toEqual({ code: exitCode, out: '' });
    const [first = '', ...further] = err.trimEnd().split('\n');
    expect(first).toContain(UNKNOWN);
    // A second line may lead to the help.
    expect(further.filter((line) => !line.includes('--help'))).toEqual([]);
  });
});
