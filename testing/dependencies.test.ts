/** Checks `package.json` against imports: every package has an importer, and packages imported only by
 *  tests and scripts are not dependencies of the programs. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import packageFile from '../package.json' with { type: 'json' };

const ROOT = new URL('../', import.meta.url).pathname;
const PROGRAMS = ['agent', 'api-machinery', 'control-plane-lite', 'cri-proto', 'eviction', 'volumes'];
const OTHERS = ['bench', 'e2e', 'scripts', 'testing'];
const OF_TESTS = /\.test\.ts$|\.fixture\.ts$|\/testing\/|\/fake\/|\/conformance(\/|\.ts$)|\/test-[^/]*\.ts$/;
/** Executed or read, not imported. */
const TOOLS = ['@biomejs/biome', 'oxlint', 'oxlint-tsgolint', 'typescript', 'node'];

function sources(folders: readonly string[]): readonly string[] {
  return folders.flatMap((folder) =>
    readdirSync(`${ROOT}${folder}`, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `${folder}/${name}`),
  );
}

function packagesIn(paths: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>();
  for (const path of paths) {
    const text = readFileSync(ROOT + path, 'utf8');
    for (const [, specifier = ''] of text.matchAll(/(?:from|import|import\(|require\()\s*'([^'.#][^']*)'/g)) {
      const [scope = '', name = ''] = specifier.split('/');
      found.add(scope.startsWith('@') ? `${scope}/${name}` : scope);
    }
  }
  return found;
}

const all = sources(PROGRAMS);
const byPrograms = packagesIn(all.filter((path) => !OF_TESTS.test(path)));
const byAnyone = packagesIn([...all, ...sources(OTHERS)]);

test('the dependencies of the programs are their imports', () => {
  const unused = Object.keys(packageFile.dependencies).filter(
    (name) => !byPrograms.has(name) && !TOOLS.includes(name),
  );
  expect(unused).toEqual([]);
});

test('development dependencies are imported by tests or scripts, and by no program', () => {
  const names = Object.keys(packageFile.devDependencies);
  const unused = names.filter(
    (name) => !byAnyone.has(name) && !TOOLS.includes(name) && !name.startsWith('@types/'),
  );
  expect(unused).toEqual([]);
  expect(names.filter((name) => byPrograms.has(name))).toEqual([]);
});
