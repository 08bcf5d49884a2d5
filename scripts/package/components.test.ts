import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { licencesText, renderBom, runtimeComponents } from './components.ts';

const REPOSITORY = resolve(import.meta.dirname, '../..');
const SUBJECT = { name: 'p', version: '1.0', commit: 'abc', mtimeSeconds: 0 };

test('the runtime dependencies have versions, licences and digests', () => {
  const found = runtimeComponents(REPOSITORY);
  const names = found.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['@grpc/grpc-js', 'koffi', 'undici', 'yaml', 'yargs-parser']));
  expect(names).not.toContain('vitest');
  for (const { version } of found) expect(version).toMatch(/^\d/);
  expect(found.filter(({ licence }) => licence === 'NOASSERTION')).toEqual([]);
});

test('a bill of materials is deterministic and names every component', () => {
  const components = runtimeComponents(REPOSITORY);
  const text = renderBom(SUBJECT, components);
  expect(renderBom(SUBJECT, components)).toBe(text);
  expect(JSON.parse(text)).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.5' });
  expect(text).toMatch(
    /"serialNumber": "urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}"/,
  );
  expect(text).toMatch(/"purl": "pkg:npm\/undici@\d/);
});

test('licences follow the own one', () => {
  const text = licencesText('OWN\n', [
    { name: 'a', version: '1', licence: 'MIT', text: 'TEXT', integrity: undefined },
  ]);
  expect(text).toMatch(/^OWN\n[^]*a 1 \(MIT\)\n\nTEXT\n/);
});
