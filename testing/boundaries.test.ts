/** Dependency rules: which top-level folder may import which, no imports of another folder's internals, no
 *  cycles, and the names that differ between vocabularies only in one file. */
import { describe, expect, test } from 'vitest';
import { files, imports, importsOf, isTest, readText, roomOf } from './imports.ts';

/** Allowed imports of each top-level folder, besides itself. Tests may also import `testing/`. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  'api-machinery': [],
  'cri-proto': ['api-machinery'],
  volumes: ['api-machinery', 'cri-proto'],
  eviction: ['api-machinery'],
  agent: ['api-machinery', 'cri-proto', 'volumes', 'eviction'],
  'control-plane-lite': ['api-machinery'],
  testing: ['api-machinery', 'cri-proto', 'volumes', 'agent', 'control-plane-lite', 'scripts'],
  e2e: ['api-machinery', 'cri-proto', 'volumes', 'agent', 'control-plane-lite', 'testing', 'scripts'],
  bench: ['api-machinery', 'cri-proto', 'volumes', 'agent', 'control-plane-lite', 'testing', 'scripts'],
  scripts: ['api-machinery', 'cri-proto', 'volumes', 'agent', 'control-plane-lite'],
};

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

  test('never reach into another folder’s internals', () => {
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

  test('names that differ are in one file', () => {
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
