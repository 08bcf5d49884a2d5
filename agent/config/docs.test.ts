import { expect, test } from 'vitest';
import { FEATURE_GATES } from '#api/schema/feature-gates.ts';
import { renderFlagsPage } from './docs.ts';
import { FLAG_BY_NAME, SETTINGS } from './table.ts';

const page = renderFlagsPage();

test('lists every flag, field and gate', () => {
  const missing = [
    ...[...FLAG_BY_NAME.keys()].map((name) => (name.length === 1 ? `\`-${name}\`` : `\`--${name}\``)),
    ...SETTINGS.filter(({ inFile }) => inFile).map(({ key }) => `\`${key}\``),
    ...FEATURE_GATES.map(({ name }) => `\`${name}\``),
  ].filter((text) => !page.includes(text));
  expect(missing).toEqual([]);
});

test('states for each setting whether it has an effect', () => {
  const section = page.slice(page.indexOf('## Settings without effect'), page.indexOf('## Feature gates'));
  for (const { key, flags, acted } of SETTINGS) {
    const name = flags[0] === undefined ? key : `--${flags[0].name}`;
    expect([name, section.includes(`\`${name}\``)]).toEqual([name, acted !== true]);
  }
});

test('never recommends a field without effect', () => {
  for (const line of page.split('\n').filter((text) => text.includes('*Without effect'))) {
    expect(line).not.toMatch(/prefer the file/);
  }
});

test('renders every table row in one line with all its cells', () => {
  const rows = page.split('\n').filter((line) => line.startsWith('| `') || line.startsWith('|  |'));
  expect(rows.length).toBeGreaterThan(SETTINGS.length);
  for (const row of rows) expect(row.endsWith(' |')).toBe(true);
});
