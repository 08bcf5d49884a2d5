import { expect, test } from 'vitest';
import { readContainerMemory } from './container-memory.ts';

const V2 = { version: 2, mountPoint: '/cg' } as const;
const POD = '/pods.slice/pods-podu.slice';

/** Files of the pod's cgroup by their relative paths. */
function depsOf(files: Readonly<Record<string, string>>) {
  const all = Object.entries(files).map(([path, text]) => [`/cg${POD}/${path}`, text] as const);
  return {
    readText: async (path: string): Promise<string> => {
      const found = all.find(([name]) => name === path);
      if (found === undefined) throw new Error(`no ${path}`);
      return found[1];
    },
    namesIn: async (path: string): Promise<readonly string[]> =>
      all.map(([name]) => name.slice(path.length + 1).split('/')[0] ?? ''),
  };
}

const files = (folder: string, current: string, inactive: number): Readonly<Record<string, string>> => ({
  [`${folder}/memory.current`]: `${current}\n`,
  [`${folder}/memory.max`]: 'max\n',
  [`${folder}/memory.stat`]: `anon 5\ninactive_file ${inactive}\n`,
});
const TWO = { ...files('cri-containerd-aa.scope', '900', 100), ...files('bb', '50', 60) };
const CONTAINERS = [
  { id: 'aa', name: 'main' },
  { id: 'bb', name: 'beside' },
];

test('reads the working set of each container from its cgroup', async () => {
  expect(await readContainerMemory(depsOf(TWO), V2, POD, CONTAINERS)).toEqual(
    new Map([
      ['main', 800],
      ['beside', 0],
    ]),
  );
});

test.each([
  ['a container without a cgroup', TWO, [...CONTAINERS, { id: 'cc', name: 'new' }]],
  ['a container that is going', files('aa', '900', 100), CONTAINERS],
  ['a cgroup that is gone', {}, CONTAINERS],
])('returns undefined for %s', async (_, some, containers) => {
  expect(await readContainerMemory(depsOf(some), V2, POD, containers)).toBeUndefined();
});
