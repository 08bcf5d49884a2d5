/** The folders of each module form layers, and no folder at any depth is part of a cycle; type imports count. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { LAYERS, renderLayersPage } from '../scripts/layers.ts';
import { files, type Import, imports, isTest } from './imports.ts';

const ROOT = join(import.meta.dirname, '..');
const production = files.filter((path) => !isTest(path));
const edges = imports.filter(({ from, to }) => !isTest(from) && !isTest(to) && to.endsWith('.ts'));

/** The entry of `folder` that contains `path`: a folder or a file. */
const childOf = (folder: string, path: string): string => path.slice(folder.length + 1).split('/')[0] ?? '';
const isBelow = (folder: string, path: string): boolean => path.startsWith(`${folder}/`);

/** Every folder with production sources, at any depth. */
const folders = [
  ...new Set(
    production
      .filter((path) => Object.keys(LAYERS).some((module) => isBelow(module, path)))
      .flatMap((path) => {
        const parts = path.split('/').slice(0, -1);
        return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
      }),
  ),
];

/** Imports between the entries of a folder: entry → entry → one example. */
function entryImports(
  folder: string,
  all: readonly Import[],
): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const found = new Map<string, Map<string, string>>();
  for (const { from, to } of all) {
    if (!isBelow(folder, from) || !isBelow(folder, to)) continue;
    const [one, other] = [childOf(folder, from), childOf(folder, to)];
    if (one === other) continue;
    const targets = found.get(one) ?? new Map<string, string>();
    targets.set(other, `${from} → ${to}`);
    found.set(one, targets);
  }
  return found;
}

/** Returns the imports that form a cycle; empty if there is none. */
export function cycleAmong(graph: ReadonlyMap<string, ReadonlyMap<string, string>>): readonly string[] {
  const done = new Set<string>();
  const path: string[] = [];
  function visit(node: string): readonly string[] {
    const start = path.indexOf(node);
    if (start >= 0) {
      const cycle = [...path.slice(start), node];
      return cycle.slice(1).map((to, index) => graph.get(cycle[index] ?? '')?.get(to) ?? to);
    }
    if (done.has(node)) return [];
    path.push(node);
    for (const next of graph.get(node)?.keys() ?? []) {
      const cycle = visit(next);
      if (cycle.length > 0) return cycle;
    }
    path.pop();
    done.add(node);
    return [];
  }
  for (const node of graph.keys()) {
    const cycle = visit(node);
    if (cycle.length > 0) return cycle;
  }
  return [];
}

test('a cycle is found, with the imports that form it', () => {
  const graph = entryImports('m', [
    { from: 'm/a/x.ts', to: 'm/b/y.ts', typeOnly: false, lazy: false },
    { from: 'm/b/y.ts', to: 'm/c.ts', typeOnly: true, lazy: false },
    { from: 'm/c.ts', to: 'm/a/z.ts', typeOnly: false, lazy: true },
  ]);
  expect(cycleAmong(graph)).toEqual(['m/a/x.ts → m/b/y.ts', 'm/b/y.ts → m/c.ts', 'm/c.ts → m/a/z.ts']);
});

test.each(folders)('%s: its entries form no cycle', (folder) => {
  expect(cycleAmong(entryImports(folder, edges))).toEqual([]);
});

describe.each(Object.entries(LAYERS))('%s', (module, layers) => {
  const layerOf = new Map(layers.flatMap((names, index) => names.map((name) => [name, index] as const)));
  const entries = new Set(
    production.filter((path) => isBelow(module, path)).map((path) => childOf(module, path)),
  );

  test('the table lists every folder, and only existing ones', () => {
    expect([...layerOf.keys()].toSorted()).toEqual([...entries].toSorted());
  });

  test('imports point to lower layers', () => {
    const wrong = [...entryImports(module, edges)].flatMap(([one, targets]) =>
      [...targets]
        .filter(([other]) => (layerOf.get(other) ?? 0) >= (layerOf.get(one) ?? 0))
        .map(([, example]) => example),
    );
    expect(wrong).toEqual([]);
  });

  test('docs/architecture.md describes every folder', () => {
    const page = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8');
    const missing = [...entries].filter((name) => !name.endsWith('.ts') && !page.includes(`\`${name}/`));
    expect(missing).toEqual([]);
  });
});

test('docs/layers.md is the rendered table', () => {
  const path = join(ROOT, 'docs/layers.md');
  expect(existsSync(path) && readFileSync(path, 'utf8')).toBe(renderLayersPage());
});

test('production code imports no fixtures', () => {
  const wrong = imports.filter(({ from, to }) => !isTest(from) && to.endsWith('.fixture.ts'));
  expect(
    wrong.map(({ from, to }) => `${from} → ${to}`).filter((edge) => !/^(?:e2e|bench|testing)\//.test(edge)),
  ).toEqual([]);
});
