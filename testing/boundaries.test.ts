/** The rules of design: which room may import which, nobody reaches into another room's internals, no cycles,
 *  and words that differ between the vocabularies stand in one file. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');

/** What each room may import besides itself. Tests may use the testing room too. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  'api-machinery': [],
  'cri-proto': ['api-machinery'],
  volumes: ['api-machinery', 'cri-proto'],
  eviction: ['api-machinery'],
  agent: ['api-machinery', 'cri-proto', 'volumes', 'eviction', 'packaging'],
  'control-plane-lite': ['api-machinery'],
  packaging: ['api-machinery', 'cri-proto', 'agent', 'scripts'],
  testing: ['api-machinery', 'cri-proto', 'volumes', 'agent', 'control-plane-lite', 'scripts'],
  e2e: [
    'api-machinery',
    'cri-proto',
    'volumes',
    'agent',
    'control-plane-lite',
    'packaging',
    'testing',
    'scripts',
  ],
  bench: [
    'api-machinery',
    'cri-proto',
    'volumes',
    'agent',
    'control-plane-lite',
    'testing',
    'scripts',
    'packaging',
  ],
  scripts: ['api-machinery', 'cri-proto', 'volumes', 'agent'],
};

const ALIASES: Readonly<Record<string, string>> = {
  '#api': 'api-machinery',
  '#cri': 'cri-proto',
  '#volumes': 'volumes',
  '#eviction': 'eviction',
  '#agent': 'agent',
  '#packaging': 'packaging',
  '#plane': 'control-plane-lite',
};

interface Import {
  readonly from: string;
  readonly to: string;
  readonly typeOnly: boolean;
  readonly lazy: boolean;
}

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path.includes('/') && existsSync(join(ROOT, path)));

const isTest = (path: string): boolean => path.endsWith('.test.ts') || path.includes('/testing/');
const roomOf = (path: string): string => path.split('/')[0] ?? '';
const readText = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Every import, export-from and dynamic import of our own files, as repository paths. */
export function importsOf(path: string, text: string): readonly Import[] {
  const pattern = /(?:^|\n)\s*(import|export)(\s+type)?\s[^;'"]*?from\s+'([^']+)'|import\(\s*'([^']+)'/g;
  return [...text.matchAll(pattern)].flatMap((match) => {
    const specifier = match[3] ?? match[4] ?? '';
    const to = resolve(path, specifier);
    const lazy = match[4] !== undefined;
    return to === undefined ? [] : [{ from: path, to, typeOnly: match[2] !== undefined, lazy }];
  });
}

function resolve(path: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return normalize(join(dirname(path), specifier));
  const [alias = '', ...rest] = specifier.split('/');
  const room = ALIASES[alias];
  return room === undefined ? undefined : join(room, ...rest);
}

const imports = files.flatMap((path) => importsOf(path, readText(path)));

describe('imports', () => {
  test('are found at all', () => {
    expect(imports.length).toBeGreaterThan(500);
    expect(importsOf('agent/x.ts', "import type { A } from '#api/a.ts';\nawait import('./b.ts');")).toEqual([
      { from: 'agent/x.ts', to: 'api-machinery/a.ts', typeOnly: true, lazy: false },
      { from: 'agent/x.ts', to: 'agent/b.ts', typeOnly: false, lazy: true },
    ]);
  });

  test('point down only', () => {
    const wrong = imports.filter(({ from, to }) => {
      const [room, target] = [roomOf(from), roomOf(to)];
      if (room === target || to === 'package.json') return false;
      if (isTest(from) && (target === 'testing' || (target === 'agent' && room !== 'control-plane-lite')))
        return false;
      return !(ALLOWED[room] ?? []).includes(target);
    });
    expect(wrong.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
  });

  test('stay out of other rooms’ internals', () => {
    const wrong = imports.filter(({ from, to }) => {
      const at = to.indexOf('/internal/');
      return at >= 0 && !from.startsWith(to.slice(0, at + 1));
    });
    expect(wrong.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
  });

  test('form no cycles', () => {
    const edges = new Map<string, string[]>();
    for (const { from, to, typeOnly, lazy } of imports) {
      if (typeOnly || lazy) continue;
      edges.set(from, [...(edges.get(from) ?? []), to]);
    }
    expect(findCycle(edges)).toEqual([]);
  });
});

function findCycle(edges: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const done = new Set<string>();
  const path: string[] = [];
  function visit(node: string): readonly string[] {
    const start = path.indexOf(node);
    if (start >= 0) return [...path.slice(start), node];
    if (done.has(node)) return [];
    path.push(node);
    for (const next of edges.get(node) ?? []) {
      const cycle = visit(next);
      if (cycle.length > 0) return cycle;
    }
    path.pop();
    done.add(node);
    return [];
  }
  for (const node of edges.keys()) {
    const cycle = visit(node);
    if (cycle.length > 0) return cycle;
  }
  return [];
}

describe('vocabulary', () => {
  const WORDS =
    /k8s\.io|kubernetes\.io|kube-system|kubelet|Kubelet|KUBERNETES_|plat\.io|plat-system|PLAT_EXEC|vnd\.plat/;
  const EXEMPT = /^api-machinery\/vocabulary\.ts$|\/gen\/|^testing\/boundaries\.test\.ts$/;

  test('words that differ stand in one file', () => {
    const wrong = files
      .filter((path) => !EXEMPT.test(path))
      .flatMap((path) =>
        readText(path)
          .split('\n')
          .flatMap((line, index) => (WORDS.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
      );
    expect(wrong).toEqual([]);
  });
});
