import { describe, expect, test } from 'vitest';
import facts from '#api/schema/data/api-types/core-v1.json' with { type: 'json' };
import type { SourcePlugin } from '../contract/source.ts';
import { debianPackage, packageOf } from '../programs/packages.ts';
import { allSources, renderVolumesPage } from './docs.ts';
import { PERSISTENT_SOURCES, POD_SOURCES } from './table.ts';

const fieldsOf = (type: 'VolumeSource' | 'PersistentVolumeSource'): readonly string[] =>
  facts.types[type].fields.map(({ json }) => json);
const namesOf = (plugins: readonly SourcePlugin[]): readonly string[] => plugins.map(({ name }) => name);

describe('the table of sources', () => {
  test.each([
    ['VolumeSource', POD_SOURCES],
    ['PersistentVolumeSource', PERSISTENT_SOURCES],
  ] as const)('has every field of %s', (type, plugins) => {
    const names = namesOf(plugins);
    expect(names.toSorted()).toEqual(fieldsOf(type).toSorted());
  });

  test.each(allSources().map((plugin) => [plugin.name, plugin] as const))(
    'lists where %s may be used',
    (name, { about }) => {
      const inPods = namesOf(POD_SOURCES).includes(name);
      const inVolumes = namesOf(PERSISTENT_SOURCES).includes(name);
      expect(about.use).toBe(inPods && inVolumes ? 'both' : inPods ? 'pod' : 'persistent volume');
      expect(about.summary).toMatch(/^[A-Z].*\.$/);
      for (const note of about.notes ?? []) expect(note).toMatch(/[^.]\.$/);
    },
  );

  test('contains the package of every program', () => {
    const programs = allSources().flatMap(({ about }) => about.programs ?? []);
    const unknown = programs.filter(
      (program) =>
        debianPackage(program) === undefined && packageOf(program) === 'the package that provides it',
    );
    expect(unknown).toEqual([]);
  });
});

describe('renderVolumesPage', () => {
  const page = renderVolumesPage();

  test('has a row and a section for every source', () => {
    for (const { name, about } of allSources()) {
      expect(page).toContain(`| [\`${name}\`](#${name.toLowerCase()}) |`);
      expect(page).toContain(`### ${name}\n\n${about.summary}\n`);
      for (const note of about.notes ?? []) expect(page).toContain(`- ${note}\n`);
    }
  });

  test('has every row of the table on one line with all its cells', () => {
    const rows = page.split('\n').filter((line) => line.startsWith('| '));
    expect(rows).toHaveLength(allSources().length + 2);
    for (const line of rows) expect(line.match(/(?<!\\)\|/g)).toHaveLength(7);
  });
});
